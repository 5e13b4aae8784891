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
  LearnerSessions::Consequence AskFrom(int64_t applied) {
    LearnReceived event;
    event.request.pid = kTestPid;
    event.request.learner = kLearner;
    event.request.signature = sessions_.Find(kLearner)->signature;
    event.request.last_committed_decree_in_app = Decree(applied);
    return sessions_.Answer(event);
  }

  const Endpoint kLearner = NodeAt('B');
  ReplicaState s_{Options()};
  LearnerSessions sessions_{s_};
};
using LearnerSessionsDeathTest = LearnerSessionsTest;

// R8, I-18.
TEST_F(LearnerSessionsDeathTest, WhoTakesPreparesIsSentEachFromItsFirst) {
  EXPECT_DEATH(sessions_.NoteSent(kLearner, Decree(12)), "R8")
      << "before it was told from where on";
  sessions_.Check(Decree(12));
  EXPECT_EQ(AskFrom(9), LearnerSessions::Consequence::kSendTail);
  EXPECT_EQ(sessions_.Find(kLearner)->prepare_start, Decree(12));
  EXPECT_FALSE(sessions_.Find(kLearner)->TakesPrepare(Decree(11)));
  EXPECT_DEATH(sessions_.NoteSent(kLearner, Decree(11)), "R8") << "given it already";
  EXPECT_DEATH(sessions_.NoteSent(kLearner, Decree(13)), "R8") << "12 is skipped";
  sessions_.NoteSent(kLearner, Decree(12));
  sessions_.NoteSent(kLearner, Decree(13));
  sessions_.NoteSent(kLearner, Decree(12));  // again, by a new term
  sessions_.Check(Decree(13));
  EXPECT_DEATH(sessions_.Check(Decree(14)), "R8") << "14 was prepared and not sent";
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

TEST_F(LearnerSessionsTest, AHistoryNobodyHereKnowsCountsForNothing) {
  LearnRequest request;
  request.last_committed_decree_in_app = Decree(-1);
  EXPECT_EQ(sessions_.StartOf(request), Decree(1));
  request.last_committed_decree_in_app = Decree(12);
  EXPECT_EQ(sessions_.StartOf(request), Decree(1));
  request.last_committed_decree_in_app = Decree(11);
  EXPECT_EQ(sessions_.StartOf(request), Decree(12));
}

}  // namespace
}  // namespace arion
