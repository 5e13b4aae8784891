// SPDX-License-Identifier: Apache-2.0
#include "pacifica/learner.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/pacifica/one_core.h"
#include "tests/pacifica/roles.h"

namespace arion {
namespace {

using enum PartitionStatus;

// ---- in a core ----

using LearnerCoreTest = OneCoreTest;

TEST_F(LearnerCoreTest, AnInvitationWithoutASessionIsOdd) {
  const Effects effects = Invite(0);
  EXPECT_EQ(core_->counters().odd_messages, 1);
  EXPECT_EQ(Sent<SendLearn>(effects), nullptr);
}

TEST_F(LearnerCoreTest, WhatThePrimaryCanNotAnswerYetIsAskedAgainLater) {
  for (const ErrorCode err :
       {ErrorCode::kTryAgain, ErrorCode::kInconsistentState, ErrorCode::kInactiveState}) {
    Open();
    LearnResponse response;
    response.err = err;
    response.config = From(kA, 7, kPotentialSecondary);
    AnswerRound(BecomeLearner(), response);
    EXPECT_EQ(core_->role(), kPotentialSecondary);
    now_ = core_->NextWakeup();
    EXPECT_NE(Sent<SendLearn>(Step(Tick{})), nullptr);
  }
}

TEST_F(LearnerCoreTest, ALogWithNothingNewIsAskedForAgainLater) {
  LearnResponse response;
  response.config = From(kA, 7, kPotentialSecondary);
  response.last_committed_decree = Decree(20);
  response.prepare_start_decree = kInvalidDecree;
  response.type = LearnType::kLog;
  response.state.to_decree_included = Decree(11);
  const Effects effects = AnswerRound(BecomeLearner(), response);
  EXPECT_TRUE(effects.apply.empty() && effects.send.empty());
  now_ = core_->NextWakeup();
  EXPECT_NE(Sent<SendLearn>(Step(Tick{})), nullptr);
}

TEST_F(LearnerCoreTest, ACacheThatCanNotBeReadEndsTheSession) {
  LearnResponse unreadable = Cache(12);
  unreadable.state.meta.bytes = "no mutation";
  AnswerRound(BecomeLearner(), unreadable);
  EXPECT_EQ(core_->counters().odd_messages, 1);
  EXPECT_EQ(core_->role(), kInactive);
}

// Seed 92300420: it acknowledged 12 and 13 in its session before it lost its lease, forgot them in
// the same session, and was made a member that lacks them. Primaries of 2.5.0 send them once a
// session.
TEST_F(LearnerCoreTest, WhatALearnerAcknowledgedAndASessionDoesNotBringAgainAsksForAnotherSession) {
  constexpr int64_t kFirst = (int64_t{7} << 32) | 2, kSecond = kFirst + 1;
  const auto answer = [&](int64_t signature, const LearnResponse& response) {
    const Effects invited = Invite(signature);
    const auto* round = Sent<SendLearn>(invited);
    ASSERT_NE(round, nullptr);
    AnswerRound(round->serial, response);
  };
  const LearnResponse none = Cache(11);
  LearnResponse committed = none;
  committed.last_committed_decree = Decree(12);
  LearnResponse ours = none;
  ours.prepares_all_after = true;
  for (const LearnResponse& response : {none, committed, ours}) {
    recovered_.logged = {MakeMutation(7, 12, 11, "a"), MakeMutation(7, 13, 11, "b")};
    Open();
    answer(kFirst, response);
    const bool goes_on = response.prepares_all_after.has_value();
    EXPECT_EQ(core_->role(), goes_on ? kPotentialSecondary : kInactive);
    if (goes_on) continue;
    answer(kFirst, response);
    EXPECT_EQ(core_->role(), kInactive) << "nor again";
    answer(kSecond, none);
    EXPECT_EQ(core_->role(), kPotentialSecondary) << "a session of after that";
    EXPECT_EQ(core_->learner_status(), LearnerStatus::kSucceeded);
  }
  // What it holds as a former member is of an older ballot.
  recovered_.logged = {MakeMutation(6, 12, 11, "a")};
  Open();
  answer(kFirst, none);
  EXPECT_EQ(core_->role(), kPotentialSecondary);
}

// The primary's list may hold more than this one's; and the primary goes on with a whole window.
TEST_F(LearnerCoreTest, ACacheLeavesTheListRoomForTheWindow) {
  options_.mutations_in_flight_max = 4;
  options_.prepare_list_span_max = 20;
  for (const int64_t last : {11 + 16, 11 + 17, 11 + 20, 11 + 50}) {
    SCOPED_TRACE(last);
    Open();
    const Effects learned = AnswerRound(BecomeLearner(), Cache(last));
    EXPECT_EQ(core_->learner_status(), LearnerStatus::kWithPrepare);
    const int64_t handed = std::max<int64_t>(last - 11 - 16, 0);
    EXPECT_EQ(learned.apply.size(), static_cast<size_t>(handed));
    EXPECT_EQ(learned.append.size(), static_cast<size_t>(last - 11 - handed));
    EXPECT_EQ(learned.restart_log->applied, Decree(11 + handed));
    for (int64_t d = last + 1; d <= last + 4; ++d) {
      PrepareReceived prepare{static_cast<ReplyToken>(d), {}};
      prepare.request.pid = kTestPid;
      prepare.request.config = From(kA, 7, kPotentialSecondary, 42);
      prepare.request.mutation = MakeMutation(7, d, last, "k");
      EXPECT_EQ(Step(prepare).append.size(), 1u) << d;
    }
    EXPECT_EQ(core_->counters().odd_messages, 0);
  }
}

// What did not come through the own log is a member's only when the engine has it durable.
TEST_F(LearnerCoreTest, WhatOfACacheDidNotFitIsFlushedBeforeItCounts) {
  options_.mutations_in_flight_max = 4;
  options_.prepare_list_span_max = 20;
  Open();
  Effects effects = AnswerRound(BecomeLearner(), Cache(11 + 20));
  EXPECT_EQ(effects.persist_standing, Standing::kLearner);
  for (const LogAppend& append : effects.append) Step(Logged{append.sequence});
  effects = Step(Applied{Decree(31)});
  ASSERT_TRUE(effects.learner_work.has_value());
  EXPECT_EQ(effects.learner_work->what, LearnerWork::What::kFlush);
  effects = Step(LearnerWorkDone{effects.learner_work->serial, LearnerWorkDone::Result::kDone,
                                 Decree(31), Decree(15)});
  EXPECT_NE(Sent<SendLearnCompletion>(effects), nullptr);
  EXPECT_EQ(core_->learner_status(), LearnerStatus::kSucceeded);
}

TEST_F(LearnerCoreTest, AGapThatIsNotFlushedWholeIsFlushedAgain) {
  recovered_.last_durable = Decree(5);
  Open();
  const Effects learned = AnswerRound(BecomeLearner(), Cache(11));
  ASSERT_TRUE(learned.learner_work.has_value());
  EXPECT_EQ(learned.learner_work->what, LearnerWork::What::kFlush);
  LearnerWorkDone done{learned.learner_work->serial, LearnerWorkDone::Result::kDone, Decree(11),
                       Decree(8)};
  EXPECT_FALSE(Step(done).learner_work.has_value()) << "not at once";
  EXPECT_EQ(core_->learner_status(), LearnerStatus::kWithPrepare);
  now_ = core_->NextWakeup();
  const Effects again = Step(Tick{});
  ASSERT_TRUE(again.learner_work.has_value());
  done.serial = again.learner_work->serial;
  done.durable = Decree(11);
  EXPECT_NE(Sent<SendLearnCompletion>(Step(done)), nullptr);
  EXPECT_EQ(core_->learner_status(), LearnerStatus::kSucceeded);
}

// Nobody would take up what is to be tried again: its driver would be woken without a pause.
TEST_F(LearnerCoreTest, AFlushForASessionThatEndedIsNotTriedAgain) {
  recovered_.last_durable = Decree(5);
  Open();
  const Effects learned = AnswerRound(BecomeLearner(), Cache(11));
  ASSERT_TRUE(learned.learner_work.has_value());
  Step(LeaseLost{});
  Step(LearnerWorkDone{learned.learner_work->serial, LearnerWorkDone::Result::kDone, Decree(11),
                       Decree(8)});
  EXPECT_EQ(core_->NextWakeup(), Instant::InfiniteFuture());
}

TEST_F(LearnerCoreTest, ACompletionConfirmedForAnotherSessionEndsThisOne) {
  AnswerRound(BecomeLearner(), Cache(11));
  ASSERT_EQ(core_->learner_status(), LearnerStatus::kSucceeded);
  Step(LearnCompletionAnswered{42, ErrorCode::kOk, {kTestPid, ErrorCode::kOk, 41}});
  EXPECT_EQ(core_->role(), kInactive);
}

// invariants/R10: after a crash a half-taught replica may only learn.
TEST_F(LearnerCoreTest, WhatTheFirstPieceOfLogChangesIsMarkedBeforeItIsApplied) {
  EXPECT_EQ(Invite(41).persist_standing, std::nullopt)
      << "its state is still what it was as member";
  EXPECT_EQ(core_->last_mutation_ballot(), Ballot(0));
  LearnResponse piece;
  piece.config = From(kA, 7, kPotentialSecondary);
  piece.last_committed_decree = Decree(20);
  piece.prepare_start_decree = kInvalidDecree;
  piece.type = LearnType::kLog;
  piece.state.to_decree_included = Decree(12);
  AppendMutation(*MakeMutation(7, 12, 11, "k"), -1, &piece.state.meta.bytes);
  const Effects effects = AnswerRound(BecomeLearner(), piece);
  EXPECT_EQ(effects.apply.size(), 1u);
  EXPECT_EQ(effects.persist_standing, Standing::kLearner);
  EXPECT_EQ(core_->last_mutation_ballot(), kInvalidBallot);
  Step(Applied{Decree(12)});
  EXPECT_EQ(Step(Tick{}).persist_standing, std::nullopt) << "once";
}

// Of a duplicated table: its log begins with what other clusters lack, so that it could send it.
TEST_F(LearnerCoreTest, WhatOtherClustersLackIsLoggedAlsoWhereItIsApplied) {
  const auto piece = [](int64_t first, int64_t last) {
    LearnResponse response;
    response.config = From(kA, 7, kPotentialSecondary);
    response.last_committed_decree = Decree(20);
    response.prepare_start_decree = kInvalidDecree;
    response.type = LearnType::kLog;
    response.kept_from = Decree(first);
    response.state.to_decree_included = Decree(last);
    for (int64_t d = first; d <= last; ++d)
      AppendMutation(*MakeMutation(7, d, d - 1, "k"), -1, &response.state.meta.bytes);
    return response;
  };
  const auto decrees = [](const auto& entries) {
    std::vector<int64_t> all;
    for (const auto& entry : entries) {
      if constexpr (requires { entry.mutation; })
        all.push_back(entry.mutation->decree.value());
      else
        all.push_back(entry->decree.value());
    }
    return all;
  };
  EXPECT_EQ(Sent<SendLearn>(Invite(41))->request.kept_through, std::nullopt);
  options_.app.duplicating = true;
  Open();
  const Effects invited = Invite(42);
  EXPECT_EQ(Sent<SendLearn>(invited)->request.kept_through, Decree(0));
  const Effects first = AnswerRound(Sent<SendLearn>(invited)->serial, piece(5, 8));
  EXPECT_EQ(first.restart_log->applied, Decree(11));
  EXPECT_EQ(first.restart_log->behind, Decree(4));
  EXPECT_EQ(first.persist_standing, Standing::kLearner);
  EXPECT_EQ(decrees(first.append), (std::vector<int64_t>{5, 6, 7, 8}));
  EXPECT_TRUE(first.apply.empty());
  EXPECT_EQ(Sent<SendLearn>(first), nullptr) << "the log is no faster than its disk";
  Effects asked;
  for (const LogAppend& append : first.append) asked = Step(Logged{append.sequence});
  ASSERT_NE(Sent<SendLearn>(asked), nullptr);
  EXPECT_EQ(Sent<SendLearn>(asked)->request.kept_through, Decree(8));
  const Effects second = AnswerRound(Sent<SendLearn>(asked)->serial, piece(9, 13));
  EXPECT_FALSE(second.restart_log.has_value()) << "it goes on";
  EXPECT_EQ(decrees(second.append), (std::vector<int64_t>{9, 10, 11, 12, 13}));
  EXPECT_EQ(decrees(second.apply), (std::vector<int64_t>{12, 13}));
  for (const LogAppend& append : second.append) asked = Step(Logged{append.sequence});
  EXPECT_EQ(Sent<SendLearn>(asked), nullptr);
  asked = Step(Applied{Decree(13)});
  ASSERT_NE(Sent<SendLearn>(asked), nullptr);
  LearnResponse rest = Cache(20);
  rest.kept_from = Decree(14);
  const Effects third = AnswerRound(Sent<SendLearn>(asked)->serial, rest);
  EXPECT_FALSE(third.restart_log.has_value());
  EXPECT_EQ(decrees(third.append), (std::vector<int64_t>{14, 15, 16, 17, 18, 19, 20}));
  EXPECT_EQ(core_->learner_status(), LearnerStatus::kWithPrepare);
}

TEST_F(LearnerCoreTest, ACacheWithWhatOtherClustersLackBeginsTheLogWithIt) {
  LearnResponse cache = Cache(13);
  cache.state.meta.bytes.clear();
  for (int64_t d = 9; d <= 13; ++d)
    AppendMutation(*MakeMutation(7, d, d - 1, "k"), -1, &cache.state.meta.bytes);
  cache.kept_from = Decree(9);
  const Effects effects = AnswerRound(BecomeLearner(), cache);
  EXPECT_EQ(effects.restart_log->behind, Decree(8));
  EXPECT_EQ(effects.append.size(), 5u);
  EXPECT_EQ(core_->learner_status(), LearnerStatus::kWithPrepare);
  // What it lacks would begin behind that.
  Open();
  cache.kept_from = Decree(13);
  AnswerRound(BecomeLearner(), cache);
  EXPECT_EQ(core_->role(), kInactive);
  EXPECT_EQ(core_->counters().odd_messages, 1);
}

TEST_F(LearnerCoreTest, WhoHoldsNothingIsALearnerFromTheStart) {
  recovered_.ballot = Ballot(0);
  recovered_.last_applied = recovered_.last_durable = Decree(0);
  Open();
  const Effects effects = Invite(41);
  EXPECT_EQ(effects.persist_ballot, Ballot(7));
  EXPECT_EQ(effects.persist_standing, Standing::kLearner);
  EXPECT_EQ(core_->last_mutation_ballot(), kInvalidBallot);
}

// A copy can't be stopped; what it brings will count in the next session.
TEST_F(LearnerCoreTest, WhoStillCopiesForAFormerSessionSaysThatItLearns) {
  LearnResponse checkpoint = Cache(11);
  checkpoint.type = LearnType::kApp;
  checkpoint.prepare_start_decree = kInvalidDecree;
  checkpoint.last_committed_decree = checkpoint.state.to_decree_included = Decree(20);
  checkpoint.state.files = {"a"};
  ASSERT_TRUE(AnswerRound(BecomeLearner(), checkpoint).learner_work.has_value());
  Step(LeaseLost{});
  Step(Connected{});
  GroupCheckReceived check{1, {}};
  check.request.config = From(kA, 7, kPotentialSecondary, 43);
  const Effects effects = Step(check);
  ASSERT_EQ(core_->role(), kPotentialSecondary);
  EXPECT_EQ(std::get<GroupCheckResponse>(effects.replies[0].body).learner_status,
            LearnerStatus::kWithoutPrepare);
}

// ---- by hand ----

using LearnerDeathTest = RolesTest;

TEST_F(LearnerDeathTest, ASessionIsALearners) {
  s_.role = kPotentialSecondary;
  s_.primary = NodeAt('B');
  learner_.OnInvitation(5);
  learner_.Check();
  s_.role = kInactive;
  EXPECT_DEATH(learner_.Check(), "kPotentialSecondary");
  learner_.Abort();
  learner_.Check();
}

TEST_F(LearnerDeathTest, ALearnerAsksAnother) {
  s_.role = kPotentialSecondary;
  EXPECT_DEATH(learner_.OnInvitation(5), "who would answer");
}

class LearnerTest : public RolesTest {
 protected:
  LearnerTest() {
    s_.now = Instant(1'000'000'000);
    s_.role = kPotentialSecondary;
    s_.primary = NodeAt('B');
  }
  uint64_t Round() {
    uint64_t serial = 0;
    for (const Envelope& envelope : std::exchange(s_.effects.send, {}))
      if (const auto* round = std::get_if<SendLearn>(&envelope)) serial = round->serial;
    return serial;
  }
  Learner::Verdict Lose(uint64_t serial) {
    return learner_.OnAnswer({.serial = serial, .rpc = ErrorCode::kTimeout});
  }
};

TEST_F(LearnerTest, ARoundIsAskedAgainAndTheFourthInARowThatIsLostEndsTheSession) {
  learner_.OnInvitation(5);
  for (int lost = 1; lost <= 4; ++lost) {
    const uint64_t serial = Round();
    ASSERT_NE(serial, 0u) << lost;
    const bool is_last = lost == 4;
    EXPECT_EQ(Lose(serial), is_last ? Learner::Verdict::kSessionFailed : Learner::Verdict::kFine);
    if (is_last) break;
    learner_.Check();
    s_.now = learner_.NextWakeup();
    learner_.Proceed();
  }
  EXPECT_TRUE(learner_.HasFailed(5));
  EXPECT_FALSE(learner_.HasFailed(6));
  EXPECT_NE(learner_.failure().find("no answer"), std::string::npos) << learner_.failure();
}

TEST_F(LearnerTest, ALargerSignatureEndsTheSessionAndASmallerOneIsLate) {
  learner_.OnInvitation(5);
  const uint64_t former = Round();
  learner_.OnInvitation(6);
  EXPECT_EQ(learner_.signature(), 6);
  learner_.OnInvitation(5);
  EXPECT_EQ(learner_.signature(), 6);
  EXPECT_EQ(Lose(former), Learner::Verdict::kFine);
  EXPECT_EQ(s_.counters.stale_messages, 2) << "the invitation, and the answer of the former round";
}

TEST_F(LearnerTest, WhatTheGroupNeverCommittedIsDiscarded) {
  s_.last_applied = s_.last_handed = Decree(9);
  s_.list.Reset(Decree(9));
  learner_.OnInvitation(5);
  LearnAnswered answer{.serial = Round()};
  answer.response.config.ballot = Ballot(7);
  answer.response.last_committed_decree = Decree(8);
  answer.response.prepare_start_decree = kInvalidDecree;
  EXPECT_EQ(learner_.OnAnswer(answer), Learner::Verdict::kFine);
  ASSERT_TRUE(s_.effects.learner_work.has_value());
  EXPECT_EQ(s_.effects.learner_work->what, LearnerWork::What::kDiscard);
  LearnerWorkDone done{.serial = s_.effects.learner_work->serial};
  EXPECT_EQ(learner_.OnWorkDone(done), Learner::Verdict::kFine);
  EXPECT_EQ(s_.last_applied, Decree(0));
  EXPECT_NE(Round(), 0u) << "it asks from the beginning";
}

TEST_F(LearnerTest, ALargerBallotIsTheCallersToAdopt) {
  learner_.OnInvitation(5);
  LearnAnswered answer{.serial = Round()};
  answer.response.config.ballot = Ballot(8);
  EXPECT_EQ(learner_.OnAnswer(answer), Learner::Verdict::kAdoptBallot);
  EXPECT_EQ(learner_.signature(), 5) << "the session goes on";
}

TEST_F(LearnerTest, AFaultOfTheOwnDiskIsToldAlsoOfAFormerSession) {
  s_.last_applied = s_.last_handed = Decree(9);
  s_.list.Reset(Decree(9));
  learner_.OnInvitation(5);
  LearnAnswered answer{.serial = Round()};
  answer.response.config.ballot = Ballot(7);
  answer.response.prepare_start_decree = kInvalidDecree;
  learner_.OnAnswer(answer);
  const uint64_t serial = s_.effects.learner_work->serial;
  learner_.Abort();
  EXPECT_TRUE(learner_.HasWork());
  EXPECT_EQ(learner_.OnWorkDone({.serial = serial,
                                 .result = LearnerWorkDone::Result::kLocalFailed,
                                 .why = "no more space"}),
            Learner::Verdict::kLocalFault);
  EXPECT_EQ(learner_.failure(), "no more space");
}

}  // namespace
}  // namespace arion
