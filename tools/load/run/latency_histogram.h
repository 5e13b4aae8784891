// LatencyHistogram counts nanoseconds in HdrHistogram's layout with three significant digits: any
// value is known within 0.1 %. (base/histogram.h, the servers', knows 3 % and no log format.)
//
// Shapes    Values beyond 0 and kLargest count as these. Counts are those of an HdrHistogram with
//           lowest discernible value 1, highest trackable kLargest and 3 digits.
// Threads   One at a time. An unused one takes no memory to speak of.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/types/span.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace arion::load {

// One kind of operation in one interval, or several added up.
class LatencyHistogram {
 public:
  static constexpr int kDigits = 3;
  // An hour.
  static constexpr int64_t kLargest = 3'600'000'000'000;

  // One more latency.
  void Record(int64_t nanos);
  void Add(const LatencyHistogram& other);
  void Clear();

  uint64_t count() const { return count_; }
  // As recorded, not rounded.
  int64_t max() const { return max_; }
  int64_t min() const { return count_ == 0 ? 0 : min_; }
  double Mean() const;
  // The largest value that is the same, to three digits, as the one at `percentile` (0 to 100).
  int64_t Percentile(double percentile) const;
  // By place in HdrHistogram's array, up to the last that is not 0.
  absl::Span<const uint64_t> counts() const;

  // The place that a value falls into.
  static size_t PlaceOf(int64_t nanos);
  // The largest value of a place.
  static int64_t LargestAt(size_t place);

 private:
  // Empty until the first Record.
  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
  int64_t min_ = kLargest;
  int64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace arion::load
