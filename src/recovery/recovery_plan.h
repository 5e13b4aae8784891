// RecoveryPlan: which replicas a starting server opens next. Pure.
//
// Shapes    Parallel: each disk has lanes. One lane takes what has the longest log, so that no disk
//           ends with a long one. The others take primaries first, then those whose role is
//           unknown, then secondaries, the longest first. Sequential: one replica at a time, in the
//           order of disks and partitions. A replica that must be flushed before the next one may
//           have its memory is flushed beside the lanes, one at a time.
// Threads   Not thread-safe.
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

// Whether disks work at the same time.
enum class RecoveryMode : uint8_t { kParallel, kSequential };
// In the order of haste. The meta server tells it; until then it is unknown.
enum class LastRole : uint8_t { kPrimary, kUnknown, kSecondary };

// What the operator decides.
struct RecoveryOptions {
  RecoveryMode mode = RecoveryMode::kParallel;
  // Openings of a disk at a time.
  int32_t threads_per_disk = 2;
  // For what all disks' openings under way hold in memory.
  uint64_t memory_bytes = uint64_t{1} << 30;
};

// What follows from that for one server's disks.
struct RecoveryLimits {
  RecoveryMode mode = RecoveryMode::kParallel;
  int lanes_per_disk = 2;
  uint64_t memory_bytes_per_disk = 512 << 20;
  // What one replay holds at most, however long the log: memtables, blocks.
  uint64_t memory_bytes_per_replica = 192 << 20;
  // What all replicas that serve may keep in memory of what they replayed.
  uint64_t memory_bytes_kept = 128 << 20;
};

// A replica that waits to be opened.
struct ReplicaToRecover {
  PartitionId pid;
  size_t disk = 0;
  uint64_t log_bytes = 0;
  LastRole role = LastRole::kUnknown;
};

// Add all; then Begin, and again after each MayKeep that says no and each End.
class RecoveryPlan {
 public:
  explicit RecoveryPlan(RecoveryLimits limits) : limits_(limits) {}

  // The replica waits from now on. Its role may be known from an earlier SetRole.
  void Add(const ReplicaToRecover& replica);
  // Of a replica that waits, or is still to be added.
  void SetRole(PartitionId pid, LastRole role);
  // Takes those that may begin now. Each is under way until End.
  std::vector<PartitionId> Begin();
  // Of a replica under way that is open: whether what it replayed may stay in memory until its next
  // checkpoint. If not, it is under way until that is flushed, and its lane may be free: ask Begin.
  bool MayKeep(PartitionId pid);
  // The replica is not under way any more. It was.
  void End(PartitionId pid);

  size_t waiting() const { return waiting_.size(); }
  size_t under_way() const { return under_way_.size(); }

 private:
  enum class Lane : uint8_t { kByLength, kByHaste };
  struct UnderWay {
    size_t disk = 0;
    uint64_t memory_bytes = 0;
    Lane lane = Lane::kByHaste;
    // It is being flushed, outside the lanes.
    bool is_flushed = false;
  };
  struct Disk {
    // Replicas that are being replayed, and ones that are being flushed.
    int replayed = 0;
    int flushed = 0;
    // Of all of them together.
    uint64_t memory_bytes = 0;
    // The lane for the longest log is taken.
    bool has_length_lane = false;

    // One flush is free beside the lanes; each further one takes a lane, or flushes would pile up.
    int lanes() const { return replayed + std::max(0, flushed - 1); }
  };

  uint64_t MemoryOf(const ReplicaToRecover& replica) const;
  // The next one for that lane which fits into the disk's memory.
  std::optional<PartitionId> NextOf(size_t disk, Lane lane) const;
  void Take(PartitionId pid, Lane lane);
  static void LeaveLane(const UnderWay& replica, Disk* disk);

  const RecoveryLimits limits_;
  // What replicas that serve keep unflushed, as MayKeep allowed it.
  uint64_t kept_bytes_ = 0;
  std::map<PartitionId, ReplicaToRecover> waiting_;
  std::map<PartitionId, UnderWay> under_way_;
  // Told so far.
  std::map<PartitionId, LastRole> roles_;
  std::map<size_t, Disk> disks_;
};

}  // namespace arion
