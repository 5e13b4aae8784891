// SPDX-License-Identifier: Apache-2.0
#include "disks/disk_health.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class DiskHealthTest : public testing::Test {
 protected:
  void See(uint64_t available_mib) { health_.OnSpace({1000 * kMiB, available_mib * kMiB}); }
  void Second(int flushes, absl::Duration each, int64_t queued = 0) {
    now_ = now_ + absl::Seconds(1);
    Histogram syncs;
    for (int i = 0; i < flushes; ++i)
      syncs.Record(static_cast<uint64_t>(absl::ToInt64Nanoseconds(each)));
    health_.OnSecond(now_, syncs.Read(), queued);
  }

  Instant now_{1000000000};
  DiskHealth health_{{.available_bytes_min = 100 * kMiB, .reserve_bytes = 8 * kMiB}};
};

TEST_F(DiskHealthTest, FallingUnderTheBoundStopsWritesAtOnce) {
  health_.OnReserve(8 * kMiB);
  See(100);
  EXPECT_TRUE(health_.has_space());
  See(99);
  EXPECT_FALSE(health_.has_space());
  EXPECT_EQ(health_.state(), DiskStatus::kSpaceInsufficient);
}

TEST_F(DiskHealthTest, ComingBackTakesAMarginAndTwoSightings) {
  health_.OnReserve(8 * kMiB);
  See(50);
  for (int i = 0; i < 5; ++i) {
    See(110);  // not a quarter above
    EXPECT_FALSE(health_.has_space());
  }
  See(125);
  EXPECT_FALSE(health_.has_space());
  See(110);  // begins again
  See(125);
  EXPECT_FALSE(health_.has_space());
  See(125);
  EXPECT_TRUE(health_.has_space());
}

TEST_F(DiskHealthTest, AWriteThatFoundNoSpaceCountsWhateverTheFileSystemSays) {
  health_.OnReserve(8 * kMiB);
  See(900);
  health_.OnNoSpace();
  EXPECT_FALSE(health_.has_space());
  See(900);
  health_.OnNoSpace();
  See(900);
  EXPECT_FALSE(health_.has_space()) << "each failure begins the sightings anew";
  See(900);
  EXPECT_TRUE(health_.has_space());
}

TEST_F(DiskHealthTest, WhileALogWaitsThereIsNoSpace) {
  health_.OnLogWaits();
  health_.OnLogWaits();
  for (int i = 0; i < 5; ++i) See(900);
  health_.OnLogGoesOn();
  for (int i = 0; i < 5; ++i) See(900);
  EXPECT_FALSE(health_.has_space());
  health_.OnLogGoesOn();
  See(900);
  See(900);
  EXPECT_TRUE(health_.has_space());
}

TEST_F(DiskHealthTest, WhatTheReserveLacksIsNotUsable) {
  health_.OnReserve(8 * kMiB);
  See(100);
  EXPECT_TRUE(health_.has_space());
  health_.OnReserve(0);  // given up: what it freed is not for new writes
  See(107);
  EXPECT_FALSE(health_.has_space());
}

TEST_F(DiskHealthTest, TheReserveGrowsOnlyFarFromTheBound) {
  See(215);
  EXPECT_EQ(health_.ReserveGrowth(), 0u);
  See(216);
  EXPECT_EQ(health_.ReserveGrowth(), 8 * kMiB);
  health_.OnReserve(3 * kMiB);
  EXPECT_EQ(health_.ReserveGrowth(), 5 * kMiB);
  health_.OnReserve(8 * kMiB);
  EXPECT_EQ(health_.ReserveGrowth(), 0u);
  health_.OnReserve(0);
  health_.OnNoSpace();
  EXPECT_EQ(health_.ReserveGrowth(), 0u) << "not while the disk is full";
}

TEST_F(DiskHealthTest, TheReserveIsAtMostAHundredthOfTheDisk) {
  EXPECT_EQ(health_.reserve_bytes_wanted(), 0u) << "the disk's size is not known yet";
  health_.OnSpace({100 * kMiB, 90 * kMiB});
  EXPECT_EQ(health_.reserve_bytes_wanted(), 1 * kMiB);
}

TEST_F(DiskHealthTest, TheLargerBoundOfBytesAndRatioCounts) {
  DiskHealth health({.available_bytes_min = 1, .available_ratio_min = 0.1, .reserve_bytes = 0});
  health.OnSpace({1000 * kMiB, 99 * kMiB});
  EXPECT_FALSE(health.has_space());
  EXPECT_EQ(health.available_bytes_min(), 100 * kMiB);
}

