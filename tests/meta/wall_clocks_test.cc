// SPDX-License-Identifier: Apache-2.0
#include "meta/wall_clocks.h"

#include <gtest/gtest.h>

#include "tests/meta/part_fixture.h"

namespace arion {
namespace {

class WallClocksTest : public PartFixture {
 protected:
  WallClocksTest() {
    for (const int n : {1, 2, 3}) state_.nodes[ServerAt(n)].alive = true;
  }
  // Beacons of all three: their clocks are that far off the meta server's.
  void Hear(absl::Duration one, absl::Duration two, absl::Duration three) {
    Hear(1, one);
    Hear(2, two);
    Hear(3, three);
  }
  void Hear(int n, absl::Duration off) {
    clocks_.Note(ServerAt(n), node_.WallMicros() / 1000 + absl::ToInt64Milliseconds(off),
                 counts_from_);
  }

  ClusterState state_;
  int judged_ = 0;
  Instant counts_from_{0};
  WallClocks clocks_{env_.clock(), state_, absl::Seconds(5), [this] { ++judged_; }};
};

TEST_F(WallClocksTest, OneThatIsFarOffIsShownAndJudgedOnce) {
  const absl::Duration none = absl::ZeroDuration();
  for (int i = 0; i < 3; ++i) Hear(none, none, absl::Seconds(20));
  EXPECT_TRUE(state_.clocks.agree);
  EXPECT_TRUE(state_.nodes[ServerAt(3)].has_wrong_clock);
  EXPECT_EQ(state_.nodes[ServerAt(3)].clock_offset, absl::Seconds(20));
  EXPECT_FALSE(state_.nodes[ServerAt(1)].has_wrong_clock);
  EXPECT_EQ(judged_, 1);
  EXPECT_EQ(*clocks_.AgreedMillis(), node_.WallMicros() / 1000);
  for (int i = 0; i < 3; ++i) Hear(none, none, none);
  EXPECT_FALSE(state_.nodes[ServerAt(3)].has_wrong_clock);
  EXPECT_EQ(judged_, 2);
}

TEST_F(WallClocksTest, WhatMostShowIsToldToWhoeverReadsTheAgreedTime) {
  Hear(absl::Seconds(2), absl::Seconds(2), absl::Seconds(2));
  EXPECT_EQ(AgreedWallMicros(env_.clock()) / 1000, *clocks_.AgreedMillis());
  EXPECT_EQ(*state_.clocks.our_offset, absl::Seconds(-2));
}

TEST_F(WallClocksTest, BeaconsThatWaitedShowNothing) {
  counts_from_ = env_.clock().Now() + absl::Seconds(1);
  Hear(absl::ZeroDuration(), absl::ZeroDuration(), absl::Seconds(20));
  EXPECT_FALSE(state_.nodes[ServerAt(3)].clock_offset.has_value());
  world_.RunFor(absl::Seconds(1));
  Hear(absl::ZeroDuration(), absl::ZeroDuration(), absl::Seconds(20));
  EXPECT_TRUE(state_.nodes[ServerAt(3)].clock_offset.has_value());
}

TEST_F(WallClocksTest, NothingCountsForAMomentOnceOurClocksWentApart) {
  Hear(absl::ZeroDuration(), absl::ZeroDuration(), absl::ZeroDuration());
  EXPECT_TRUE(clocks_.AgreedMillis().has_value());
  node_.JumpWall(absl::Seconds(30));
  Hear(1, absl::Seconds(-30));
  EXPECT_FALSE(state_.nodes[ServerAt(1)].clock_offset.has_value());
  EXPECT_FALSE(clocks_.AgreedMillis().has_value());
  world_.RunFor(absl::Milliseconds(100));
  Hear(absl::Seconds(-30), absl::Seconds(-30), absl::Seconds(-30));
  EXPECT_TRUE(state_.clocks.is_ours_wrong);
}

TEST_F(WallClocksTest, WhoIsDeadIsForgottenAndNotShown) {
  Hear(absl::ZeroDuration(), absl::ZeroDuration(), absl::Seconds(20));
  EXPECT_TRUE(state_.nodes[ServerAt(3)].has_wrong_clock);
  state_.nodes[ServerAt(3)].alive = false;
  clocks_.ForgetDeadServer(ServerAt(3));
  EXPECT_FALSE(state_.nodes[ServerAt(3)].has_wrong_clock);
  EXPECT_FALSE(state_.nodes[ServerAt(3)].clock_offset.has_value());
}

}  // namespace
}  // namespace arion
