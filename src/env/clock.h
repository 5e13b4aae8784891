// Clock: monotonic time for every decision; wall time only for what users see (expiry, file ages,
// timestamps). Thread-safe. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/instant.h"

namespace arion {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant Now() const = 0;
  virtual int64_t WallMicros() const = 0;  // since 1970
};

// Expiry times count seconds since 2016-01-01 UTC (spec/wire-protocol.md 4.3).
constexpr int64_t kExpiryEpochUnixSeconds = 1451606400;
inline uint32_t ExpiryNow(const Clock& clock) {
  return static_cast<uint32_t>(clock.WallMicros() / 1000000 - kExpiryEpochUnixSeconds);
}

}  // namespace arion
