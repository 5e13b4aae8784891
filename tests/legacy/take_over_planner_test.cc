// SPDX-License-Identifier: Apache-2.0
#include "legacy/take_over_planner.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

using Verdict = TakeOverPlanner::Verdict;
Verdict Shared(TakeOverPlanner& p, int64_t ballot, int64_t decree, int64_t lcd, int64_t at = 9000) {
  return p.OnShared(Ballot(ballot), Decree(decree), Decree(lcd), at);
}
void Private(TakeOverPlanner& p, int64_t ballot, int64_t decree, int64_t lcd) {
  p.OnPrivate(Ballot(ballot), Decree(decree), Decree(lcd));
}

TEST(TakeOverPlanner, AnEmptyPrivateLogTakesAll) {
  TakeOverPlanner planner(6500);
  EXPECT_EQ(Shared(planner, 3, 1, 0), Verdict::kTake);
  EXPECT_EQ(Shared(planner, 3, 2, 1), Verdict::kTake);
  EXPECT_EQ(Shared(planner, 3, 3, 2), Verdict::kTake);
}
TEST(TakeOverPlanner, WhatThePrivateLogHasIsNotTakenAgain) {
  TakeOverPlanner planner(0);
  for (int d = 1; d <= 4; ++d) Private(planner, 3, d, d - 1);
  EXPECT_FALSE(planner.Filter().MayMatter(Ballot(3), Decree(3), 10));
  for (int d = 1; d <= 4; ++d) EXPECT_EQ(Shared(planner, 3, d, d - 1), Verdict::kKnown) << d;
  EXPECT_EQ(Shared(planner, 3, 5, 4), Verdict::kTake);
  EXPECT_EQ(Shared(planner, 3, 5, 4), Verdict::kKnown) << "taken a moment ago";
}
TEST(TakeOverPlanner, OfTheUncommittedTailTheLargerBallotIsTaken) {
  TakeOverPlanner planner(0);
  Private(planner, 3, 1, 0);
  Private(planner, 3, 2, 1);
  EXPECT_EQ(Shared(planner, 4, 2, 1), Verdict::kTake);
  EXPECT_EQ(Shared(planner, 3, 2, 1), Verdict::kKnown);
  EXPECT_EQ(planner.max_ballot(), Ballot(4));
}
TEST(TakeOverPlanner, WhatIsVoidIsNotTakenButItsBallotCounts) {
  TakeOverPlanner planner(7600);
  EXPECT_TRUE(planner.Filter().MayMatter(Ballot(7), Decree(1), 7479));
  EXPECT_EQ(Shared(planner, 7, 1, 0, 7479), Verdict::kVoid);
  EXPECT_EQ(planner.max_ballot(), Ballot(7));
  EXPECT_EQ(planner.max_shared(), Decree(0));
  EXPECT_EQ(Shared(planner, 3, 2, 1, 7700), Verdict::kTake);
}
TEST(TakeOverPlanner, ARecordBelowTheCommittedOnesIsNoMatter) {
  TakeOverPlanner planner(0);
  Private(planner, 5, 20, 19);
  EXPECT_EQ(Shared(planner, 3, 18, 17), Verdict::kKnown);
  EXPECT_EQ(Shared(planner, 5, 20, 19), Verdict::kKnown);
  EXPECT_EQ(planner.committed_on_disk(), Decree(19));
}

}  // namespace
}  // namespace arion
