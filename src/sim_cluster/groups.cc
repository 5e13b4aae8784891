// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/groups.h"

#include <algorithm>

namespace arion::sim {

void Groups::Store(const PartitionConfiguration& config, Instant now) {
  if (const PartitionConfiguration* before = Find(config.pid)) NoteLastCopy(*before, config);
  stored_[config.pid] = config;
  stored_last_ = now;
}

const PartitionConfiguration* Groups::Find(PartitionId pid) const {
  const auto found = stored_.find(pid);
  return found == stored_.end() ? nullptr : &found->second;
}

bool Groups::IsWanted(PartitionId pid) const {
  return std::any_of(tables_.begin(), tables_.end(),
                     [pid](const WorkloadTable& table) { return table.app_id == pid.app_id; });
}

bool Groups::IsWhole() const {
  int whole = 0;
  for (const auto& [pid, config] : stored_) {
    whole += IsWanted(pid) && config.primary.IsValid() &&
             config.MemberCount() == static_cast<size_t>(copies_);
  }
  int partitions = 0;
  for (const WorkloadTable& table : tables_) partitions += table.partition_count;
  // And the children of those that were split.
  return whole >= partitions && whole == CountWanted();
}

int Groups::CountWanted() const {
  return static_cast<int>(std::count_if(
      stored_.begin(), stored_.end(), [this](const auto& entry) { return IsWanted(entry.first); }));
}

int32_t Groups::CountOf(int32_t app_id) const {
  return static_cast<int32_t>(
      std::count_if(stored_.begin(), stored_.end(),
                    [app_id](const auto& entry) { return entry.first.app_id == app_id; }));
}

void Groups::NoteLastCopy(const PartitionConfiguration& before, const PartitionConfiguration& now) {
  // With three copies another one holds everything.
  if (lost_copy_ && copies_ < 3 && before.MemberCount() == 1 && before.IsMember(*lost_copy_) &&
      now.MemberCount() == 0)
    lost_with_last_copy_.insert(now.pid);
}

}  // namespace arion::sim
