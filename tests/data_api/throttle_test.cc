// SPDX-License-Identifier: Apache-2.0
#include "data_api/throttle.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

using Verdict = RequestThrottle::Verdict;

const Instant kNow = Instant(0) + absl::Hours(1);

TEST(RequestThrottleTest, DelaysThenRejectsWithinAWholeSecondOnly) {
  RequestThrottle throttle;
  throttle.Set(*ParseThrottleRule("8*delay*100,16*reject*200"), 4);  // 3 and 5 for each partition
  std::vector<Verdict> verdicts;
  for (int i = 0; i < 7; ++i) {
    const auto decision = throttle.Admit(1, kNow + absl::Milliseconds(i), absl::ZeroDuration());
    verdicts.push_back(decision.verdict);
    EXPECT_EQ(decision.pause, decision.verdict == Verdict::kPass    ? absl::ZeroDuration()
                              : decision.verdict == Verdict::kDelay ? absl::Milliseconds(100)
                                                                    : absl::Milliseconds(200));
  }
  EXPECT_EQ(verdicts, (std::vector{Verdict::kPass, Verdict::kPass, Verdict::kPass, Verdict::kDelay,
                                   Verdict::kDelay, Verdict::kReject, Verdict::kReject}));
  EXPECT_EQ(throttle.Admit(1, kNow + absl::Milliseconds(999), {}).verdict, Verdict::kReject);
  EXPECT_EQ(throttle.Admit(1, kNow + absl::Seconds(1), {}).verdict, Verdict::kPass);
}

TEST(RequestThrottleTest, WhatIsRejectedDoesNotCount) {
  RequestThrottle throttle;
  throttle.Set(*ParseThrottleRule("100*reject*0"), 1);
  EXPECT_EQ(throttle.Admit(1000, kNow, {}).verdict, Verdict::kReject);
  EXPECT_EQ(throttle.Admit(101, kNow, {}).verdict, Verdict::kPass);
  EXPECT_EQ(throttle.Admit(1, kNow, {}).verdict, Verdict::kReject);
  EXPECT_EQ(throttle.Admit(UINT64_MAX, kNow, {}).verdict, Verdict::kReject);
}

TEST(RequestThrottleTest, NobodyIsHeldLongerThanHalfOfHisTimeout) {
  RequestThrottle throttle;
  throttle.Set(*ParseThrottleRule("0*delay*1,1*reject*5000"), 100);
  EXPECT_EQ(throttle.Admit(2, kNow, absl::Seconds(1)).pause, absl::Milliseconds(500));
  EXPECT_EQ(throttle.Admit(2, kNow, absl::ZeroDuration()).pause, absl::Seconds(5));
}

TEST(RequestThrottleTest, WithoutARuleEverythingPasses) {
  RequestThrottle throttle;
  throttle.Set({}, 4);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(throttle.Admit(UINT64_MAX, kNow, {}).verdict, Verdict::kPass);
}

TEST(ByteBudgetTest, ASecondsWorthMayGatherAndDebtsArePaidFirst) {
  ByteBudget budget;
  budget.Set(396, 4);  // 100 for each partition
  EXPECT_FALSE(budget.IsSpent(kNow));
  budget.Take(350, kNow);
  EXPECT_TRUE(budget.IsSpent(kNow));
  EXPECT_TRUE(budget.IsSpent(kNow + absl::Milliseconds(2490)));
  EXPECT_FALSE(budget.IsSpent(kNow + absl::Milliseconds(2510)));
  EXPECT_FALSE(budget.IsSpent(kNow + absl::Hours(1)));
  budget.Take(101, kNow + absl::Hours(1));
  EXPECT_TRUE(budget.IsSpent(kNow + absl::Hours(1)));
  budget.Set(0, 4);
  EXPECT_FALSE(budget.IsSpent(kNow + absl::Hours(1)));
}

}  // namespace
}  // namespace arion
