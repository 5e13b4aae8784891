// SPDX-License-Identifier: Apache-2.0
#include "legacy/take_over_planner.h"
#include "base/mutation.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

using Verdict = TakeOverPlanner::Verdict;
constexpr uint64_t kOurs = 7, kTheirs = 8;  // marks
Verdict Shared(TakeOverPlanner& p, int64_t ballot, int64_t decree, int64_t lcd, int64_t at = 9000,
               uint64_t mark = kOurs) {
  return p.OnShared(Ballot(ballot), Decree(decree), Decree(lcd), at, [mark] { return mark; });
}
Verdict Foreign(TakeOverPlanner& p, int64_t ballot, int64_t decree, int64_t lcd) {
  return Shared(p, ballot, decree, lcd, 9000, kTheirs);
}
void Private(TakeOverPlanner& p, int64_t ballot, int64_t decree, int64_t lcd) {
  p.OnPrivate(Ballot(ballot), Decree(decree), Decree(lcd), kOurs);
}
TakeOverPlanner WithPrivateLog(int64_t last, int64_t valid_start_offset = 0) {
  TakeOverPlanner planner(valid_start_offset);
  for (int64_t d = 1; d <= last; ++d) Private(planner, 3, d, d - 1);
  return planner;
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
TEST(TakeOverPlanner, OnlyWhatIsComparedOrMissingNeedBeHandedOn) {
  TakeOverPlanner planner = WithPrivateLog(200);
  const TakeOverFilter filter = planner.Filter();
  const int64_t first = 199 - TakeOverPlanner::kCompared;
  EXPECT_FALSE(filter.MayMatter(Ballot(3), Decree(first - 1), 10));
  EXPECT_TRUE(filter.MayMatter(Ballot(3), Decree(first), 10));
  EXPECT_TRUE(filter.MayMatter(Ballot(4), Decree(1), 10));
  TakeOverPlanner unmarked(0);
  for (int d = 1; d <= 4; ++d) unmarked.OnPrivate(Ballot(3), Decree(d), Decree(d - 1));
  EXPECT_FALSE(unmarked.Filter().MayMatter(Ballot(3), Decree(3), 10));
}

// ---- a log of another server ----

TEST(TakeOverPlanner,
     AnotherRecordUnderACommittedDecreeIsAnotherServersOnceItIsKnownCommittedThere) {
  TakeOverPlanner planner = WithPrivateLog(20);
  EXPECT_EQ(Foreign(planner, 3, 15, 14), Verdict::kKnown) << "it may have been replaced";
  EXPECT_EQ(Foreign(planner, 3, 16, 15), Verdict::kForeign);
  ASSERT_TRUE(planner.contradiction());
  EXPECT_EQ(planner.contradiction()->decree, Decree(15));
  EXPECT_EQ(Shared(planner, 3, 21, 20), Verdict::kForeign) << "and stays it";
}
TEST(TakeOverPlanner, NothingIsTakenFromALogWithAnotherRecord) {
  TakeOverPlanner planner = WithPrivateLog(20);
  EXPECT_EQ(Foreign(planner, 3, 19, 10), Verdict::kKnown);
  EXPECT_EQ(Shared(planner, 3, 21, 10), Verdict::kForeign);
}
TEST(TakeOverPlanner, WhatWasReplacedUnderALargerBallotIsNoContradiction) {
  TakeOverPlanner planner(0);
  for (int d = 1; d <= 20; ++d) Private(planner, d == 15 ? 4 : 3, d, d - 1);
  EXPECT_EQ(Foreign(planner, 3, 15, 10), Verdict::kKnown) << "other ballots are not compared";
  EXPECT_EQ(Shared(planner, 3, 16, 15), Verdict::kKnown);
  EXPECT_EQ(Foreign(planner, 3, 17, 15), Verdict::kKnown);
  EXPECT_EQ(Shared(planner, 4, 17, 15), Verdict::kKnown) << "proposed anew";
  EXPECT_EQ(Shared(planner, 4, 21, 20), Verdict::kTake);
}
TEST(TakeOverPlanner, WhatIsVoidOrNotCommittedIsNotCompared) {
  TakeOverPlanner planner = WithPrivateLog(20, 7600);
  EXPECT_EQ(Shared(planner, 3, 15, 14, 7500, kTheirs), Verdict::kVoid);
  EXPECT_EQ(Foreign(planner, 3, 20, 19), Verdict::kKnown) << "the private log's tail is open";
  EXPECT_EQ(Shared(planner, 3, 21, 20), Verdict::kTake);
}
TEST(RecordMark, SaysWhenItWasWrittenAndWhat) {
  const auto mark = [](int64_t timestamp, const std::string& data) {
    return RecordMark({.timestamp_us = timestamp, .updates = {{WriteCode::kPut, 1, data}}});
  };
  const std::string large(1000, 'x');
  EXPECT_EQ(mark(5, large), mark(5, large));
  EXPECT_NE(mark(5, large), mark(6, large));
  EXPECT_NE(mark(5, large), mark(5, large + 'x'));
  EXPECT_NE(mark(5, "a"), mark(5, "b"));
  EXPECT_NE(RecordMark({}), 0u);
}

}  // namespace
}  // namespace arion