TEST_F(DiskHealthTest, ABoundOfZeroLeavesItToTheWrites) {
  DiskHealth health({.available_bytes_min = 0, .reserve_bytes = 0});
  health.OnSpace({1000 * kMiB, 0});
  EXPECT_TRUE(health.has_space());
  health.OnNoSpace();
  for (int i = 0; i < 5; ++i) health.OnSpace({1000 * kMiB, 1000});
  EXPECT_FALSE(health.has_space()) << "next to nothing is not space";
}

TEST_F(DiskHealthTest, AnIoErrorStaysAndHidesNoLackOfSpace) {
  See(900);
  health_.OnIoError();
  EXPECT_EQ(health_.state(), DiskStatus::kIoError);
  for (int i = 0; i < 10; ++i) See(900);
  EXPECT_EQ(health_.state(), DiskStatus::kIoError);
  EXPECT_TRUE(health_.has_space());
  See(1);
  EXPECT_FALSE(health_.has_space());
}

TEST_F(DiskHealthTest, FourLateSecondsMakeASlowDiskAndEightGoodOnesAFastOne) {
  for (int i = 0; i < 3; ++i) Second(100, absl::Milliseconds(600));
  EXPECT_FALSE(health_.is_slow());
  Second(100, absl::Milliseconds(600));
  EXPECT_TRUE(health_.is_slow());
  EXPECT_EQ(now_ - health_.slow_since(), absl::Seconds(3)) << "since the first of them";
  EXPECT_GE(health_.sync_p99_nanos(), 600'000'000u);
  for (int i = 0; i < 7; ++i) Second(100, absl::Milliseconds(5));
  EXPECT_TRUE(health_.is_slow());
  Second(100, absl::Milliseconds(600));
  for (int i = 0; i < 7; ++i) Second(100, absl::Milliseconds(5));
  EXPECT_TRUE(health_.is_slow()) << "eight in a row";
  Second(100, absl::Milliseconds(5));
  EXPECT_FALSE(health_.is_slow());
}

TEST_F(DiskHealthTest, ASlowDiskThatNobodyUsesIsJudgedByProbes) {
  for (int i = 0; i < 4; ++i) Second(100, absl::Milliseconds(600));
  for (int i = 0; i < 20; ++i) Second(0, absl::ZeroDuration());
  EXPECT_TRUE(health_.is_slow()) << "silence proves nothing";
  for (int i = 0; i < 8; ++i) Second(1, absl::Milliseconds(i == 3 ? 900 : 2));
  EXPECT_TRUE(health_.is_slow());
  for (int i = 0; i < 4; ++i) Second(1, absl::Milliseconds(2));
  EXPECT_FALSE(health_.is_slow());
}

TEST_F(DiskHealthTest, ARelapseHasToBeGoodForTwiceAsLong) {
  for (int i = 0; i < 4; ++i) Second(100, absl::Milliseconds(600));
  for (int i = 0; i < 8; ++i) Second(100, absl::Milliseconds(5));
  ASSERT_FALSE(health_.is_slow());
  for (int i = 0; i < 4; ++i) Second(100, absl::Milliseconds(600));
  for (int i = 0; i < 15; ++i) Second(100, absl::Milliseconds(5));
  EXPECT_TRUE(health_.is_slow());
  Second(100, absl::Milliseconds(5));
  EXPECT_FALSE(health_.is_slow());
}

TEST_F(DiskHealthTest, OneGoodSecondBeginsTheCountAnew) {
  for (int i = 0; i < 20; ++i) Second(100, absl::Milliseconds(i % 4 == 3 ? 5 : 600));
  EXPECT_FALSE(health_.is_slow());
}

TEST_F(DiskHealthTest, AHundredthOfLateFlushesIsNotSlow) {
  for (int second = 0; second < 10; ++second) {
    now_ = now_ + absl::Seconds(1);
    Histogram syncs;
    for (int i = 0; i < 200; ++i) syncs.Record(i < 2 ? 900'000'000 : 1'000'000);
    health_.OnSecond(now_, syncs.Read(), 0);
  }
  EXPECT_FALSE(health_.is_slow());
}

TEST_F(DiskHealthTest, ADiskThatAnswersNothingIsSlowAnIdleOneIsNot) {
  for (int i = 0; i < 10; ++i) Second(0, absl::ZeroDuration(), 0);
  EXPECT_FALSE(health_.is_slow());
  for (int i = 0; i < 5; ++i) Second(0, absl::ZeroDuration(), 3);
  EXPECT_TRUE(health_.is_slow());
}

}  // namespace
}  // namespace arion
