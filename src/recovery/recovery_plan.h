// RecoveryPlan: which replicas a starting server opens next. Pure.
//
// Shapes    Parallel: each disk has lanes. One lane takes what has the longest log, so that no disk
//           ends with a long one; the others take primaries first, then those whose role is
//           unknown, then secondaries, the longest first. Sequential: one at a time of all, in the
//           order of disks and partitions. What must be flushed before the next may have its memory
//           is flushed beside the lanes, one replica at a time.
// Promises  What is under way on a disk needs no more memory than its share, unless it is alone;
//           what serves keeps no more unflushed than all may keep. A disk waits for no other
//           (parallel).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"

namespace arion {

enum class RecoveryMode : uint8_t { kParallel, kSequential };
enum class LastRole : uint8_t { kPrimary, kUnknown, kSecondary };  // in the order of haste

// What the operator decides.
struct RecoveryOptions {
  RecoveryMode mode = RecoveryMode::kParallel;
  int32_t threads_per_disk = 2;
  uint64_t memory_bytes = uint64_t{1} << 30;  // of all disks' openings under way
};

struct RecoveryLimits {
  RecoveryMode mode = RecoveryMode::kParallel;
  int lanes_per_disk = 2;
  uint64_t memory_bytes_per_disk = 512 << 20;
  // What one replay holds at most, however long the log: memtables, blocks.
  uint64_t memory_bytes_per_replica = 192 << 20;
  // What all that serve may keep in memory of what they replayed.
  uint64_t memory_bytes_kept = 128 << 20;
};

struct ReplicaToRecover {
  PartitionId pid;
  size_t disk = 0;
  uint64_t log_bytes = 0;
  LastRole role = LastRole::kUnknown;
};

class RecoveryPlan {
 public:
  explicit RecoveryPlan(RecoveryLimits limits) : limits_(limits) {}

  void Add(const ReplicaToRecover& replica);
  // Of one that waits, or is still to be added.
  void SetRole(PartitionId pid, LastRole role);
  // Takes those that may begin now; each is under way until End.
  std::vector<PartitionId> Begin();
  // Of one under way that is open: may what it replayed stay in memory until its next checkpoint?
  // Else it is under way until that is flushed, and its lane may be free: ask Begin.
  bool MayKeep(PartitionId pid);
  void End(PartitionId pid);

  size_t waiting() const { return waiting_.size(); }
  size_t under_way() const { return under_way_.size(); }

 private:
  enum class Lane : uint8_t { kByLength, kByHaste };
  struct UnderWay {
    size_t disk = 0;
    uint64_t memory_bytes = 0;
    Lane lane = Lane::kByHaste;
    bool is_flushed = false;  // it is being flushed
  };
  struct Disk {
    int replayed = 0;  // those that are
    int flushed = 0;   // likewise
    uint64_t memory_bytes = 0;
    bool has_length_lane = false;

    int lanes() const { return replayed + std::max(0, flushed - 1); }
  };

  uint64_t MemoryOf(const ReplicaToRecover& replica) const;
  std::optional<PartitionId> NextOf(size_t disk, Lane lane) const;
  void Take(PartitionId pid, Lane lane);
  static void LeaveLane(const UnderWay& replica, Disk* disk);

  const RecoveryLimits limits_;
  uint64_t kept_bytes_ = 0;
  std::map<PartitionId, ReplicaToRecover> waiting_;
  std::map<PartitionId, UnderWay> under_way_;
  std::map<PartitionId, LastRole> roles_;  // told so far
  std::map<size_t, Disk> disks_;
};

}  // namespace arion
