// LatencyBuckets: a small histogram of times for where there are thousands of them: a replica's
// operations. 8 buckets an octave from 1 us to 17 s, so a quantile is right within 1/8.
//
// Units     Nanoseconds.
// Threads   One thread (or strand) records; any thread reads. Recording is plain loads and stores:
//           no lock, no locked instruction. A Read beside records may miss those of the moment.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/histogram.h"

namespace arion {

// A number that one thread (or strand) counts and any thread reads. Add is no locked instruction,
// so counts are lost if two threads add.
class OwnedCounter {
 public:
  void Add(uint64_t n = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// Counts times by length. 1.6 KiB each. To read, sum as many of them as wanted:
//
//   LatencyBuckets::Totals totals;
//   for (const LatencyBuckets* one : all) one->AddTo(&totals);
//   Histogram::Snapshot snapshot = totals.AsSnapshot();
class LatencyBuckets {
 public:
  // Below 2^10 ns: one bucket.
  static constexpr int kFirstBits = 10;
  // From 2^34 ns on: one bucket.
  static constexpr int kLastBits = 34;
  // Each octave has 2^3 buckets.
  static constexpr int kSubBucketBits = 3;
  static constexpr size_t kBuckets = ((kLastBits - kFirstBits) << kSubBucketBits) + 2;

  // Sums of several; plain numbers.
  struct Totals {
    std::array<uint64_t, kBuckets> buckets{};
    uint64_t count = 0;
    uint64_t sum = 0;
    uint64_t max = 0;

    void Add(const Totals& more);
    // In the buckets of Histogram, without the empty ones at the end. A bucket's times count as its
    // largest one, but none as more than `max`.
    Histogram::Snapshot AsSnapshot() const;
  };

  // One more time. Negative ones count as 0.
  void Record(int64_t nanos) {
    const auto value = static_cast<uint64_t>(std::max<int64_t>(nanos, 0));
    buckets_[BucketOf(value)].Add();
    sum_.Add(value);
    if (value > max_.load(std::memory_order_relaxed)) max_.store(value, std::memory_order_relaxed);
  }
  // Adds what was recorded so far.
  void AddTo(Totals* totals) const;

  // The bucket that a time falls into.
  static size_t BucketOf(uint64_t nanos) {
    if (nanos < uint64_t{1} << kFirstBits) return 0;
    const int octave = std::bit_width(nanos) - 1;
    if (octave >= kLastBits) return kBuckets - 1;
    const uint64_t part = (nanos >> (octave - kSubBucketBits)) & ((1 << kSubBucketBits) - 1);
    return 1 + (static_cast<size_t>(octave - kFirstBits) << kSubBucketBits) +
           static_cast<size_t>(part);
  }
  // The largest time that falls into it. `bucket` < kBuckets.
  static uint64_t LargestOf(size_t bucket);

 private:
  // Octaves of eight, and a bucket at each end for what is shorter or longer.
  std::array<OwnedCounter, kBuckets> buckets_;
  OwnedCounter sum_;
  std::atomic<uint64_t> max_{0};
};

}  // namespace arion
