// Histogram counts values in log-linear buckets, as HdrHistogram does: exact below 64, beyond that
// 32 buckets an octave, so a quantile is right within 1/32.
//
// Units     The owner's: nanoseconds, bytes, records. Values are 0 to 2^63-1.
// Threads   Thread-safe: Record is a few relaxed atomic additions, no lock, no allocation. A Read
//           beside records may miss those of the moment.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace arion {

// About 15 KiB each; where there are thousands use LatencyBuckets. Whoever measures owns it, and
// registers it where it shall be shown.
//
//   Histogram sync_nanos;
//   sync_nanos.Record(nanos);
//   const uint64_t p99 = sync_nanos.Read().Quantile(0.99);
class Histogram {
 public:
  // 32 buckets an octave.
  static constexpr int kSubBucketBits = 5;
  static constexpr size_t kBuckets = (63 - kSubBucketBits + 1) << kSubBucketBits;

  // What was recorded up to one moment, or between two.
  struct Snapshot {
    uint64_t count = 0;
    uint64_t sum = 0;
    // Of all values ever recorded, also in a difference.
    uint64_t max = 0;
    std::vector<uint64_t> buckets;

    // The smallest bucket end that `quantile` (0 to 1) of the values do not exceed; 0 when empty.
    uint64_t Quantile(double quantile) const;
    double Mean() const {
      return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
    }
    // What was recorded since `before`, an earlier snapshot of the same histogram.
    Snapshot Since(const Snapshot& before) const;
  };

  // One more value.
  void Record(uint64_t value);
  // A copy of the counts: allocates, so for displays and once a second.
  Snapshot Read() const;

  // The bucket that `value` falls into.
  static size_t BucketOf(uint64_t value);
  // The largest value that falls into it.
  static uint64_t LargestOf(size_t bucket);

 private:
  // The count is their sum; it has no field of its own, which would be one more addition a record.
  std::array<std::atomic<uint64_t>, kBuckets> buckets_{};
  std::atomic<uint64_t> sum_{0};
  std::atomic<uint64_t> max_{0};
};

}  // namespace arion
