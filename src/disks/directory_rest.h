// DirectoryRest: how long a data directory gets no new replicas after some of its own failed.
//
// Shapes    A few failures are those of single files, and their replicas are made anew at once.
//           From the fourth on, none more than kForgotten after the one before, the directory rests
//           for a second, two, four ... up to `rest_max`: each new replica is a copy of a
//           partition, and each that fails is kept; a disk that can't be read would fill with them.
// Threads   Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <algorithm>
#include <cstdint>

#include "base/instant.h"

namespace arion {

class DirectoryRest {
 public:
  static constexpr int kFree = 3;
  static constexpr absl::Duration kForgotten = absl::Minutes(10);

  void OnSetAside(Instant now, absl::Duration rest_max) {
    if (times_ > 0 && now - last_ > kForgotten) times_ = 0;
    last_ = now;
    if (++times_ <= kFree) return;
    const int doublings = std::min(times_ - kFree - 1, 20);
    until_ = now + std::min(absl::Seconds(int64_t{1} << doublings), rest_max);
  }
  bool IsResting(Instant now) const { return now < until_; }

 private:
  int times_ = 0;
  Instant last_;
  Instant until_;
};

}  // namespace arion
