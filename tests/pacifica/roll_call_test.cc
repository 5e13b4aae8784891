// SPDX-License-Identifier: Apache-2.0
#include "pacifica/roll_call.h"

#include <gtest/gtest.h>

#include "tests/pacifica/harness.h"

namespace arion {
namespace {

const Endpoint kA = NodeAt('A'), kB = NodeAt('B'), kC = NodeAt('C');

// A leads B and C under ballot 8; it holds 10 of ballot 7, of which it knows 9 to be committed.
class RollCallTest : public testing::Test {
 protected:
  RollCallTest() {
    s_.role = PartitionStatus::kPrimary;
    s_.ballot = s_.configuration.ballot = Ballot(8);
    s_.configuration.primary = kA;
    s_.configuration.secondaries = {kB, kC};
    s_.list.Reset(Decree(9));
    s_.list.Put(MakeMutation(7, 10, 9, "k"), PrepareList::LogState::kLogged, 0);
    s_.last_mutation_ballot = Ballot(7);
    roll_call_.Begin(RollCall::Start::kAnew);
  }
  static CoreOptions Options() {
    CoreOptions options;
    options.self = kA;
    options.pid = kTestPid;
    return options;
  }
  static GroupCheckResponse Holds(int64_t ballot, int64_t prepared, int64_t committed) {
    GroupCheckResponse answer;
    answer.pid = kTestPid;
    answer.last_committed_decree_in_prepare_list = Decree(committed);
    answer.last_prepared_decree = Decree(prepared);
    answer.last_mutation_ballot = Ballot(ballot);
    return answer;
  }
  RollCall::Verdict HearB(const GroupCheckResponse& answer) {
    return roll_call_.OnAnswer(kB, answer);
  }

