// PosixClock: monotonic time for Now, CLOCK_REALTIME for WallMicros.
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include "env/clock.h"

namespace arion {

// The real Clock; its Environment owns it.
class PosixClock : public Clock {
 public:
  // Time for which the machine was suspended counts with CLOCK_BOOTTIME and does not with
  // CLOCK_MONOTONIC. A server that holds a lease must count it. One that waits for another's lease
  // to end must not, because it heard nobody during that time.
  explicit PosixClock(clockid_t monotonic = CLOCK_MONOTONIC) : monotonic_(monotonic) {}

  Instant Now() const override;
  int64_t WallMicros() const override;

 private:
  const clockid_t monotonic_;
};

}  // namespace arion
