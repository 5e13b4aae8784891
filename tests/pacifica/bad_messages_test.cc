// Messages that no correct peer of this cluster sends: each is refused by name and counted, and the
// replica is as it was.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "tests/pacifica/harness.h"

namespace arion {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
const Endpoint kA = NodeAt('A'), kB = NodeAt('B'), kC = NodeAt('C');

// Replica B, opened with decrees 1 to 11 applied, and connected.
class BadMessagesTest : public testing::Test {
 protected:
  BadMessagesTest() {
    RecoveredState recovered;
    recovered.ballot = Ballot(7);
    recovered.last_applied = recovered.last_durable = Decree(11);
    recovered.last_mutation_ballot = Ballot(6);
    Restart(recovered);
  }
  void Restart(const RecoveredState& recovered) {
    CoreOptions options;
    options.pid = kTestPid;
    options.self = kB;
    options.app.app_id = kTestPid.app_id;
    options.app.app_name = "temp";
    options.app.max_replica_count = 3;
    core_ = std::make_unique<ReplicaCore>(options, recovered, now_);
    Step(Connected{});
  }
  Effects Step(const Event& event) {
    Effects effects = core_->Step(event, now_);
    core_->Check();
    return effects;
  }
  static PartitionConfiguration Configuration(Endpoint primary, std::vector<Endpoint> others) {
    PartitionConfiguration config;
    config.pid = kTestPid;
    config.ballot = Ballot(7);
    config.max_replica_count = 3;
    config.primary = primary;
    config.secondaries = std::move(others);
    return config;
  }
  static ReplicaConfiguration From(Endpoint primary, int64_t ballot, PartitionStatus status) {
    return {kTestPid, Ballot(ballot), primary, status};
  }
  void BecomeSecondary() {
    ConfigurationSynced synced;
    synced.entry.config = Configuration(kA, {kB, kC});
    Step(synced);
    ASSERT_EQ(core_->role(), PartitionStatus::kSecondary);
  }
  // B learns from A in session 42; the serial of its first round.
  uint64_t BecomeLearner() {
    AddLearnerReceived invitation;
    invitation.request.config = From(kA, 7, PartitionStatus::kPotentialSecondary);
    invitation.request.config.learner_signature = 42;
    const Effects effects = Step(invitation);
    EXPECT_EQ(core_->role(), PartitionStatus::kPotentialSecondary);
    return std::get<SendLearn>(effects.send.front()).serial;
  }
  // `event` is refused, and counted as odd; the replica is as it was.
  Effects Refused(const Event& event) {
    const Watermarks before = core_->marks();
    const int64_t odd = core_->counters().odd_messages;
    Effects effects = Step(event);
    EXPECT_EQ(core_->counters().odd_messages, odd + 1);
    EXPECT_EQ(core_->ballot(), before.ballot);
    EXPECT_EQ(core_->role(), before.role);
    EXPECT_EQ(core_->marks().last_prepared, before.last_prepared);
    EXPECT_EQ(core_->marks().last_committed, before.last_committed);
    EXPECT_TRUE(effects.append.empty() && effects.apply.empty());
    return effects;
  }
  static PrepareReceived Prepare(int64_t ballot, int64_t decree, int64_t committed) {
    PrepareReceived event;
    event.token = 1;
    event.request.pid = kTestPid;
    event.request.config = From(kA, ballot, PartitionStatus::kSecondary);
    event.request.mutation = MakeMutation(ballot, decree, committed, "odd");
    return event;
  }
  static ErrorCode AnswerTo(const Effects& effects) {
    return std::get<PrepareAck>(effects.replies.front().body).err;
  }

