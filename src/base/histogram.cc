// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace arion {
namespace {

constexpr uint64_t kLargestValue = (uint64_t{1} << 63) - 1;
constexpr uint64_t kSubBuckets = uint64_t{1} << Histogram::kSubBucketBits;

}  // namespace

// Buckets 0..63 hold one value each; from there every octave [2^k, 2^(k+1)) has 32.
size_t Histogram::BucketOf(uint64_t value) {
  value = std::min(value, kLargestValue);
  if (value < 2 * kSubBuckets) return static_cast<size_t>(value);
  // The leading 6 bits choose the bucket; `shift` is how many bits below them are given up.
  const int shift = std::bit_width(value) - 1 - kSubBucketBits;
  return (static_cast<size_t>(shift) << kSubBucketBits) + static_cast<size_t>(value >> shift);
}

uint64_t Histogram::LargestOf(size_t bucket) {
  if (bucket < 2 * kSubBuckets) return bucket;
  const size_t shift = (bucket >> kSubBucketBits) - 1;
  const uint64_t first = (kSubBuckets + (bucket & (kSubBuckets - 1))) << shift;
  return first + ((uint64_t{1} << shift) - 1);
}

void Histogram::Record(uint64_t value) {
  buckets_[BucketOf(value)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
  uint64_t max = max_.load(std::memory_order_relaxed);
  while (value > max && !max_.compare_exchange_weak(max, value, std::memory_order_relaxed)) {
  }
}

Histogram::Snapshot Histogram::Read() const {
  Snapshot snapshot;
  // The maximum is read before the buckets: a value recorded meanwhile may lie beyond it and is
  // missed.
  snapshot.sum = sum_.load(std::memory_order_relaxed);
  snapshot.max = max_.load(std::memory_order_relaxed);
  // Beyond the largest value all are empty.
  snapshot.buckets.resize(BucketOf(snapshot.max) + 1);
  for (size_t i = 0; i < snapshot.buckets.size(); ++i) {
    snapshot.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
    snapshot.count += snapshot.buckets[i];
  }
  return snapshot;
}

uint64_t Histogram::Snapshot::Quantile(double quantile) const {
  if (count == 0) return 0;
  const double wanted = std::ceil(std::clamp(quantile, 0.0, 1.0) * static_cast<double>(count));
  const uint64_t rank = std::max<uint64_t>(1, static_cast<uint64_t>(wanted));
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    seen += buckets[i];
    // The bucket's end may lie above every value in it.
    if (seen >= rank) return std::min(LargestOf(i), max);
  }
  return max;
}

Histogram::Snapshot Histogram::Snapshot::Since(const Snapshot& before) const {
  Snapshot difference = *this;
  difference.count -= before.count;
  difference.sum -= before.sum;
  // Buckets only grow, so what `before` lacks counts in full.
  const size_t common = std::min(buckets.size(), before.buckets.size());
  for (size_t i = 0; i < common; ++i) difference.buckets[i] -= before.buckets[i];
  return difference;
}

}  // namespace arion
