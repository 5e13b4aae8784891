// QueueTime: how long the work at the head of a queue has waited, told by those who come and go, so
// that a newcomer can be refused at once instead of being answered too late.
//
//   queue.Arrived(now);                  // when work is posted
//   queue.Began(arrived);                // when its turn comes, with the time it arrived
//   if (queue.WaitAt(now) > kQueueTimeMax) return ErrorCode::kBusy;
//
// Threads   Thread-safe. What WaitAt says is an estimate.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <atomic>
#include <cstdint>

#include "base/instant.h"

namespace arion {

// Where the head has waited longer than this, a client's request is answered kBusy at once.
constexpr absl::Duration kQueueTimeMax = absl::Seconds(1);

// One queue that is served in the order of arrival.
class QueueTime {
 public:
  // One more waits. The time is stored first: who sees that somebody waits may not see a time from
  // before the queue was empty.
  void Arrived(Instant now) {
    // Relaxed: the release below publishes it.
    if (waiting_.load(std::memory_order_relaxed) == 0)
      since_nanos_.store(now.nanos(), std::memory_order_relaxed);
    waiting_.fetch_add(1, std::memory_order_release);
  }
  // The work that arrived then has its turn. What is behind it arrived later, so its time of
  // arrival is a bound for the new head.
  void Began(Instant arrived) {
    since_nanos_.store(arrived.nanos(), std::memory_order_relaxed);
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  // How long the head has waited at most; 0: nobody waits.
  absl::Duration WaitAt(Instant now) const {
    if (waiting_.load(std::memory_order_acquire) == 0) return absl::ZeroDuration();
    return now - Instant(since_nanos_.load(std::memory_order_relaxed));
  }

 private:
  std::atomic<int64_t> waiting_{0};
  std::atomic<int64_t> since_nanos_{0};
};

}  // namespace arion
