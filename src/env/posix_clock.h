// PosixClock: CLOCK_MONOTONIC for Now, CLOCK_REALTIME for WallMicros. Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "env/clock.h"

namespace arion {

class PosixClock : public Clock {
 public:
  Instant Now() const override;
  int64_t WallMicros() const override;
};

}  // namespace arion
