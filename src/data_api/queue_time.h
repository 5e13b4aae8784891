// QueueTime: how long the work at the head of a queue has waited, told by those who come and go, so
// that a newcomer can be refused at once instead of being answered too late.
//
// Threads   Thread-safe; what WaitAt says is an estimate.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <atomic>
#include <cstdint>

#include "base/instant.h"

namespace arion {

// Where the head has waited longer than this, a client's request is answered kBusy at once.
constexpr absl::Duration kQueueTimeMax = absl::Seconds(1);

class QueueTime {
 public:
  // The time first: who sees that somebody waits may not see since when the one before did.
  void Arrived(Instant now) {
    if (waiting_.load(std::memory_order_relaxed) == 0)
      since_nanos_.store(now.nanos(), std::memory_order_relaxed);
    waiting_.fetch_add(1, std::memory_order_release);
  }
  // What arrived then has its turn: what is behind it arrived later.
  void Began(Instant arrived) {
    since_nanos_.store(arrived.nanos(), std::memory_order_relaxed);
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  absl::Duration WaitAt(Instant now) const {
    if (waiting_.load(std::memory_order_acquire) == 0) return absl::ZeroDuration();
    return now - Instant(since_nanos_.load(std::memory_order_relaxed));
  }

 private:
  std::atomic<int64_t> waiting_{0};
  std::atomic<int64_t> since_nanos_{0};
};

}  // namespace arion
