// SPDX-License-Identifier: Apache-2.0
#include "pacifica/reconfiguration.h"
#include "pacifica/role_keeper.h"
#include "pacifica/roll_call.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/pacifica/one_core.h"
#include "tests/pacifica/roles.h"

namespace arion {
namespace {

using enum PartitionStatus;

// ---- in a core ----

using ReconfigurationCoreTest = OneCoreTest;

// Its own update may be accepted any moment: nobody else's word of the same ballot counts.
TEST_F(ReconfigurationCoreTest, WhileItsUpdateIsUnderWayNothingOfTheSameBallotIsFollowed) {
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

TEST_F(ReconfigurationCoreTest, ASilentPrimaryIsGivenUpWhenTheCopyHasEnded) {
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

TEST_F(ReconfigurationCoreTest, AnswersThatCanNotBeTrueAreAskedForAgain) {
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
TEST_F(ReconfigurationCoreTest, AWishThatIsRefusedForNowStopsNoPrimary) {
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
TEST_F(ReconfigurationCoreTest, AMemberThatFailedAndCanNotBeRemovedIsTriedAgain) {
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

TEST_F(ReconfigurationCoreTest, WithoutALeaseASyncIsNotFollowed) {
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
TEST_F(ReconfigurationCoreTest, WhoHearsThatItsTableWasDroppedLeadsNoMore) {
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

TEST_F(ReconfigurationCoreTest, AnOlderOrAnotherTablesDescriptionIsNotTaken) {
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

TEST_F(ReconfigurationCoreTest, TheFirstWhoTellsOfTheTableIsHeardThoughNothingIsNew) {
  EXPECT_EQ(core_->app_serial(), kAppRemembered);
  Step(TableChanged{core_->app()});
  const uint64_t serial = core_->app_serial();
  EXPECT_NE(serial, kAppRemembered);
  Step(TableChanged{core_->app()});
  EXPECT_EQ(core_->app_serial(), serial);
}

TEST_F(ReconfigurationCoreTest, AnInvitationTellsOfTheTableLikeAnyOtherWord) {
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

TEST_F(ReconfigurationCoreTest, ANewTermEndsAStepDownUnderWay) {
  BecomePrimary();
  Write(10);  // not committed: it is waited for
  Propose(ConfigType::kDowngradeToSecondary, kB, Group(8, kB, {kA, kC}));
  ASSERT_TRUE(core_->IsReconfiguring());
  Sync(Group(9, kB, {kA, kC}));
  EXPECT_EQ(core_->ballot(), Ballot(9));
  EXPECT_EQ(core_->role(), kPrimary);
  EXPECT_FALSE(core_->IsReconfiguring());
}

TEST_F(ReconfigurationCoreTest, OnlyWhoMayServeIsMadePrimary) {
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

TEST_F(ReconfigurationCoreTest, AProposalThatOvertakesTheConfigSyncIsFollowed) {
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

TEST_F(ReconfigurationCoreTest, APrimaryFollowsProposalsForItsOwnGroupOnly) {
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

TEST_F(ReconfigurationCoreTest, AProposalWhoseConfigurationIsNotAdoptedIsNotFollowed) {
  BecomeLearner();
  const int64_t odd = core_->counters().odd_messages;
  EXPECT_TRUE(Propose(ConfigType::kAddSecondary, kD, Group(8, kA, {kB, kC})).send.empty());
  EXPECT_EQ(core_->counters().odd_messages, odd);
  EXPECT_EQ(core_->ballot(), Ballot(7));
}

// An update is repeated as it was, and a larger ballot makes it void.
TEST_F(ReconfigurationCoreTest, AnUpdateIsRepeatedUntilItIsAnsweredOrVoid) {
  const Effects asked = Sync(Group(7, kB, {kA, kC}));
  const auto* first = Sent<SendConfigurationUpdate>(asked);
  ASSERT_NE(first, nullptr);
  Step(ConfigurationUpdateAnswered{.serial = first->serial, .rpc = ErrorCode::kTimeout});
  EXPECT_TRUE(core_->IsReconfiguring());
  now_ = now_ + options_.update_retry_delay;
  const Effects ticked = Step(Tick{});
  const auto* again = Sent<SendConfigurationUpdate>(ticked);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->serial, first->serial);
  EXPECT_EQ(again->request.config, first->request.config);
  Sync(Group(9, kA, {kB, kC}));
  EXPECT_FALSE(core_->IsReconfiguring());
  EXPECT_EQ(core_->role(), kSecondary);
}

// It led and restarted, and was left out before it could say so. Then its secondary comes back with
// an older copy, and the meta server counts on who led before.
TEST_F(ReconfigurationCoreTest, LeftOutWhereNobodyLeadsItMayBeCountedOnAgain) {
  const Effects asked = Sync(Group(7, kB, {kA}));
  const auto* update = Sent<SendConfigurationUpdate>(asked);
  ASSERT_NE(update, nullptr);
  Step(ConfigurationUpdateAnswered{
      .serial = update->serial,
      .response = {.err = ErrorCode::kInvalidVersion, .config = Group(8, Endpoint{}, {kA})}});
  EXPECT_EQ(core_->role(), kInactive);
  EXPECT_EQ(core_->inactivity(), Inactivity::kTransient);
  const Effects counted = Sync(Group(9, Endpoint{}, {kA, kB}));
  EXPECT_EQ(Sent<SendConfigurationUpdate>(counted), nullptr) << "it asks to be left out";
  EXPECT_EQ(core_->role(), kSecondary);
}

// It may have been made before this replica joined.
TEST_F(ReconfigurationCoreTest, AMemberBelievesTheSecondSyncThatDoesNotNameIt) {
  Sync(Group(7, kA, {kB, kC}));
  ASSERT_EQ(core_->role(), kSecondary);
  Step(MissingInSync{});
  EXPECT_EQ(core_->role(), kSecondary);
  Step(MissingInSync{});
  EXPECT_EQ(core_->role(), kInactive);
  EXPECT_EQ(core_->inactivity(), Inactivity::kRemoved);
}

TEST_F(ReconfigurationCoreTest, AnUnknownReplicaIsClosedAfterAWhileOrAtOnceForWantOfOpenFiles) {
  EXPECT_EQ(Step(MissingInSync{}).close, Effects::Close::kNo);
  EXPECT_EQ(Step(MissingInSync{MissingInSync::Linger::kNone}).close, Effects::Close::kForget);
  Open();
  now_ = now_ + options_.closed_linger;
  EXPECT_EQ(Step(MissingInSync{}).close, Effects::Close::kForget);
}

// ---- by hand ----

// A leads B and C under ballot 7, and its term is open.
class ReconfigurationTest : public RolesTest {
 protected:
  ReconfigurationTest() {
    s_.now = Instant(1'000'000'000);
    s_.configuration.secondaries = {NodeAt('B'), NodeAt('C')};
    s_.configuration.max_replica_count = 3;
    s_.office_ballot = s_.ballot;
    primary_.TakeOffice(Primary::Term::kNew);
    primary_.Open();
  }
  // The update that was sent since the last call.
  SendConfigurationUpdate Asked() {
    for (const Envelope& envelope : std::exchange(s_.effects.send, {}))
      if (const auto* update = std::get_if<SendConfigurationUpdate>(&envelope)) return *update;
    ADD_FAILURE() << "nothing was asked for";
    return {};
  }
  // The meta server changes nothing now, and says what is stored.
  void Refuse(uint64_t serial) {
    reconfiguration_.OnAnswer(
        {.serial = serial, .response = {ErrorCode::kStateFreezed, s_.configuration}});
    reconfiguration_.Check();
  }
  void Accept(const SendConfigurationUpdate& update) {
    reconfiguration_.OnAnswer(
        {.serial = update.serial, .response = {ErrorCode::kOk, update.request.config}});
    reconfiguration_.Check();
  }

  RollCall roll_call_{s_};
  RoleKeeper roles_{s_, roll_call_, primary_, secondary_, learner_, sessions_};
  Reconfiguration reconfiguration_{s_, roles_, primary_, learner_, sessions_};
};

TEST_F(ReconfigurationTest, WhatIsAskedForHasTheNextBallotAndLeavesTheReplicaInactive) {
  reconfiguration_.RemoveMember(NodeAt('B'));
  const ConfigurationUpdateRequest request = Asked().request;
  EXPECT_EQ(request.type, ConfigType::kDowngradeToInactive);
  EXPECT_EQ(request.config.ballot, Ballot(8));
  EXPECT_EQ(request.config.secondaries, std::vector{NodeAt('C')});
  EXPECT_TRUE(reconfiguration_.IsPending());
  EXPECT_EQ(s_.role, kInactive);
  EXPECT_EQ(s_.ballot, Ballot(7)) << "it is not granted yet";
}

TEST_F(ReconfigurationTest, AnAcceptedRemovalMakesItPrimaryOfTheRest) {
  reconfiguration_.RemoveMember(NodeAt('B'));
  Accept(Asked());
  EXPECT_FALSE(reconfiguration_.IsPending());
  EXPECT_EQ(s_.role, kPrimary);
  EXPECT_EQ(s_.ballot, Ballot(8));
  EXPECT_EQ(s_.configuration.secondaries, std::vector{NodeAt('C')});
}

// The meta server knows of a larger ballot, and not of whom: its state was put back (seed 139000375).
TEST_F(ReconfigurationTest, ARemovalThatIsRefusedAsOutdatedIsNotAskedForAtOnce) {
  const PartitionConfiguration truth = s_.configuration;
  reconfiguration_.RemoveMember(NodeAt('B'));
  reconfiguration_.OnAnswer(
      {.serial = Asked().serial, .response = {ErrorCode::kInvalidVersion, truth}});
  EXPECT_EQ(s_.role, kPrimary);
  s_.effects.send.clear();
  reconfiguration_.RemoveMember(NodeAt('B'));
  EXPECT_TRUE(s_.effects.send.empty());
  EXPECT_TRUE(reconfiguration_.LacksMember());
  s_.now = reconfiguration_.NextWakeup();
  reconfiguration_.OnTick();
  EXPECT_EQ(Asked().request.type, ConfigType::kDowngradeToInactive);
}

TEST_F(ReconfigurationTest, AMemberThatFailsAgainAfterARefusedRemovalIsAskedAboutLater) {
  reconfiguration_.RemoveMember(NodeAt('B'));
  Refuse(Asked().serial);
  EXPECT_EQ(s_.role, kPrimary) << "it serves on";
  EXPECT_FALSE(reconfiguration_.LacksMember()) << "the member may be well again";
  reconfiguration_.RemoveMember(NodeAt('B'));
  EXPECT_TRUE(reconfiguration_.LacksMember());
  EXPECT_FALSE(reconfiguration_.IsPending());
  EXPECT_EQ(reconfiguration_.NextWakeup(), s_.now + s_.options.update_retry_delay);
  s_.now = reconfiguration_.NextWakeup();
  s_.effects.send.clear();
  reconfiguration_.OnTick();
  EXPECT_EQ(Asked().request.node, NodeAt('B'));
}

TEST_F(ReconfigurationTest, APrimaryThatIsRefusedToGiveWayStaysAndWaitsLongerEachTime) {
  reconfiguration_.GiveWay();
  const SendConfigurationUpdate asked = Asked();
  EXPECT_EQ(asked.request.type, ConfigType::kDowngradeToSecondary);
  EXPECT_FALSE(asked.request.config.primary.IsValid());
  EXPECT_EQ(asked.request.config.secondaries.back(), s_.options.self);
  Refuse(asked.serial);
  const SendConfigurationUpdate stays = Asked();
  EXPECT_EQ(stays.request.type, ConfigType::kPrimaryForceUpdateBallot);
  Accept(stays);
  EXPECT_EQ(s_.role, kPrimary);
  EXPECT_FALSE(reconfiguration_.MayGiveWay());
  s_.now = s_.now + 2 * s_.options.prepare_timeout;
  EXPECT_TRUE(reconfiguration_.MayGiveWay());
  reconfiguration_.GiveWay();
  Refuse(Asked().serial);
  s_.now = s_.now + 2 * s_.options.prepare_timeout;
  EXPECT_FALSE(reconfiguration_.MayGiveWay()) << "twice as long";
  reconfiguration_.OnMetaThawed();
  EXPECT_TRUE(reconfiguration_.MayGiveWay());
}

TEST_F(ReconfigurationTest, ALearnerIsNoMemberBeforeWhatTheTermBeganWithIsCommitted) {
  sessions_.BeginTerm();
  sessions_.Register(NodeAt('D'));
  s_.Append(MakeMutation(7, 1, 0, "a"));
  s_.inherited = Decree(1);
  EXPECT_FALSE(reconfiguration_.UpgradeLearner(NodeAt('D')));
  s_.TakeLogged(1);
  s_.CommitThrough(Decree(1));
  EXPECT_TRUE(reconfiguration_.UpgradeLearner(NodeAt('D')));
  EXPECT_EQ(Asked().request.config.secondaries.back(), NodeAt('D'));
}

TEST_F(ReconfigurationTest, WhoGaveUpItsOfficeAndIsChosenByTheVeryNextBallotKnowsIt) {
  reconfiguration_.GiveUpOffice(Reconfiguration::Yield::kAsSecondary, "test");
  const SendConfigurationUpdate asked = Asked();
  EXPECT_EQ(asked.request.holds_less, true);
  Accept(asked);
  EXPECT_EQ(s_.role, kSecondary);
  EXPECT_FALSE(reconfiguration_.WasChosenAgain());
  roles_.RaiseBallot(Ballot(9));
  EXPECT_TRUE(reconfiguration_.WasChosenAgain());
}

TEST_F(ReconfigurationTest, AFaultIsToldOnceAndNobodyWaitsForTheAnswer) {
  const PartitionConfiguration configuration = s_.configuration;
  roles_.Fail("a fault");
  reconfiguration_.TellFault(configuration);
  const SendConfigurationUpdate told = Asked();
  EXPECT_EQ(told.serial, 0u);
  EXPECT_EQ(told.request.node, s_.options.self);
  EXPECT_FALSE(told.request.config.IsMember(s_.options.self));
  EXPECT_FALSE(reconfiguration_.IsPending());
}

}  // namespace
}  // namespace arion
