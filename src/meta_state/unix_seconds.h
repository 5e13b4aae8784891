// Seconds since 1970 by the clock that the cluster agrees on (env/clock.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "env/clock.h"

namespace arion {

inline int64_t UnixSeconds(const Clock& clock) { return AgreedWallMicros(clock) / 1000000; }
// What was to go by then may go; 0 where the clocks don't agree: nothing may.
inline int64_t UnixSecondsForGood(const Clock& clock) {
  return WallForGood(clock).value_or(0) / 1000000;
}

}  // namespace arion
