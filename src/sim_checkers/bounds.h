// Bounds: the most that servers were seen to keep, in memory and on disk, and what they may. Looked
// at all the time a run lasts, faults or not: what grows without end is seen before a machine is
// full.
//
// Demands  bounds/B1  Nobody keeps more of anything than it may.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "sim_checkers/checkers.h"

namespace arion::sim {

enum class Kept : uint8_t {
  // Decrees of a replica's prepare list that are not committed.
  kUncommitted,
  // Log files of a replica.
  kLogFiles,
  // Bytes of a replica's log.
  kLogBytes,
  // Directories of a replica, unfinished ones included.
  kCheckpoints,
  // Directories of a server: *.err, *.gar.
  kSetAside,
  // Requests that a server took and has not answered: held, queued, or under way.
  kUnanswered,
  // KiB that those requests carry.
  kUnansweredKb,
  // Calls that a server waits for.
  kCalls,
  // Bytes on a server's disk.
  kDiskBytes,
  // Bytes on the meta server's disk.
  kMetaBytes,
  // Timers and tasks of all nodes that wait for their turn.
  kEvents,
};
constexpr int kKeptCount = static_cast<int>(Kept::kEvents) + 1;
using KeptMost = std::array<int64_t, kKeptCount>;

// What servers may keep, as they are configured.
struct BoundSettings {
  int64_t prepare_list_capacity = 0;
  uint64_t log_segment_bytes = 0;
  uint64_t log_for_member_bytes = 0;
  uint64_t log_for_other_cluster_bytes = 0;
};

// One for a run. KeptThings (sim_cluster/kept_things.h) notes what it sees every few seconds. The
// first time that a bound is passed is one violation, however long it stays so.
class Bounds {
 public:
  explicit Bounds(const BoundSettings& settings);
  // `who` keeps `amount` now.
  void Note(Kept what, int64_t amount, const std::string& who);
  const KeptMost& most() const { return most_; }
  const Violations& violations() const { return violations_; }

 private:
  const KeptMost bounds_;
  KeptMost most_{};
  Violations violations_;
};

// "uncommitted 20, log-files 4, ..."
std::string Describe(const KeptMost& most);

}  // namespace arion::sim
