// CallDeadlines: when the calls of one connection time out. Calls with the same timeout expire in
// the order they were made, so each timeout has a queue and no call has a timer.
//
// Threads   Guarded by its owner's mutex.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "base/instant.h"

namespace arion {

// One for a connection that was opened. When a call is answered it is not taken out. It is
// forgotten when its queue comes to it, at its timeout at the latest.
//
//   deadlines.Add(call, timeout, clock.Now());
//   for (uint64_t call : deadlines.TakeDue(clock.Now(), is_over)) ...
class CallDeadlines {
 public:
  // `call` times out `timeout` after now. `now` does not fall from call to call.
  void Add(uint64_t call, absl::Duration timeout, Instant now) {
    queues_[timeout].push_back({now + timeout, call});
  }

  // Takes out and returns the calls that are due, those whose deadline is `now` included. Calls for
  // which `is_over(call)` holds are forgotten when they come first in their queue; a due call may
  // be over too.
  template <class IsOver>
  std::vector<uint64_t> TakeDue(Instant now, IsOver is_over) {
    std::vector<uint64_t> due;
    for (auto at = queues_.begin(); at != queues_.end();) {
      std::deque<Entry>& queue = at->second;
      while (!queue.empty()) {
        if (queue.front().deadline <= now) {
          due.push_back(queue.front().call);
        } else if (!is_over(queue.front().call)) {
          break;
        }
        queue.pop_front();
      }
      at = queue.empty() ? queues_.erase(at) : std::next(at);
    }
    return due;
  }

  // Takes out and returns all, over or not: when the connection closes.
  std::vector<uint64_t> TakeAll() {
    std::vector<uint64_t> all;
    for (const auto& [timeout, queue] : queues_) {
      for (const Entry& entry : queue) all.push_back(entry.call);
    }
    queues_.clear();
    return all;
  }
  // Whether there is nothing to wait for.
  bool empty() const { return queues_.empty(); }

 private:
  struct Entry {
    Instant deadline;
    uint64_t call;
  };
  // By timeout; each queue is ascending by deadline.
  std::map<absl::Duration, std::deque<Entry>> queues_;
};

}  // namespace arion
