// SPDX-License-Identifier: Apache-2.0
#include "pacifica/learner_sessions.h"

#include <gtest/gtest.h>

#include "tests/pacifica/harness.h"

namespace arion {
namespace {

// Primary A with decrees 1 to 11 committed; B is its learner.
class LearnerSessionsTest : public testing::Test {
 protected:
  LearnerSessionsTest() {
    s_.role = PartitionStatus::kPrimary;
    s_.ballot = Ballot(7);
    for (int64_t decree = 1; decree <= 11; ++decree)
      s_.list.Put(MakeMutation(7, decree, decree - 1, "a"), PrepareList::LogState::kLogged, 0);
    s_.CommitThrough(Decree(11));
    sessions_.BeginTerm();
    sessions_.Register(kLearner);
  }
  static CoreOptions Options() {
    CoreOptions options;
    options.self = NodeAt('A');
    options.pid = kTestPid;
    return options;
  }
  LearnerSessions::Consequence AskFrom(int64_t applied,
                                       LogCoverage coverage = LogCoverage::kCovered) {
    LearnReceived event;
    event.token = ++last_token_;
    event.log_coverage = coverage;
    event.request.pid = kTestPid;
    event.request.learner = kLearner;
    event.request.signature = sessions_.Find(kLearner)->signature;
    event.request.last_committed_decree_in_app = Decree(applied);
    return sessions_.Answer(event);
  }

  // The answer to who has applied `applied`, of what other clusters lack from `kept_from` on.
  LearnResponse Kept(int64_t applied, int64_t kept_from, std::optional<Decree> kept_through) {
    LearnReceived event;
    event.token = ++last_token_;
    event.log_coverage = LogCoverage::kDropped;
    event.kept_from = Decree(kept_from);
    event.request.pid = kTestPid;
    event.request.learner = kLearner;
    event.request.signature = sessions_.Find(kLearner)->signature;
    event.request.last_committed_decree_in_app = Decree(applied);
    event.request.kept_through = kept_through;
    s_.effects = {};
    sessions_.Answer(event);
    if (s_.effects.ship.empty()) return std::get<LearnResponse>(s_.effects.replies.back().body);
    EXPECT_EQ(s_.effects.ship.back().first,
              *s_.effects.ship.back().response.state.learn_start_decree);
    sessions_.OnShipped({last_token_, s_.effects.ship.back().response.type, Decree(11)});
    return s_.effects.ship.back().response;
  }
  void GiveCheckpoint(int64_t decree) {
    sessions_.OnShipped({last_token_, LearnType::kApp, Decree(decree)});
  }
  // Decrees 1 to 8 left the memory.
  void Forget() {
    s_.list.Reset(Decree(8));
    for (int64_t decree = 9; decree <= 11; ++decree)
      s_.list.Put(MakeMutation(7, decree, decree - 1, "a"), PrepareList::LogState::kLogged, 0);
    s_.list.CommitThrough(Decree(11));
    s_.last_durable = Decree(7);
  }
  GroupCheckResponse Says(LearnerStatus status) const {
    GroupCheckResponse response;
    response.pid = kTestPid;
    response.learner_status = status;
    return response;
  }

