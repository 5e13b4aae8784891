// SPDX-License-Identifier: Apache-2.0
#include "pacifica/replica_state.h"

#include <gtest/gtest.h>

#include "tests/pacifica/harness.h"

namespace arion {
namespace {

TEST(ReplicaStateTest, ACheckpointDoesNotTellTheBallotOfItsLastMutation) {
  CoreOptions options;
  options.self = NodeAt('A');
  options.pid = kTestPid;
  ReplicaState state(options);
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
