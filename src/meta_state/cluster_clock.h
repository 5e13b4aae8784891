// ClusterClock: what time it is by most wall clocks of the cluster, and whose is wrong. Pure.
//
// Shapes    Each beacon of a server carries its wall clock. What it shows is that minus the meta
//           server's monotonic clock when the beacon arrived, so that a leap of any wall clock,
//           ours too, moves that one alone; the middle one of the last three, so that a late beacon
//           changes nothing. The agreed clock is the median of ours and of those that were heard.
//           It counts only while more than half of all that live lie within `bound` of it: of two
//           clocks that differ nobody can tell which is right. A clock is wrong when it lies
//           further than `bound` from what is agreed, until it lies within half of that.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <array>
#include <cstddef>
#include <map>
#include <optional>

#include "base/ids.h"

namespace arion {

// One for the meta server that leads. Note with each beacon; then ask.
class ClusterClock {
 public:
  explicit ClusterClock(absl::Duration bound) : bound_(bound) {}

  // `shown`, `ours`: wall clocks minus the meta server's monotonic one, now. `living`: how many
  // servers live.
  void Note(Endpoint node, absl::Duration shown, absl::Duration ours, size_t living);
  // The same without a server's clock: the beacon tells none.
  void Note(absl::Duration ours, size_t living);
  // The server is dead, or its process began anew.
  void Forget(Endpoint node);
  // The meta server's own clocks went apart: what others showed before has no meaning now.
  void ForgetAll();

  // The agreed clock minus the meta server's monotonic one; nullopt: most clocks do not agree.
  std::optional<absl::Duration> agreed() const { return agreed_; }
  // The server's clock minus the agreed one; nullopt: one of them is not known.
  std::optional<absl::Duration> OffsetOf(Endpoint node) const;
  std::optional<absl::Duration> OurOffset() const;
  // Whether the server's clock is wrong; false where nothing is agreed.
  bool IsWrong(Endpoint node) const;
  bool AreWeWrong() const { return are_we_wrong_; }
  // How far the two clocks that differ most lie apart.
  absl::Duration Spread() const { return spread_; }
  // Nothing is agreed because the clocks that were heard differ, not because too few were heard.
  bool DoDiffer() const { return !agreed_ && spread_ > bound_; }

 private:
  struct Record {
    std::array<absl::Duration, 3> last{};
    // Of those seen.
    size_t count = 0;
    bool is_wrong = false;
    absl::Duration shown() const;
  };
  void Judge();
  bool JudgeOne(absl::Duration shown, bool was_wrong) const;

  const absl::Duration bound_;
  std::map<Endpoint, Record> records_;
  absl::Duration ours_;
  size_t living_ = 0;
  std::optional<absl::Duration> agreed_;
  absl::Duration spread_;
  bool are_we_wrong_ = false;
};

}  // namespace arion
