// What each role's Check holds, by states that break it: a role acts on the ReplicaState that all share,
// so the state is made wrong here. What the roles do is in replica_core_test.cc and the scenarios.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "pacifica/group_check.h"
#include "pacifica/learner.h"
#include "pacifica/prepare_dispatch.h"
#include "pacifica/primary.h"
#include "pacifica/secondary.h"
#include "tests/pacifica/harness.h"

namespace arion {
namespace {

using enum PartitionStatus;

class RolesDeathTest : public testing::Test {
 protected:
  RolesDeathTest() {
    s_.ballot = s_.configuration.ballot = Ballot(7);
    s_.connected = true;
    s_.initializing = false;
    s_.configuration.primary = s_.primary = NodeAt('A');
    s_.configuration.secondaries = {NodeAt('B')};
    s_.configuration.max_replica_count = 2;
    s_.role = kPrimary;
  }
  static CoreOptions Options() {
    CoreOptions options;
    options.self = NodeAt('A');
    options.pid = kTestPid;
    return options;
  }

  ReplicaState s_{Options()};
  LearnerSessions sessions_{s_};
  Primary primary_{s_, sessions_};
  Secondary secondary_{s_};
  Learner learner_{s_, secondary_};
};

TEST_F(RolesDeathTest, APrimaryAloneSendsPreparesOfItsBallotToOthers) {
  PrepareDispatch dispatch(s_);
  const MutationPtr mutation = MakeMutation(7, 1, 0, "a");
  EXPECT_DEATH(dispatch.Send(NodeAt('A'), 0, mutation), "self");
  EXPECT_DEATH(dispatch.Send(NodeAt('B'), 0, MakeMutation(6, 1, 0, "a")), "not ours");
  dispatch.Send(NodeAt('B'), 0, mutation);
  dispatch.Check();
  s_.role = kInactive;
  EXPECT_DEATH(dispatch.Check(), "by no primary");
  EXPECT_DEATH(dispatch.Send(NodeAt('B'), 0, mutation), "kPrimary");
}

TEST_F(RolesDeathTest, APrimaryWaitsForItsGroup) {
  primary_.TakeOffice(Primary::Term::kNew);
  primary_.Open();
  ClientWrite write{.token = 1};
  write.updates.push_back({.code = WriteCode::kPut, .serialization = 1, .data = "k"});
  primary_.Write(write);
  ASSERT_EQ(s_.list.last_prepared(), Decree(1));
  primary_.Check();
  s_.configuration.secondaries = {NodeAt('C')};
  EXPECT_DEATH(primary_.Check(), "which has left");
  s_.configuration.ballot = Ballot(8);
  EXPECT_DEATH(primary_.TakeOffice(Primary::Term::kNew), "another configuration");
}

TEST_F(RolesDeathTest, WhoResignedOwesNobodyAnAnswer) {
  s_.configuration.secondaries = {};
  s_.configuration.max_replica_count = 1;
  primary_.TakeOffice(Primary::Term::kNew);
  primary_.Open();
  ClientWrite write{.token = 1};
  write.updates.push_back({.code = WriteCode::kPut, .serialization = 1, .data = "k"});
  primary_.Write(write);
  ASSERT_EQ(s_.list.last_prepared(), Decree(1));
  s_.role = kSecondary;
  EXPECT_DEATH(primary_.Check(), "after the term");
  primary_.Resign();
  primary_.Check();
}

TEST_F(RolesDeathTest, WhatWaitsForAMembersLogIsOfItsBallot) {
  s_.role = kSecondary;
  s_.primary = NodeAt('B');
  secondary_.Prepare(1, {.mutation = MakeMutation(7, 1, 0, "a")});
  secondary_.Check();
  s_.ballot = Ballot(8);
  EXPECT_DEATH(secondary_.Check(), "invariants/R4");
  s_.ballot = Ballot(7);
  s_.role = kPrimary;
  EXPECT_DEATH(secondary_.Check(), "invariants/R4");
  s_.role = kSecondary;
  s_.list.MarkLogged(Decree(1), 1);
  EXPECT_DEATH(secondary_.Check(), "invariants/R4: logged");
}

TEST_F(RolesDeathTest, ASessionIsALearners) {
  s_.role = kPotentialSecondary;
  s_.primary = NodeAt('B');
  learner_.OnInvitation(5);
  learner_.Check();
  s_.role = kInactive;
  EXPECT_DEATH(learner_.Check(), "kPotentialSecondary");
  learner_.Abort();
  learner_.Check();
}

TEST_F(RolesDeathTest, ALearnerAsksAnother) {
  s_.role = kPotentialSecondary;
  EXPECT_DEATH(learner_.OnInvitation(5), "who would answer");
}

TEST_F(RolesDeathTest, OnlyAPrimaryTellsItsGroup) {
  GroupCheck group_check(s_, primary_, sessions_);
  EXPECT_DEATH(group_check.Check(), "hears of it no more");
  group_check.Begin();
  group_check.Check();
  s_.role = kInactive;
  EXPECT_DEATH(group_check.Check(), "InfiniteFuture");
  EXPECT_DEATH(group_check.Begin(), "kPrimary");
  group_check.End();
  group_check.Check();
}

}  // namespace
}  // namespace arion
