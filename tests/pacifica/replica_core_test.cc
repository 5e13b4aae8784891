// What a replica does with the answers, proposals and syncs that seldom come: stale, doubled, of
// another configuration, or while it can't follow them.
// SPDX-License-Identifier: Apache-2.0
#include "pacifica/replica_core.h"

#include <gtest/gtest.h>

#include "tests/pacifica/harness.h"

namespace arion {
namespace {

using enum PartitionStatus;
const Endpoint kA = NodeAt('A'), kB = NodeAt('B'), kC = NodeAt('C'), kD = NodeAt('D');

// Replica B, opened with decrees 1 to 11 applied under ballot 7, and connected.
class ReplicaCoreTest : public testing::Test {
 protected:
  ReplicaCoreTest() {
    options_.pid = kTestPid;
    options_.self = kB;
    options_.app.app_id = kTestPid.app_id;
    options_.app.app_name = "temp";
    options_.app.max_replica_count = 3;
    recovered_.ballot = Ballot(7);
    recovered_.last_applied = recovered_.last_durable = Decree(11);
    Open();
  }
  void Open() {
    core_ = std::make_unique<ReplicaCore>(options_, recovered_, now_);
    Step(Connected{});
  }
  Effects Step(const Event& event) { return core_->Step(event, now_); }
  template <class T>
  static const T* Sent(const Effects& effects) {
    for (const Envelope& envelope : effects.send) {
      if (const T* message = std::get_if<T>(&envelope)) return message;
    }
    return nullptr;
  }
  static PartitionConfiguration Group(int64_t ballot, Endpoint primary,
                                      std::vector<Endpoint> others) {
    PartitionConfiguration config;
    config.pid = kTestPid;
    config.ballot = Ballot(ballot);
    config.max_replica_count = 3;
    config.primary = primary;
    config.secondaries = std::move(others);
    return config;
  }
  static ReplicaConfiguration From(Endpoint primary, int64_t ballot, PartitionStatus status,
                                   int64_t signature = 0) {
    return {kTestPid, Ballot(ballot), primary, status, signature};
  }
  Effects Sync(PartitionConfiguration config) {
    ConfigurationSynced synced;
    synced.entry.config = std::move(config);
    return Step(synced);
  }
  Effects Propose(ConfigType type, Endpoint node, PartitionConfiguration config) {
    ProposalReceived proposal;
    proposal.request.type = type;
    proposal.request.node = node;
    proposal.request.config = std::move(config);
    return Step(proposal);
  }
  void ExpectOdd(const Effects& effects, int64_t before) {
    EXPECT_EQ(core_->counters().odd_messages, before + 1);
    EXPECT_TRUE(effects.send.empty());
  }
  void ProposedInVain(ConfigType type, Endpoint node, PartitionConfiguration config) {
    const int64_t odd = core_->counters().odd_messages;
    ExpectOdd(Propose(type, node, std::move(config)), odd);
  }
  Effects AnswerUpdate(uint64_t serial, ErrorCode err, PartitionConfiguration config) {
    return Step(ConfigurationUpdateAnswered{serial, ErrorCode::kOk, {err, std::move(config)}});
  }
  // Of ballot 8, with A and C.
  // Primary, and nobody was heard yet.
  Effects TakeOffice() {
    const Effects asked = Sync(Group(7, kB, {kA, kC}));
    const auto* update = Sent<SendConfigurationUpdate>(asked);
    Effects effects = AnswerUpdate(update->serial, ErrorCode::kOk, update->request.config);
    EXPECT_EQ(core_->role(), kPrimary);
    return effects;
  }
  Effects Hear(Endpoint member, GroupCheckResponse says) {
    says.pid = kTestPid;
    says.node = member;
    return Step(GroupCheckAnswered{member, core_->ballot(), ErrorCode::kOk, says});
  }
  Effects BecomePrimary() {
    TakeOffice();
    Hear(kA, Knows(11));
    return Hear(kC, Knows(11));
  }
  static GroupCheckResponse Knows(int64_t committed) {
    GroupCheckResponse says;
    says.last_committed_decree_in_prepare_list = Decree(committed);
    return says;
  }
  Effects Invite(int64_t signature) {
    AddLearnerReceived invitation;
    invitation.request.config = From(kA, 7, kPotentialSecondary, signature);
    return Step(invitation);
  }
  uint64_t BecomeLearner() {
    const Effects effects = Invite(42);
    EXPECT_EQ(core_->role(), kPotentialSecondary);
    return Sent<SendLearn>(effects)->serial;
  }
  static LearnResponse Cache(int64_t last) {
    LearnResponse response;
    response.config = From(kA, 7, kPotentialSecondary);
    response.last_committed_decree = Decree(last);
    response.prepare_start_decree = Decree(last + 1);
    response.type = LearnType::kCache;
    for (int64_t d = 12; d <= last; ++d)
      AppendMutation(*MakeMutation(7, d, d - 1, "k"), -1, &response.state.meta.bytes);
    return response;
  }
  Effects AnswerRound(uint64_t serial, const LearnResponse& response) {
    return Step(LearnAnswered{serial, ErrorCode::kOk, response});
  }
  Effects Write(size_t bytes) {
    ClientWrite write;
    write.token = next_token_++;
    write.updates = {{WriteCode::kPut, 1, std::string(bytes, 'x')}};
    return Step(write);
  }

