// SPDX-License-Identifier: Apache-2.0
#include "pacifica/primary.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/pacifica/one_core.h"
#include "tests/pacifica/roles.h"

namespace arion {
namespace {

using enum PartitionStatus;

// ---- in a core ----

using PrimaryCoreTest = OneCoreTest;

// The servers that wrote this log were allowed more at once.
TEST_F(PrimaryCoreTest, ATailLongerThanTheListIsPreparedAgain) {
  options_.mutations_in_flight_max = 2;
  options_.prepare_list_span_max = 5;
  for (int64_t d = 12; d <= 20; ++d) {
    if (d != 18) recovered_.logged.push_back(MakeMutation(7, d, 11, "k"));
  }
  Open();
  const Effects effects = BecomePrimary();
  ASSERT_EQ(effects.append.size(), 9u);
  for (const LogAppend& append : effects.append) {
    EXPECT_EQ(append.mutation->ballot, Ballot(8));
    Step(Logged{append.sequence});
  }
  EXPECT_TRUE(Write(10).append.empty()) << "waits until the tail is committed";
}

TEST_F(PrimaryCoreTest, FullQueuesRefuseWrites) {
  options_.queued_bytes_max = 1000;
  Open();
  BecomePrimary();
  Write(10);  // under way
  Write(999);
  EXPECT_EQ(core_->WriteGate(), ErrorCode::kOk);
  Write(1);
  EXPECT_EQ(core_->WriteGate(), ErrorCode::kBusy);
  const Effects refused = Write(1);
  ASSERT_EQ(refused.client_replies.size(), 1u);
  EXPECT_EQ(refused.client_replies[0].err, ErrorCode::kBusy);
}

TEST_F(PrimaryCoreTest, ALargeDraftDoesNotGatherMore) {
  BecomePrimary();
  const Effects first = Write(10);
  ASSERT_EQ(first.append.size(), 1u);
  for (int i = 0; i < 4; ++i) Write(10);
  const Effects logged = Step(Logged{first.append[0].sequence});
  ASSERT_EQ(logged.append.size(), 1u);  // worth more than the one under way
  EXPECT_TRUE(Write(1).append.empty());
  EXPECT_TRUE(Step(Logged{logged.append[0].sequence}).append.empty()) << "gathers";
  EXPECT_EQ(Write(64 << 10).append.size(), 1u);
}

TEST_F(PrimaryCoreTest, ATableOfOneReplicaHasNobodyWhoCouldLackAnything) {
  BecomePrimary();
  EXPECT_TRUE(core_->KnownToAllMembers().has_value());
  options_.app.max_replica_count = 1;
  recovered_.ballot = Ballot(7);
  Open();
  PartitionConfiguration alone = Group(7, kB, {});
  alone.max_replica_count = 1;
  const Effects asked = Sync(alone);
  const auto* update = Sent<SendConfigurationUpdate>(asked);
  AnswerUpdate(update->serial, ErrorCode::kOk, update->request.config);
  ASSERT_EQ(core_->role(), kPrimary);
  EXPECT_FALSE(core_->KnownToAllMembers().has_value());
}

// ---- by hand ----

using PrimaryDeathTest = RolesTest;

TEST_F(PrimaryDeathTest, APrimaryWaitsForItsGroup) {
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

TEST_F(PrimaryDeathTest, WhoResignedOwesNobodyAnAnswer) {
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

class PrimaryTest : public RolesTest {
 protected:
  PrimaryTest() {
    s_.now = Instant(1'000'000'000);
    primary_.TakeOffice(Primary::Term::kNew);
  }
  void Write(ClientToken token, WriteCode code = WriteCode::kPut) {
    ClientWrite write{.token = token};
    write.updates.push_back({.code = code, .serialization = 1, .data = "k"});
    primary_.Write(write);
  }
  // The own log has what it was given.
  void Log() {
    for (const LogAppend& append : std::exchange(s_.effects.append, {}))
      if (const Decree decree = s_.TakeLogged(append.sequence); decree != kInvalidDecree)
        primary_.OnLogged(decree);
  }
  // B acknowledges every prepare that was sent to it.
  void AcknowledgeAll() {
    for (const Envelope& envelope : std::exchange(s_.effects.send, {})) {
      const auto* sent = std::get_if<SendPrepare>(&envelope);
      if (sent == nullptr) continue;
      PrepareAcked acked{.from = sent->to, .serial = sent->serial};
      acked.ack.ballot = sent->request.mutation->ballot;
      acked.ack.decree = sent->request.mutation->decree;
      primary_.OnPrepareAnswer(acked);
    }
  }
};

TEST_F(PrimaryTest, NothingIsProposedBeforeTheTermIsOpen) {
  Write(1);
  EXPECT_EQ(primary_.WriteGate(), ErrorCode::kOk) << "it waits";
  EXPECT_TRUE(s_.effects.append.empty() && s_.effects.send.empty());
  primary_.Open();
  EXPECT_EQ(s_.effects.append.size(), 1u);
  EXPECT_EQ(s_.effects.send.size(), 1u);
  primary_.Check();
}

TEST_F(PrimaryTest, AMutationCommitsWhenTheLogAndEveryMemberHaveIt) {
  primary_.Open();
  Write(1);
  Log();
  EXPECT_EQ(s_.list.last_committed(), Decree(0)) << "B has not acknowledged";
  AcknowledgeAll();
  EXPECT_EQ(s_.list.last_committed(), Decree(1));
  EXPECT_TRUE(s_.effects.client_replies.empty()) << "it is not applied";
  s_.last_applied = Decree(1);
  primary_.OnApplied();
  ASSERT_EQ(s_.effects.client_replies.size(), 1u);
  EXPECT_EQ(s_.effects.client_replies[0].decree, Decree(1));
  primary_.Check();
}

TEST_F(PrimaryTest, PutsAndRemovesShareAMutationAndOtherCodesTravelAlone) {
  primary_.Open();
  Write(1);
  Write(2);
  Write(3, WriteCode::kRemove);
  Write(4, WriteCode::kMultiPut);
  // The first went at once. The second and third gathered behind it until something stood behind
  // them.
  ASSERT_EQ(s_.effects.append.size(), 3u);
  EXPECT_EQ(s_.effects.append[0].mutation->updates.size(), 1u);
  EXPECT_EQ(s_.effects.append[1].mutation->updates.size(), 2u);
  EXPECT_EQ(s_.effects.append[2].mutation->updates.at(0).code, WriteCode::kMultiPut);
}

TEST_F(PrimaryTest, TheWindowIsNeverExceeded) {
  s_.options.mutations_in_flight_max = 3;
  primary_.Open();
  for (ClientToken token = 1; token <= 10; ++token) Write(token, WriteCode::kMultiPut);
  EXPECT_EQ(s_.list.last_prepared() - s_.list.last_committed(), 3);
  EXPECT_FALSE(primary_.IsQuiet());
  primary_.Check();
}

TEST_F(PrimaryTest, WhoResignsRefusesWhatWaitsAndDoesNotKnowWhatIsUnderWay) {
  s_.options.mutations_in_flight_max = 1;
  primary_.Open();
  Write(1, WriteCode::kMultiPut);
  Write(2, WriteCode::kMultiPut);
  primary_.Resign();
  ASSERT_EQ(s_.effects.client_replies.size(), 2u);
  EXPECT_EQ(s_.effects.client_replies[0].token, 2u);
  EXPECT_EQ(s_.effects.client_replies[0].err, ErrorCode::kInvalidState);
  EXPECT_EQ(s_.effects.client_replies[1].token, 1u);
  EXPECT_EQ(s_.effects.client_replies[1].err, ErrorCode::kTimeout);
}

TEST_F(PrimaryTest, AResumedTermSendsAgainWhatIsUnderWay) {
  primary_.Open();
  Write(1);
  s_.effects.send.clear();
  primary_.Pause();
  s_.role = kInactive;
  primary_.Check();
  s_.role = kPrimary;
  primary_.TakeOffice(Primary::Term::kResumed);
  ASSERT_EQ(s_.effects.send.size(), 1u);
  EXPECT_EQ(std::get<SendPrepare>(s_.effects.send[0]).request.mutation->decree, Decree(1));
  Log();
  AcknowledgeAll();
  EXPECT_EQ(s_.list.last_committed(), Decree(1));
}

TEST_F(PrimaryTest, TooFewMembersTakeNoWrites) {
  s_.configuration.secondaries = {};
  EXPECT_EQ(primary_.WriteGate(), ErrorCode::kNotEnoughMember);
  Write(1);
  ASSERT_EQ(s_.effects.client_replies.size(), 1u);
  EXPECT_EQ(s_.effects.client_replies[0].err, ErrorCode::kNotEnoughMember);
}

TEST_F(PrimaryTest, ALearnerThatTakesPreparesIsWaitedForUntilItFallsBehind) {
  primary_.Open();
  sessions_.BeginTerm();
  const Endpoint learner = NodeAt('D');
  LearnReceived ask{.token = 1};
  ask.request.pid = kTestPid;
  ask.request.learner = learner;
  ask.request.signature = sessions_.Register(learner).signature;
  ASSERT_EQ(sessions_.Answer(ask), LearnerSessions::Consequence::kSendTail);
  primary_.SendTailTo(learner);
  Write(1);
  EXPECT_EQ(s_.effects.send.size(), 2u) << "to B and to the learner";
  Log();
  for (const Envelope& envelope : std::exchange(s_.effects.send, {})) {
    const auto& sent = std::get<SendPrepare>(envelope);
    if (sent.to == learner) continue;
    PrepareAcked acked{.from = sent.to, .serial = sent.serial};
    acked.ack.ballot = Ballot(7);
    acked.ack.decree = Decree(1);
    primary_.OnPrepareAnswer(acked);
  }
  EXPECT_EQ(s_.list.last_committed(), Decree(0));
  sessions_.Erase(learner);
  primary_.StopPreparesTo(learner);
  EXPECT_EQ(s_.list.last_committed(), Decree(1));
  EXPECT_DEATH(primary_.StopPreparesTo(NodeAt('B')), "a member's vote");
}

}  // namespace
}  // namespace arion
