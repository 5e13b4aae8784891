// SPDX-License-Identifier: Apache-2.0
#include "pacifica/replica_state.h"

#include <gtest/gtest.h>

#include "tests/pacifica/harness.h"

namespace arion {
namespace {

CoreOptions Options() {
  CoreOptions options;
  options.self = NodeAt('A');
  options.pid = kTestPid;
  return options;
}

// invariants/R7.
TEST(ReplicaStateDeathTest, TheBallotsOfWhatTheEngineGetsNeverFall) {
  ReplicaState state(Options());
  state.Hand(MakeMutation(5, 1, 0, "a"));
  EXPECT_DEATH(state.Hand(MakeMutation(4, 2, 1, "b")), "invariants/R7");
  state.Hand(MakeMutation(5, 2, 1, "b"));
  EXPECT_DEATH(state.HandOver({MakeMutation(7, 3, 2, "c"), MakeMutation(6, 4, 3, "d")}),
               "invariants/R7");
  EXPECT_EQ(state.effects.apply.size(), 2u);
}

// Each decree is applied once.
TEST(ReplicaStateDeathTest, TheEngineGetsEveryDecreeOnceInOrder) {
  ReplicaState state(Options());
  state.Hand(MakeMutation(5, 1, 0, "a"));
  EXPECT_DEATH(state.Hand(MakeMutation(5, 1, 0, "a")), "once, in order");
  EXPECT_DEATH(state.Hand(MakeMutation(5, 3, 2, "c")), "once, in order");
}

// Another primary may have known a decree to be committed under the ballot it first had, when the
// one in between prepared it again: its history is followed as it is.
TEST(ReplicaStateTest, AnotherHistoryMayBeginUnderASmallerBallot) {
  ReplicaState state(Options());
  state.Hand(MakeMutation(8, 1, 0, "a"));
  state.HandOver({MakeMutation(7, 2, 1, "b"), MakeMutation(9, 3, 2, "c")});
  EXPECT_EQ(state.last_handed, Decree(3));
  EXPECT_EQ(state.list.last_committed(), Decree(3));
  EXPECT_EQ(state.standing, Standing::kLearner);
}

TEST(ReplicaStateTest, ACheckpointDoesNotTellTheBallotOfItsLastMutation) {
  ReplicaState state(Options());
  state.ballot = Ballot(7);
  state.Append(MakeMutation(5, 1, 0, "d"));
  EXPECT_EQ(state.last_mutation_ballot, Ballot(5));
  // Another's data: of a ballot that those here say nothing about.
  state.JumpTo(Decree(91));
  EXPECT_EQ(state.last_mutation_ballot, Ballot(0));
  state.Append(MakeMutation(7, 92, 91, "d"));
  EXPECT_EQ(state.last_mutation_ballot, Ballot(7));
}

// What holds between steps, and each state that breaks it.
TEST(ReplicaStateDeathTest, BetweenStepsItsPartsAgree) {
  ReplicaState state(Options());
  state.Check();
  state.role = PartitionStatus::kSecondary;
  state.initializing = false;
  EXPECT_DEATH(state.Check(), "invariants/R12");
  state.connected = true;
  state.Check();
  state.initializing = true;
  EXPECT_DEATH(state.Check(), "before any configuration");
  state.initializing = false;
  state.effects.persist_ballot = Ballot(7);
  EXPECT_DEATH(state.Check(), "invariants/R13");
  state.ballot = Ballot(7);
  state.Check();
  state.last_handed = Decree(1);
  EXPECT_DEATH(state.Check(), "invariants/R14");
  state.last_handed = Decree(0);
  state.last_handed_ballot = Ballot(8);
  EXPECT_DEATH(state.Check(), "invariants/R15");
  state.last_handed_ballot = Ballot(7);
  state.last_mutation_ballot = Ballot(8);
  EXPECT_DEATH(state.Check(), "invariants/R15");
  state.last_mutation_ballot = Ballot(7);
  state.Check();
  state.role = PartitionStatus::kPrimary;
  EXPECT_DEATH(state.Check(), "self");
}

TEST(ReplicaStateDeathTest, AnotherPartitionsMutationIsNotTaken) {
  ReplicaState state(Options());
  Mutation other = *MakeMutation(5, 1, 0, "a");
  other.pid = {99, 0};
  EXPECT_DEATH(state.Append(std::make_shared<const Mutation>(other)), "another replica's");
}

TEST(ReplicaStateDeathTest, NothingIsLoggedUnderABallotThatIsNotAdopted) {
  ReplicaState state(Options());
  state.ballot = Ballot(4);
  EXPECT_DEATH(state.Append(MakeMutation(5, 1, 0, "a")), "invariants/R15");
}

// ---- what the disk held ----

TEST(ReplicaStateTest, WhatTheLogProvesCommittedIsHandedOverAndTheRestIsPrepared) {
  ReplicaState state(Options());
  RecoveredState recovered;
  recovered.ballot = Ballot(4);
  recovered.last_applied = Decree(10);
  recovered.last_durable = Decree(12);
  recovered.logged = {MakeMutation(5, 10, 9, "j"), MakeMutation(5, 11, 10, "k"),
                      MakeMutation(6, 12, 11, "l")};
  state.Recover(recovered);
  EXPECT_EQ(state.ballot, Ballot(6)) << "of the largest mutation";
  EXPECT_EQ(state.last_durable, Decree(10)) << "no more than is applied";
  EXPECT_EQ(state.list.last_committed(), Decree(11));
  EXPECT_EQ(state.list.last_prepared(), Decree(12));
  ASSERT_EQ(state.effects.apply.size(), 1u);
  EXPECT_EQ(state.effects.apply[0]->decree, Decree(11));
  EXPECT_EQ(state.last_timestamp_us, 12);
  EXPECT_EQ(state.inactivity, Inactivity::kTransient);
  state.Check();
  EXPECT_DEATH(state.Recover(recovered), "recovered twice");
}

TEST(ReplicaStateTest, ALogWithAHoleLeavesWhatLiesBeforeItAndMayOnlyLearn) {
  ReplicaState state(Options());
  RecoveredState recovered;
  recovered.ballot = Ballot(5);
  recovered.logged = {MakeMutation(5, 1, 0, "a"), MakeMutation(5, 3, 2, "c")};
  state.Recover(recovered);
  EXPECT_EQ(state.inactivity, Inactivity::kRemoved);
  EXPECT_EQ(state.counters.lost_entries, 1);
  EXPECT_EQ(state.list.last_committed(), Decree(1));
}

TEST(ReplicaStateTest, ALearnersStateStaysALearners) {
  ReplicaState state(Options());
  RecoveredState recovered;
  recovered.inactivity = Inactivity::kRemoved;
  state.Recover(recovered);
  EXPECT_EQ(state.standing, Standing::kLearner);
}

TEST(ReplicaStateDeathTest, TheListBeginsAnewWhereTheEngineWillStand) {
  ReplicaState state(Options());
  EXPECT_DEATH(state.RestartList(Decree(5), Ballot(0)), "invariants/R14");
}

}  // namespace
}  // namespace arion
