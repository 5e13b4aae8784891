// SPDX-License-Identifier: Apache-2.0
#include "recovery/recovery_plan.h"

#include <algorithm>
#include <tuple>

#include "base/log.h"

namespace arion {

void RecoveryPlan::Add(const ReplicaToRecover& replica) {
  // A role may be known before the logs are measured: the meta server's answer does not wait.
  ReplicaToRecover& added = waiting_[replica.pid] = replica;
  if (const auto it = roles_.find(replica.pid); it != roles_.end()) added.role = it->second;
  // Makes the disk known even if nothing more of it comes.
  disks_[replica.disk];
}

void RecoveryPlan::SetRole(PartitionId pid, LastRole role) {
  roles_[pid] = role;
  if (const auto it = waiting_.find(pid); it != waiting_.end()) it->second.role = role;
}

// A replay holds at most its limit, whatever the log's size.
uint64_t RecoveryPlan::MemoryOf(const ReplicaToRecover& replica) const {
  return std::min(replica.log_bytes, limits_.memory_bytes_per_replica);
}

std::optional<PartitionId> RecoveryPlan::NextOf(size_t disk, Lane lane) const {
  const Disk& used = disks_.at(disk);
  const ReplicaToRecover* best = nullptr;
  const auto order = [lane](const ReplicaToRecover& r) {
    const LastRole role = lane == Lane::kByHaste ? r.role : LastRole::kUnknown;
    // The complement of the length puts the longest log first. The partition makes the order total.
    return std::tuple(role, ~r.log_bytes, r.pid);
  };
  // A linear search: a disk has thousands of replicas at most, and one begins at a time.
  for (const auto& [pid, replica] : waiting_) {
    if (replica.disk != disk) continue;
    // A replica that is larger than the disk's share may begin when it is alone.
    if (used.replayed + used.flushed > 0 &&
        used.memory_bytes + MemoryOf(replica) > limits_.memory_bytes_per_disk)
      continue;
    if (best == nullptr || order(replica) < order(*best)) best = &replica;
  }
  return best == nullptr ? std::nullopt : std::optional(best->pid);
}

void RecoveryPlan::Take(PartitionId pid, Lane lane) {
  const ReplicaToRecover& replica = waiting_.at(pid);
  const UnderWay taken{.disk = replica.disk, .memory_bytes = MemoryOf(replica), .lane = lane};
  Disk& disk = disks_.at(replica.disk);
  ++disk.replayed;
  disk.memory_bytes += taken.memory_bytes;
  if (lane == Lane::kByLength) disk.has_length_lane = true;
  under_way_.emplace(pid, taken);
  waiting_.erase(pid);
}

std::vector<PartitionId> RecoveryPlan::Begin() {
  std::vector<PartitionId> begun;
  // One at a time, over all disks.
  if (limits_.mode == RecoveryMode::kSequential) {
    if (!under_way_.empty() || waiting_.empty()) return begun;
    const auto first = std::min_element(waiting_.begin(), waiting_.end(), [](auto& a, auto& b) {
      return std::tuple(a.second.disk, a.first) < std::tuple(b.second.disk, b.first);
    });
    begun.push_back(first->first);
    Take(begun.back(), Lane::kByHaste);
    return begun;
  }
  for (auto& [number, disk] : disks_) {
    while (disk.lanes() < limits_.lanes_per_disk) {
      const Lane lane = disk.has_length_lane ? Lane::kByHaste : Lane::kByLength;
      // Replicas that do not fit now leave the lane empty until others end.
      const std::optional<PartitionId> next = NextOf(number, lane);
      if (!next) break;
      Take(*next, lane);
      begun.push_back(*next);
    }
  }
  return begun;
}

void RecoveryPlan::LeaveLane(const UnderWay& replica, Disk* disk) {
  --disk->replayed;
  if (replica.lane == Lane::kByLength) disk->has_length_lane = false;
}

bool RecoveryPlan::MayKeep(PartitionId pid) {
  UnderWay& replica = under_way_.at(pid);
  if (kept_bytes_ + replica.memory_bytes <= limits_.memory_bytes_kept) {
    // Kept until its next checkpoint, which this plan does not hear of: it counts until the end of
    // the start.
    kept_bytes_ += replica.memory_bytes;
    return true;
  }
  Disk& disk = disks_.at(replica.disk);
  LeaveLane(replica, &disk);
  replica.is_flushed = true;
  ++disk.flushed;
  return false;
}

void RecoveryPlan::End(PartitionId pid) {
  const auto it = under_way_.find(pid);
  CHECK(it != under_way_.end()) << pid << " is not under way";
  Disk& disk = disks_.at(it->second.disk);
  if (it->second.is_flushed)
    --disk.flushed;
  else
    LeaveLane(it->second, &disk);
  disk.memory_bytes -= it->second.memory_bytes;
  under_way_.erase(it);
}

}  // namespace arion
