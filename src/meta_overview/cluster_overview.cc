// SPDX-License-Identifier: Apache-2.0
#include "meta_overview/cluster_overview.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "messages/verification_messages.h"
#include "messages/write_members.h"
#include "meta_judgement/older_everywhere.h"
#include "meta_overview/split_progress.h"
#include "meta_state/state_went_back.h"
#include "meta_state/table_split.h"
#include "meta_state/unknown_tables.h"

namespace arion {

std::string_view PartitionHealthName(PartitionHealth health) {
  constexpr std::array<std::string_view, kPartitionHealths> kNames = {
      "dead", "unreadable", "unwritable", "writable_ill", "healthy"};
  return kNames[static_cast<size_t>(health)];
}

// Worst first: a partition counts once, for the worst that is true of it.
PartitionHealth HealthOf(const PartitionConfiguration& config, int32_t write_members_min) {
  const auto members = static_cast<int32_t>(config.MemberCount());
  if (members == 0) return PartitionHealth::kDead;
  if (!config.primary.IsValid()) return PartitionHealth::kUnreadable;
  if (members < WriteMembersMin(write_members_min, config.max_replica_count))
    return PartitionHealth::kUnwritable;
  if (members < config.max_replica_count) return PartitionHealth::kWritableIll;
  return PartitionHealth::kHealthy;
}

namespace {

// As it serves. That a member is dead may wait long for being stored, on a full disk.
PartitionConfiguration LivingPartOf(const ClusterState& state, PartitionConfiguration config) {
  if (!state.IsAlive(config.primary)) config.primary = {};
  std::erase_if(config.secondaries, [&](Endpoint member) { return !state.IsAlive(member); });
  return config;
}

// Adds one partition to its table's row.
void AddPartition(const ClusterState& state, PartitionId pid, const Partition& partition,
                  PartitionHealth health, TableOverview* row) {
  const auto add = [&](Endpoint member, int32_t ServerShare::*role) {
    ServerShare& share = row->servers[member];
    ++(share.*role);
    if (health != PartitionHealth::kHealthy) ++share.unhealthy;
    // An older version reports no durability, and acknowledges what is in its page cache.
    if (const Node* node = state.FindNode(member); node != nullptr && node->is_older) {
      row->durability.insert(Durability::kOs);
      row->older_servers.insert(member);
    }
  };
  const PartitionConfiguration& config = partition.config;
  if (config.primary.IsValid()) add(config.primary, &ServerShare::primaries);
  for (Endpoint secondary : config.secondaries) add(secondary, &ServerShare::secondaries);
  // A proposed member is no member yet, so it counts apart. One that is a member already only
  // changes its role.
  if (partition.intent && !config.IsMember(partition.intent->node) &&
      partition.intent->node.IsValid())
    ++row->servers[partition.intent->node].learning;
  for (const auto& [endpoint, node] : state.nodes) {
    const auto replica = node.replicas.find(pid);
    // What a dead server reported is of before its death.
    if (!node.alive || replica == node.replicas.end()) continue;
    if (node.IsLoading(pid)) ++row->servers[endpoint].opening;
    // The primary compares the copies, so its verdict is the partition's.
    if (endpoint == config.primary &&
        replica->second.content_verdict == static_cast<int32_t>(ContentVerdictKind::kUndecided))
      ++row->undecided;
    for (Durability mode : {Durability::kOs, Durability::kFsync})
      if (replica->second.durability == static_cast<int8_t>(mode)) row->durability.insert(mode);
  }
}

void AddTo(const ServerShare& part, ServerShare* sum) {
  sum->primaries += part.primaries;
  sum->secondaries += part.secondaries;
  sum->unhealthy += part.unhealthy;
  sum->opening += part.opening;
  sum->learning += part.learning;
}

}  // namespace

ClusterOverview OverviewOf(const ClusterState& state, FunctionLevel level,
                           int32_t write_members_min) {
  ClusterOverview overview{.level = level, .clocks = state.clocks};
  // Summed over the tables, so that a server's row and its tables' rows agree.
  std::map<Endpoint, ServerShare> shares;
  std::map<Endpoint, int32_t> older;
  for (const auto& [app_id, table] : state.tables) {
    // Replicas of dropped tables serve nobody, and linger until they are removed.
    if (table.info.status != AppStatus::kAvailable) continue;
    TableOverview row{.app_id = app_id,
                      .name = table.info.app_name,
                      .replica_count = table.info.max_replica_count};
    for (size_t i = 0; i < table.partitions.size(); ++i) {
      const Partition& partition = table.partitions[i];
      if (partition.IsUnregistered()) continue;
      const PartitionId pid{app_id, static_cast<int32_t>(i)};
      const PartitionHealth health =
          HealthOf(LivingPartOf(state, partition.config), write_members_min);
      ++row.partitions[static_cast<size_t>(health)];
      AddPartition(state, pid, partition, health, &row);
      for (Endpoint server : partition.older) ++older[server];
      if (partition.intent)
        overview.work.push_back({pid, partition.intent->type, partition.intent->node});
    }
    if (table.split)
      row.split = SplitOverview{.from = table.split->from,
                                .to = table.info.partition_count,
                                .registered = RegisteredChildren(table),
                                .paused = static_cast<int32_t>(table.split->paused.size()),
                                .progress = SplitProgressOf(state, table)};
    for (const auto& [endpoint, share] : row.servers) AddTo(share, &shares[endpoint]);
    overview.tables.push_back(std::move(row));
  }
  for (const auto& [endpoint, node] : state.nodes) {
    ++(node.alive ? overview.alive_servers : overview.dead_servers);
    ServerOverview& server = overview.servers.emplace_back();
    server.address = endpoint;
    server.is_alive = node.alive;
    server.is_older = node.is_older;
    server.has_unreadable_disks = node.has_unreadable_disks;
    server.share = shares[endpoint];
    if (node.clock_offset) server.clock_offset_ms = absl::ToInt64Milliseconds(*node.clock_offset);
    server.has_wrong_clock = node.has_wrong_clock;
    server.older_copies = older[endpoint];
    server.older_copies_recently = node.older_copies;
    server.replicas_max = node.replicas_max.value_or(0);
    server.open_files_max = node.open_files_max;
    if (node.alive)
      std::copy_if(node.disks.begin(), node.disks.end(), std::back_inserter(server.full_disks),
                   [](const DiskReport& disk) { return disk.takes_no_writes; });
    // What is proposed counts, too: it will need files as soon as it is made.
    server.lacks_open_files =
        node.alive && node.replicas_max && server.share.copies() >= *node.replicas_max;
  }
  // Problems of the whole cluster, the ones that a person must act on.
  if (auto unknown = UnknownTables(state)) overview.warnings.push_back(*std::move(unknown));
  if (auto older = OlderEverywhere(state)) overview.warnings.push_back(*std::move(older));
  if (auto went_back = StateWentBack(state)) overview.warnings.push_back(*std::move(went_back));
  if (auto learned = StateLearnedBack(state)) overview.warnings.push_back(*std::move(learned));
  return overview;
}

}  // namespace arion
