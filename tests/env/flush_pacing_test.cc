// SPDX-License-Identifier: Apache-2.0
#include "env/flush_pacing.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

TEST(FlushPacingTest, QuickFlushesFollowEachOtherAtOnce) {
  FlushPacing pacing;
  EXPECT_LE(pacing.BeginAt(1), 0);
  for (int64_t i = 1; i <= 100; ++i) pacing.OnFlushed(i * kMillisecond, kMillisecond / 10, 8, 8);
  EXPECT_LE(pacing.BeginAt(1), 100 * kMillisecond);
}

TEST(FlushPacingTest, AfterASlowFlushTheNextWaitsForAsManyWritesButNotLong) {
  FlushPacing pacing;
  for (int64_t i = 1; i <= 100; ++i) pacing.OnFlushed(i * kMillisecond, kMillisecond, 5, 3);
  EXPECT_GT(pacing.BeginAt(7), 100 * kMillisecond);
  EXPECT_LE(pacing.BeginAt(7), 100 * kMillisecond + kMillisecond / 6);
  EXPECT_LE(pacing.BeginAt(8), 100 * kMillisecond);
  // A lone writer never waits.
  pacing.OnFlushed(101 * kMillisecond, kMillisecond, 1, 0);
  EXPECT_LE(pacing.BeginAt(1), 101 * kMillisecond);
}

}  // namespace
}  // namespace arion
