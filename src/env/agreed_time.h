// AgreedTime: what the cluster agrees the wall clock says, as one server was told it last; so that
// one wrong clock neither destroys a record nor serves it for too long.
//
// Shapes    The meta server compares the wall clocks that beacons carry
//           (meta_state/cluster_clock.h) and answers with the time that most of them show. From
//           then on the monotonic clock counts, so the own wall clock may jump. Before the first
//           answer reads use the own wall clock, which may be wrong for a while. What can't be
//           undone has no time to go by before the first answer, nor once the last answer is older
//           than kFreshFor.
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/instant.h"

namespace arion {

// One server's; its Clock has it (Clock::agreed), and lives as long. Whoever receives a beacon's
// answer calls Agree; Clock's functions read it.
class AgreedTime {
 public:
  // How long an answer counts for what can't be undone.
  static constexpr absl::Duration kFreshFor = absl::Minutes(1);

  // Most clocks showed `wall_micros` (since 1970) at `at` of this server's monotonic clock.
  void Agree(int64_t wall_micros, Instant at) {
    behind_micros_.store(wall_micros - at.nanos() / 1000, std::memory_order_relaxed);
    // Last: who sees an answer's time also sees what it said.
    agreed_at_nanos_.store(at.nanos(), std::memory_order_release);
  }
  // A new process begins (in the simulator, where the object outlives a simulated crash).
  void Forget() { agreed_at_nanos_.store(kNever, std::memory_order_release); }

  // The agreed time, in microseconds since 1970; nullopt: never agreed.
  std::optional<int64_t> WallMicros(Instant now) const {
    if (agreed_at_nanos_.load(std::memory_order_acquire) == kNever) return std::nullopt;
    return now.nanos() / 1000 + behind_micros_.load(std::memory_order_relaxed);
  }
  // Whether the last answer is recent enough for what can't be undone.
  bool IsFresh(Instant now) const {
    const int64_t agreed_at = agreed_at_nanos_.load(std::memory_order_acquire);
    return agreed_at != kNever && now - Instant(agreed_at) < kFreshFor;
  }

 private:
  static constexpr int64_t kNever = INT64_MIN;

  // How far the monotonic clock is behind the wall clock. Written before agreed_at_nanos_.
  std::atomic<int64_t> behind_micros_{0};
  std::atomic<int64_t> agreed_at_nanos_{kNever};
};

}  // namespace arion
