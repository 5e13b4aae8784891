// SPDX-License-Identifier: Apache-2.0
#include "pacifica/role_keeper.h"
#include "pacifica/roll_call.h"

#include <gtest/gtest.h>

#include "tests/pacifica/one_core.h"
#include "tests/pacifica/roles.h"

namespace arion {
namespace {

using enum PartitionStatus;

// ---- in a core ----

using RoleKeeperCoreTest = OneCoreTest;

TEST_F(RoleKeeperCoreTest, AnAssignmentWithoutAPrimaryIsRefused) {
  GroupCheckReceived check{1, {}};
  check.request.config = From(Endpoint{}, 7, kSecondary);
  EXPECT_EQ(std::get<GroupCheckResponse>(Step(check).replies[0].body).err,
            ErrorCode::kInvalidState);
  check.request.config = From(kB, 8, kSecondary);
  EXPECT_EQ(std::get<GroupCheckResponse>(Step(check).replies[0].body).err,
            ErrorCode::kInvalidState);
  EXPECT_EQ(core_->ballot(), Ballot(7));
}

TEST_F(RoleKeeperCoreTest, WhoIsStillLearningIsNoMember) {
  BecomeLearner();
  Sync(Group(8, kA, {kB, kC}));
  EXPECT_EQ(core_->role(), kPotentialSecondary);
  GroupCheckReceived check{1, {}};
  check.request.config = From(kA, 7, kSecondary);
  EXPECT_EQ(std::get<GroupCheckResponse>(Step(check).replies[0].body).err,
            ErrorCode::kInvalidState);
  EXPECT_EQ(core_->role(), kPotentialSecondary);
  EXPECT_EQ(core_->ballot(), Ballot(7));
}

TEST_F(RoleKeeperCoreTest, APrimaryThatWasDeposedLearnsFromItsSuccessor) {
  BecomePrimary();
  Write(10);
  AddLearnerReceived invitation;
  invitation.request.config = From(kA, 8, kPotentialSecondary, 42);
  Step(invitation);
  EXPECT_EQ(core_->role(), kPrimary) << "of its own ballot there is no other";
  invitation.request.config = From(Endpoint{}, 9, kPotentialSecondary, 42);
  Step(invitation);
  EXPECT_EQ(core_->role(), kPrimary) << "of nobody";
  invitation.request.config = From(kA, 9, kPotentialSecondary, 42);
  const Effects effects = Step(invitation);
  EXPECT_EQ(core_->role(), kPotentialSecondary);
  EXPECT_EQ(effects.persist_ballot, Ballot(9));
  ASSERT_EQ(effects.client_replies.size(), 1u);
  EXPECT_EQ(effects.client_replies[0].err, ErrorCode::kTimeout) << "whether it survives is unknown";
  const auto* round = Sent<SendLearn>(effects);
  ASSERT_NE(round, nullptr);
  EXPECT_EQ(round->to, kA);
}

class RoleKeeperTest : public RolesTest {
 protected:
  RoleKeeperTest() {
    s_.role = kInactive;
    s_.now = Instant(1'000'000'000);
  }
  PartitionConfiguration Group(int64_t ballot, char primary, char secondary) const {
    PartitionConfiguration group = s_.configuration;
    group.ballot = Ballot(ballot);
    group.primary = NodeAt(primary);
    group.secondaries = {NodeAt(secondary)};
    return group;
  }
  using Verdict = TransitionVerdict;
  RollCall roll_call_{s_};
  RoleKeeper roles_{s_, roll_call_, primary_, secondary_, learner_, sessions_};
};

TEST_F(RoleKeeperTest, TheRoleFollowsFromTheMembers) {
  EXPECT_EQ(roles_.Adopt(Group(7, 'B', 'A'), "test"), Verdict::kAccept);
  EXPECT_EQ(s_.role, kSecondary);
  EXPECT_EQ(s_.primary, NodeAt('B'));
  EXPECT_EQ(s_.effects.persist_ballot, std::nullopt) << "the ballot is the same";
  EXPECT_EQ(roles_.Adopt(Group(8, 'A', 'B'), "test"), Verdict::kAccept);
  EXPECT_EQ(s_.role, kPrimary);
  EXPECT_EQ(s_.effects.persist_ballot, Ballot(8));
  EXPECT_FALSE(roll_call_.IsOver()) << "B is to be heard";
  EXPECT_EQ(roles_.Adopt(Group(9, 'B', 'C'), "test"), Verdict::kAccept);
  EXPECT_EQ(s_.role, kInactive);
  EXPECT_EQ(s_.inactivity, Inactivity::kRemoved);
  EXPECT_EQ(s_.effects.role_changes.size(), 3u);
}

TEST_F(RoleKeeperTest, ARefusedChangeChangesNothing) {
  for (const auto& group : {Group(6, 'B', 'A'), Group(7, 'A', 'B')}) {
    EXPECT_EQ(roles_.Adopt(group, "test"), Verdict::kRefuse)
        << "of an old ballot, or of one that this process did not lead";
    EXPECT_EQ(s_.role, kInactive);
    EXPECT_EQ(s_.ballot, Ballot(7));
    EXPECT_TRUE(s_.effects.role_changes.empty());
  }
}

TEST_F(RoleKeeperTest, WhoLedThisVeryBallotMayResumeIt) {
  ASSERT_EQ(roles_.Adopt(Group(8, 'A', 'B'), "test"), Verdict::kAccept);
  roles_.BecomeInactive(Inactivity::kTransient, "test");
  EXPECT_EQ(s_.role, kInactive);
  EXPECT_EQ(roles_.Adopt(Group(8, 'A', 'B'), "test"), Verdict::kAccept);
  EXPECT_EQ(s_.role, kPrimary);
}

TEST_F(RoleKeeperTest, ARemovedReplicaMayOnlyLearn) {
  s_.inactivity = Inactivity::kRemoved;
  EXPECT_EQ(roles_.Adopt(Group(8, 'B', 'A'), "test"), Verdict::kRefuse);
  ReplicaConfiguration assigned{kTestPid, Ballot(8), NodeAt('B'), kPotentialSecondary, 5};
  EXPECT_EQ(roles_.AdoptAssigned(assigned, "test"), Verdict::kAccept);
  EXPECT_EQ(s_.role, kPotentialSecondary);
}

TEST_F(RoleKeeperTest, APrimaryAssignsNothingButSecondaryAndLearner) {
  for (const PartitionStatus status : {kPrimary, kInactive, PartitionStatus::kError}) {
    const ReplicaConfiguration assigned{kTestPid, Ballot(8), NodeAt('B'), status, 0};
    EXPECT_EQ(roles_.AdoptAssigned(assigned, "test"), Verdict::kRefuse);
  }
  const ReplicaConfiguration by_itself{kTestPid, Ballot(8), NodeAt('A'), kSecondary, 0};
  EXPECT_EQ(roles_.AdoptAssigned(by_itself, "test"), Verdict::kRefuse);
  EXPECT_EQ(s_.ballot, Ballot(7));
}

TEST_F(RoleKeeperTest, ABallotThatRisesIsPersistedAndEndsWhatWaits) {
  ASSERT_EQ(roles_.Adopt(Group(7, 'B', 'A'), "test"), Verdict::kAccept);
  secondary_.Prepare(1, {.mutation = MakeMutation(7, 1, 0, "a")});
  roles_.RaiseBallot(Ballot(7));
  EXPECT_TRUE(s_.effects.dropped.empty()) << "the same one";
  roles_.RaiseBallot(Ballot(9));
  EXPECT_EQ(s_.effects.persist_ballot, Ballot(9));
  EXPECT_EQ(s_.effects.dropped.size(), 1u);
  EXPECT_DEATH(roles_.RaiseBallot(Ballot(8)), "invariants/R3");
}

TEST_F(RoleKeeperTest, AFailedReplicaIsClosedAndTakesNoRole) {
  roles_.Fail("a fault");
  EXPECT_EQ(s_.role, PartitionStatus::kError);
  EXPECT_EQ(s_.effects.close, Effects::Close::kSetAside);
  EXPECT_EQ(s_.effects.close_why, "a fault");
  EXPECT_EQ(roles_.Adopt(Group(8, 'B', 'A'), "test"), Verdict::kRefuse);
  EXPECT_DEATH(roles_.Fail("again"), "kError");
}

}  // namespace
}  // namespace arion