  const Endpoint kLearner = NodeAt('B');
  ReplicaState s_{Options()};
  LearnerSessions sessions_{s_};
  ReplyToken last_token_ = 0;
};
using LearnerSessionsDeathTest = LearnerSessionsTest;

// invariants/R8.
TEST_F(LearnerSessionsDeathTest, WhoTakesPreparesIsSentEachFromItsFirst) {
  EXPECT_DEATH(sessions_.NoteSent(kLearner, Decree(12)), "invariants/R8")
      << "before it was told from where on";
  sessions_.Check(Decree(12));
  EXPECT_EQ(AskFrom(9), LearnerSessions::Consequence::kSendTail);
  EXPECT_EQ(sessions_.Find(kLearner)->prepare_start, Decree(12));
  EXPECT_FALSE(sessions_.Find(kLearner)->TakesPrepare(Decree(11)));
  EXPECT_DEATH(sessions_.NoteSent(kLearner, Decree(11)), "invariants/R8") << "given it already";
  EXPECT_DEATH(sessions_.NoteSent(kLearner, Decree(13)), "invariants/R8") << "12 is skipped";
  sessions_.NoteSent(kLearner, Decree(12));
  sessions_.NoteSent(kLearner, Decree(13));
  sessions_.NoteSent(kLearner, Decree(12));  // again, by a new term
  sessions_.Check(Decree(13));
  EXPECT_DEATH(sessions_.Check(Decree(14)), "invariants/R8") << "14 was prepared and not sent";
}

// What is said in one session, and comes late, never counts in another: a learner that had
// everything in the former one lacks what came behind it (sim seed 122, --older 1).
TEST_F(LearnerSessionsTest, NoTwoSessionsOfABallotHaveOneSignature) {
  const int64_t former = sessions_.Find(kLearner)->signature;
  sessions_.Erase(kLearner);
  sessions_.BeginTerm();  // after a pause, for want of a lease
  EXPECT_GT(sessions_.Register(kLearner).signature, former);
}

TEST_F(LearnerSessionsTest, WhoAsksAgainIsSentAllFromThereOn) {
  AskFrom(9);
  sessions_.NoteSent(kLearner, Decree(12));
  s_.list.Put(MakeMutation(7, 12, 11, "a"), PrepareList::LogState::kLogged, 0);
  s_.CommitThrough(Decree(12));
  AskFrom(9);  // its former answer was lost
  EXPECT_EQ(sessions_.Find(kLearner)->prepare_start, Decree(13));
  sessions_.Check(Decree(12));
}

TEST_F(LearnerSessionsTest, WhoGetsACheckpointNeedsTheLogBehindIt) {
  Forget();
  AskFrom(0);
  EXPECT_EQ(sessions_.FirstLogDecreeNeeded(), Decree(1));
  AskFrom(0, LogCoverage::kDropped);
  EXPECT_EQ(sessions_.FirstLogDecreeNeeded(), Decree(8)) << "nothing before it was read";
  GiveCheckpoint(6);
  EXPECT_EQ(sessions_.FirstLogDecreeNeeded(), Decree(7));
  AskFrom(6);
  sessions_.OnShipped({last_token_, LearnType::kLog, Decree(11)});
  EXPECT_EQ(sessions_.FirstLogDecreeNeeded(), Decree(7)) << "the answer may be lost";
  AskFrom(11);
  EXPECT_EQ(sessions_.FirstLogDecreeNeeded(), Decree(8)) << "it takes prepares";
}

TEST_F(LearnerSessionsTest, WhoAsksAgainForWhatItWasGivenGivesItsPlace) {
  Forget();
  AskFrom(0, LogCoverage::kDropped);
  AskFrom(0, LogCoverage::kDropped);
  EXPECT_EQ(sessions_.WhoGivesPlace(), std::nullopt) << "it was not given anything yet";
  GiveCheckpoint(6);
  EXPECT_EQ(sessions_.WhoGivesPlace(), std::nullopt);
  AskFrom(0, LogCoverage::kDropped);
  EXPECT_EQ(sessions_.WhoGivesPlace(), kLearner);
  GiveCheckpoint(6);
  AskFrom(6);
  EXPECT_EQ(sessions_.WhoGivesPlace(), std::nullopt) << "it got further";
}

TEST_F(LearnerSessionsTest, WhoGetsNowhereGivesItsPlaceUnlessItCopies) {
  Forget();
  s_.now = s_.now + s_.options.learner_patience;
  EXPECT_EQ(sessions_.WhoGivesPlace(), kLearner) << "it never asked";
  AskFrom(0, LogCoverage::kDropped);
  EXPECT_EQ(sessions_.WhoGivesPlace(), std::nullopt);
  GiveCheckpoint(6);
  s_.now = s_.now + absl::Hours(5);
  EXPECT_EQ(sessions_.WhoGivesPlace(), std::nullopt);
  AskFrom(11);
  EXPECT_EQ(sessions_.WhoGivesPlace(), std::nullopt);
  s_.now = s_.now + s_.options.learner_patience;
  EXPECT_EQ(sessions_.WhoGivesPlace(), kLearner) << "its flush does not end";
  sessions_.Register(NodeAt('C'));
  s_.now = s_.now + s_.options.learner_patience;
  EXPECT_EQ(sessions_.WhoGivesPlace(), kLearner) << "it has stood longest";
}

TEST_F(LearnerSessionsTest, WhoAsksInVainTooOftenIsNoLearnerAnyMore) {
  Forget();
  AskFrom(0, LogCoverage::kDropped);
  int rounds = 0;
  LearnerSessions::Consequence consequence = LearnerSessions::Consequence::kNone;
  while (consequence == LearnerSessions::Consequence::kNone && ++rounds < 100) {
    GiveCheckpoint(6);
    consequence = AskFrom(0, LogCoverage::kDropped);
  }
  EXPECT_EQ(consequence, LearnerSessions::Consequence::kEnd);
  EXPECT_EQ(rounds, 11);
  EXPECT_EQ(std::get<LearnResponse>(s_.effects.replies.back().body).err,
            ErrorCode::kObjectNotFound);
}

TEST_F(LearnerSessionsTest, WhoAnswersThatItDoesNotLearnIsIdle) {
  const LearnerSessions::Session& session = *sessions_.Find(kLearner);
  EXPECT_FALSE(sessions_.IsIdle(session, Says(LearnerStatus::kInvalid))) << "not at once";
  s_.now = s_.now + s_.options.learner_patience;
  EXPECT_TRUE(sessions_.IsIdle(session, Says(LearnerStatus::kInvalid)));
  EXPECT_FALSE(sessions_.IsIdle(session, Says(LearnerStatus::kWithoutPrepare)));
  EXPECT_FALSE(sessions_.IsIdle(session, GroupCheckResponse{})) << "it is loading";
}

// Seen in simulation (128900354): a learner of 2.5.0 held decree 67 as an earlier primary had
// prepared it again, kept that for its larger ballot, was given 68 under a smaller one, and ended.
TEST_F(LearnerSessionsTest, ALearnerIsGivenEverythingUnderTheBallotOfTheTerm) {
  s_.ballot = Ballot(9);
  LearnReceived event;
  event.token = ++last_token_;
  event.request.pid = kTestPid;
  event.request.learner = kLearner;
  event.request.signature = sessions_.Find(kLearner)->signature;
  event.request.last_committed_decree_in_app = Decree(9);
  sessions_.Answer(event);
  const auto answer = std::get<LearnResponse>(s_.effects.replies.back().body);
  const std::vector<MutationPtr> mutations = *ParseMutations(kTestPid, answer.state.meta.bytes);
  ASSERT_EQ(mutations.size(), 2u);
  for (const MutationPtr& m : mutations) {
    EXPECT_EQ(m->ballot, Ballot(9));
    EXPECT_EQ(m->last_committed, m->decree - 1);
    EXPECT_EQ(m->updates, s_.list.Find(m->decree)->mutation->updates);
    EXPECT_EQ(m->timestamp_us, s_.list.Find(m->decree)->mutation->timestamp_us);
  }
}

// Else nobody has what other clusters lack once each member has learned.
TEST_F(LearnerSessionsTest, WhatOtherClustersLackIsGivenForTheLogAlsoWhereItIsApplied) {
  const auto begin_anew = [this] {
    sessions_.Erase(kLearner);
    sessions_.Register(kLearner);
  };
  LearnResponse given = Kept(11, 9, Decree(0));
  EXPECT_EQ(given.type, LearnType::kCache);
  EXPECT_EQ(given.kept_from, Decree(9));
  EXPECT_EQ(ParseMutations(kTestPid, given.state.meta.bytes)->size(), 3u);
  begin_anew();
  given = Kept(11, 14, Decree(0));
  EXPECT_EQ(given.kept_from, Decree(12)) << "they have all that it has";
  EXPECT_EQ(Kept(11, 9, std::nullopt).kept_from, std::nullopt) << "an older version's";
  Forget();
  begin_anew();
  given = Kept(11, 3, Decree(0));
  EXPECT_EQ(given.type, LearnType::kLog) << "no checkpoint brings it into its log";
  EXPECT_EQ(given.kept_from, Decree(3));
  // Each gets it further, though it has applied nothing since.
  for (const int64_t through : {3, 4, 5, 6, 7}) {
    given = Kept(11, 3, Decree(through));
    EXPECT_EQ(given.type, LearnType::kLog);
    EXPECT_EQ(given.kept_from, Decree(through + 1));
    EXPECT_EQ(sessions_.Find(kLearner)->vain_rounds, 0);
  }
  Kept(11, 3, Decree(7));
  EXPECT_EQ(sessions_.Find(kLearner)->vain_rounds, 1) << "it did not take what it was given";
  EXPECT_EQ(Kept(11, 3, Decree(8)).type, LearnType::kCache) << "memory has the rest";
  begin_anew();
  EXPECT_EQ(Kept(11, 7, Decree(5)).kept_from, Decree(7)) << "what lies between has come";
  EXPECT_EQ(Kept(5, 3, Decree(0)).kept_from, Decree(3));
  begin_anew();
  given = Kept(0, 3, Decree(0));
  EXPECT_EQ(given.type, LearnType::kApp) << "it lacks what lies before, too";
  EXPECT_EQ(given.kept_from, std::nullopt);
  // What the log had is void with the checkpoint: to begin again is no step back.
  Kept(9, 3, Decree(0));
  EXPECT_EQ(sessions_.Find(kLearner)->vain_rounds, 0);
}

TEST_F(LearnerSessionsTest, AHistoryNobodyHereKnowsCountsForNothing) {
  LearnRequest request;
  request.last_committed_decree_in_app = Decree(-1);
  EXPECT_EQ(sessions_.StartOf(request), Decree(1));
  request.last_committed_decree_in_app = Decree(12);
  EXPECT_EQ(sessions_.StartOf(request), Decree(1));
  request.last_committed_decree_in_app = Decree(11);
  EXPECT_EQ(sessions_.StartOf(request), Decree(12));
}

TEST_F(LearnerSessionsDeathTest, SessionsAreOfOthersAndOfThePast) {
  EXPECT_DEATH(sessions_.Register(NodeAt('A')), "Check failed");
  s_.now = Instant(5);
  sessions_.Register(NodeAt('C'));
  sessions_.Check(Decree(11));
  s_.now = Instant(4);
  EXPECT_DEATH(sessions_.Check(Decree(11)), "moved_at");
}

}  // namespace
}  // namespace arion
