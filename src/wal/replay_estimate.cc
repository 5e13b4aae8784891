// SPDX-License-Identifier: Apache-2.0
#include "wal/replay_estimate.h"

#include <algorithm>

#include "base/log.h"

namespace arion {
namespace {

// The slowest that was measured on one thread: Debian's RocksDB, 1,000-byte puts, apply included.
constexpr double kBytesPerSecond = 232e6;
constexpr double kMutationsPerSecond = 200e3;

// Opening files and filling caches outweighs what is shorter.
constexpr uint64_t kBytesMin = 8 << 20;
constexpr absl::Duration kTookMin = absl::Milliseconds(20);

double AssumedSeconds(ReplayWork work) {
  return std::max(static_cast<double>(work.bytes) / kBytesPerSecond,
                  static_cast<double>(work.mutations) / kMutationsPerSecond);
}

}  // namespace

void ReplayEstimate::Learn(ReplayWork done, absl::Duration took) {
  CHECK_GE(done.mutations, 0);
  if (done.bytes < kBytesMin || took < kTookMin) return;
  slowness_ = absl::ToDoubleSeconds(took) / AssumedSeconds(done);
  CHECK_GT(slowness_, 0);
}

absl::Duration ReplayEstimate::Of(ReplayWork work) const {
  CHECK_GE(work.mutations, 0);
  return absl::Seconds(slowness_ * AssumedSeconds(work));
}

}  // namespace arion
