// SPDX-License-Identifier: Apache-2.0
#include "data_api/space_quota.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

constexpr Instant kStart{1'000'000'000'000};

TEST(SpaceQuotaTest, WithoutOneNothingIsAskedNorSpent) {
  SpaceQuota quota;
  quota.Taken(UINT64_MAX / 2);
  EXPECT_FALSE(quota.WantsToLook(kStart));
  EXPECT_FALSE(quota.IsSpent());
}

TEST(SpaceQuotaTest, TheEngineIsAskedOnceASecondWhileThereAreWrites) {
  SpaceQuota quota;
  quota.Set(100);
  EXPECT_TRUE(quota.WantsToLook(kStart));
  EXPECT_FALSE(quota.WantsToLook(kStart + absl::Seconds(5))) << "it has not answered yet";
  quota.Measured(10);
  EXPECT_TRUE(quota.WantsToLook(kStart + absl::Seconds(5)));
  quota.Measured(10);
  EXPECT_FALSE(quota.WantsToLook(kStart + absl::Milliseconds(5900)));
  EXPECT_TRUE(quota.WantsToLook(kStart + absl::Seconds(6)));
}

TEST(SpaceQuotaTest, WhatIsWrittenBetweenAnswersCounts) {
  SpaceQuota quota;
  quota.Set(100);
  quota.Taken(1000);
  EXPECT_FALSE(quota.IsSpent()) << "nothing is known yet";
  ASSERT_TRUE(quota.WantsToLook(kStart));
  quota.Taken(30);  // the answer may lack it
  quota.Measured(60);
  EXPECT_FALSE(quota.IsSpent());
  quota.Taken(10);
  EXPECT_TRUE(quota.IsSpent());
}

TEST(SpaceQuotaTest, ItHealsWhenSpaceFallsOrTheQuotaRises) {
  SpaceQuota quota;
  quota.Set(100);
  ASSERT_TRUE(quota.WantsToLook(kStart));
  quota.Measured(100);
  EXPECT_TRUE(quota.IsSpent());
  quota.Set(101);
  EXPECT_FALSE(quota.IsSpent());
  quota.Set(50);
  EXPECT_TRUE(quota.IsSpent());
  ASSERT_TRUE(quota.WantsToLook(kStart + absl::Seconds(1)));
  quota.Measured(49);
  EXPECT_FALSE(quota.IsSpent());
}

}  // namespace
}  // namespace arion
