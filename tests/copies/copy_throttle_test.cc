// SPDX-License-Identifier: Apache-2.0
#include "copies/copy_throttle.h"

#include <gtest/gtest.h>

#include <optional>

namespace arion {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// Copies pieces of 1 MiB one after the other, each when the throttle allows it, on a clock moved by
// hand; without a limit a disk gives `device_rate`.
class CopyThrottleTest : public testing::Test {
 protected:
  CopyThrottle& Throttle(CopyLimits limits) {
    throttle_.emplace(limits, 2, [this](size_t disk) { return waits_[disk]; });
    return *throttle_;
  }
  // Bytes a second that one stream gets.
  double RateOver(absl::Duration length, size_t disk = 0) {
    const Instant begin = now_;
    uint64_t bytes = 0;
    while (now_ - begin < length) {
      now_ = now_ + std::max(throttle_->Take(disk, kMiB, now_), kDeviceTime);
      bytes += kMiB;
    }
    return static_cast<double>(bytes) / absl::ToDoubleSeconds(now_ - begin);
  }

  static constexpr absl::Duration kDeviceTime = absl::Milliseconds(2);  // 500 MiB/s
  Instant now_{absl::ToInt64Nanoseconds(absl::Seconds(100))};
  CopyThrottle::Waits waits_[2];
  std::optional<CopyThrottle> throttle_;
};

TEST_F(CopyThrottleTest, WithoutLimitsNothingWaits) {
  Throttle({});
  EXPECT_NEAR(RateOver(absl::Seconds(5)), 500.0 * kMiB, 5.0 * kMiB);
  EXPECT_EQ(throttle_->PaceOf(0), 0);
  EXPECT_NEAR(static_cast<double>(throttle_->BytesOf(0)), 2500.0 * kMiB, 25.0 * kMiB);
}

TEST_F(CopyThrottleTest, ADiskGetsItsRateWhateverThePiecesAre) {
  Throttle({.disk = 50 * kMiB});
  EXPECT_NEAR(RateOver(absl::Seconds(10)), 50.0 * kMiB, kMiB);
  // A piece of four seconds is waited for, and paid for.
  EXPECT_NEAR(absl::ToDoubleSeconds(throttle_->Take(1, 200 * kMiB, now_)), 4, 0.2);
  EXPECT_NEAR(absl::ToDoubleSeconds(throttle_->Take(1, kMiB, now_)), 4.02, 0.2);
}

TEST_F(CopyThrottleTest, AllDisksTogetherGetTheServersRate) {
  Throttle({.disk = 80 * kMiB, .server = 100 * kMiB});
  const Instant begin = now_;
  Instant next[2] = {now_, now_};
  uint64_t bytes = 0;
  while (now_ - begin < absl::Seconds(10)) {
    const size_t disk = next[0] <= next[1] ? 0 : 1;
    now_ = std::max(now_, next[disk]);
    next[disk] = now_ + throttle_->Take(disk, kMiB, now_) + absl::Microseconds(1);
    bytes += kMiB;
  }
  EXPECT_NEAR(static_cast<double>(bytes) / 10, 100.0 * kMiB, 3.0 * kMiB);
}

TEST_F(CopyThrottleTest, AnIdleBucketSavesLittle) {
  Throttle({.disk = 50 * kMiB});
  now_ = now_ + absl::Hours(1);
  uint64_t at_once = 0;
  while (throttle_->Take(0, kMiB, now_) == absl::ZeroDuration()) at_once += kMiB;
  EXPECT_LE(at_once, 5 * kMiB);
}

TEST_F(CopyThrottleTest, AForegroundThatIsSlowWithoutCopiesHoldsNothingBack) {
  Throttle({});
  waits_[0].write = absl::ZeroDuration();  // nothing was waiting when they began
  RateOver(absl::Seconds(1));
  waits_[0].write = absl::Milliseconds(40);
  RateOver(absl::Seconds(12));
  EXPECT_GT(throttle_->PaceOf(0), 0);
  RateOver(absl::Seconds(60));
  EXPECT_GT(RateOver(absl::Seconds(5)), 300.0 * kMiB);
}

TEST_F(CopyThrottleTest, WhereSomebodyReadsCopiesBeginGently) {
  Throttle({});
  waits_[0].read = absl::Milliseconds(1);
  EXPECT_NEAR(RateOver(absl::Seconds(1)), CopyThrottle::kPaceAtFirst, 4.0 * kMiB);
  EXPECT_NEAR(RateOver(absl::Seconds(1)), 1.25 * CopyThrottle::kPaceAtFirst, 6.0 * kMiB);
  RateOver(absl::Seconds(8));
  EXPECT_NEAR(throttle_->PaceOf(0), 120.0 * kMiB, 30.0 * kMiB);
  RateOver(absl::Seconds(30));
  EXPECT_EQ(throttle_->PaceOf(0), 0) << "nobody minds";

  Throttle({.disk = 8 * kMiB});
  EXPECT_NEAR(RateOver(absl::Seconds(5)), 8.0 * kMiB, kMiB);
}

TEST_F(CopyThrottleTest, WhoComesToACopyUnderWayIsMetAsGently) {
  Throttle({});
  RateOver(absl::Seconds(3));
  EXPECT_EQ(throttle_->PaceOf(0), 0) << "it is alone";
  waits_[0].read = absl::Milliseconds(1);
  RateOver(absl::Seconds(1));
  EXPECT_EQ(throttle_->PaceOf(0), CopyThrottle::kPaceAtFirst);
  RateOver(absl::Seconds(3));
  EXPECT_GT(throttle_->PaceOf(0), CopyThrottle::kPaceAtFirst) << "nobody minds";
}

TEST_F(CopyThrottleTest, WhereNobodyReadsOrWritesThePaceDoubles) {
  Throttle({});
  waits_[0].flush = absl::Milliseconds(4);  // the server's own
  RateOver(absl::Seconds(3));
  EXPECT_GT(throttle_->PaceOf(0), 3.5 * CopyThrottle::kPaceAtFirst);
  RateOver(absl::Seconds(8));
  EXPECT_EQ(throttle_->PaceOf(0), 0);
}

TEST_F(CopyThrottleTest, CopiesYieldWhileTheForegroundWaitsLonger) {
  Throttle({});
  waits_[0].write = absl::Milliseconds(10);  // before the copies
  RateOver(absl::Seconds(40));
  EXPECT_EQ(throttle_->PaceOf(0), 0);
  waits_[0].write = absl::Milliseconds(16);
  RateOver(absl::Seconds(0.5));
  EXPECT_EQ(throttle_->PaceOf(0), 0) << "a lone second may be chance";
  RateOver(absl::Seconds(1));
  const double yielding = throttle_->PaceOf(0);
  EXPECT_GT(yielding, 100.0 * kMiB);
  EXPECT_LT(yielding, 260.0 * kMiB);
  RateOver(absl::Seconds(3));
  EXPECT_LT(throttle_->PaceOf(0), yielding / 3);
  for (int i = 0; i < 60; ++i) {  // it waits for as long as there are more copies than a few
    waits_[0].write =
        absl::Milliseconds(throttle_->PaceOf(0) > 2 * CopyThrottle::kPaceMin ? 16 : 10);
    RateOver(absl::Seconds(0.5));
  }
  EXPECT_LT(throttle_->PaceOf(0), CopyThrottle::kPaceMin * 3);
  EXPECT_EQ(throttle_->PaceOf(1), 0) << "another disk's pace";

  waits_[0].write = absl::Milliseconds(11);
  RateOver(absl::Seconds(5));
  EXPECT_GT(throttle_->PaceOf(0), CopyThrottle::kPaceMin * 2);
  RateOver(absl::Seconds(60));
  EXPECT_EQ(throttle_->PaceOf(0), 0) << "free again";
}

TEST_F(CopyThrottleTest, LongSecondsWithOthersBetweenHoldItWhereItIs) {
  Throttle({});
  waits_[0].write = absl::Milliseconds(2);
  RateOver(absl::Seconds(4));
  const double before = throttle_->PaceOf(0);
  for (int i = 0; i < 10; ++i) {
    waits_[0].write = absl::Milliseconds(i % 2 == 0 ? 2 : 9);
    RateOver(absl::Seconds(1));
  }
  EXPECT_GE(throttle_->PaceOf(0), before);
  EXPECT_LE(throttle_->PaceOf(0), before * 4);
}

TEST_F(CopyThrottleTest, EachOfTheForegroundsWaitsIsComparedWithItsOwn) {
  Throttle({});
  waits_[0] = {.flush = absl::Milliseconds(2),
               .read = absl::Milliseconds(8),
               .write = absl::Milliseconds(100)};
  RateOver(absl::Seconds(40));
  EXPECT_EQ(throttle_->PaceOf(0), 0);
  waits_[0].read = absl::Milliseconds(20);
  RateOver(absl::Seconds(4));
  EXPECT_LT(throttle_->PaceOf(0), 100.0 * kMiB);
  EXPECT_GT(throttle_->PaceOf(0), 0);
}

TEST_F(CopyThrottleTest, WhatIsWaitedWithoutCopiesIsAveragedBeforeThem) {
  Throttle({});
  for (int i = 0; i < 30; ++i) {
    waits_[0].write = absl::Milliseconds(i % 2 == 0 ? 10 : 14);
    now_ = now_ + absl::Seconds(1);
    throttle_->OnSecond(now_);
  }
  waits_[0].write = absl::Milliseconds(40);  // a bad moment to begin in
  RateOver(absl::Seconds(3));
  EXPECT_LT(throttle_->PaceOf(0), CopyThrottle::kPaceAtFirst);
}

TEST_F(CopyThrottleTest, ShortWaitsAreNoReasonToYield) {
  Throttle({});
  waits_[0].write = absl::Microseconds(100);
  RateOver(absl::Seconds(40));
  waits_[0].write = absl::Microseconds(900);
  RateOver(absl::Seconds(5));
  EXPECT_EQ(throttle_->PaceOf(0), 0);
}

TEST_F(CopyThrottleTest, AfterABreakTheForegroundIsMeasuredAnew) {
  Throttle({});
  waits_[0].write = absl::Milliseconds(10);
  RateOver(absl::Seconds(2));
  now_ = now_ + absl::Seconds(10);
  waits_[0].write = absl::Milliseconds(40);  // without any copy
  RateOver(absl::Seconds(40));
  EXPECT_EQ(throttle_->PaceOf(0), 0);
}

}  // namespace
}  // namespace arion
