// SPDX-License-Identifier: Apache-2.0
#include "pacifica/group_check.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/pacifica/one_core.h"
#include "tests/pacifica/roles.h"

namespace arion {
namespace {

using enum PartitionStatus;

// ---- in a core ----

using GroupCheckCoreTest = OneCoreTest;

TEST_F(GroupCheckCoreTest, WhoDoesNotLearnThoughItAnswersIsNoLearnerAnyMore) {
  BecomePrimary();
  PartitionConfiguration wants_one_more = Group(8, kB, {kA, kC});
  wants_one_more.max_replica_count = 4;
  Propose(ConfigType::kAddSecondary, kD, wants_one_more);
  GroupCheckAnswered answer;
  answer.from = kD;
  answer.ballot = Ballot(8);
  answer.response.pid = kTestPid;
  Step(answer);
  EXPECT_EQ(core_->learners().size(), 1u);
  now_ = now_ + options_.learner_patience;
  Step(answer);
  EXPECT_TRUE(core_->learners().empty());
  EXPECT_EQ(core_->role(), kPrimary);
}

// ---- by hand ----

using GroupCheckDeathTest = RolesTest;

TEST_F(GroupCheckDeathTest, OnlyAPrimaryTellsItsGroup) {
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

class GroupCheckTest : public RolesTest {
 protected:
  GroupCheckTest() {
    s_.now = Instant(1'000'000'000);
    primary_.TakeOffice(Primary::Term::kNew);
    primary_.Open();
    group_check_.Begin();
    Take();
  }
  std::vector<SendGroupCheck> Take() {
    std::vector<SendGroupCheck> sent;
    for (const Envelope& envelope : std::exchange(s_.effects.send, {}))
      if (const auto* check = std::get_if<SendGroupCheck>(&envelope)) sent.push_back(*check);
    return sent;
  }
  GroupCheck::Verdict Hear(ErrorCode rpc, GroupCheckResponse response = {}) {
    return group_check_.OnAnswer(
        {.from = NodeAt('B'), .ballot = Ballot(7), .rpc = rpc, .response = response});
  }
  using Verdict = GroupCheck::Verdict;
  GroupCheck group_check_{s_, primary_, sessions_};
};

TEST_F(GroupCheckTest, EveryMemberIsToldItsRoleAndTheCommittedPoint) {
  s_.now = group_check_.NextWakeup();
  group_check_.OnTick();
  const std::vector<SendGroupCheck> sent = Take();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].to, NodeAt('B'));
  EXPECT_EQ(sent[0].request.config.status, kSecondary);
  EXPECT_EQ(sent[0].request.last_committed_decree, Decree(0));
  EXPECT_EQ(sent[0].request.last_prepared_decree, Decree(0));
  EXPECT_EQ(group_check_.NextWakeup(), s_.now + s_.options.group_check_interval);
}

TEST_F(GroupCheckTest, AnAnswerThatIsLostIsAskedForOnceMore) {
  EXPECT_EQ(Hear(ErrorCode::kTimeout), Verdict::kFine);
  EXPECT_TRUE(group_check_.IsSilent(NodeAt('B')));
  EXPECT_EQ(Take().size(), 1u);
  EXPECT_EQ(Hear(ErrorCode::kTimeout), Verdict::kMemberFailed);
}

TEST_F(GroupCheckTest, AnAnswerBetweenTwoLostOnesCounts) {
  EXPECT_EQ(Hear(ErrorCode::kTimeout), Verdict::kFine);
  EXPECT_EQ(Hear(ErrorCode::kOk), Verdict::kFine);
  EXPECT_FALSE(group_check_.IsSilent(NodeAt('B')));
  EXPECT_EQ(Hear(ErrorCode::kTimeout), Verdict::kFine);
}

TEST_F(GroupCheckTest, AnErrorIsAFailure) {
  EXPECT_EQ(Hear(ErrorCode::kOk, {.err = ErrorCode::kInvalidState}), Verdict::kMemberFailed);
}

TEST_F(GroupCheckTest, AnAnswerOfAFormerBallotIsStale) {
  EXPECT_EQ(group_check_.OnAnswer({.from = NodeAt('B'),
                                   .ballot = Ballot(6),
                                   .response = {.err = ErrorCode::kInvalidState}}),
            Verdict::kFine);
  EXPECT_EQ(s_.counters.stale_messages, 1);
}

TEST_F(GroupCheckTest, AMemberWithoutSpaceIsCheckedSoon) {
  EXPECT_EQ(Hear(ErrorCode::kOk, {.disk_status = DiskStatus::kSpaceInsufficient}), Verdict::kFine);
  EXPECT_EQ(group_check_.NextWakeup(), s_.now + absl::Seconds(2));
  group_check_.Check();
}

TEST_F(GroupCheckTest, AnIdlePrimaryTellsACommittedPointThatNoMutationTold) {
  s_.Append(MakeMutation(7, 1, 0, "a"));
  s_.TakeLogged(1);
  s_.CommitThrough(Decree(1));
  group_check_.Watch();
  EXPECT_EQ(group_check_.NextWakeup(), s_.now + s_.options.commit_notice_delay);
  s_.now = group_check_.NextWakeup();
  group_check_.OnTick();
  ASSERT_EQ(Take().size(), 1u);
  group_check_.Watch();
  EXPECT_EQ(group_check_.NextWakeup(), s_.now + s_.options.group_check_interval) << "it is told";
}

}  // namespace
}  // namespace arion
