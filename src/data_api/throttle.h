// Throttles of one partition: its share of what its table may take each second (rpc/PROTOCOL.md
// 7.3). Pure.
//
// Units     A table's limit N is N / partitions + 1 for each of them.
// Threads   Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>

#include "base/instant.h"
#include "messages/table_environments.h"

namespace arion {

// Limits requests, or their bytes: what comes above one limit within a whole second is delayed,
// above another refused. What is refused does not count.
class RequestThrottle {
 public:
  // What becomes of the request.
  enum class Verdict { kPass, kDelay, kReject };
  struct Decision {
    Verdict verdict = Verdict::kPass;
    // How long to wait before it goes on (kDelay) or is answered (kReject).
    absl::Duration pause;
  };

  // `rule` is the table's. Keeps what was counted in this second.
  void Set(const ThrottleRule& rule, int32_t partition_count);
  // Judges and counts a request of `units` (1, or its bytes). `client_timeout` 0: unknown; else the
  // pause is at most half of it.
  Decision Admit(uint64_t units, Instant now, absl::Duration client_timeout);

 private:
  // This partition's share.
  // The second in which `counted_` was counted, since the clock's zero.
  ThrottleRule rule_;
  int64_t second_ = -1;
  uint64_t counted_ = 0;
};

// Limits the bytes that answers take. Nothing more is read while more was taken than came in; a
// second's worth may gather.
class ByteBudget {
 public:
  // The table's limit; 0: no limit.
  void Set(uint64_t bytes_per_second, int32_t partition_count);
  // Whether reads are to be refused now.
  bool IsSpent(Instant now);
  // An answer took this many bytes. The budget may go below zero.
  void Take(uint64_t bytes, Instant now);

 private:
  // In bytes per second, and in bytes; `bytes_` is negative after a large answer. rate_ 0: no
  // limit.
  void Refill(Instant now);

  double rate_ = 0;
  double bytes_ = 0;
  Instant filled_{0};
};

}  // namespace arion
