// SlowRequests keeps the last requests of one server that took long, and where a write's time went.
//
//   if (took >= slow.kept_from()) slow.Add({...});
//
// Threads   Thread-safe; Add is rare.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/error_code.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "stats/request_stats.h"

namespace arion {

// One request that took long, as /slow shows it.
struct SlowRequest {
  // Wall clock, since 1970.
  int64_t ended_at_us = 0;
  PartitionId pid;
  std::string table;
  RequestKind kind = RequestKind::kGet;
  // The client.
  Endpoint from;
  // From its arrival to its answer.
  int64_t nanos = 0;
  // Of the request's body, and of the answer's.
  uint64_t asked_bytes = 0;
  uint64_t answered_bytes = 0;
  ErrorCode error = ErrorCode::kOk;
  // Of writes that were logged.
  std::optional<StageNanos> stages;
};

// A ring of the last kKept. It does not compare itself, so that a fast request costs one load.
class SlowRequests {
 public:
  static constexpr size_t kKept = 512;

  // Requests that take this long or longer are to be added; callers compare. 0, as at first: all of
  // them.
  absl::Duration kept_from() const { return absl::Nanoseconds(kept_from_nanos_.load()); }
  // A setting of the server; may change at any time.
  void SetKeptFrom(absl::Duration least) { kept_from_nanos_ = absl::ToInt64Nanoseconds(least); }

  // Drops the oldest where there are kKept.
  void Add(SlowRequest request) {
    const MutexLock lock(mutex_);
    if (last_.size() == kKept) last_.pop_front();
    last_.push_back(std::move(request));
  }
  // Oldest first.
  std::vector<SlowRequest> Last() const {
    const MutexLock lock(mutex_);
    return {last_.begin(), last_.end()};
  }

 private:
  std::atomic<int64_t> kept_from_nanos_{0};
  mutable Mutex mutex_;
  // Guarded by mutex_.
  std::deque<SlowRequest> last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