  ReplicaState s_{Options()};
  RollCall roll_call_{s_};
};

TEST_F(RollCallTest, ItIsOverWhenEverybodyWasHeard) {
  EXPECT_EQ(HearB(Holds(7, 10, 9)), RollCall::Verdict::kFine);
  EXPECT_FALSE(roll_call_.IsOver());
  EXPECT_EQ(roll_call_.OnAnswer(kC, Holds(7, 9, 9)), RollCall::Verdict::kFine);
  EXPECT_TRUE(roll_call_.IsOver());
}

TEST_F(RollCallTest, WhoSaysNothingOfItselfIsAskedAgain) {
  HearB(GroupCheckResponse{});  // it loads
  EXPECT_FALSE(roll_call_.IsOver());
  EXPECT_TRUE(roll_call_.TakeDue().empty());
  s_.now = roll_call_.NextWakeup();
  EXPECT_EQ(roll_call_.TakeDue(), (std::vector{kB, kC}));
  EXPECT_GT(roll_call_.NextWakeup(), s_.now);
  EXPECT_EQ(roll_call_.Overdue(), std::nullopt);
  s_.now = s_.now + 2 * s_.options.prepare_timeout;
  EXPECT_EQ(roll_call_.Overdue(), kB);
}

TEST_F(RollCallTest, WhatAMemberHasCommittedAndThePrimaryNeverHeldIsProof) {
  EXPECT_EQ(HearB(Holds(7, 12, 11)), RollCall::Verdict::kProvesMore);
  s_.is_proven = true;
  EXPECT_EQ(HearB(Holds(7, 12, 11)), RollCall::Verdict::kProvesMore);
}

TEST_F(RollCallTest, OnlyWhoIsNotProvenYieldsToALaterMutation) {
  EXPECT_EQ(HearB(Holds(7, 11, 9)), RollCall::Verdict::kHoldsMore);
  EXPECT_EQ(HearB(Holds(8, 10, 9)), RollCall::Verdict::kHoldsMore);
  EXPECT_EQ(HearB(Holds(6, 11, 9)), RollCall::Verdict::kFine) << "of a term before ours";
  roll_call_.Begin(RollCall::Start::kAnew);
  s_.is_proven = true;
  EXPECT_EQ(HearB(Holds(7, 11, 9)), RollCall::Verdict::kFine);
}

TEST_F(RollCallTest, WhatIsCommittedHereEverybodyHas) {
  s_.list.CommitThrough(Decree(10));
  EXPECT_EQ(HearB(Holds(8, 10, 10)), RollCall::Verdict::kFine) << "prepared again, the same";
}

TEST_F(RollCallTest, WhereOneCannotTellItsBallotTheDecreeCounts) {
  s_.last_mutation_ballot = Ballot(0);
  EXPECT_EQ(HearB(Holds(7, 11, 9)), RollCall::Verdict::kHoldsMore);
  EXPECT_EQ(HearB(Holds(9, 10, 9)), RollCall::Verdict::kFine);
}

TEST_F(RollCallTest, AnOlderServerTellsWhatIsCommitted) {
  GroupCheckResponse older;
  older.pid = kTestPid;
  older.last_committed_decree_in_prepare_list = Decree(10);
  EXPECT_EQ(HearB(older), RollCall::Verdict::kFine);
  older.last_committed_decree_in_prepare_list = Decree(11);
  EXPECT_EQ(roll_call_.OnAnswer(kC, older), RollCall::Verdict::kProvesMore);
}

TEST_F(RollCallTest, WhoMayHoldLaterVersionsOfWhatIsCommittedIsHeardWhenItHasThese) {
  s_.list.CommitThrough(Decree(10));
  EXPECT_EQ(HearB(Holds(8, 10, 9)), RollCall::Verdict::kIsBehind);
  EXPECT_EQ(HearB(Holds(8, 10, 9)), RollCall::Verdict::kFine) << "that is under way";
  EXPECT_EQ(roll_call_.OnAnswer(kC, Holds(7, 10, 9)), RollCall::Verdict::kFine) << "it holds none";
  roll_call_.OnPreparedAgain(kC, Decree(10));
  EXPECT_FALSE(roll_call_.IsOver());
  roll_call_.OnPreparedAgain(kB, Decree(10));
  EXPECT_TRUE(roll_call_.IsOver());
}

TEST_F(RollCallTest, AnOlderServerMayAlwaysHoldLaterVersions) {
  s_.list.CommitThrough(Decree(10));
  GroupCheckResponse older;
  older.pid = kTestPid;
  older.last_committed_decree_in_prepare_list = Decree(8);
  EXPECT_EQ(HearB(older), RollCall::Verdict::kIsFarBehind) << "9 is no more in the list";
  older.last_committed_decree_in_prepare_list = Decree(9);
  EXPECT_EQ(HearB(older), RollCall::Verdict::kIsBehind);
}

TEST_F(RollCallTest, NumbersNobodyReachesAreNoAnswer) {
  EXPECT_EQ(HearB(Holds(7, 10, int64_t{1} << 62)), RollCall::Verdict::kProvesMore);
  EXPECT_EQ(HearB(Holds(7, 10, -5)), RollCall::Verdict::kFine);
  EXPECT_FALSE(roll_call_.IsOver());
  EXPECT_EQ(s_.counters.odd_messages, 1);
}

TEST_F(RollCallTest, ItGoesOnWhereTheSameOneLedBefore) {
  HearB(Holds(7, 10, 9));
  s_.configuration.secondaries = {kB};  // C was removed
  roll_call_.Begin(RollCall::Start::kContinued);
  EXPECT_TRUE(roll_call_.IsOver());
  roll_call_.End();
  roll_call_.Begin(RollCall::Start::kContinued);
  EXPECT_FALSE(roll_call_.IsOver()) << "another led meanwhile";
}

TEST_F(RollCallTest, OnlyAProvenOneDoesWithoutWhoCanNotBeRemoved) {
  s_.now = s_.now + 2 * s_.options.prepare_timeout;
  roll_call_.Excuse(kB);
  EXPECT_EQ(roll_call_.Overdue(), std::nullopt);
  EXPECT_FALSE(roll_call_.IsOver());
  s_.is_proven = true;
  roll_call_.Excuse(kB);
  roll_call_.Excuse(kC);
  EXPECT_TRUE(roll_call_.IsOver());
}

}  // namespace
}  // namespace arion
