// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/forget_server.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

namespace arion {
namespace {

bool IsNamedBy(const Intent& intent, Endpoint server) {
  return intent.target == server || intent.node == server;
}

// What the partition wants it for; empty: nothing.
std::string UseOf(const Partition& partition, Endpoint server) {
  const PartitionConfiguration& config = partition.config;
  if (config.IsMember(server)) return "is a member of";
  if (partition.pending && partition.pending->IsMember(server)) return "becomes a member of";
  const auto& drops = config.last_drops;
  // Where there are members, who left before is needed by nobody.
  if (config.MemberCount() == 0 && std::find(drops.begin(), drops.end(), server) != drops.end())
    return "may hold the last copy of";
  if (partition.intent && IsNamedBy(*partition.intent, server)) return "is being asked for";
  const bool is_planned =
      std::any_of(partition.planned.begin(), partition.planned.end(),
                  [&](const Intent& intent) { return IsNamedBy(intent, server); });
  return is_planned ? "is planned for" : "";
}

}  // namespace

std::string WhyNeeded(const ClusterState& state, Endpoint server, int64_t unix_seconds) {
  for (const auto& [app_id, table] : state.tables) {
    const AppInfo& info = table.info;
    // A dropped table can be recalled until it expires, and then needs who was a member.
    const bool is_dropped = info.status == AppStatus::kDropped;
    if (is_dropped && info.expire_second > 0 && info.expire_second <= unix_seconds) continue;
    for (const Partition& partition : table.partitions) {
      const std::string use = UseOf(partition, server);
      if (use.empty()) continue;
      return absl::StrCat("it ", use, " partition ", partition.config.pid.ToString(), " of ",
                          info.app_name,
                          is_dropped ? ", which is dropped and can be recalled" : "");
    }
  }
  return "";
}

std::string WhyNotForgotten(const ClusterState& state, Endpoint server, int64_t unix_seconds) {
  const Node* node = state.FindNode(server);
  if (node == nullptr) return "no such server is known";
  if (node->alive) return "it is alive: stop it first";
  return WhyNeeded(state, server, unix_seconds);
}

void Forget(ClusterState& state, Endpoint server) {
  state.nodes.erase(server);
  for (auto& [app_id, table] : state.tables) {
    // All places that name servers beside configurations (which name it no more, WhyNeeded).
    table.untold.erase(server);
    for (Partition& partition : table.partitions) {
      std::erase_if(partition.dropped,
                    [&](const DroppedReplica& dropped) { return dropped.node == server; });
      partition.passed_over.erase(server);
      partition.serving.erase(server);
      partition.suspects.erase(server);
      partition.older.erase(server);
      partition.short_copies.erase(server);
    }
  }
}

}  // namespace arion
