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

// R7, I-10.
TEST(ReplicaStateDeathTest, TheBallotsOfWhatTheEngineGetsNeverFall) {
  ReplicaState state(Options());
  state.Hand(MakeMutation(5, 1, 0, "a"));
  EXPECT_DEATH(state.Hand(MakeMutation(4, 2, 1, "b")), "R7");
  state.Hand(MakeMutation(5, 2, 1, "b"));
  EXPECT_DEATH(state.HandOver({MakeMutation(7, 3, 2, "c"), MakeMutation(6, 4, 3, "d")}), "R7");
  EXPECT_EQ(state.effects.apply.size(), 2u);
}

// I-27.
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
  state.Append(MakeMutation(5, 1, 0, "d"));
  EXPECT_EQ(state.last_mutation_ballot, Ballot(5));
  // Another's data: of a ballot that those here say nothing about.
  state.JumpTo(Decree(91));
  EXPECT_EQ(state.last_mutation_ballot, Ballot(0));
  state.Append(MakeMutation(7, 92, 91, "d"));
  EXPECT_EQ(state.last_mutation_ballot, Ballot(7));
}

}  // namespace
}  // namespace arion
