// SPDX-License-Identifier: Apache-2.0
#include "tools/load/run/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace arion::load {
namespace {

// 2 x 10^3 rounded up to a power of two: single values up to it keep three digits.
constexpr int kSubBucketBits = 11;
constexpr int64_t kSubBuckets = int64_t{1} << kSubBucketBits;
constexpr int64_t kHalf = kSubBuckets / 2;

}  // namespace

// The first 2048 values have a place each, each octave from there 1024.
size_t LatencyHistogram::PlaceOf(int64_t nanos) {
  const uint64_t value = static_cast<uint64_t>(std::clamp<int64_t>(nanos, 0, kLargest));
  const int bucket = std::bit_width(value | (kSubBuckets - 1)) - kSubBucketBits;
  const int64_t sub_bucket = static_cast<int64_t>(value >> bucket);
  return static_cast<size_t>((bucket + 1) * kHalf + sub_bucket - kHalf);
}

int64_t LatencyHistogram::LargestAt(size_t place) {
  if (place < static_cast<size_t>(kSubBuckets)) return static_cast<int64_t>(place);
  const int bucket = static_cast<int>(place / kHalf) - 1;
  const int64_t sub_bucket = static_cast<int64_t>(place % kHalf) + kHalf;
  return ((sub_bucket + 1) << bucket) - 1;
}

void LatencyHistogram::Record(int64_t nanos) {
  nanos = std::clamp<int64_t>(nanos, 0, kLargest);
  // Only now: most kinds of a tally are never used.
  if (counts_.empty()) counts_.resize(PlaceOf(kLargest) + 1);
  ++counts_[PlaceOf(nanos)];
  ++count_;
  min_ = std::min(min_, nanos);
  max_ = std::max(max_, nanos);
  sum_ += static_cast<double>(nanos);
}

void LatencyHistogram::Add(const LatencyHistogram& other) {
  if (other.count_ == 0) return;
  if (counts_.empty()) counts_.resize(other.counts_.size());
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
}

void LatencyHistogram::Clear() {
  std::fill(counts_.begin(), counts_.end(), 0);
  count_ = 0;
  min_ = kLargest;
  max_ = 0;
  sum_ = 0;
}

double LatencyHistogram::Mean() const {
  return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
}

int64_t LatencyHistogram::Percentile(double percentile) const {
  if (count_ == 0) return 0;
  // Rounding must not push a whole number up to the next rank.
  const double wanted = std::ceil(percentile / 100 * static_cast<double>(count_) - 1e-9);
  const uint64_t rank =
      std::clamp<uint64_t>(static_cast<uint64_t>(std::max(wanted, 1.0)), 1, count_);
  uint64_t seen = 0;
  for (size_t place = 0; place < counts_.size(); ++place) {
    seen += counts_[place];
    // No percentile above what was recorded, though the place reaches further.
    if (seen >= rank) return std::min(LargestAt(place), max_);
  }
  return max_;
}

absl::Span<const uint64_t> LatencyHistogram::counts() const {
  if (count_ == 0) return {};
  return absl::MakeConstSpan(counts_).subspan(0, PlaceOf(max_) + 1);
}

}  // namespace arion::load
