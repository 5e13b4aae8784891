// Instant: a point of monotonic time, by which leases, timers and limits are judged. Wall clocks
// decide none of them (decision 15).
//
// Units     Nanoseconds since an arbitrary start of this process (or simulation), so it means
//           nothing to another process.
// Threads   Immutable after construction.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <compare>
#include <cstdint>

namespace arion {

// Made by Clock::Now (env/clock.h) alone. Differences are absl::Durations. Instant() is often used
// for "never".
//
//   const Instant deadline = clock.Now() + absl::Seconds(5);
//   if (clock.Now() >= deadline) return absl::DeadlineExceededError("...");
class Instant {
 public:
  constexpr Instant() = default;
  constexpr explicit Instant(int64_t nanos) : nanos_(nanos) {}
  // Later than all others; adding to it changes nothing.
  static constexpr Instant InfiniteFuture() { return Instant(INT64_MAX); }

  constexpr int64_t nanos() const { return nanos_; }
  Instant operator+(absl::Duration d) const {
    return *this == InfiniteFuture() ? *this : Instant(nanos_ + absl::ToInt64Nanoseconds(d));
  }
  Instant operator-(absl::Duration d) const {
    return Instant(nanos_ - absl::ToInt64Nanoseconds(d));
  }
  absl::Duration operator-(Instant other) const { return absl::Nanoseconds(nanos_ - other.nanos_); }
  constexpr auto operator<=>(const Instant&) const = default;

 private:
  int64_t nanos_ = 0;
};

}  // namespace arion
