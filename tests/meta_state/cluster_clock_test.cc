// SPDX-License-Identifier: Apache-2.0
#include "meta_state/cluster_clock.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

constexpr absl::Duration kDay = absl::Hours(24);
const Endpoint kA{1, 1}, kB{2, 1}, kC{3, 1};

class ClusterClockTest : public testing::Test {
 protected:
  // A server whose clock has been so for a while. By the monotonic clock the true time is kTrue.
  void Shows(Endpoint node, absl::Duration offset) {
    for (int i = 0; i < 3; ++i) Once(node, offset);
  }
  void Once(Endpoint node, absl::Duration offset) {
    clock_.Note(node, kTrue + offset, kTrue + ours_, living_);
  }
  absl::Duration Agreed() { return *clock_.agreed() - kTrue; }
  static constexpr absl::Duration kTrue = absl::Hours(400'000);
  absl::Duration ours_;
  size_t living_ = 0;
  ClusterClock clock_{absl::Seconds(5)};
};

TEST_F(ClusterClockTest, OneWrongClockOfManyIsFoundAndChangesNothing) {
  Shows(kA, absl::Milliseconds(20));
  Shows(kB, absl::Milliseconds(-30));
  Shows(kC, 30 * kDay);
  EXPECT_TRUE(clock_.IsWrong(kC));
  EXPECT_FALSE(clock_.IsWrong(kA));
  EXPECT_FALSE(clock_.AreWeWrong());
  ASSERT_TRUE(clock_.agreed());
  EXPECT_LT(absl::AbsDuration(Agreed()), absl::Milliseconds(50));
  EXPECT_GT(*clock_.OffsetOf(kC), 29 * kDay);
}

TEST_F(ClusterClockTest, OurOwnMayBeTheWrongOne) {
  Shows(kA, -kDay);
  Shows(kB, -kDay - absl::Seconds(1));
  EXPECT_TRUE(clock_.AreWeWrong());
  EXPECT_FALSE(clock_.IsWrong(kA));
  EXPECT_EQ(Agreed(), -kDay);
  EXPECT_EQ(*clock_.OurOffset(), kDay);
}

TEST_F(ClusterClockTest, ALeapOfOurOwnMovesNobodyElse) {
  for (Endpoint node : {kA, kB, kC}) Shows(node, absl::ZeroDuration());
  ours_ = 30 * kDay;
  for (Endpoint node : {kA, kB, kC}) {
    Once(node, absl::ZeroDuration());
    ASSERT_TRUE(clock_.agreed());
    EXPECT_EQ(Agreed(), absl::ZeroDuration());
    EXPECT_TRUE(clock_.AreWeWrong());
    EXPECT_FALSE(clock_.IsWrong(node));
  }
}

TEST_F(ClusterClockTest, MostOfTheLivingMustHaveBeenHeard) {
  living_ = 3;
  Shows(kA, absl::ZeroDuration());
  EXPECT_EQ(clock_.agreed(), std::nullopt) << "two of four";
  EXPECT_FALSE(clock_.DoDiffer()) << "those that were heard do not";
  Shows(kB, absl::ZeroDuration());
  EXPECT_TRUE(clock_.agreed());
}

TEST_F(ClusterClockTest, OfTwoThatDifferNobodyCanTell) {
  Shows(kA, kDay);
  EXPECT_EQ(clock_.agreed(), std::nullopt);
  EXPECT_FALSE(clock_.IsWrong(kA));
  EXPECT_FALSE(clock_.AreWeWrong());
  EXPECT_EQ(clock_.Spread(), kDay);
  EXPECT_TRUE(clock_.DoDiffer());
  Shows(kA, absl::Seconds(1));
  EXPECT_TRUE(clock_.agreed());
  EXPECT_FALSE(clock_.DoDiffer());
}

TEST_F(ClusterClockTest, HalfAgainstHalfIsNoAgreement) {
  Shows(kA, absl::ZeroDuration());
  Shows(kB, kDay);
  Shows(kC, kDay);
  EXPECT_EQ(clock_.agreed(), std::nullopt);
}

TEST_F(ClusterClockTest, OneLateBeaconIsNoAlarm) {
  Shows(kA, absl::ZeroDuration());
  Shows(kB, absl::ZeroDuration());
  Once(kB, absl::Seconds(-20));
  EXPECT_FALSE(clock_.IsWrong(kB));
  Once(kB, absl::Seconds(-20));
  EXPECT_TRUE(clock_.IsWrong(kB)) << "twice: it was set back";
}

TEST_F(ClusterClockTest, AWrongOneIsRightAgainWellWithinTheBound) {
  Shows(kA, absl::ZeroDuration());
  Shows(kB, absl::Seconds(6));
  EXPECT_TRUE(clock_.IsWrong(kB));
  Shows(kB, absl::Seconds(4));
  EXPECT_TRUE(clock_.IsWrong(kB));
  Shows(kB, absl::Seconds(2));
  EXPECT_FALSE(clock_.IsWrong(kB));
}

TEST_F(ClusterClockTest, WhoIsDeadCountsNoMore) {
  Shows(kA, kDay);
  Shows(kB, kDay);
  EXPECT_TRUE(clock_.AreWeWrong());
  clock_.Forget(kA);
  clock_.Forget(kB);
  EXPECT_FALSE(clock_.AreWeWrong());
  EXPECT_EQ(clock_.OffsetOf(kA), std::nullopt);
}

}  // namespace
}  // namespace arion
