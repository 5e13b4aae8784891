// FlushPacing says when a device's next flush should begin.
//
// Whoever hears that its write is durable writes the next one. If a flush began with the first of
// these, the others would have to wait for the flush after it: a closed loop falls into two halves
// that take turns, and each record waits for two flushes. So after a flush that took long the next
// one waits a little for as many writes as there were. Where flushes are quick it begins at once.
//
// Threads   One thread. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace arion {

// One device's; its log device owns it and asks it before each flush. Times are nanoseconds of one
// monotonic clock.
class FlushPacing {
 public:
  // A flush that took `took_nanos` and covered `covered` writes ended; `waiting` others are written
  // already. Together they are how many writers go round in the loop.
  void OnFlushed(int64_t now_nanos, int64_t took_nanos, size_t covered, size_t waiting) {
    typical_nanos_ += (took_nanos - typical_nanos_) / 8;
    expected_ = covered + waiting;
    wait_until_ =
        typical_nanos_ < kSlowNanos ? 0 : now_nanos + std::min(typical_nanos_ / 6, kWaitNanosMax);
  }

  // When a flush for `waiting` writes should begin; a time in the past means now.
  int64_t BeginAt(size_t waiting) const { return waiting >= expected_ ? 0 : wait_until_; }

 private:
  // Below this a wait would cost more than the flushes it spares.
  static constexpr int64_t kSlowNanos = 400'000;
  // A sixth of a flush, and never more than this: what is lost where the expected writes do not
  // come.
  static constexpr int64_t kWaitNanosMax = 300'000;

  // An average of the last flushes that forgets; one slow flush alone does not make the disk slow.
  int64_t typical_nanos_ = 0;
  // As many writes as the last round had: when they are there, waiting longer gains nothing.
  size_t expected_ = 0;
  int64_t wait_until_ = 0;
};

}  // namespace arion
