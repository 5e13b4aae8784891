// SPDX-License-Identifier: Apache-2.0
#include "base/latency_buckets.h"

namespace arion {

uint64_t LatencyBuckets::LargestOf(size_t bucket) {
  // The first and the last bucket are open ranges; those between are octaves of eight.
  if (bucket == 0) return (uint64_t{1} << kFirstBits) - 1;
  if (bucket == kBuckets - 1) return (uint64_t{1} << 63) - 1;
  const size_t octave = ((bucket - 1) >> kSubBucketBits) + kFirstBits;
  const uint64_t part = (bucket - 1) & ((1 << kSubBucketBits) - 1);
  const uint64_t step = uint64_t{1} << (octave - kSubBucketBits);
  return (uint64_t{1} << octave) + (part + 1) * step - 1;
}

void LatencyBuckets::AddTo(Totals* totals) const {
  const uint64_t max = max_.load(std::memory_order_relaxed);
  const size_t last = BucketOf(max);  // what is larger was recorded this moment
  for (size_t i = 0; i <= last; ++i) {
    const uint64_t n = buckets_[i].value();
    totals->buckets[i] += n;
    totals->count += n;
  }
  totals->sum += sum_.value();
  totals->max = std::max(totals->max, max);
}

void LatencyBuckets::Totals::Add(const Totals& more) {
  for (size_t i = 0; i < kBuckets; ++i) buckets[i] += more.buckets[i];
  count += more.count;
  sum += more.sum;
  max = std::max(max, more.max);
}

Histogram::Snapshot LatencyBuckets::Totals::AsSnapshot() const {
  Histogram::Snapshot snapshot{.count = count, .sum = sum, .max = max};
  for (size_t i = 0; i < kBuckets; ++i) {
    // Into the finer buckets of Histogram, so that one page shows both kinds alike. `max` bounds
    // the open last bucket, which would else read as 292 years.
    if (buckets[i] == 0) continue;
    const size_t at = Histogram::BucketOf(std::min(LargestOf(i), max));
    if (snapshot.buckets.size() <= at) snapshot.buckets.resize(at + 1);
    snapshot.buckets[at] += buckets[i];
  }
  return snapshot;
}

}  // namespace arion
