// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/replica_garbage.h"

#include <algorithm>

namespace arion {
namespace {

// Whether the partition has all the members that it should, each alive and serving, without `node`.
// Then the copy there is one too many.
bool IsWholeWithout(const ClusterState& state, const Partition& partition, Endpoint node) {
  const PartitionConfiguration& config = partition.config;
  const size_t factor = static_cast<size_t>(std::max(config.max_replica_count, 1));
  auto holds_all = [&](Endpoint member) {
    return state.IsAlive(member) && partition.serving.contains(member);
  };
  // Anything under way may need this copy: nothing is garbage while the group changes.
  return !partition.pending && !partition.intent && partition.planned.empty() &&
         config.primary.IsValid() && !config.IsMember(node) && config.MemberCount() >= factor &&
         holds_all(config.primary) &&
         std::all_of(config.secondaries.begin(), config.secondaries.end(), holds_all);
}

bool IsExpired(const AppInfo& info, int64_t unix_seconds) {
  return info.status == AppStatus::kDropped && info.expire_second > 0 &&
         info.expire_second <= unix_seconds;
}

bool IsStable(const Table& table) {
  return table.info.status == AppStatus::kAvailable && !table.partitions_change;
}

}  // namespace

std::vector<ReplicaInfo> GarbageOf(const ClusterState& state, FunctionLevel level, Endpoint node,
                                   int64_t unix_seconds) {
  std::vector<ReplicaInfo> garbage;
  const Node* known = state.FindNode(node);
  if (level < FunctionLevel::kLively || known == nullptr) return garbage;
  for (const auto& [pid, report] : known->replicas) {
    const Table* table = state.FindTable(pid.app_id);
    const Partition* partition = state.FindPartition(pid);
    // A replica that takes part in anything, or that may still be opened, is needed.
    const bool is_idle =
        report.status == PartitionStatus::kInactive || report.status == PartitionStatus::kError;
    if (partition == nullptr || !is_idle || report.loading.value_or(false)) continue;
    // A copy under a larger ballot than the stored one is never garbage: then it is the stored
    // state that is old.
    const bool is_replaced = IsStable(*table) && !partition->IsBehind() &&
                             report.ballot <= partition->config.ballot &&
                             IsWholeWithout(state, *partition, node);
    if (IsExpired(table->info, unix_seconds) || is_replaced) garbage.push_back(report);
  }
  return garbage;
}

std::vector<PartitionId> UnneededOf(const ClusterState& state, FunctionLevel level, Endpoint node,
                                    const std::vector<PartitionId>& missing, int64_t unix_seconds) {
  std::vector<PartitionId> unneeded;
  if (level < FunctionLevel::kSteady) return unneeded;
  for (const PartitionId pid : missing) {
    const Table* table = state.FindTable(pid.app_id);
    const Partition* partition = state.FindPartition(pid);
    if (partition == nullptr || partition->IsUnregistered()) continue;
    if (IsExpired(table->info, unix_seconds) ||
        (IsStable(*table) && !partition->IsBehind() && IsWholeWithout(state, *partition, node)))
      unneeded.push_back(pid);
  }
  return unneeded;
}

}  // namespace arion
