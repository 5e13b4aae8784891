// SharedLogStats: an older version's shared log: what of it was taken over, what is left, and who
// holds that back. Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace arion {

struct SharedLogStats {
  std::atomic<int64_t> files = 0;  // that are left
  std::atomic<int64_t> bytes = 0;
  std::atomic<int64_t> bytes_read = 0;
  std::atomic<int64_t> mutations_taken = 0;
  std::atomic<int64_t> replicas_blocking = 0;  // its collection
  std::atomic<int64_t> replicas_missing = 0;   // of these, in no data directory
  std::atomic<int64_t> decrees_behind = 0;     // of these, the most

  // A line for each replica that blocks.
  void SetBlocking(std::vector<std::string> lines) {
    const MutexLock lock(mutex_);
    blocking_ = std::move(lines);
  }
  std::vector<std::string> Blocking() const {
    const MutexLock lock(mutex_);
    return blocking_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> blocking_ ABSL_GUARDED_BY(mutex_);
};

// What people are shown: a line of sums, then who holds it back.
std::string SharedLogText(const SharedLogStats& stats);

}  // namespace arion
