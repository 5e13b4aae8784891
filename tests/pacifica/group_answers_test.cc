// SPDX-License-Identifier: Apache-2.0
#include "pacifica/group_answers.h"

#include <gtest/gtest.h>

#include "tests/pacifica/one_core.h"
#include "tests/pacifica/roles.h"

namespace arion {
namespace {

using enum PartitionStatus;

// ---- in a core ----

using GroupAnswersCoreTest = OneCoreTest;

TEST_F(GroupAnswersCoreTest, AnAcknowledgementIsOfTheOneWhoWasAsked) {
  BecomePrimary();
  const Effects started = Write(10);
  const auto* prepare = Sent<SendPrepare>(started);
  PrepareAcked acked;
  acked.from = prepare->to == kA ? kC : kA;
  acked.serial = prepare->serial;
  acked.ack.ballot = Ballot(8);
  acked.ack.decree = Decree(12);
  const int64_t stale = core_->counters().stale_messages;
  Step(acked);
  EXPECT_EQ(core_->counters().stale_messages, stale + 1);
  EXPECT_EQ(core_->role(), kPrimary);
}

TEST_F(GroupAnswersCoreTest, WhoAcknowledgesSomethingElseIsRemoved) {
  for (const bool other_ballot : {true, false}) {
    Open();
    BecomePrimary();
    const Effects started = Write(10);
    const auto* prepare = Sent<SendPrepare>(started);
    PrepareAcked acked;
    acked.from = prepare->to;
    acked.serial = prepare->serial;
    acked.ack.ballot = Ballot(other_ballot ? 7 : 8);
    acked.ack.decree = Decree(other_ballot ? 12 : 13);
    const Effects effects = Step(acked);
    EXPECT_EQ(core_->counters().odd_messages, 1);
    const auto* update = Sent<SendConfigurationUpdate>(effects);
    ASSERT_NE(update, nullptr);
    EXPECT_EQ(update->request.type, ConfigType::kDowngradeToInactive);
    EXPECT_EQ(update->request.node, prepare->to);
  }
}

TEST_F(GroupAnswersCoreTest, ALearnerIsAMemberWhenItsOwnSessionSucceeded) {
  BecomePrimary();
  PartitionConfiguration wants_one_more = Group(8, kB, {kA, kC});
  wants_one_more.max_replica_count = 4;
  const Effects proposed = Propose(ConfigType::kAddSecondary, kD, wants_one_more);
  const auto* invitation = Sent<SendAddLearner>(proposed);
  ASSERT_NE(invitation, nullptr);
  const int64_t signature = invitation->request.config.learner_signature;
  GroupCheckAnswered answer;
  answer.from = kD;
  answer.ballot = Ballot(8);
  answer.response.learner_status = LearnerStatus::kSucceeded;
  answer.response.learner_signature = signature - 1;
  EXPECT_TRUE(Step(answer).send.empty());
  EXPECT_EQ(core_->role(), kPrimary);
  LearnCompletionReceived completion{1, {}};
  completion.report.node = kD;
  completion.report.learner_signature = signature;
  completion.report.learner_status = LearnerStatus::kWithPrepare;
  EXPECT_EQ(std::get<LearnNotifyResponse>(Step(completion).replies[0].body).err,
            ErrorCode::kInvalidState);
  LearnReceived ask{2, {}};
  ask.request.pid = kTestPid;
  ask.request.learner = kD;
  ask.request.signature = signature;
  ask.request.last_committed_decree_in_app = Decree(11);
  Step(ask);
  EXPECT_EQ(std::get<LearnNotifyResponse>(Step(completion).replies[0].body).err,
            ErrorCode::kInvalidState)
      << "it has not succeeded";
  answer.response.learner_signature = signature;
  EXPECT_NE(Sent<SendConfigurationUpdate>(Step(answer)), nullptr);
}

TEST_F(GroupAnswersCoreTest, AFailedMemberIsRemovedAtOnce) {
  BecomePrimary();
  const Effects started = Write(10);
  const auto* prepare = Sent<SendPrepare>(started);
  PrepareAcked acked{.from = prepare->to, .serial = prepare->serial};
  acked.ack.err = ErrorCode::kInvalidState;
  const Effects effects = Step(acked);
  const auto* update = Sent<SendConfigurationUpdate>(effects);
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(update->request.type, ConfigType::kDowngradeToInactive);
  EXPECT_EQ(update->request.node, prepare->to);
  EXPECT_EQ(core_->role(), kInactive);
}

TEST_F(GroupAnswersCoreTest, ASilentMemberIsRemovedUnlessNobodyAnswers) {
  for (const bool others_answer : {true, false}) {
    SCOPED_TRACE(others_answer);
    Open();
    BecomePrimary();
    const Effects started = Write(10);
    uint64_t to_a = 0;
    for (const Envelope& envelope : started.send) {
      const auto* prepare = std::get_if<SendPrepare>(&envelope);
      if (prepare == nullptr) continue;
      if (prepare->to == kA) to_a = prepare->serial;
      if (prepare->to != kC || !others_answer) continue;
      PrepareAcked acked{.from = kC, .serial = prepare->serial};
      acked.ack.ballot = Ballot(8);
      acked.ack.decree = Decree(12);
      Step(acked);
    }
    now_ = now_ + options_.prepare_timeout;
    const Effects effects =
        Step(PrepareAcked{.from = kA, .serial = to_a, .rpc = ErrorCode::kTimeout});
    const auto* update = Sent<SendConfigurationUpdate>(effects);
    ASSERT_NE(update, nullptr);
    EXPECT_EQ(update->request.type,
              others_answer ? ConfigType::kDowngradeToInactive : ConfigType::kDowngradeToSecondary);
    EXPECT_EQ(update->request.node, others_answer ? kA : kB);
    EXPECT_EQ(core_->counters().gave_way, others_answer ? 0 : 1);
  }
}

TEST_F(GroupAnswersCoreTest, APrimaryThatIsNotProvenYieldsToWhoHoldsMore) {
  TakeOffice();
  GroupCheckResponse more;
  more.last_prepared_decree = Decree(12);
  more.last_mutation_ballot = Ballot(7);
  const Effects effects = Hear(kA, more);
  const auto* update = Sent<SendConfigurationUpdate>(effects);
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(update->request.type, ConfigType::kDowngradeToSecondary);
  EXPECT_EQ(update->request.holds_less, true);
  EXPECT_EQ(core_->TimesOlder(), 0);
}

TEST_F(GroupAnswersCoreTest, ACopyThatIsShownToBeOlderLeavesItsGroup) {
  TakeOffice();
  GroupCheckResponse more;
  more.last_committed_decree_in_prepare_list = Decree(12);
  const Effects effects = Hear(kA, more);
  const auto* update = Sent<SendConfigurationUpdate>(effects);
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(update->request.type, ConfigType::kDowngradeToInactive);
  EXPECT_EQ(update->request.node, kB);
  EXPECT_EQ(core_->TimesOlder(), 1);
}

// Asked ever more seldom; when the time is over the meta server chooses.
TEST_F(GroupAnswersCoreTest, AMemberThatSaysNothingIsAskedAgainAndThenGivenWayTo) {
  TakeOffice();
  Hear(kC, Knows(11));
  now_ = core_->NextWakeup();
  const Effects asked = Step(Tick{});
  const auto* check = Sent<SendGroupCheck>(asked);
  ASSERT_NE(check, nullptr);
  EXPECT_EQ(check->to, kA);
  now_ = now_ + 2 * options_.prepare_timeout;
  const Effects over = Step(Tick{});
  const auto* update = Sent<SendConfigurationUpdate>(over);
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(update->request.type, ConfigType::kDowngradeToSecondary);
  EXPECT_EQ(core_->counters().yielded, 1);
}

TEST_F(GroupAnswersCoreTest, AnAnswerToNoPrimaryIsStale) {
  Step(PrepareAcked{.from = kA, .serial = 1});
  EXPECT_EQ(core_->counters().stale_messages, 1);
}

TEST_F(GroupAnswersCoreTest, AQuestionMakesAnOlderVersionCommitNothing) {
  const Effects asked = TakeOffice();
  const auto* question = Sent<SendGroupCheck>(asked);
  ASSERT_NE(question, nullptr);
  EXPECT_EQ(question->request.last_committed_decree, Decree(0));
  EXPECT_EQ(question->request.committed(), Decree(11));
  EXPECT_EQ(question->request.last_prepared_decree, std::nullopt);
}

TEST_F(GroupAnswersCoreTest, WhatAnOlderVersionDoesNotKnowToBeCommittedIsPreparedForItAgain) {
  recovered_.last_applied = recovered_.last_durable = Decree(10);
  recovered_.logged = {MakeMutation(7, 11, 10, "k"), MakeMutation(7, 12, 11, "l")};
  Open();
  TakeOffice();
  Hear(kA, Knows(11));
  const Effects heard = Hear(kC, Knows(10));
  const auto* prepare = Sent<SendPrepare>(heard);
  ASSERT_NE(prepare, nullptr);
  EXPECT_EQ(prepare->to, kC);
  EXPECT_EQ(prepare->request.mutation->ballot, Ballot(8));
  EXPECT_EQ(prepare->request.mutation->decree, Decree(11));
  EXPECT_EQ(prepare->request.mutation->last_committed, Decree(10));
  EXPECT_EQ(heard.send.size(), 1u);
  EXPECT_TRUE(heard.append.empty()) << "its term has not begun";
  EXPECT_TRUE(Hear(kC, Knows(10)).send.empty()) << "once";
  PrepareAcked acked{.from = kC, .serial = prepare->serial};
  acked.ack.ballot = Ballot(8);
  acked.ack.decree = Decree(11);
  const Effects opened = Step(acked);
  ASSERT_EQ(opened.append.size(), 1u);
  EXPECT_EQ(opened.append.front().mutation->decree, Decree(12));
  EXPECT_EQ(opened.append.front().mutation->last_committed, Decree(11));
}

TEST_F(GroupAnswersCoreTest, WhatIsNoMoreInTheListAnOlderVersionIsToLearn) {
  TakeOffice();
  const Effects heard = Hear(kC, Knows(10));
  const auto* update = Sent<SendConfigurationUpdate>(heard);
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(update->request.type, ConfigType::kDowngradeToInactive);
  EXPECT_EQ(update->request.node, kC);
}

}  // namespace
}  // namespace arion
