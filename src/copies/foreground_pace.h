// ForegroundPace: how long those who read and write wait at present, over all replicas of the
// server. Copies yield to them.
//
// Shapes    Every write counts, one read in eight.
// Units     Waits are the p99 of the last whole second.
// Threads   Thread-safe; OnSecond from one thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "base/histogram.h"
#include "stats/request_stats.h"

namespace arion {

// One for a server.
class ForegroundPace {
 public:
  // A request was answered after `nanos`. One in eight reads is picked by the low bits of its time.
  // p99 needs no more than a sample of reads; writes are few, and each counts.
  void Answered(RequestKind kind, int64_t nanos) {
    if (IsWrite(kind))
      writes_.times.Record(static_cast<uint64_t>(std::max<int64_t>(nanos, 0)));
    else if ((nanos & 7) == 0)
      reads_.times.Record(static_cast<uint64_t>(std::max<int64_t>(nanos, 0)));
  }
  // To be called once a second; ReadWait and WriteWait change only then.
  void OnSecond() {
    reads_.OnSecond();
    writes_.OnSecond();
  }

  // 0: there were none.
  absl::Duration ReadWait() const { return absl::Nanoseconds(reads_.p99_nanos.load()); }
  absl::Duration WriteWait() const { return absl::Nanoseconds(writes_.p99_nanos.load()); }

 private:
  // Reads or writes.
  struct Kind {
    void OnSecond() {
      Histogram::Snapshot now = times.Read();
      p99_nanos.store(static_cast<int64_t>(now.Since(before).Quantile(0.99)));
      before = std::move(now);
    }
    Histogram times;
    Histogram::Snapshot before;
    std::atomic<int64_t> p99_nanos{0};
  };
  Kind reads_, writes_;
};

}  // namespace arion
