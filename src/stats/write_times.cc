// SPDX-License-Identifier: Apache-2.0
#include "stats/write_times.h"

#include <algorithm>

namespace arion {

StageNanos StagesOf(const WriteTimes::Times& times, Instant arrived, Instant applied,
                    Instant answered) {
  const std::array<Instant, kWriteStages> ends = {times.appended,  times.submitted, times.durable,
                                                  times.committed, applied,         answered};
  StageNanos nanos{};
  // Each stage begins where the one before ended, so the stages add up to the whole time.
  Instant last = arrived;
  for (size_t i = 0; i < kWriteStages; ++i) {
    const Instant end = std::max(last, ends[i]);
    nanos[i] = end.nanos() - last.nanos();
    last = end;
  }
  return nanos;
}

}  // namespace arion
