// SPDX-License-Identifier: Apache-2.0
#include "base/latency_buckets.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

TEST(LatencyBucketsTest, EveryValueFallsIntoTheBucketWhoseEndItDoesNotPass) {
  for (uint64_t value = 1; value < uint64_t{1} << 40; value += value / 7 + 1) {
    const size_t bucket = LatencyBuckets::BucketOf(value);
    ASSERT_LT(bucket, LatencyBuckets::kBuckets);
    EXPECT_LE(value, LatencyBuckets::LargestOf(bucket)) << value;
    if (bucket > 0) {
      EXPECT_GT(value, LatencyBuckets::LargestOf(bucket - 1)) << value;
    }
  }
}

TEST(LatencyBucketsTest, SumsOfSeveralHaveTheirQuantilesWithinAnEighth) {
  LatencyBuckets fast, slow;
  for (int i = 0; i < 99; ++i) fast.Record(200'000);
  slow.Record(5'000'000);
  slow.Record(-1);
  LatencyBuckets::Totals totals;
  fast.AddTo(&totals);
  slow.AddTo(&totals);
  const Histogram::Snapshot all = totals.AsSnapshot();
  EXPECT_EQ(all.count, 101u);
  EXPECT_EQ(all.sum, 99u * 200'000 + 5'000'000);
  EXPECT_NEAR(static_cast<double>(all.Quantile(0.5)), 200'000, 25'000);
  EXPECT_EQ(all.Quantile(1), 5'000'000u);
}

TEST(LatencyBucketsTest, WhatLastsForeverIsCounted) {
  LatencyBuckets buckets;
  buckets.Record(int64_t{1} << 50);
  LatencyBuckets::Totals totals;
  buckets.AddTo(&totals);
  EXPECT_EQ(totals.AsSnapshot().Quantile(0.5), uint64_t{1} << 50);
}

}  // namespace
}  // namespace arion
