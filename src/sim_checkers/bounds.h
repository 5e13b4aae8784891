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
  kUncommitted,   // decrees of a replica's prepare list that are not committed
  kLogFiles,      // of a replica
  kLogBytes,      // of a replica
  kCheckpoints,   // directories of a replica, unfinished ones included
  kSetAside,      // directories of a server: *.err, *.gar
  kUnanswered,    // requests that a server took and has not answered: held, queued, or under way
  kUnansweredKb,  // what they carry
  kCalls,         // that a server waits for
  kDiskBytes,     // of a server
  kMetaBytes,     // of the meta server's disk
  kEvents,        // of all nodes: timers and tasks that wait for their turn
};
constexpr int kKeptCount = static_cast<int>(Kept::kEvents) + 1;
using KeptMost = std::array<int64_t, kKeptCount>;

// What servers may keep, as they are configured.
struct BoundSettings {
  int64_t prepare_list_capacity = 0;
  uint64_t log_segment_bytes = 0;
  uint64_t log_for_member_bytes = 0;
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