  Instant now_{1'000'000'000};
  std::unique_ptr<ReplicaCore> core_;
};

TEST_F(BadMessagesTest, PreparesWithDecreesNobodyReaches) {
  BecomeSecondary();
  for (int64_t decree : {int64_t{0}, int64_t{-1}, kMin, kMax})
    EXPECT_EQ(AnswerTo(Refused(Prepare(7, decree, 11))), ErrorCode::kInvalidData) << decree;
  for (int64_t committed : {int64_t{-1}, kMin, kMax, int64_t{12}})
    EXPECT_EQ(AnswerTo(Refused(Prepare(7, 12, committed))), ErrorCode::kInvalidData) << committed;
  EXPECT_EQ(AnswerTo(Refused(Prepare(7, int64_t{1} << 40, 11))), ErrorCode::kCapacityExceeded);
}

TEST_F(BadMessagesTest, PreparesWithBallotsNobodyReaches) {
  BecomeSecondary();
  for (int64_t ballot : {int64_t{-1}, kMin, kMax})
    EXPECT_EQ(AnswerTo(Refused(Prepare(ballot, 12, 11))), ErrorCode::kInvalidData) << ballot;
  const int64_t stale = core_->counters().stale_messages;
  EXPECT_EQ(Step(Prepare(0, 12, 11)).dropped.size(), 1u) << "an old ballot is never answered";
  EXPECT_EQ(core_->counters().stale_messages, stale + 1);
}

TEST_F(BadMessagesTest, PreparesOfAnotherTableOrPartition) {
  BecomeSecondary();
  for (PartitionId other : {PartitionId{9, 3}, PartitionId{2, 4}, PartitionId{-1, -1}}) {
    PrepareReceived event = Prepare(7, 12, 11);
    event.request.pid = other;
    EXPECT_EQ(AnswerTo(Refused(event)), ErrorCode::kInvalidData);
    event = Prepare(7, 12, 11);
    event.request.config.pid = other;
    EXPECT_EQ(AnswerTo(Refused(event)), ErrorCode::kInvalidData);
  }
}

// A hole is legal while what fills it is on its way; nothing behind it is committed before.
TEST_F(BadMessagesTest, PreparesWithAHoleWaitForWhatFillsIt) {
  BecomeSecondary();
  const Effects effects = Step(Prepare(7, 14, 11));
  ASSERT_EQ(effects.append.size(), 1u);
  EXPECT_EQ(Step(Logged{effects.append[0].sequence}).replies.size(), 1u);
  EXPECT_EQ(core_->marks().last_committed, Decree(11));
  EXPECT_EQ(core_->marks().last_logged, Decree(11));
  // One that says the hole was committed: it was acknowledged here once, and is lost.
  EXPECT_EQ(AnswerTo(Step(Prepare(7, 15, 13))), ErrorCode::kInvalidState);
  EXPECT_EQ(core_->counters().lost_entries, 1);
}

// It makes a learner of who hears it first, but one without a session. Such a server ended, by
// replica_core/P6.
TEST_F(BadMessagesTest, PreparesToALearnerOfNoSession) {
  for (int64_t decree : {int64_t{11}, int64_t{12}}) {
    PrepareReceived event = Prepare(8, decree, 5);
    event.request.config = From(kA, 8, PartitionStatus::kPotentialSecondary);
    const int64_t stale = core_->counters().stale_messages;
    const Effects effects = Step(event);
    EXPECT_EQ(core_->role(), PartitionStatus::kPotentialSecondary);
    EXPECT_EQ(AnswerTo(effects), ErrorCode::kInvalidState) << decree;
    EXPECT_TRUE(effects.append.empty());
    EXPECT_EQ(core_->counters().stale_messages, stale + 1);
  }
}

TEST_F(BadMessagesTest, PreparesOfAnotherClustersPrimary) {
  BecomeSecondary();
  PrepareReceived event = Prepare(7, 12, 11);
  event.request.config.primary = NodeAt('X');
  EXPECT_EQ(AnswerTo(Refused(event)), ErrorCode::kInvalidState);
}

TEST_F(BadMessagesTest, GroupChecksWithNumbersNobodyReaches) {
  BecomeSecondary();
  const auto check = [](int64_t ballot, int64_t committed) {
    GroupCheckReceived event;
    event.token = 1;
    event.request.config = From(kA, ballot, PartitionStatus::kSecondary);
    event.request.last_committed_decree = Decree(committed);
    return event;
  };
  const auto answer = [](const Effects& effects) {
    return std::get<GroupCheckResponse>(effects.replies.front().body).err;
  };
  for (int64_t ballot : {int64_t{-1}, kMin, kMax})
    EXPECT_EQ(answer(Refused(check(ballot, 11))), ErrorCode::kInvalidData) << ballot;
  for (int64_t committed : {int64_t{-1}, kMin, kMax})
    EXPECT_EQ(answer(Refused(check(7, committed))), ErrorCode::kInvalidData) << committed;
  EXPECT_EQ(answer(Step(check(0, 11))), ErrorCode::kVersionOutdated);
}

TEST_F(BadMessagesTest, InvitationsAndRemovalsWithBallotsNobodyReaches) {
  BecomeSecondary();
  AddLearnerReceived invitation;
  invitation.request.config = From(kA, kMax, PartitionStatus::kPotentialSecondary);
  Refused(invitation);
  invitation.request.config = From(kA, 8, PartitionStatus::kSecondary);
  Refused(invitation);
  Refused(RemoveReceived{From(kA, kMax, PartitionStatus::kInactive)});
  Refused(RemoveReceived{From(kA, 8, PartitionStatus::kPrimary)});
  RemoveReceived other{From(kA, 8, PartitionStatus::kInactive)};
  other.config.pid = {2, 4};
  Refused(other);
}

TEST_F(BadMessagesTest, ConfigurationsThatContradictThemselves) {
  BecomeSecondary();
  const auto wrong = [](auto change) {
    PartitionConfiguration config = Configuration(kA, {kB, kC});
    config.ballot = Ballot(8);
    change(config);
    return config;
  };
  for (const PartitionConfiguration& config :
       {wrong([](auto& c) { c.ballot = Ballot(kMax); }),
        wrong([](auto& c) { c.ballot = Ballot(-1); }), wrong([](auto& c) {
          c.pid = {9, 3};
        }),  // another table
        wrong([](auto& c) {
          c.secondaries = {kB, kB};
        }),
        wrong([](auto& c) {
          c.secondaries = {kB, kA};
        }),
        wrong([](auto& c) {
          c.secondaries = {kB, Endpoint{}};
        })}) {
    ConfigurationSynced synced;
    synced.entry.config = config;
    Refused(synced);
    ProposalReceived proposal;
    proposal.request.config = config;
    proposal.request.type = ConfigType::kUpgradeToPrimary;
    proposal.request.node = kB;
    Refused(proposal);
  }
}

// A config sync that first leaves it out and then calls it primary, under one ballot, which it may
// have used in a former life: it asks for the next, and does not resume.
TEST_F(BadMessagesTest, ASyncThatContradictsItself) {
  auto mutation = std::make_shared<Mutation>();
  mutation->pid = kTestPid;
  mutation->ballot = Ballot(6);
  mutation->decree = Decree(12);
  mutation->last_committed = Decree(11);
  Restart({.ballot = Ballot(7),
           .last_applied = Decree(11),
           .last_durable = Decree(11),
           .last_mutation_ballot = Ballot(6),
           .logged = {mutation}});
  ConfigurationSynced synced;
  synced.entry.config = Configuration(kA, {kC});
  Step(synced);
  synced.entry.config = Configuration(kB, {kA, kC});
  const Effects effects = Step(synced);
  EXPECT_EQ(core_->role(), PartitionStatus::kInactive);
  ASSERT_EQ(effects.send.size(), 1u);
  const auto* asked = std::get_if<SendConfigurationUpdate>(&effects.send.front());
  ASSERT_NE(asked, nullptr);
  EXPECT_EQ(asked->request.config.ballot, Ballot(8));
}

// What a learner is told by an answer that contradicts itself: it gives up the session, and keeps
// what it had.
TEST_F(BadMessagesTest, LearnAnswersThatContradictThemselves) {
  const auto answer = [](auto change) {
    LearnResponse response;
    response.config = From(kA, 7, PartitionStatus::kPotentialSecondary);
    response.last_committed_decree = Decree(20);
    response.prepare_start_decree = kInvalidDecree;
    response.type = LearnType::kLog;
    response.state.to_decree_included = Decree(12);
    AppendMutation(*MakeMutation(7, 12, 11, "k"), -1, &response.state.meta.bytes);
    change(response);
    return response;
  };
  const auto with_cache = [&answer](int64_t prepare_start) {
    return answer([prepare_start](LearnResponse& r) {
      r.type = LearnType::kCache;
      r.prepare_start_decree = Decree(prepare_start);
    });
  };
  const auto with_checkpoint = [&answer](int64_t decree, std::vector<std::string> files) {
    return answer([&](LearnResponse& r) {
      r.type = LearnType::kApp;
      r.state.to_decree_included = Decree(decree);
      r.state.files = std::move(files);
    });
  };
  const std::vector<LearnResponse> answers = {
      answer([](auto& r) { r.config.ballot = Ballot(kMax); }),
      answer([](auto& r) { r.config.ballot = Ballot(-1); }),
      answer([](auto& r) { r.last_committed_decree = Decree(kMax); }),
      answer([](auto& r) { r.last_committed_decree = Decree(-1); }),
      answer(
          [](auto& r) { r.prepare_start_decree = Decree(13); }),  // with a log: only with a cache
      answer([](auto& r) { r.state.to_decree_included = Decree(kMin); }),
      answer([](auto& r) { r.state.meta.bytes = "no mutation"; }),
      answer([](auto& r) { r.type = LearnType::kInvalid; }),
      with_cache(kMin),
      with_cache(kMax),
      with_cache(5),   // behind what the learner has
      with_cache(22),  // beyond what is committed
      with_cache(15),  // more than it carries
      with_checkpoint(11, {"a"}),
      with_checkpoint(21, {"a"}),
      with_checkpoint(15, {}),
      // Ballots that fall along a history, and one beyond the primary's own.
      answer([](auto& r) {
        r.state.to_decree_included = Decree(13);
        AppendMutation(*MakeMutation(6, 13, 12, "k"), -1, &r.state.meta.bytes);
      }),
      answer([](auto& r) {
        r.type = LearnType::kCache;
        r.prepare_start_decree = Decree(14);
        AppendMutation(*MakeMutation(6, 13, 12, "k"), -1, &r.state.meta.bytes);
      }),
      answer([](auto& r) {
        r.state.meta.bytes.clear();
        AppendMutation(*MakeMutation(8, 12, 11, "k"), -1, &r.state.meta.bytes);
      }),
  };
  for (const LearnResponse& response : answers) {
    const uint64_t serial = BecomeLearner();
    const int64_t odd = core_->counters().odd_messages;
    const Effects effects = Step(LearnAnswered{serial, ErrorCode::kOk, response});
    const auto n = &response - answers.data();
    EXPECT_EQ(core_->counters().odd_messages, odd + 1) << n;
    EXPECT_EQ(core_->role(), PartitionStatus::kInactive) << n;
    EXPECT_EQ(core_->ballot(), Ballot(7)) << n;
    EXPECT_EQ(core_->marks().last_applied, Decree(11)) << n;
    EXPECT_TRUE(effects.apply.empty() && !effects.learner_work) << n;
  }
}

// What the learner applied was never committed by this group: it is set aside, not kept.
TEST_F(BadMessagesTest, T03_ALearnerAheadOfItsGroupStartsFromNothing) {
  const uint64_t serial = BecomeLearner();
  LearnResponse response;
  response.config = From(kA, 7, PartitionStatus::kPotentialSecondary);
  response.last_committed_decree = Decree(10);
  response.prepare_start_decree = kInvalidDecree;
  response.type = LearnType::kLog;
  const Effects effects = Step(LearnAnswered{serial, ErrorCode::kOk, response});
  ASSERT_TRUE(effects.learner_work.has_value());
  EXPECT_EQ(effects.learner_work->what, LearnerWork::What::kDiscard);
}

// What a checkpoint holds is durable, and not what was applied while it was made.
TEST_F(BadMessagesTest, T12_ACheckpointIsWorthItsOwnDecree) {
  BecomeSecondary();
  const Effects effects = Step(Prepare(7, 12, 11));
  Step(Logged{effects.append[0].sequence});
  Step(Prepare(7, 13, 12));
  Step(Applied{Decree(12)});
  Step(DurableAdvanced{Decree(11)});
  EXPECT_EQ(core_->marks().last_applied, Decree(12));
  EXPECT_EQ(core_->marks().last_durable, Decree(11));
}

TEST_F(BadMessagesTest, RequestsOfLearnersNobodyInvited) {
  LearnReceived request;
  request.token = 1;
  request.request.pid = {9, 3};
  const Effects of_another_table = Refused(request);
  EXPECT_EQ(std::get<LearnResponse>(of_another_table.replies[0].body).err, ErrorCode::kInvalidData);
  for (int64_t applied : {kMin, int64_t{-1}, int64_t{0}, kMax}) {
    request.request.pid = kTestPid;
    request.request.last_committed_decree_in_app = Decree(applied);
    const Effects effects = Step(request);
    EXPECT_EQ(std::get<LearnResponse>(effects.replies[0].body).err, ErrorCode::kInactiveState);
  }
}

TEST_F(BadMessagesTest, AReplicaWithALocalFaultRefusesWhateverComes) {
  BecomeSecondary();
  Step(Fenced{"its disk"});
  ASSERT_EQ(core_->role(), PartitionStatus::kError);
  ClientWrite write;
  write.token = 1;
  write.updates.push_back({WriteCode::kPut, 1, "k"});
  const Effects written = Step(write);
  ASSERT_EQ(written.client_replies.size(), 1u);
  EXPECT_EQ(written.client_replies[0].err, ErrorCode::kInvalidState);

  PrepareReceived prepare{2, {}};
  LearnReceived learn;
  learn.token = 4;
  const auto error_of = [](const auto& answer) { return answer.err; };
  for (const Event& event : {Event(prepare), Event(GroupCheckReceived{3, {}}), Event(learn),
                             Event(LearnCompletionReceived{5, {}})}) {
    const Effects effects = Step(event);
    ASSERT_EQ(effects.replies.size(), 1u) << event.index();
    EXPECT_EQ(std::visit(error_of, effects.replies[0].body), ErrorCode::kInvalidState);
    EXPECT_TRUE(effects.append.empty() && effects.apply.empty() && effects.send.empty());
  }
  Step(Fenced{"again"});
  EXPECT_EQ(core_->role(), PartitionStatus::kError);
}

}  // namespace
}  // namespace arion
