// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/server_life.h"

#include <absl/strings/str_cat.h>

#include <map>

#include "base/status.h"
#include "messages/tool_messages.h"
#include "rpc/thrift_codec.h"
#include "tools/pages/server_page.h"

namespace arion::shell {
namespace {

absl::StatusOr<std::map<PartitionId, ReplicaInfo>> ReplicasOf(Cluster& cluster, Endpoint server) {
  ASSIGN_OR_RETURN(AdminClient * admin, cluster.Admin());
  ASSIGN_OR_RETURN(const std::string body,
                   admin->AskServer(server, kRpcQueryReplicaInfo,
                                    EncodeWrapped(QueryReplicaInfoRequest{.node = server})));
  ASSIGN_OR_RETURN(const auto answer, DecodeWrapped<QueryReplicaInfoResponse>(body));
  std::map<PartitionId, ReplicaInfo> replicas;
  for (const ReplicaInfo& replica : answer.replicas) replicas.emplace(replica.pid, replica);
  return replicas;
}

}  // namespace

std::string_view KindName(ServerKind kind) {
  return kind == ServerKind::kArion ? "arion" : "older";
}

absl::StatusOr<ServerLife> LifeOf(Endpoint server) {
  const absl::StatusOr<std::vector<MetricSample>> samples = FetchSamples(server);
  if (samples.ok()) {
    const double since = SumOf(*samples, "process_start_time_seconds");
    if (since == 0)
      return absl::UnavailableError(
          absl::StrCat(server.ToString(), " does not say since when it runs"));
    return ServerLife{ServerKind::kArion, std::to_string(since)};
  }
  // No such page: an older version's server. It tells its start elsewhere.
  if (!IsNoSuchPage(samples.status())) return samples.status();
  ASSIGN_OR_RETURN(std::string since, FetchPage(server, "/recentStartTime", PageForm::kJson));
  return ServerLife{ServerKind::kOlder, std::move(since)};
}

std::string WhatItIsStillToDo(Cluster& cluster, const std::vector<TableState>& tables,
                              Endpoint server, ServerKind kind) {
  // An older server has no such page: of it its replicas alone tell.
  if (kind == ServerKind::kArion) {
    const absl::StatusOr<std::string> page = FetchPage(server, "/recovery", PageForm::kText);
    if (!page.ok() || !page->starts_with("recovery: done"))
      return "it is still opening its replicas";
  }
  const auto replicas = ReplicasOf(cluster, server);
  if (!replicas.ok())
    return absl::StrCat("it does not say what it has: ", replicas.status().message());
  int64_t left = 0;
  for (const TableState& table : tables)
    for (const PartitionConfiguration& partition : table.partitions) {
      if (!partition.IsMember(server)) continue;
      const auto found = replicas->find(partition.pid);
      const PartitionStatus wanted =
          partition.primary == server ? PartitionStatus::kPrimary : PartitionStatus::kSecondary;
      left += found == replicas->end() || found->second.status != wanted ? 1 : 0;
    }
  return left == 0 ? "" : absl::StrCat("it takes no part yet in ", left, " of its partitions");
}

}  // namespace arion::shell
