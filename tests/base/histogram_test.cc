// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

TEST(Histogram, EveryValueFallsIntoABucketThatHoldsIt) {
  for (uint64_t value : {uint64_t{0}, uint64_t{1}, uint64_t{63}, uint64_t{64}, uint64_t{65},
                         uint64_t{1000}, uint64_t{123456789}, (uint64_t{1} << 63) - 1}) {
    const size_t bucket = Histogram::BucketOf(value);
    ASSERT_LT(bucket, Histogram::kBuckets);
    EXPECT_LE(value, Histogram::LargestOf(bucket)) << value;
    if (bucket > 0) {
      EXPECT_GT(value, Histogram::LargestOf(bucket - 1)) << value;
    }
  }
  EXPECT_EQ(Histogram::BucketOf(UINT64_MAX), Histogram::kBuckets - 1);
  EXPECT_EQ(Histogram::LargestOf(Histogram::kBuckets - 1), (uint64_t{1} << 63) - 1);
}

TEST(Histogram, BucketsFollowEachOtherWithoutAGap) {
  for (size_t bucket = 1; bucket < Histogram::kBuckets; ++bucket)
    ASSERT_EQ(Histogram::BucketOf(Histogram::LargestOf(bucket - 1) + 1), bucket);
}

TEST(Histogram, QuantilesAreRightWithinATwoAndThirtieth) {
  Histogram histogram;
  for (uint64_t value = 1; value <= 100000; ++value) histogram.Record(value);
  const Histogram::Snapshot all = histogram.Read();
  EXPECT_EQ(all.count, 100000u);
  EXPECT_EQ(all.max, 100000u);
  EXPECT_DOUBLE_EQ(all.Mean(), 50000.5);
  for (double quantile : {0.01, 0.5, 0.99, 0.999}) {
    const double exact = quantile * 100000;
    EXPECT_GE(static_cast<double>(all.Quantile(quantile)), exact);
    EXPECT_LE(static_cast<double>(all.Quantile(quantile)), exact * (1 + 1.0 / 32));
  }
  EXPECT_EQ(all.Quantile(1), 100000u);
  EXPECT_EQ(Histogram::Snapshot().Quantile(0.5), 0u);
}

TEST(Histogram, ADifferenceHoldsWhatCameBetween) {
  Histogram histogram;
  for (int i = 0; i < 100; ++i) histogram.Record(1);
  const Histogram::Snapshot before = histogram.Read();
  for (int i = 0; i < 10; ++i) histogram.Record(50);
  const Histogram::Snapshot between = histogram.Read().Since(before);
  EXPECT_EQ(between.count, 10u);
  EXPECT_EQ(between.sum, 500u);
  EXPECT_EQ(between.Quantile(0.01), 50u);
}

}  // namespace
}  // namespace arion
