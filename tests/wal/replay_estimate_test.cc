// SPDX-License-Identifier: Apache-2.0
#include "wal/replay_estimate.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

TEST(ReplayEstimateTest, AnEmptyLogTakesNoTime) {
  EXPECT_EQ(ReplayEstimate().Of({}), absl::ZeroDuration());
}

TEST(ReplayEstimateTest, TheSlowerOfBytesAndMutationsCounts) {
  const ReplayEstimate estimate;
  EXPECT_NEAR(absl::ToDoubleSeconds(estimate.Of({.bytes = 2'320'000'000, .mutations = 10})), 10,
              0.01);
  EXPECT_NEAR(absl::ToDoubleSeconds(estimate.Of({.bytes = 1000, .mutations = 2'000'000})), 10,
              0.01);
}

TEST(ReplayEstimateTest, WhatWasMeasuredTakesTheDefaultsPlace) {
  ReplayEstimate estimate;
  const ReplayWork work{.bytes = 100 << 20, .mutations = 100'000};
  estimate.Learn(work, absl::Seconds(7));
  EXPECT_NEAR(absl::ToDoubleSeconds(estimate.Of(work)), 7, 0.001);
  EXPECT_NEAR(absl::ToDoubleSeconds(estimate.Of({work.bytes * 3, work.mutations * 3})), 21, 0.001);
}

TEST(ReplayEstimateTest, AShortReplayTeachesNothing) {
  ReplayEstimate estimate;
  const absl::Duration before = estimate.Of({.bytes = 1 << 30});
  estimate.Learn({.bytes = 1000, .mutations = 1}, absl::Seconds(5));
  estimate.Learn({.bytes = 100 << 20, .mutations = 100}, absl::Milliseconds(1));
  estimate.Learn({}, absl::Seconds(5));
  EXPECT_EQ(estimate.Of({.bytes = 1 << 30}), before);
}

}  // namespace
}  // namespace arion
