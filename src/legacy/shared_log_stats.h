// SharedLogStats: an older version's shared log: what of it was taken over, what is left, and who
// holds that back.
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace arion {

// One for a replica server, which holds it as long as pages may show it. Written by the take-over
// and the collector; read by displays.
struct SharedLogStats {
  // Files that are left, and their bytes.
  std::atomic<int64_t> files = 0;
  std::atomic<int64_t> bytes = 0;
  // By the take-over, and how many mutations replicas took from that.
  std::atomic<int64_t> bytes_read = 0;
  std::atomic<int64_t> mutations_taken = 0;
  // How many replicas hold the collection back.
  std::atomic<int64_t> replicas_blocking = 0;
  // Of these, how many are in no data directory.
  std::atomic<int64_t> replicas_missing = 0;
  // Of these, the most that one has to flush.
  std::atomic<int64_t> decrees_behind = 0;

  // A line for each replica that holds the log back.
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
