// SPDX-License-Identifier: Apache-2.0
#include "meta_overview/meta_queries.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"
#include "messages/admin_messages.h"
#include "meta_judgement/balance_planner.h"
#include "meta_judgement/partition_guardian.h"
#include "meta_judgement/succession.h"
#include "meta_state/held_replica.h"

namespace arion {
namespace {

PartitionConfiguration WithLikelyPrimary(const ClusterState& state, const Partition& partition) {
  PartitionConfiguration config = partition.config;
  // Ballot 0: it never had a primary.
  if (config.primary.IsValid() || config.ballot < Ballot(1)) return config;
  // Who is being upgraded, else a living secondary, else any, else who left last.
  const bool is_chosen =
      partition.intent && partition.intent->type == ConfigType::kUpgradeToPrimary;
  auto likely = is_chosen ? std::find(config.secondaries.begin(), config.secondaries.end(),
                                      partition.intent->node)
                          : config.secondaries.end();
  if (likely == config.secondaries.end())
    likely = std::find_if(config.secondaries.begin(), config.secondaries.end(),
                          [&](Endpoint node) { return state.IsAlive(node); });
  if (likely == config.secondaries.end()) likely = config.secondaries.begin();
  if (likely != config.secondaries.end()) {
    config.primary = *likely;
    // A server is never both in one configuration.
    config.secondaries.erase(likely);
  } else if (!config.last_drops.empty()) {
    config.primary = config.last_drops.back();
  }
  return config;
}

// Of the population. Two digits, as Pegasus' tools show it.
std::string StandardDeviation(const std::vector<int64_t>& counts) {
  double deviation = 0;
  if (counts.size() > 1) {
    double mean = 0;
    for (int64_t count : counts) mean += static_cast<double>(count) / counts.size();
    for (int64_t count : counts) deviation += (count - mean) * (count - mean) / counts.size();
    deviation = std::sqrt(deviation);
  }
  return absl::StrFormat("%.2f", deviation);
}

// What the balancer would do, as far as one look tells.
std::string BalanceCounts(const ClusterState& state) {
  // A bound for the strand's work: nobody needs the exact number beyond it.
  constexpr size_t kCountedMax = 100;
  int copy_primary = 0, copy_secondary = 0, move_primary = 0;
  for (const BalanceMove& move : PlanBalance(state, kCountedMax)) {
    copy_primary += move.kind == BalanceMove::Kind::kCopyPrimary ? 1 : 0;
    copy_secondary += move.kind == BalanceMove::Kind::kCopySecondary ? 1 : 0;
    move_primary += move.kind == BalanceMove::Kind::kMovePrimary ? 1 : 0;
  }
  return absl::StrCat("{\n    \"copy_pri\": ", copy_primary,
                      ",\n    \"copy_sec\": ", copy_secondary,
                      ",\n    \"move_pri\": ", move_primary,
                      ",\n    \"total\": ", copy_primary + copy_secondary + move_primary, "\n}");
}

}  // namespace

QueryConfigResponse AnswerQueryConfig(const ClusterState& state,
                                      const std::set<std::string>& being_created,
                                      const QueryConfigRequest& request, QueryAudience audience) {
  QueryConfigResponse response;
  const Table* table = state.FindTableByName(request.app_name);
  if (table == nullptr) {
    response.err = being_created.contains(request.app_name) ? ErrorCode::kBusyCreating
                                                            : ErrorCode::kObjectNotFound;
    return response;
  }
  switch (table->info.status) {
    case AppStatus::kAvailable:
      break;
    case AppStatus::kCreating:
    case AppStatus::kRecalling:
      response.err = ErrorCode::kBusyCreating;
      return response;
    case AppStatus::kDropping:
      response.err = ErrorCode::kBusyDropping;
      return response;
    default:
      response.err = ErrorCode::kUnknown;
      return response;
  }
  response.app_id = table->info.app_id;
  response.partition_count = table->info.partition_count;
  // True exactly with kOk: old Python clients look at nothing else (rpc/PROTOCOL.md 7.1).
  response.is_stateful = true;
  auto add = [&](const Partition& partition) {
    response.partitions.push_back(audience == QueryAudience::kThriftClients
                                      ? WithLikelyPrimary(state, partition)
                                      : partition.config);
  };
  // Partitions are answered in their own order, whatever the order of the question.
  std::set<int32_t> wanted(request.partition_indices.begin(), request.partition_indices.end());
  for (const Partition& partition : table->partitions) {
    if (wanted.contains(partition.config.pid.index)) add(partition);
  }
  // As Pegasus does: indices that name nothing mean all.
  if (response.partitions.empty()) {
    for (const Partition& partition : table->partitions) add(partition);
  }
  return response;
}

ListAppsResponse AnswerListApps(const ClusterState& state, const ListAppsRequest& request) {
  // The numbers are Pegasus'.
  enum MatchType { kInvalid = 0, kAll = 1, kExact = 2, kAnywhere = 3, kPrefix = 4, kPostfix = 5 };
  ListAppsResponse response;
  bool has_pattern = request.app_name_pattern && request.match_type;
  int32_t match_type = has_pattern ? *request.match_type : kAll;
  const std::string pattern = request.app_name_pattern.value_or("");
  if (match_type < kAll || match_type > kPostfix) {
    response.err = ErrorCode::kNotImplemented;
    response.hint_message = absl::StrCat("match type ", match_type, " is not supported");
    return response;
  }
  auto matches = [&](const std::string& name) {
    switch (match_type) {
      case kExact:
        return name == pattern;
      case kAnywhere:
        return name.find(pattern) != std::string::npos;
      case kPrefix:
        return name.starts_with(pattern);
      case kPostfix:
        return name.ends_with(pattern);
      default:
        return true;
    }
  };
  for (const auto& [app_id, table] : state.tables) {
    bool wanted = request.status == AppStatus::kInvalid || request.status == table.info.status;
    if (wanted && matches(table.info.app_name)) response.infos.push_back(table.info);
  }
  return response;
}

ListNodesResponse AnswerListNodes(const ClusterState& state, const ListNodesRequest& request) {
  ListNodesResponse response;
  // The living first, as Pegasus lists them.
  for (NodeStatus status : {NodeStatus::kAlive, NodeStatus::kUnalive}) {
    if (request.status != NodeStatus::kInvalid && request.status != status) continue;
    for (const auto& [endpoint, node] : state.nodes) {
      if (node.alive == (status == NodeStatus::kAlive)) {
        response.infos.push_back({.status = status, .node = endpoint});
      }
    }
  }
  return response;
}

MaxReplicaCountResponse AnswerMaxReplicaCount(const ClusterState& state, const std::string& name) {
  const Table* table = state.FindTableByName(name);
  if (table == nullptr) return {ErrorCode::kAppNotExist, 0, "there is no such table"};
  for (const Partition& partition : table->partitions) {
    if (partition.config.max_replica_count != table->info.max_replica_count) {
      return {ErrorCode::kInconsistentState, 0, "its partitions have different counts"};
    }
  }
  return {ErrorCode::kOk, table->info.max_replica_count};
}

QueryManualCompactResponse AnswerManualCompact(const ClusterState& state, const std::string& name) {
  const Table* table = state.FindTableByName(name);
  if (table == nullptr) return {ErrorCode::kAppNotExist, "there is no such table"};
  if (table->info.status != AppStatus::kAvailable)
    return {ErrorCode::kAppDropped, "the table is not available"};
  int64_t finished = 0, begun = 0;
  for (const Partition& partition : table->partitions) {
    const PartitionConfiguration& config = partition.config;
    std::vector<Endpoint> members = config.secondaries;
    if (config.primary.IsValid()) members.push_back(config.primary);
    for (Endpoint member : members) {
      const Node* node = state.FindNode(member);
      if (node == nullptr || !node->replicas.contains(config.pid)) continue;
      const auto status = static_cast<ManualCompactStatus>(
          node->replicas.at(config.pid).manual_compact_status.value_or(0));
      // A member that reports nothing counts as not finished.
      finished += status == ManualCompactStatus::kFinished ? 1 : 0;
      begun += status != ManualCompactStatus::kIdle ? 1 : 0;
    }
  }
  if (begun == 0)
    return {ErrorCode::kInvalidState, "no compaction was asked for, or its time has not come"};
  // Of all copies there should be: a member that is away keeps it below 100.
  const auto partitions =
      std::count_if(table->partitions.begin(), table->partitions.end(),
                    [](const Partition& partition) { return !partition.IsUnregistered(); });
  const int64_t all = partitions * table->info.max_replica_count;
  return {ErrorCode::kOk, "",
          static_cast<int32_t>(std::min<int64_t>(100, 100 * finished / std::max<int64_t>(1, all)))};
}

DddDiagnoseResponse AnswerDddDiagnose(const ClusterState& state, const GuardianOptions& options,
                                      const DddDiagnoseRequest& request, Instant now,
                                      int64_t unix_ms) {
  DddDiagnoseResponse response;
  const PartitionId wanted = request.pid;
  // -1 asks for all tables, or for all partitions of one.
  if (wanted.app_id != -1 && state.FindTable(wanted.app_id) == nullptr) {
    response.err = ErrorCode::kAppNotExist;
    return response;
  }
  if (wanted.index != -1 && state.FindPartition(wanted) == nullptr) {
    response.err = ErrorCode::kInvalidParameters;
    return response;
  }
  // As if it might act: what it would not revive even then is for an administrator.
  const GuardianPlan plan = PlanPartitions(state, FunctionLevel::kSteady, options, now);
  for (const GuardianPlan::Step& step : plan.steps) {
    const Partition& partition = *state.FindPartition(step.pid);
    const PartitionConfiguration& config = partition.config;
    const bool is_wanted = (wanted.app_id == -1 || wanted.app_id == step.pid.app_id) &&
                           (wanted.index == -1 || wanted.index == step.pid.index);
    std::vector<Endpoint> former = config.secondaries;
    former.insert(former.end(), config.last_drops.begin(), config.last_drops.end());
    if (!is_wanted || !IsForsaken(state, partition) || former.empty() || step.intent ||
        step.write) {
      continue;
    }
    DddPartition dead{.config = config, .reason = step.reason};
    for (Endpoint endpoint : former) {
      // -1 stands for what is not known: the server is dead, or has not reported.
      DddNode known{.node = endpoint,
                    .ballot = Ballot(-1),
                    .last_committed_decree = Decree(-1),
                    .last_prepared_decree = Decree(-1)};
      for (const DroppedReplica& dropped : partition.dropped) {
        // The drop's time is monotonic; administrators get it as wall time.
        if (dropped.node == endpoint && dropped.at) {
          known.drop_time_ms = unix_ms - absl::ToInt64Milliseconds(now - *dropped.at);
        }
      }
      if (const Node* node = state.FindNode(endpoint)) {
        known.is_alive = node->alive;
        known.is_collected = node->collected && !node->IsLoading(config.pid);
        const ReplicaInfo* report = node->alive ? node->LoadedReplica(config.pid) : nullptr;
        if (report != nullptr) {
          // Of what it holds: who was told of a later configuration may have nothing of it.
          const HeldReplica held{endpoint, report};
          known.ballot = held.IsWhole() ? held.HeldBallot() : Ballot(0);
          // The shell compares candidates by this (dead_partition.h).
          known.is_ballot_of_data = held.IsWhole() && held.TellsBallot();
          known.last_committed_decree = report->last_committed_decree;
          known.last_prepared_decree = report->last_prepared_decree;
        }
      }
      dead.dropped.push_back(std::move(known));
    }
    response.partitions.push_back(std::move(dead));
  }
  return response;
}

ClusterInfoResponse AnswerClusterInfo(const ClusterState& state, const ClusterFacts& facts) {
  std::map<Endpoint, int64_t> primaries, replicas;
  for (const auto& [app_id, table] : state.tables) {
    for (const Partition& partition : table.partitions) {
      const PartitionConfiguration& config = partition.config;
      if (config.primary.IsValid()) ++primaries[config.primary], ++replicas[config.primary];
      for (Endpoint node : config.secondaries) ++replicas[node];
    }
  }
  std::vector<int64_t> primary_counts, replica_counts;
  for (const auto& [endpoint, node] : state.nodes) {
    // A dead server's share says nothing about the balance of those that serve. One that is new
    // has nothing yet, and counts.
    if (!node.alive) continue;
    replica_counts.push_back(replicas[endpoint]);
    primary_counts.push_back(primaries[endpoint]);
  }
  ClusterInfoResponse response{.arion_caps = kCapsTellsDurability};
  auto add = [&](const char* key, std::string value) {
    response.keys.push_back(key);
    response.values.push_back(std::move(value));
  };
  // Names and order are Pegasus': its shell prints them as they come.
  add("meta_servers", facts.meta_server.ToString());
  add("primary_meta_server", facts.meta_server.ToString());
  add("zookeeper_hosts", "");
  add("zookeeper_root", "");
  add("meta_function_level", std::string(FunctionLevelName(facts.level)));
  add("balance_operation_count", BalanceCounts(state));
  add("primary_replica_count_stddev", StandardDeviation(primary_counts));
  add("total_replica_count_stddev", StandardDeviation(replica_counts));
  add("cluster_name", facts.cluster_name);
  return response;
}

}  // namespace arion
