// What a replica does with the events that seldom come: at its start, stale or doubled, or not for
// it. SPDX-License-Identifier: Apache-2.0
#include "pacifica/replica_core.h"

#include <gtest/gtest.h>

#include "tests/pacifica/one_core.h"

namespace arion {
namespace {

using enum PartitionStatus;
using ReplicaCoreTest = OneCoreTest;

TEST_F(ReplicaCoreTest, ALogWithAHoleMayOnlyLearn) {
  recovered_.logged = {MakeMutation(7, 12, 11, "a"), MakeMutation(7, 14, 13, "c")};
  Open();
  EXPECT_EQ(core_->inactivity(), Inactivity::kRemoved);
  EXPECT_EQ(core_->counters().lost_entries, 1);
  Sync(Group(7, kA, {kB, kC}));
  EXPECT_EQ(core_->role(), kInactive);
}

TEST_F(ReplicaCoreTest, WhatTheFormerLogHadCommittedIsHandedOverAtOnce) {
  recovered_.logged = {MakeMutation(7, 12, 11, "a"), MakeMutation(7, 13, 12, "b")};
  core_ = std::make_unique<ReplicaCore>(options_, recovered_, now_);
  EXPECT_EQ(core_->NextWakeup(), now_);
  const Effects effects = Step(Tick{});
  ASSERT_EQ(effects.apply.size(), 1u);
  EXPECT_EQ(effects.apply[0]->decree, Decree(12));
  EXPECT_GT(core_->NextWakeup(), now_);
}

TEST_F(ReplicaCoreTest, WhatIsReportedTwiceOrByNobodyChangesNothing) {
  Sync(Group(7, kA, {kB, kC}));
  const Watermarks before = core_->marks();
  Step(Applied{Decree(10)});
  Step(Logged{99});
  EXPECT_EQ(core_->marks().last_applied, before.last_applied);
  EXPECT_EQ(core_->marks().last_logged, before.last_logged);
  const int64_t stale = core_->counters().stale_messages;
  Step(LearnerWorkDone{5, LearnerWorkDone::Result::kDone, Decree(99), Decree(99)});
  EXPECT_EQ(core_->counters().stale_messages, stale + 1);
  EXPECT_EQ(core_->marks().last_applied, before.last_applied);
}

TEST_F(ReplicaCoreTest, PreparesWithoutOrOfAnotherMutationAreRefused) {
  Sync(Group(7, kA, {kB, kC}));
  PrepareReceived event{1, {}};
  event.request.pid = kTestPid;
  event.request.config = From(kA, 7, kSecondary);
  Step(event);
  Mutation other = *MakeMutation(7, 12, 11, "x");
  other.pid = {9, 9};
  event.request.mutation = std::make_shared<const Mutation>(other);
  const Effects effects = Step(event);
  EXPECT_EQ(std::get<PrepareAck>(effects.replies[0].body).err, ErrorCode::kInvalidData);
  EXPECT_EQ(core_->counters().odd_messages, 2);
  EXPECT_TRUE(effects.append.empty());
}

TEST_F(ReplicaCoreTest, GroupChecksAndInvitationsOfAnotherPartitionAreRefused) {
  GroupCheckReceived check{1, {}};
  check.request.config = From(kA, 7, kSecondary);
  check.request.config.pid = {9, 9};
  const Effects effects = Step(check);
  EXPECT_EQ(std::get<GroupCheckResponse>(effects.replies[0].body).err, ErrorCode::kInvalidData);
  AddLearnerReceived invitation;
  invitation.request.config = From(kA, 7, kPotentialSecondary, 42);
  invitation.request.config.pid = {9, 9};
  Step(invitation);
  EXPECT_EQ(core_->counters().odd_messages, 2);
  EXPECT_EQ(core_->role(), kInactive);
}

// A primary of 2.5 does not end a split that it pauses or cancels before each secondary has said
// so.
TEST_F(ReplicaCoreTest, ASecondaryIsNeverInTheWayOfASplitsEnd) {
  const auto stopped = [&](std::optional<int32_t> split) {
    GroupCheckReceived check{1, {}};
    check.request.config = From(kA, 7, kSecondary);
    check.request.meta_split_status = split;
    const Effects effects = Step(check);
    return std::get<GroupCheckResponse>(effects.replies.at(0).body).is_split_stopped;
  };
  EXPECT_EQ(stopped(std::nullopt), std::nullopt);
  ASSERT_EQ(core_->role(), kSecondary);
  EXPECT_EQ(stopped(1), std::nullopt) << "it goes on";
  EXPECT_EQ(stopped(2), true) << "it is paused";
  EXPECT_EQ(stopped(3), std::nullopt);
  EXPECT_EQ(stopped(4), true) << "it is given up";
}

}  // namespace
}  // namespace arion
