// The answers of the meta server's read-only requests, from the state alone. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "meta_state/cluster_state.h"

namespace arion {

struct DddDiagnoseRequest;
struct DddDiagnoseResponse;
struct GuardianOptions;
struct MaxReplicaCountResponse;
struct QueryManualCompactResponse;

// The reader of a routing answer.
enum class QueryAudience {
  // RDSN: configurations as they are.
  kServersAndTools,
  // THFT: a partition that lost its primary names the server that will most likely become it, or
  // was it last. The reason: Go clients refuse a whole table when one of its partitions has no
  // primary (rpc/PROTOCOL.md 7.1), so one failover would keep them from re-routing all others. The
  // named server refuses what it can't serve (ERR_INVALID_STATE), which makes every client ask
  // again; the real change of primary has a larger ballot. A partition that never had a primary
  // stays as it is: there is nobody to name, and the admin clients wait for it after a create.
  kThriftClients,
};

// `being_created`: names of tables that are being stored.
QueryConfigResponse AnswerQueryConfig(const ClusterState& state,
                                      const std::set<std::string>& being_created,
                                      const QueryConfigRequest& request, QueryAudience audience);
ListAppsResponse AnswerListApps(const ClusterState& state, const ListAppsRequest& request);
ListNodesResponse AnswerListNodes(const ClusterState& state, const ListNodesRequest& request);

MaxReplicaCountResponse AnswerMaxReplicaCount(const ClusterState& state, const std::string& name);
// How far the last compaction on request is, as its members last reported.
QueryManualCompactResponse AnswerManualCompact(const ClusterState& state, const std::string& name);
// Partitions that lost all their members, or have only secondaries that can't follow, and that the
// guardian doesn't revive by itself; with what is known of those and of the servers that left.
DddDiagnoseResponse AnswerDddDiagnose(const ClusterState& state, const GuardianOptions& options,
                                      const DddDiagnoseRequest& request, Instant now,
                                      int64_t unix_ms);

// What an answer about the cluster needs and the state does not hold.
struct ClusterFacts {
  Endpoint meta_server;
  std::string cluster_name;
  FunctionLevel level = FunctionLevel::kSteady;
};
ClusterInfoResponse AnswerClusterInfo(const ClusterState& state, const ClusterFacts& facts);

}  // namespace arion
