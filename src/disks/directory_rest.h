// DirectoryRest: how long a data directory gets no new replicas after some of its own failed.
//
// Shapes    A few failures are those of single files, and their replicas are made anew at once.
//           From the fourth failure on, if each came within kForgotten of the one before, the
//           directory rests for a second, then two, four ... up to `rest_max`. The reason: each new
//           replica is a copy of a partition, and each failed one is kept, so a disk that can't be
//           read would fill up.
// Threads   Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <algorithm>
#include <cstdint>

#include "base/instant.h"

namespace arion {

// One data directory's record. It starts without failures.
class DirectoryRest {
 public:
  // Failures in a row that cause no rest.
  static constexpr int kFree = 3;
  // After this long without a failure, counting starts anew.
  static constexpr absl::Duration kForgotten = absl::Minutes(10);

  // A replica of the directory failed. `now` does not fall from call to call.
  void OnSetAside(Instant now, absl::Duration rest_max) {
    // `times_` counts failures that came within kForgotten of the one before; the first of a new
    // series is forgiven like the others up to kFree.
    if (times_ > 0 && now - last_ > kForgotten) times_ = 0;
    last_ = now;
    if (++times_ <= kFree) return;
    // 20 doublings are 12 days, far above any rest_max, and keep the shift in range.
    const int doublings = std::min(times_ - kFree - 1, 20);
    until_ = now + std::min(absl::Seconds(int64_t{1} << doublings), rest_max);
  }
  // Whether the directory gets no new replicas now.
  bool IsResting(Instant now) const { return now < until_; }

 private:
  // Failures in a row, the time of the last one, and the end of the rest.
  int times_ = 0;
  Instant last_;
  Instant until_;
};

}  // namespace arion
