// Throttles of one partition: its share of what its table may take each second
// (rpc/PROTOCOL.md 7.3). Pure.
//
// Units     A table's limit N is N / partitions + 1 for each of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>

#include "base/instant.h"
#include "messages/table_environments.h"

namespace arion {

// Requests, or their bytes: what comes above a limit within a whole second is delayed, above
// another refused. What is refused does not count.
class RequestThrottle {
 public:
  enum class Verdict { kPass, kDelay, kReject };
  struct Decision {
    Verdict verdict = Verdict::kPass;
    absl::Duration pause;  // before it goes on, or is answered
  };

  // Keeps what was counted in this second.
  void Set(const ThrottleRule& rule, int32_t partition_count);
  // `client_timeout` 0: unknown; else the pause is at most half of it.
  Decision Admit(uint64_t units, Instant now, absl::Duration client_timeout);

 private:
  ThrottleRule rule_;  // this partition's share
  int64_t second_ = -1;
  uint64_t counted_ = 0;
};

// Bytes that answers take: nothing more is read while more was taken than came in; a second's worth
// may gather.
class ByteBudget {
 public:
  void Set(uint64_t bytes_per_second, int32_t partition_count);  // 0: no limit
  bool IsSpent(Instant now);
  void Take(uint64_t bytes, Instant now);

 private:
  void Refill(Instant now);

  double rate_ = 0;
  double bytes_ = 0;
  Instant filled_{0};
};

}  // namespace arion
