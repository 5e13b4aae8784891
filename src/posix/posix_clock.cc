// SPDX-License-Identifier: Apache-2.0
#include "posix/posix_clock.h"

namespace arion {
namespace {

int64_t Nanos(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

}  // namespace

Instant PosixClock::Now() const { return Instant(Nanos(monotonic_)); }
int64_t PosixClock::WallMicros() const { return Nanos(CLOCK_REALTIME) / 1000; }

}  // namespace arion