  Instant now_{1'000'000'000};
  CoreOptions options_;
  RecoveredState recovered_;
  ClientToken next_token_ = 1;
  std::unique_ptr<ReplicaCore> core_;
};

// ---- start ----

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

// ---- own log and engine ----

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

// ---- writes ----

// The servers that wrote this log were allowed more at once.
TEST_F(ReplicaCoreTest, ATailLongerThanTheListIsPreparedAgain) {
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

TEST_F(ReplicaCoreTest, AQuestionMakesAnOlderVersionCommitNothing) {
  const Effects asked = TakeOffice();
  const auto* question = Sent<SendGroupCheck>(asked);
  ASSERT_NE(question, nullptr);
  EXPECT_EQ(question->request.last_committed_decree, Decree(0));
  EXPECT_EQ(question->request.committed(), Decree(11));
  EXPECT_EQ(question->request.last_prepared_decree, std::nullopt);
}

TEST_F(ReplicaCoreTest, WhatAnOlderVersionDoesNotKnowToBeCommittedIsPreparedForItAgain) {
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

TEST_F(ReplicaCoreTest, WhatIsNoMoreInTheListAnOlderVersionIsToLearn) {
  TakeOffice();
  const Effects heard = Hear(kC, Knows(10));
  const auto* update = Sent<SendConfigurationUpdate>(heard);
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(update->request.type, ConfigType::kDowngradeToInactive);
  EXPECT_EQ(update->request.node, kC);
}

TEST_F(ReplicaCoreTest, FullQueuesRefuseWrites) {
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

TEST_F(ReplicaCoreTest, ALargeDraftDoesNotGatherMore) {
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

TEST_F(ReplicaCoreTest, ATableOfOneReplicaHasNobodyWhoCouldLackAnything) {
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

// ---- acknowledgements ----

TEST_F(ReplicaCoreTest, AnAcknowledgementIsOfTheOneWhoWasAsked) {
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

TEST_F(ReplicaCoreTest, WhoAcknowledgesSomethingElseIsRemoved) {
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

// ---- prepares and group checks that are not for this replica ----

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

// A primary of 2.5 does not end a split that it pauses or cancels before each secondary has said so.
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

// Its own update may be accepted any moment: nobody else's word of the same ballot counts.
TEST_F(ReplicaCoreTest, WhileItsUpdateIsUnderWayNothingOfTheSameBallotIsFollowed) {
  Sync(Group(7, kB, {kA, kC}));
  ASSERT_TRUE(core_->IsReconfiguring());
  EXPECT_EQ(Sent<SendLearn>(Invite(42)), nullptr);
  GroupCheckReceived check{1, {}};
  check.request.config = From(kA, 7, kSecondary);
  const Effects effects = Step(check);
  EXPECT_EQ(std::get<GroupCheckResponse>(effects.replies[0].body).err, ErrorCode::kInvalidState);
  EXPECT_EQ(core_->role(), kInactive);
  EXPECT_TRUE(Sync(Group(7, kA, {kB, kC})).role_changes.empty());
}

TEST_F(ReplicaCoreTest, AnAssignmentWithoutAPrimaryIsRefused) {
  GroupCheckReceived check{1, {}};
  check.request.config = From(Endpoint{}, 7, kSecondary);
  EXPECT_EQ(std::get<GroupCheckResponse>(Step(check).replies[0].body).err,
            ErrorCode::kInvalidState);
  check.request.config = From(kB, 8, kSecondary);
  EXPECT_EQ(std::get<GroupCheckResponse>(Step(check).replies[0].body).err,
            ErrorCode::kInvalidState);
  EXPECT_EQ(core_->ballot(), Ballot(7));
}

// ---- learning ----

TEST_F(ReplicaCoreTest, AnInvitationWithoutASessionIsOdd) {
  const Effects effects = Invite(0);
  EXPECT_EQ(core_->counters().odd_messages, 1);
  EXPECT_EQ(Sent<SendLearn>(effects), nullptr);
}

TEST_F(ReplicaCoreTest, WhatThePrimaryCanNotAnswerYetIsAskedAgainLater) {
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

TEST_F(ReplicaCoreTest, ALogWithNothingNewIsAskedForAgainLater) {
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

TEST_F(ReplicaCoreTest, ACacheThatCanNotBeReadEndsTheSession) {
  LearnResponse unreadable = Cache(12);
  unreadable.state.meta.bytes = "no mutation";
  AnswerRound(BecomeLearner(), unreadable);
  EXPECT_EQ(core_->counters().odd_messages, 1);
  EXPECT_EQ(core_->role(), kInactive);
}

// Seed 92300420: it acknowledged 12 and 13 in its session before it lost its lease, forgot them in the
// same session, and was made a member that lacks them. Primaries of 2.5.0 send them once a session.
TEST_F(ReplicaCoreTest, WhatALearnerAcknowledgedAndASessionDoesNotBringAgainAsksForAnotherSession) {
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
TEST_F(ReplicaCoreTest, ACacheLeavesTheListRoomForTheWindow) {
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
TEST_F(ReplicaCoreTest, WhatOfACacheDidNotFitIsFlushedBeforeItCounts) {
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

TEST_F(ReplicaCoreTest, AGapThatIsNotFlushedWholeIsFlushedAgain) {
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
TEST_F(ReplicaCoreTest, AFlushForASessionThatEndedIsNotTriedAgain) {
  recovered_.last_durable = Decree(5);
  Open();
  const Effects learned = AnswerRound(BecomeLearner(), Cache(11));
  ASSERT_TRUE(learned.learner_work.has_value());
  Step(LeaseLost{});
  Step(LearnerWorkDone{learned.learner_work->serial, LearnerWorkDone::Result::kDone, Decree(11),
                       Decree(8)});
  EXPECT_EQ(core_->NextWakeup(), Instant::InfiniteFuture());
}

TEST_F(ReplicaCoreTest, ACompletionConfirmedForAnotherSessionEndsThisOne) {
  AnswerRound(BecomeLearner(), Cache(11));
  ASSERT_EQ(core_->learner_status(), LearnerStatus::kSucceeded);
  Step(LearnCompletionAnswered{42, ErrorCode::kOk, {kTestPid, ErrorCode::kOk, 41}});
  EXPECT_EQ(core_->role(), kInactive);
}

TEST_F(ReplicaCoreTest, WhoIsStillLearningIsNoMember) {
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

TEST_F(ReplicaCoreTest, ASilentPrimaryIsGivenUpWhenTheCopyHasEnded) {
  LearnResponse checkpoint = Cache(11);
  checkpoint.type = LearnType::kApp;
  checkpoint.prepare_start_decree = kInvalidDecree;
  checkpoint.last_committed_decree = checkpoint.state.to_decree_included = Decree(20);
  checkpoint.state.files = {"a"};
  const Effects learned = AnswerRound(BecomeLearner(), checkpoint);
  ASSERT_TRUE(learned.learner_work.has_value());
  now_ = now_ + options_.closed_linger;
  Step(MissingInSync{});
  EXPECT_EQ(core_->role(), kPotentialSecondary) << "what it copies can't be stopped";
  Step(LearnerWorkDone{learned.learner_work->serial, LearnerWorkDone::Result::kDone, Decree(20),
                       Decree(20)});
  Step(MissingInSync{});
  EXPECT_EQ(core_->role(), kInactive);
}

TEST_F(ReplicaCoreTest, APrimaryThatWasDeposedLearnsFromItsSuccessor) {
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

// ---- learners ----

TEST_F(ReplicaCoreTest, ALearnerIsAMemberWhenItsOwnSessionSucceeded) {
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

TEST_F(ReplicaCoreTest, WhoDoesNotLearnThoughItAnswersIsNoLearnerAnyMore) {
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

// invariants/R10: after a crash a half-taught replica may only learn.
TEST_F(ReplicaCoreTest, WhatTheFirstPieceOfLogChangesIsMarkedBeforeItIsApplied) {
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

TEST_F(ReplicaCoreTest, WhoHoldsNothingIsALearnerFromTheStart) {
  recovered_.ballot = Ballot(0);
  recovered_.last_applied = recovered_.last_durable = Decree(0);
  Open();
  const Effects effects = Invite(41);
  EXPECT_EQ(effects.persist_ballot, Ballot(7));
  EXPECT_EQ(effects.persist_standing, Standing::kLearner);
  EXPECT_EQ(core_->last_mutation_ballot(), kInvalidBallot);
}

// A copy can't be stopped; what it brings will count in the next session.
TEST_F(ReplicaCoreTest, WhoStillCopiesForAFormerSessionSaysThatItLearns) {
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

// ---- meta ----

TEST_F(ReplicaCoreTest, AnswersThatCanNotBeTrueAreAskedForAgain) {
  const Effects asked = Sync(Group(7, kB, {kA, kC}));
  const auto* update = Sent<SendConfigurationUpdate>(asked);
  ASSERT_NE(update, nullptr);
  PartitionConfiguration wrong = update->request.config;
  wrong.pid = {9, 9};
  AnswerUpdate(update->serial, ErrorCode::kOk, wrong);
  EXPECT_EQ(core_->counters().odd_messages, 1);
  AnswerUpdate(update->serial, ErrorCode::kOk, Group(8, kB, {kA}));  // not what was asked for
  EXPECT_EQ(core_->counters().odd_messages, 2);
  EXPECT_TRUE(core_->IsReconfiguring());
  EXPECT_TRUE(Step(Tick{}).send.empty()) << "not due yet";
  now_ = core_->NextWakeup();
  EXPECT_NE(Sent<SendConfigurationUpdate>(Step(Tick{})), nullptr);
  // An older truth ends the update and changes nothing.
  AnswerUpdate(update->serial, ErrorCode::kInvalidVersion, Group(6, kA, {kB, kC}));
  EXPECT_FALSE(core_->IsReconfiguring());
  EXPECT_EQ(core_->ballot(), Ballot(7));
  EXPECT_EQ(core_->role(), kInactive);
}

// A full disk at the meta server refuses changes, and stops nobody who can do without.
TEST_F(ReplicaCoreTest, AWishThatIsRefusedForNowStopsNoPrimary) {
  const PartitionConfiguration mine = Group(8, kB, {kA, kC});
  struct Case {
    ConfigType type;
    Endpoint node;
    bool serves_on;
  };
  for (const Case& c : {Case{ConfigType::kRemove, kC, true}, Case{ConfigType::kRemove, kB, false},
                        Case{ConfigType::kDowngradeToInactive, kC, true},
                        Case{ConfigType::kDowngradeToInactive, kB, false},
                        Case{ConfigType::kDowngradeToSecondary, kB, false}}) {
    SCOPED_TRACE(static_cast<int>(c.type));
    Open();
    BecomePrimary();
    const Effects asked = Propose(c.type, c.node, mine);
    const auto* update = Sent<SendConfigurationUpdate>(asked);
    ASSERT_NE(update, nullptr);
    const Effects refused = AnswerUpdate(update->serial, ErrorCode::kFileOperationFailed, mine);
    EXPECT_EQ(core_->role(), c.serves_on ? kPrimary : kInactive);
    EXPECT_EQ(core_->IsReconfiguring(), !c.serves_on);
    EXPECT_EQ(core_->ReadGate(ReadKind::kPrimaryOnly),
              c.serves_on ? ErrorCode::kOk : ErrorCode::kInvalidState);
    // Another may lead by a copy of what was asked, until the ballot of that is spent.
    const auto* stays = Sent<SendConfigurationUpdate>(refused);
    ASSERT_EQ(stays != nullptr, !c.serves_on);
    if (stays == nullptr) continue;
    EXPECT_EQ(stays->request.type, ConfigType::kPrimaryForceUpdateBallot);
    EXPECT_EQ(stays->request.config.ballot, Ballot(9));
    EXPECT_TRUE(AnswerUpdate(stays->serial, ErrorCode::kFileOperationFailed, mine).send.empty());
    EXPECT_EQ(core_->role(), kInactive);
    now_ = now_ + options_.update_retry_delay;
    const Effects again = Step(Tick{});
    ASSERT_NE(Sent<SendConfigurationUpdate>(again), nullptr);
    AnswerUpdate(Sent<SendConfigurationUpdate>(again)->serial, ErrorCode::kBusy, mine);
    now_ = now_ + options_.update_busy_delay;  // others are heard soon
    const Effects soon = Step(Tick{});
    ASSERT_NE(Sent<SendConfigurationUpdate>(soon), nullptr);
    AnswerUpdate(Sent<SendConfigurationUpdate>(soon)->serial, ErrorCode::kOk,
                 Group(9, kB, {kA, kC}));
    EXPECT_EQ(core_->role(), kPrimary);
    EXPECT_EQ(core_->ReadGate(ReadKind::kPrimaryOnly), ErrorCode::kOk);
  }
}

// A cluster is freezed for maintenance, and a server is restarted.
TEST_F(ReplicaCoreTest, AMemberThatFailedAndCanNotBeRemovedIsTriedAgain) {
  const PartitionConfiguration mine = Group(8, kB, {kA, kC});
  Open();
  BecomePrimary();
  const auto prepare_to_c = [](const Effects& effects) -> const SendPrepare* {
    for (const Envelope& envelope : effects.send) {
      const auto* prepare = std::get_if<SendPrepare>(&envelope);
      if (prepare != nullptr && prepare->to == kC) return prepare;
    }
    return nullptr;
  };
  const auto answer = [&](Endpoint from, uint64_t serial, ErrorCode err) {
    PrepareAcked acked{from, serial};
    acked.ack.err = err;
    acked.ack.ballot = Ballot(8);
    acked.ack.decree = Decree(12);
    return Step(acked);
  };
  const Effects written = Write(10);
  uint64_t serial = prepare_to_c(written)->serial;
  for (int i = 0; i < 2; ++i) {
    SCOPED_TRACE(i);
    const Effects asked = i == 0 ? answer(kC, serial, ErrorCode::kInvalidState) : Step(Tick{});
    const auto* update = Sent<SendConfigurationUpdate>(asked);
    ASSERT_NE(update, nullptr);
    const Effects refused = AnswerUpdate(update->serial, ErrorCode::kStateFreezed, mine);
    EXPECT_EQ(core_->ReadGate(ReadKind::kPrimaryOnly), ErrorCode::kOk);
    EXPECT_EQ(core_->WriteGate(), ErrorCode::kOk) << "it may be well again";
    ASSERT_NE(prepare_to_c(refused), nullptr);
    serial = prepare_to_c(refused)->serial;
    if (i == 1) break;
    EXPECT_EQ(Sent<SendConfigurationUpdate>(answer(kC, serial, ErrorCode::kInvalidState)), nullptr);
    EXPECT_EQ(core_->WriteGate(), ErrorCode::kInvalidState);
    EXPECT_EQ(core_->NextWakeup(), now_ + options_.update_retry_delay);
    now_ = now_ + options_.update_retry_delay;
  }
  answer(kC, serial, ErrorCode::kOk);
  EXPECT_FALSE(core_->IsReconfiguring());
  EXPECT_EQ(core_->WriteGate(), ErrorCode::kOk);
}

TEST_F(ReplicaCoreTest, WithoutALeaseASyncIsNotFollowed) {
  Step(LeaseLost{});
  Sync(Group(8, kA, {kB, kC}));
  EXPECT_EQ(core_->role(), kInactive);
  Step(MissingInSync{});
  Step(Connected{});
  EXPECT_TRUE(Propose(ConfigType::kAssignPrimary, kB, Group(7, Endpoint{}, {kB})).send.empty())
      << "no sync since has said what is true";
  Sync(Group(8, kA, {kB, kC}));
  EXPECT_EQ(core_->role(), kSecondary);
}

// What was under way, or said, before the drop makes it primary no more: the table may be recalled,
// and led by another, as soon as all have heard.
TEST_F(ReplicaCoreTest, WhoHearsThatItsTableWasDroppedLeadsNoMore) {
  BecomePrimary();
  TableChanged change{options_.app};
  change.app.version = 2;
  change.app.status = AppStatus::kDropped;
  Step(change);
  EXPECT_EQ(core_->role(), kInactive);
  EXPECT_NE(core_->ReadGate(ReadKind::kPrimaryOnly), ErrorCode::kOk);
  ConfigurationUpdateRequest late;
  late.info = options_.app;
  late.info.version = 1;
  late.config = Group(9, kB, {kA, kC});  // of an update that was under way
  Step(ConfigurationSynced{late});
  EXPECT_EQ(core_->role(), kInactive);
  change.app.version = 3;
  change.app.status = AppStatus::kAvailable;
  Step(change);
  Step(ConfigurationSynced{late});
  EXPECT_EQ(core_->role(), kInactive) << "of before the drop, though the table is recalled";
  late.info.version = 3;
  late.config = Group(10, Endpoint{}, {});
  late.type = ConfigType::kAssignPrimary;
  late.node = kB;
  const Effects asked = Step(ProposalReceived{late});
  const auto* update = Sent<SendConfigurationUpdate>(asked);
  AnswerUpdate(update->serial, ErrorCode::kOk, update->request.config);
  EXPECT_EQ(core_->role(), kPrimary);
}

TEST_F(ReplicaCoreTest, AnOlderOrAnotherTablesDescriptionIsNotTaken) {
  TableChanged change{options_.app};
  change.app.version = 2;
  change.app.envs["a"] = "b";
  Step(change);
  const uint64_t serial = core_->app_serial();
  TableChanged older = change;
  older.app.version = 1;
  older.app.max_replica_count = 5;
  Step(older);
  TableChanged other = change;
  other.app.app_id = 9;
  Step(other);
  TableChanged nameless = change;
  nameless.app.app_name.clear();
  Step(nameless);
  EXPECT_EQ(core_->app_serial(), serial);
  TableChanged unsized = change;
  unsized.app.version = 3;
  unsized.app.max_replica_count = 0;
  Step(unsized);
  EXPECT_EQ(core_->configuration().max_replica_count, 3) << "0 says nothing";
  PartitionConfiguration none = Group(7, kA, {kB, kC});
  none.max_replica_count = 0;
  BecomePrimary();
  Sync(none);
  EXPECT_EQ(core_->configuration().max_replica_count, 3);
}

TEST_F(ReplicaCoreTest, AnInvitationTellsOfTheTableLikeAnyOtherWord) {
  AddLearnerReceived invitation;
  invitation.request.config = From(kA, 7, kPotentialSecondary, 42);
  invitation.request.app = options_.app;
  invitation.request.app.version = 2;
  invitation.request.app.envs["a"] = "b";
  const uint64_t serial = core_->app_serial();
  Step(invitation);
  EXPECT_EQ(core_->role(), kPotentialSecondary);
  EXPECT_EQ(core_->app().envs.at("a"), "b");
  EXPECT_GT(core_->app_serial(), serial) << "who follows the table's settings looks again";
  AddLearnerReceived older = invitation;
  older.request.app.version = 1;
  older.request.app.envs.clear();
  Step(older);
  EXPECT_EQ(core_->app(), invitation.request.app);
}

TEST_F(ReplicaCoreTest, ANewTermEndsAStepDownUnderWay) {
  BecomePrimary();
  Write(10);  // not committed: it is waited for
  Propose(ConfigType::kDowngradeToSecondary, kB, Group(8, kB, {kA, kC}));
  ASSERT_TRUE(core_->IsReconfiguring());
  Sync(Group(9, kB, {kA, kC}));
  EXPECT_EQ(core_->ballot(), Ballot(9));
  EXPECT_EQ(core_->role(), kPrimary);
  EXPECT_FALSE(core_->IsReconfiguring());
}

// ---- proposals ----

TEST_F(ReplicaCoreTest, OnlyWhoMayServeIsMadePrimary) {
  const PartitionConfiguration headless = Group(7, Endpoint{}, {kB, kC});
  const PartitionConfiguration of_others = Group(7, Endpoint{}, {kA, kC});
  ProposedInVain(ConfigType::kUpgradeToPrimary, kB, of_others);  // INACTIVE: only assigned
  ProposedInVain(ConfigType::kAssignPrimary, kA, of_others);
  BecomeLearner();
  ProposedInVain(ConfigType::kAssignPrimary, kB, headless);
  ProposedInVain(ConfigType::kInvalid, kB, headless);
  ProposedInVain(ConfigType::kAddSecondary, kD, headless);  // not to a primary
  ProposedInVain(ConfigType::kRemove, kC, headless);
  Open();
  Sync(Group(7, kA, {kB, kC}));
  ProposedInVain(ConfigType::kUpgradeToPrimary, kB, Group(7, kA, {kB, kC}));
}

TEST_F(ReplicaCoreTest, AProposalThatOvertakesTheConfigSyncIsFollowed) {
  const Effects asked = Propose(ConfigType::kUpgradeToPrimary, kB, Group(7, Endpoint{}, {kB, kC}));
  const auto* update = Sent<SendConfigurationUpdate>(asked);
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(update->request.config.primary, kB);
  EXPECT_EQ(update->request.config.ballot, Ballot(8));
  EXPECT_TRUE(Sync(Group(7, Endpoint{}, {kB, kC})).send.empty());
  EXPECT_TRUE(core_->IsReconfiguring());

  recovered_.logged = {MakeMutation(7, 12, 11, "a"), MakeMutation(7, 14, 13, "c")};
  Open();  // a copy that may only learn
  const Effects refused =
      Propose(ConfigType::kUpgradeToPrimary, kB, Group(7, Endpoint{}, {kB, kC}));
  ASSERT_NE(Sent<SendConfigurationUpdate>(refused), nullptr);
  EXPECT_EQ(Sent<SendConfigurationUpdate>(refused)->request.type, ConfigType::kDowngradeToInactive);
}

TEST_F(ReplicaCoreTest, APrimaryFollowsProposalsForItsOwnGroupOnly) {
  BecomePrimary();
  const PartitionConfiguration mine = Group(8, kB, {kA, kC});
  EXPECT_TRUE(Propose(ConfigType::kAssignPrimary, kB, mine).send.empty()) << "it is already";
  ProposedInVain(ConfigType::kAddSecondary, kD, Group(8, kD, {kA, kC}));
  ProposedInVain(ConfigType::kAddSecondary, kD, Group(8, kB, {kA}));
  ProposedInVain(ConfigType::kAddSecondary, Endpoint{}, mine);
  ProposedInVain(ConfigType::kDowngradeToSecondary, kA, mine);
  ProposedInVain(ConfigType::kRemove, kD, mine);
  ProposedInVain(ConfigType::kRemove, kA, Group(8, kB, {kA}));
  EXPECT_EQ(core_->role(), kPrimary);
}

TEST_F(ReplicaCoreTest, AProposalWhoseConfigurationIsNotAdoptedIsNotFollowed) {
  BecomeLearner();
  const int64_t odd = core_->counters().odd_messages;
  EXPECT_TRUE(Propose(ConfigType::kAddSecondary, kD, Group(8, kA, {kB, kC})).send.empty());
  EXPECT_EQ(core_->counters().odd_messages, odd);
  EXPECT_EQ(core_->ballot(), Ballot(7));
}

}  // namespace
}  // namespace arion
