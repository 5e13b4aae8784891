// Each invariant has a state that fires it.
// SPDX-License-Identifier: Apache-2.0
#include "pacifica/invariants.h"

#include <gtest/gtest.h>

#include "tests/pacifica/harness.h"

namespace arion {
namespace {

Watermarks Whole() {
  return {.role = PartitionStatus::kSecondary,
          .ballot = Ballot(7),
          .last_durable = Decree(8),
          .last_applied = Decree(9),
          .last_committed = Decree(10),
          .last_logged = Decree(11),
          .last_prepared = Decree(12)};
}

TEST(InvariantsDeathTest, EachRungOfTheLadderIsHeld) {
  CheckLadder(Whole());
  Watermarks m = Whole();
  m.last_durable = Decree(10);
  EXPECT_DEATH(CheckLadder(m), "invariants/R1");
  m = Whole();
  m.last_applied = Decree(11);
  EXPECT_DEATH(CheckLadder(m), "invariants/R1");
  m = Whole();
  m.last_committed = Decree(12);
  EXPECT_DEATH(CheckLadder(m), "invariants/R1");
  m = Whole();
  m.last_logged = Decree(13);
  EXPECT_DEATH(CheckLadder(m), "invariants/R1");
}

TEST(InvariantsDeathTest, NothingFalls) {
  CheckRise(Whole(), Whole());
  Watermarks m = Whole();
  m.ballot = Ballot(6);
  EXPECT_DEATH(CheckRise(Whole(), m), "invariants/R3");
  m = Whole();
  m.last_applied = Decree(8);
  EXPECT_DEATH(CheckRise(Whole(), m), "invariants/R3");
  m = Whole();
  m.last_committed = Decree(9);
  EXPECT_DEATH(CheckRise(Whole(), m), "invariants/R3");
  m = Whole();
  m.last_prepared = Decree(11);
  EXPECT_DEATH(CheckRise(Whole(), m), "invariants/R3");
}

TEST(InvariantsTest, PreparedMayFallWithANewBallotAndEverythingWithANewState) {
  Watermarks m = Whole();
  m.last_prepared = Decree(11);
  m.ballot = Ballot(8);
  CheckRise(Whole(), m);
  m = Watermarks{.ballot = Ballot(7), .learner_restarts = 1};
  CheckRise(Whole(), m);
}

TEST(InvariantsDeathTest, MembersAreDistinct) {
  PartitionConfiguration c;
  c.primary = NodeAt('A');
  c.secondaries = {NodeAt('B'), NodeAt('C')};
  CheckMembers(c);
  c.secondaries.push_back(NodeAt('A'));
  EXPECT_DEATH(CheckMembers(c), "invariants/R6");
}

TEST(InvariantsDeathTest, AFailedReplicaTakesNoRole) {
  Watermarks failed = Whole();
  failed.role = PartitionStatus::kError;
  CheckRise(Whole(), failed);
  CheckRise(failed, failed);
  EXPECT_DEATH(CheckRise(failed, Whole()), "replica_core/P5");
}

TEST(InvariantsDeathTest, APrimarysTailIsOfItsOwnTerm) {
  PrepareList list(100, Decree(10));
  const auto put = [&list](Ballot ballot, Decree decree) {
    const auto mutation = std::make_shared<Mutation>();
    mutation->ballot = ballot;
    mutation->decree = decree;
    list.Put(mutation, PrepareList::LogState::kPending, 1);
  };
  CheckTerm(list, Ballot(7));
  put(Ballot(6), Decree(11));
  EXPECT_DEATH(CheckTerm(list, Ballot(7)), "invariants/R9");
  put(Ballot(7), Decree(11));
  CheckTerm(list, Ballot(7));
  put(Ballot(7), Decree(13));
  EXPECT_DEATH(CheckTerm(list, Ballot(7)), "invariants/R2: hole at 12");
}

TEST(InvariantsDeathTest, AStateIsALearnersUntilItIsAMembers) {
  using enum PartitionStatus;
  CheckStanding(kPrimary, LearnerStatus::kInvalid, Standing::kMember);
  CheckStanding(kInactive, LearnerStatus::kInvalid, Standing::kLearner);
  CheckStanding(kPotentialSecondary, LearnerStatus::kWithoutPrepare, Standing::kMember);
  CheckStanding(kPotentialSecondary, LearnerStatus::kWithPrepare, Standing::kLearner);
  EXPECT_DEATH(CheckStanding(kSecondary, LearnerStatus::kInvalid, Standing::kLearner),
               "invariants/R10");
  EXPECT_DEATH(CheckStanding(kPotentialSecondary, LearnerStatus::kSucceeded, Standing::kMember),
               "invariants/R10");
}

TEST(InvariantsDeathTest, NoLearnerSucceedsBeforeWhatItLearnedIsDurable) {
  CheckGap(LearnerStatus::kWithPrepare, Decree(8), Decree(9));
  CheckGap(LearnerStatus::kSucceeded, Decree(9), Decree(9));
  EXPECT_DEATH(CheckGap(LearnerStatus::kSucceeded, Decree(8), Decree(9)), "invariants/R10");
}

}  // namespace
}  // namespace arion
