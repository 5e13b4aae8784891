// What administrators ask of a whole meta server: tables changed, levels, plans, dead partitions.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "messages/admin_messages.h"
#include "tests/meta/meta_fixture.h"

namespace arion {
namespace {

class MetaServerAdminTest : public MetaFixture {
 protected:
  void SetUp() override {
    ASSERT_TRUE(StartMeta().ok());
    StartAndSync(4);
    ASSERT_EQ(Create("t", 1, 3).err, ErrorCode::kOk);
    Obey();
    ASSERT_EQ(ConfigOf("t", 0).MemberCount(), 3u);
  }
  UpdateAppEnvResponse SetEnv(const std::string& key, const std::string& value) {
    return *Ask<UpdateAppEnvResponse>(
        kRpcUpdateAppEnv, UpdateAppEnvRequest{.app_name = "t",
                                              .op = EnvOperation::kSet,
                                              .keys = std::vector<std::string>{key},
                                              .values = std::vector<std::string>{value}});
  }
  std::shared_ptr<ErrorCode> BeginSetEnv(const char* value) {
    return Begin<UpdateAppEnvResponse>(kRpcUpdateAppEnv,
                                       UpdateAppEnvRequest{.app_name = "t",
                                                           .op = EnvOperation::kSet,
                                                           .keys = {{"default_ttl"}},
                                                           .values = {{value}}});
  }
  AppInfo Info(int32_t app_id = 1) {
    const auto list = *Ask<ListAppsResponse>(kRpcListApps, ListAppsRequest());
    for (const AppInfo& info : list.infos)
      if (info.app_id == app_id) return info;
    return {};
  }
  // Who was told since the last time what the table is like now.
  std::multiset<Endpoint> TakeTold() {
    const std::optional<int64_t> version = Info().version;
    std::multiset<Endpoint> told;
    for (auto& call : transport_.called) {
      EXPECT_EQ(call.request.name, kRpcTableChanged);
      const auto change = DecodeWrapped<TableChangedRequest>(call.request.body);
      if (change->info.version == version) told.insert(call.to);
    }
    transport_.called.clear();
    return told;
  }
  void Confirm(RecordingTransport::Called& call, ErrorCode error = ErrorCode::kOk) {
    call.reply_on->Post([done = std::move(call.done), error]() mutable {
      done({.error = error, .body = EncodeWrapped(TableChangedResponse{})});
    });
    world_.RunFor(absl::Milliseconds(1));
  }
  void AllHear() {
    world_.RunFor(absl::Milliseconds(20));
    for (auto& call : std::exchange(transport_.called, {}))
      if (call.request.name == kRpcTableChanged) Confirm(call);
  }
  ErrorCode Plan(std::vector<ProposedAction> actions, bool force = false) {
    return Ask<ProposeBalancerResponse>(
               kRpcProposeBalancer,
               ProposeBalancerRequest{.pid = {1, 0}, .actions = actions, .force = force})
        ->err;
  }
  Endpoint Outsider() {
    for (int n = 1; n <= 4; ++n)
      if (!ConfigOf("t", 0).IsMember(ServerAt(n))) return ServerAt(n);
    return {};
  }
  std::string ClusterFact(const std::string& key) {
    const auto info = *Ask<ClusterInfoResponse>(kRpcClusterInfo, ClusterInfoRequest());
    for (size_t i = 0; i < info.keys.size(); ++i)
      if (info.keys[i] == key) return info.values[i];
    return "?";
  }
};

// ---- environments ----

TEST_F(MetaServerAdminTest, AnOlderVersionsServerIsNotToldInWordsThatItDoesNotKnow) {
  ASSERT_TRUE(Ask<BeaconAck>(
      kRpcBeacon,
      BeaconMessage{
          .time = 77, .from_node = ServerAt(4), .to_node = transport_.local(), .start_time = 9}));
  EXPECT_EQ(SetEnv("default_ttl", "60").err, ErrorCode::kOk);
  world_.RunFor(absl::Milliseconds(20));
  EXPECT_EQ(TakeTold(), (std::multiset{ServerAt(1), ServerAt(2), ServerAt(3)}));
}

TEST_F(MetaServerAdminTest, AnEnvironmentIsStoredListedAndToldToEveryServerAtOnce) {
  EXPECT_EQ(SetEnv("default_ttl", "60").err, ErrorCode::kOk);
  EXPECT_EQ(Info().envs.at("default_ttl"), "60");
  world_.RunFor(absl::Milliseconds(20));
  EXPECT_EQ(TakeTold(), (std::multiset{ServerAt(1), ServerAt(2), ServerAt(3), ServerAt(4)}));
  EXPECT_EQ(Sync(1, {})->partitions.size() + Sync(2, {})->partitions.size() +
                Sync(3, {})->partitions.size() + Sync(4, {})->partitions.size(),
            3u);

  const std::optional<int64_t> version = Info().version;
  EXPECT_TRUE(version);
  StopMeta(sim::CrashMode::kPowerNone);
  transport_.called.clear();
  ASSERT_TRUE(StartMeta().ok());
  EXPECT_EQ(Info().envs.at("default_ttl"), "60");
  EXPECT_EQ(Info().version, version);
  EXPECT_EQ(TakeTold().size(), 3u) << "the change may not have reached the members before";
}

TEST_F(MetaServerAdminTest, AServerThatDidNotConfirmIsToldAgainWithinASecond) {
  SetEnv("default_ttl", "60");
  world_.RunFor(absl::Milliseconds(20));
  ASSERT_EQ(transport_.called.size(), 4u);
  Confirm(transport_.called[0]);
  Confirm(transport_.called[1], ErrorCode::kHandlerNotFound);  // a Pegasus server
  Confirm(transport_.called[2], ErrorCode::kTimeout);
  const std::multiset<Endpoint> missing{transport_.called[2].to, transport_.called[3].to};
  transport_.called.clear();
  world_.RunFor(absl::Milliseconds(400));
  EXPECT_EQ(TakeTold(), missing);

  // What is confirmed late is not what the table is now.
  world_.RunFor(absl::Milliseconds(300));
  RecordingTransport::Called late = std::move(transport_.called.front());
  SetEnv("default_ttl", "70");
  Confirm(late);
  transport_.called.clear();
  world_.RunFor(absl::Milliseconds(400));
  EXPECT_EQ(TakeTold().size(), 4u);

  // The dead are not told: their return is a config sync.
  KillServer(1);
  Pass(absl::Seconds(4));
  transport_.called.clear();
  world_.RunFor(absl::Milliseconds(700));
  EXPECT_EQ(TakeTold().count(ServerAt(1)), 0u);
}

TEST_F(MetaServerAdminTest, TwoAdministratorsAtOnceBothSucceed) {
  auto first = BeginSetEnv("1"), second = BeginSetEnv("2");
  world_.RunFor(absl::Milliseconds(50));
  EXPECT_EQ(*first, ErrorCode::kOk);
  EXPECT_EQ(*second, ErrorCode::kOk);
  EXPECT_EQ(Info().envs.at("default_ttl"), "2");
  EXPECT_EQ(TakeTold().size(), 4u);
}

// ---- tables ----

// Neither takes the other back, also not for who reads it from the disk afterwards.
TEST_F(MetaServerAdminTest, ADropAmidAChangeOfTheEnvironmentStaysADrop) {
  for (const bool drop_is_first : {false, true}) {
    const int32_t app_id = drop_is_first ? 2 : 1;
    std::shared_ptr<ErrorCode> set, drop;
    if (!drop_is_first) set = BeginSetEnv("60");
    drop = Begin<DropAppResponse>(kRpcDropApp, DropAppRequest{.app_name = "t"});
    if (drop_is_first) set = BeginSetEnv("60");
    world_.RunFor(absl::Milliseconds(50));
    EXPECT_EQ(*drop, ErrorCode::kOk);
    EXPECT_EQ(*set == ErrorCode::kOk, !drop_is_first) << *set;
    EXPECT_EQ(Info(app_id).status, AppStatus::kDropped);
    StopMeta(sim::CrashMode::kPowerNone);
    ASSERT_TRUE(StartMeta().ok());
    EXPECT_EQ(Info(app_id).status, AppStatus::kDropped);
    StartAndSync(4);
    ASSERT_EQ(Create("t", 1, 3).err, ErrorCode::kOk) << "the name is free";
  }
}

// A primary that has not heard of the drop may answer from its lease, beside the one that leads
// next.
TEST_F(MetaServerAdminTest, ARecallWaitsUntilAllServersHaveHeardOfTheDrop) {
  const auto begin = [this] {
    return Begin<RecallAppResponse>(kRpcRecallApp, RecallAppRequest{.app_id = 1});
  };
  ASSERT_EQ(Ask<DropAppResponse>(kRpcDropApp, DropAppRequest{.app_name = "t"})->err,
            ErrorCode::kOk);
  const auto early = begin();
  Pass(absl::Milliseconds(3500));
  EXPECT_EQ(*early, ErrorCode::kBusyDropping);
  const auto recall = begin();
  transport_.called.clear();
  world_.RunFor(absl::Milliseconds(500));
  EXPECT_EQ(*recall, ErrorCode::kUnknown) << "it waits";
  EXPECT_EQ(Info().status, AppStatus::kDropped);
  AllHear();
  world_.RunFor(absl::Milliseconds(100));
  EXPECT_EQ(*recall, ErrorCode::kOk);
}

TEST_F(MetaServerAdminTest, ATableUnderRecallIsChangedByNobodyElse) {
  ASSERT_EQ(Ask<DropAppResponse>(kRpcDropApp, DropAppRequest{.app_name = "t"})->err,
            ErrorCode::kOk);
  AllHear();
  const auto recall = Begin<RecallAppResponse>(kRpcRecallApp, RecallAppRequest{.app_id = 1});
  const std::vector<std::shared_ptr<ErrorCode>> refused = {
      BeginSetEnv("60"),
      Begin<RecallAppResponse>(kRpcRecallApp, RecallAppRequest{.app_id = 1}),
      Begin<DropAppResponse>(kRpcDropApp, DropAppRequest{.app_name = "t"}),
      Begin<RenameAppResponse>(kRpcRenameApp, RenameAppRequest{"t", "u"}),
      Begin<MaxReplicaCountResponse>(kRpcSetMaxReplicaCount, SetMaxReplicaCountRequest{"t", 2}),
      Begin<StartManualCompactResponse>(kRpcStartManualCompact,
                                        StartManualCompactRequest{.app_name = "t"}),
      Begin<CreateAppResponse>(kRpcCreateApp,
                               CreateAppRequest{"t", {.partition_count = 1, .replica_count = 3}}),
  };
  world_.RunFor(absl::Milliseconds(50));
  EXPECT_EQ(*recall, ErrorCode::kOk);
  for (const auto& error : refused) EXPECT_NE(*error, ErrorCode::kOk) << &error - refused.data();
  EXPECT_EQ(*refused[0], ErrorCode::kBusyCreating);
  EXPECT_EQ(Info().status, AppStatus::kAvailable);
  EXPECT_TRUE(Info().envs.empty());
}

// The name it had is another's by then, and the one it gets is taken from the first moment.
TEST_F(MetaServerAdminTest, ATableUnderRecallIsFoundByTheNameItGets) {
  ASSERT_EQ(Ask<DropAppResponse>(kRpcDropApp, DropAppRequest{.app_name = "t"})->err,
            ErrorCode::kOk);
  AllHear();
  ASSERT_EQ(Create("t", 1, 3).err, ErrorCode::kOk);
  Obey();
  const auto recall =
      Begin<RecallAppResponse>(kRpcRecallApp, RecallAppRequest{.app_id = 1, .new_app_name = "old"});
  const auto set = BeginSetEnv("60");
  const auto query = Begin<QueryConfigResponse>(kRpcQueryConfig, QueryConfigRequest{"t"});
  const auto query_old = Begin<QueryConfigResponse>(kRpcQueryConfig, QueryConfigRequest{"old"});
  const auto create = Begin<CreateAppResponse>(
      kRpcCreateApp, CreateAppRequest{"old", {.partition_count = 1, .replica_count = 3}});
  const auto rename = Begin<RenameAppResponse>(kRpcRenameApp, RenameAppRequest{"t", "old"});
  world_.RunFor(absl::Milliseconds(50));
  EXPECT_EQ(*recall, ErrorCode::kOk);
  EXPECT_EQ(*set, ErrorCode::kOk);
  EXPECT_EQ(*query, ErrorCode::kOk);
  EXPECT_EQ(*query_old, ErrorCode::kBusyCreating);
  EXPECT_EQ(*create, ErrorCode::kBusyCreating);
  EXPECT_EQ(*rename, ErrorCode::kInvalidParameters);
  EXPECT_TRUE(Info(1).envs.empty());
  EXPECT_EQ(Info(2).envs.at("default_ttl"), "60");
  EXPECT_EQ(Query("old").app_id, 1);
  EXPECT_EQ(Query("t").app_id, 2);
}

TEST_F(MetaServerAdminTest, ADroppedTableIsRecalledUnderAnotherName) {
  const PartitionConfiguration before = ConfigOf("t", 0);
  ASSERT_EQ(Ask<DropAppResponse>(kRpcDropApp, DropAppRequest{.app_name = "t"})->err,
            ErrorCode::kOk);
  EXPECT_EQ(Info().status, AppStatus::kDropped);
  AllHear();
  ASSERT_EQ(Create("t", 1, 3).err, ErrorCode::kOk);
  Obey();
  auto recalled = *Ask<RecallAppResponse>(kRpcRecallApp, RecallAppRequest{.app_id = 1});
  EXPECT_EQ(recalled.err, ErrorCode::kInvalidParameters) << "the name is taken";
  recalled =
      *Ask<RecallAppResponse>(kRpcRecallApp, RecallAppRequest{.app_id = 1, .new_app_name = "old"});
  EXPECT_EQ(recalled.err, ErrorCode::kOk);
  EXPECT_EQ(recalled.info.app_name, "old");
  EXPECT_EQ(recalled.info.expire_second, 0);
  PartitionConfiguration config = ConfigOf("old", 0);
  EXPECT_EQ(config.ballot, before.ballot + 2);
  EXPECT_EQ(config.partition_flags, 0);
  ASSERT_FALSE(config.last_drops.empty());
  EXPECT_EQ(config.last_drops.back(), before.primary);

  // Whoever was primary serves again once it has reported what it kept.
  ReplicaInfo kept = Report(before, PartitionStatus::kInactive);
  kept.durability = static_cast<int8_t>(Durability::kFsync);
  for (int n = 1; n <= 4; ++n)
    if (before.IsMember(ServerAt(n))) Sync(n, {kept});
  Obey();
  EXPECT_EQ(ConfigOf("old", 0).MemberCount(), 3u);
  EXPECT_EQ(Ask<RecallAppResponse>(kRpcRecallApp, RecallAppRequest{.app_id = 1})->err,
            ErrorCode::kAppExist);
  EXPECT_EQ(Ask<RecallAppResponse>(kRpcRecallApp, RecallAppRequest{.app_id = 9})->err,
            ErrorCode::kAppNotExist);
}

TEST_F(MetaServerAdminTest, ARenamedTableKeepsItsPartitionsOverARestart) {
  const PartitionConfiguration before = ConfigOf("t", 0);
  auto renamed = *Ask<RenameAppResponse>(kRpcRenameApp, RenameAppRequest{"t", "u"});
  EXPECT_EQ(renamed.err, ErrorCode::kOk);
  EXPECT_EQ(Query("t").err, ErrorCode::kObjectNotFound);
  EXPECT_EQ(ConfigOf("u", 0), before);
  renamed = *Ask<RenameAppResponse>(kRpcRenameApp, RenameAppRequest{"t", "v"});
  EXPECT_EQ(renamed.err, ErrorCode::kAppNotExist);
  EXPECT_TRUE(renamed.hint_message.starts_with("ERROR: app("));
  StopMeta(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(StartMeta().ok());
  EXPECT_EQ(ConfigOf("u", 0), before);
}

TEST_F(MetaServerAdminTest, TheReplicaCountChangesWithoutANewBallotAndIsCarriedOut) {
  const PartitionConfiguration before = ConfigOf("t", 0);
  auto set = [&](int32_t count) {
    return *Ask<MaxReplicaCountResponse>(kRpcSetMaxReplicaCount,
                                         SetMaxReplicaCountRequest{"t", count});
  };
  EXPECT_EQ(set(4), (MaxReplicaCountResponse{ErrorCode::kOk, 3, ""}));
  EXPECT_EQ(ConfigOf("t", 0).ballot, before.ballot);
  Sync(4);
  Obey();
  EXPECT_EQ(ConfigOf("t", 0).MemberCount(), 4u);
  EXPECT_EQ(set(2).err, ErrorCode::kOk);
  Obey();
  EXPECT_EQ(ConfigOf("t", 0).MemberCount(), 2u);
  EXPECT_EQ(set(2).hint_message, "it is 2 already");
  EXPECT_EQ(set(5).err, ErrorCode::kInvalidParameters) << "more than are alive";
  EXPECT_EQ(set(0).err, ErrorCode::kInvalidParameters);
  const auto got = *Ask<MaxReplicaCountResponse>(kRpcGetMaxReplicaCount, TableNameRequest{"t"});
  EXPECT_EQ(got.max_replica_count, 2);
  StopMeta(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(StartMeta().ok());
  EXPECT_EQ(Info().max_replica_count, 2);
  EXPECT_EQ(ConfigOf("t", 0).max_replica_count, 2);
}

TEST_F(MetaServerAdminTest, AnUpdateSentBeforeTheCountChangedIsAccepted) {
  ConfigurationUpdateRequest update{.config = ConfigOf("t", 0), .type = ConfigType::kRemove};
  Ask<MaxReplicaCountResponse>(kRpcSetMaxReplicaCount, SetMaxReplicaCountRequest{"t", 2});
  update.node = update.config.secondaries.back();
  update.config.secondaries.pop_back();
  ++update.config.ballot;
  EXPECT_EQ(update.config.max_replica_count, 3);
  EXPECT_EQ(Update(update)->err, ErrorCode::kOk);
  EXPECT_EQ(ConfigOf("t", 0).max_replica_count, 2);
}

TEST_F(MetaServerAdminTest, AtomicOperationsStayIdempotent) {
  EXPECT_TRUE(Ask<AtomicIdempotentResponse>(kRpcGetAtomicIdempotent, TableNameRequest{"t"})
                  ->atomic_idempotent);
  EXPECT_EQ(
      Ask<AtomicIdempotentResponse>(kRpcSetAtomicIdempotent, SetAtomicIdempotentRequest{"t", true})
          ->err,
      ErrorCode::kOk);
  EXPECT_EQ(
      Ask<AtomicIdempotentResponse>(kRpcSetAtomicIdempotent, SetAtomicIdempotentRequest{"t", false})
          ->err,
      ErrorCode::kOperationDisabled);
}

// ---- levels ----

TEST_F(MetaServerAdminTest, BelowFreezedNothingHappensAndFreezedNothingIsProposed) {
  EXPECT_EQ(Level(FunctionLevel::kInvalid).old_level, FunctionLevel::kSteady);
  EXPECT_EQ(Level(static_cast<FunctionLevel>(123)).err, ErrorCode::kInvalidParameters);
  const PartitionConfiguration before = ConfigOf("t", 0);
  const int primary = static_cast<int>(before.primary.ip & 0xff);

  EXPECT_EQ(Level(FunctionLevel::kBlind).old_level, FunctionLevel::kSteady);
  EXPECT_EQ(ClusterFact("meta_function_level"), "blind");
  KillServer(primary);
  Pass(absl::Seconds(4));
  EXPECT_EQ(ConfigOf("t", 0), before);
  EXPECT_EQ(Create("u", 1, 3).err, ErrorCode::kStateFreezed);

  Level(FunctionLevel::kFreezed);
  Pass(absl::Seconds(1));
  EXPECT_FALSE(ConfigOf("t", 0).primary.IsValid());
  EXPECT_FALSE(TakeProposal());
  Level(FunctionLevel::kSteady);
  EXPECT_TRUE(TakeProposal());
}

TEST_F(MetaServerAdminTest, ARestartedMetaServerHasTheLevelThatWasSetLast) {
  for (FunctionLevel level : {FunctionLevel::kLively, FunctionLevel::kFreezed}) {
    EXPECT_EQ(Level(level).err, ErrorCode::kOk);
    StopMeta(sim::CrashMode::kPowerNone);
    ASSERT_TRUE(StartMeta().ok());
    EXPECT_EQ(Level(FunctionLevel::kInvalid).old_level, level);
  }
  const PartitionConfiguration before = ConfigOf("t", 0);
  KillServer(static_cast<int>(before.secondaries[0].ip & 0xff));
  Pass(absl::Seconds(4));
  EXPECT_FALSE(TakeProposal());

  // What is not stored was not set.
  node_.disk().FailSyncs(1);
  EXPECT_EQ(Level(FunctionLevel::kLively).err, ErrorCode::kFileOperationFailed);
  EXPECT_EQ(Level(FunctionLevel::kInvalid).old_level, FunctionLevel::kFreezed);
  EXPECT_EQ(Level(FunctionLevel::kSteady).err, ErrorCode::kFileOperationFailed);
}

TEST_F(MetaServerAdminTest, AMetaServerBeginsAtTheLowerOfTheLevelSetAndTheOneConfigured) {
  const auto after_restart = [&](std::optional<FunctionLevel> on_start) {
    options_.function_level_on_start = on_start;
    StopMeta(sim::CrashMode::kPowerNone);
    EXPECT_TRUE(StartMeta().ok());
    return Level(FunctionLevel::kInvalid).old_level;
  };
  EXPECT_EQ(after_restart(std::nullopt), FunctionLevel::kSteady) << "none was ever set";
  EXPECT_EQ(after_restart(FunctionLevel::kLively), FunctionLevel::kLively);
  EXPECT_EQ(after_restart(FunctionLevel::kBlind), FunctionLevel::kBlind);
  Level(FunctionLevel::kFreezed);
  EXPECT_EQ(after_restart(FunctionLevel::kLively), FunctionLevel::kFreezed);
  EXPECT_EQ(after_restart(FunctionLevel::kStopped), FunctionLevel::kStopped);
  EXPECT_EQ(after_restart(std::nullopt), FunctionLevel::kFreezed);
}

// ---- plans ----

TEST_F(MetaServerAdminTest, APrimaryIsMovedStepByStepAsPlanned) {
  const PartitionConfiguration before = ConfigOf("t", 0);
  const Endpoint from = before.primary, to = before.secondaries[1];
  EXPECT_EQ(Plan({{from, from, ConfigType::kDowngradeToSecondary},
                  {to, to, ConfigType::kUpgradeToPrimary}}),
            ErrorCode::kOk);
  Obey();
  const PartitionConfiguration after = ConfigOf("t", 0);
  EXPECT_EQ(after.primary, to);
  EXPECT_TRUE(after.IsSecondary(from));
  EXPECT_EQ(after.ballot, before.ballot + 2);
}

TEST_F(MetaServerAdminTest, ACopyIsMovedToANewServerAndTheOldOneGoes) {
  const PartitionConfiguration before = ConfigOf("t", 0);
  const Endpoint from = before.secondaries[0], to = Outsider();
  // As the Go tools say it: the target is whoever is primary.
  EXPECT_EQ(Plan({{{}, to, ConfigType::kAddSecondaryForLoadBalance},
                  {{}, from, ConfigType::kDowngradeToInactive}}),
            ErrorCode::kOk);
  EXPECT_EQ(Plan({{{}, to, ConfigType::kAddSecondaryForLoadBalance}}),
            ErrorCode::kInvalidParameters)
      << "one plan at a time";
  Obey();
  const PartitionConfiguration after = ConfigOf("t", 0);
  EXPECT_TRUE(after.IsSecondary(to));
  EXPECT_FALSE(after.IsMember(from));
  EXPECT_EQ(after.MemberCount(), 3u);
}

TEST_F(MetaServerAdminTest, AtLivelyThePrimariesAreBalancedAndBelowOnlyCounted) {
  ASSERT_EQ(Create("many", 4, 3).err, ErrorCode::kOk);
  Obey();
  // One server gets all primaries.
  const Endpoint all = ConfigOf("many", 0).primary;
  for (int32_t i = 0; i < 4; ++i) {
    const PartitionConfiguration config = ConfigOf("many", i);
    if (config.primary == all || !config.IsSecondary(all)) continue;
    const ProposeBalancerRequest move{
        .pid = config.pid,
        .actions = {{config.primary, config.primary, ConfigType::kDowngradeToSecondary},
                    {all, all, ConfigType::kUpgradeToPrimary}}};
    EXPECT_EQ(Ask<ProposeBalancerResponse>(kRpcProposeBalancer, move)->err, ErrorCode::kOk);
  }
  Obey();
  const auto most = [&] {
    std::map<Endpoint, int> primaries;
    int most = 0;
    for (const PartitionConfiguration& config : Query("many").partitions)
      most = std::max(most, ++primaries[config.primary]);
    return most;
  };
  const int before = most();
  ASSERT_GT(before, 1);
  Pass(absl::Seconds(30));
  EXPECT_FALSE(TakeProposal());
  EXPECT_EQ(ClusterFact("balance_operation_count").find("\"total\": 0"), std::string::npos);
  Level(FunctionLevel::kLively);
  for (int round = 0; round < 20; ++round) {
    Obey();
    Pass(absl::Seconds(5));
  }
  EXPECT_EQ(most(), 1);
}

TEST_F(MetaServerAdminTest, PlansThatCantBeginOrMakeNoSenseAreRefused) {
  const PartitionConfiguration config = ConfigOf("t", 0);
  const Endpoint primary = config.primary, member = config.secondaries[0], other = Outsider();
  for (const ProposedAction& action : {
           ProposedAction{other, other, ConfigType::kUpgradeToPrimary},
           ProposedAction{member, member, ConfigType::kUpgradeToPrimary},
           ProposedAction{primary, member, ConfigType::kAddSecondary},
           ProposedAction{primary, other, ConfigType::kAddSecondary},
           ProposedAction{member, other, ConfigType::kAddSecondaryForLoadBalance},
           ProposedAction{primary, {}, ConfigType::kRemove},
           ProposedAction{primary, member, ConfigType::kRegisterChild},
           ProposedAction{member, member, ConfigType::kDowngradeToSecondary},
       })
    EXPECT_EQ(Plan({action}), ErrorCode::kInvalidParameters) << static_cast<int>(action.type);
  EXPECT_EQ(Plan({}), ErrorCode::kInvalidParameters);
  EXPECT_EQ(
      Ask<ProposeBalancerResponse>(kRpcProposeBalancer, ProposeBalancerRequest{.pid = {7, 0}})->err,
      ErrorCode::kAppNotExist);
  EXPECT_EQ(ConfigOf("t", 0), config);
  EXPECT_FALSE(TakeProposal());
}

TEST_F(MetaServerAdminTest, APlanIsGivenUpWhenItsServerDies) {
  const PartitionConfiguration before = ConfigOf("t", 0);
  const Endpoint to = Outsider();
  EXPECT_EQ(Plan({{{}, to, ConfigType::kAddSecondaryForLoadBalance},
                  {{}, before.secondaries[0], ConfigType::kRemove}}),
            ErrorCode::kOk);
  KillServer(static_cast<int>(to.ip & 0xff));
  Pass(absl::Seconds(4));
  transport_.sent.clear();
  Pass(absl::Seconds(15));
  EXPECT_FALSE(TakeProposal());
  EXPECT_EQ(ConfigOf("t", 0), before);
}

// ---- dead partitions ----

TEST_F(MetaServerAdminTest, ADeadPartitionIsShownWithItsCandidatesAndRevivedOnlyByAnAdministrator) {
  const PartitionConfiguration whole = ConfigOf("t", 0);
  // All members die, one after the other; only the first returns, which others have outgrown.
  auto diagnose = [&](PartitionId pid) {
    return *Ask<DddDiagnoseResponse>(kRpcDddDiagnose, DddDiagnoseRequest{pid});
  };
  EXPECT_TRUE(diagnose({-1, -1}).partitions.empty());
  StartServer(9);  // so that enough servers are alive; they hold nothing
  StartServer(10);
  for (Endpoint node : {Outsider(), whole.secondaries[0], whole.secondaries[1], whole.primary}) {
    KillServer(static_cast<int>(node.ip & 0xff));
    Pass(absl::Seconds(4));
    Obey();
  }
  const PartitionConfiguration dead = ConfigOf("t", 0);
  ASSERT_EQ(dead.MemberCount(), 0u);
  const Endpoint survivor = dead.last_drops.front();
  const int n = static_cast<int>(survivor.ip & 0xff);
  StartServer(n);
  ReplicaInfo kept = Report(whole, PartitionStatus::kInactive);
  kept.last_mutation_ballot = Ballot(1);  // it was told of the later ones
  Sync(n, {kept});
  Pass(absl::Seconds(12));
  EXPECT_FALSE(TakeProposal()) << "it may lack what the others acknowledged";

  const DddDiagnoseResponse shown = diagnose({1, 0});
  ASSERT_EQ(shown.partitions.size(), 1u);
  EXPECT_EQ(shown.partitions[0].reason, "the member that left last is dead");
  ASSERT_EQ(shown.partitions[0].dropped.size(), 3u);
  for (const DddNode& node : shown.partitions[0].dropped) {
    EXPECT_EQ(node.is_alive, node.node == survivor);
    EXPECT_EQ(node.ballot, node.node == survivor ? Ballot(1) : Ballot(-1));
    EXPECT_GT(node.drop_time_ms, 0);
  }
  EXPECT_EQ(diagnose({2, -1}).err, ErrorCode::kAppNotExist);

  // The last one returns, but still loads: what it has will be known.
  const Endpoint last = dead.last_drops.back();
  const auto is_collected = [&](std::vector<ReplicaInfo> reported) {
    Sync(static_cast<int>(last.ip & 0xff), std::move(reported));
    return diagnose({1, 0}).partitions.at(0).dropped.back().is_collected;
  };
  StartServer(static_cast<int>(last.ip & 0xff));
  ReplicaInfo loading = Report(whole, PartitionStatus::kInactive);
  loading.loading = true;
  EXPECT_FALSE(is_collected({loading}));
  EXPECT_TRUE(is_collected({})) << "it has lost its copy";

  EXPECT_EQ(Plan({{survivor, survivor, ConfigType::kAssignPrimary}}, true), ErrorCode::kOk);
  Obey();
  EXPECT_EQ(ConfigOf("t", 0).primary, survivor);
}

TEST_F(MetaServerAdminTest, AForsakenPartitionIsShownAndServedByWhomAnAdministratorNames) {
  ASSERT_EQ(
      Ask<MaxReplicaCountResponse>(kRpcSetMaxReplicaCount, SetMaxReplicaCountRequest{"t", 2})->err,
      ErrorCode::kOk);
  StartServer(9);  // so that enough servers are alive
  StartServer(10);
  Obey();
  const PartitionConfiguration whole = ConfigOf("t", 0);
  ASSERT_EQ(whole.secondaries.size(), 1u);
  const Endpoint primary = whole.primary, secondary = whole.secondaries[0];
  for (Endpoint node : {primary, secondary}) KillServer(static_cast<int>(node.ip & 0xff));
  Pass(absl::Seconds(4));
  ASSERT_EQ(ConfigOf("t", 0).secondaries, whole.secondaries);
  // The secondary's machine never returns.
  StartServer(static_cast<int>(primary.ip & 0xff));
  Sync(static_cast<int>(primary.ip & 0xff), {Report(whole, PartitionStatus::kInactive)});
  Pass(absl::Seconds(12));
  EXPECT_FALSE(TakeProposal());

  const auto shown = *Ask<DddDiagnoseResponse>(kRpcDddDiagnose, DddDiagnoseRequest{{-1, -1}});
  ASSERT_EQ(shown.partitions.size(), 1u);
  EXPECT_EQ(shown.partitions[0].reason,
            "the secondaries are dead or have lost their replicas; who left last may hold "
            "everything");
  const std::vector<DddNode>& nodes = shown.partitions[0].dropped;
  ASSERT_GE(nodes.size(), 2u);
  EXPECT_EQ(nodes.front().node, secondary);
  EXPECT_FALSE(nodes.front().is_alive);
  EXPECT_EQ(nodes.back().node, primary);
  EXPECT_EQ(nodes.back().ballot, whole.ballot);
  EXPECT_EQ(nodes.back().is_ballot_of_data, true);

  EXPECT_EQ(Plan({{primary, primary, ConfigType::kAssignPrimary}}, true), ErrorCode::kOk);
  Obey();
  EXPECT_EQ(ConfigOf("t", 0).primary, primary);
  EXPECT_EQ(ConfigOf("t", 0).ballot, whole.ballot + 3);
  EXPECT_TRUE(
      Ask<DddDiagnoseResponse>(kRpcDddDiagnose, DddDiagnoseRequest{{-1, -1}})->partitions.empty());
}

// ---- garbage ----

TEST_F(MetaServerAdminTest, GarbageIsNamedOnlyWhenLivelyAndOthersHoldEverything) {
  const PartitionConfiguration config = ConfigOf("t", 0);
  const int outsider = static_cast<int>(Outsider().ip & 0xff);
  const ReplicaInfo left = Report(config, PartitionStatus::kInactive);
  auto garbage = [&](ReplicaInfo report) {
    return Sync(outsider, {report})->gc_replicas.value_or(std::vector<ReplicaInfo>()).size();
  };
  EXPECT_EQ(garbage(left), 0u);
  Level(FunctionLevel::kLively);
  EXPECT_EQ(garbage(left), 1u);
  ReplicaInfo loading = left;
  loading.loading = true;
  EXPECT_EQ(garbage(loading), 0u);
  ReplicaInfo unknown = left;
  unknown.pid = {99, 0};
  EXPECT_EQ(garbage(unknown), 0u) << "of a table the meta server doesn't know";
  ReplicaInfo ahead = left;
  ahead.ballot = config.ballot + 5;
  EXPECT_EQ(garbage(ahead), 0u);

  // A member whose process is new has yet to show what it holds.
  StartServer(static_cast<int>(config.secondaries[0].ip & 0xff));
  EXPECT_EQ(garbage(left), 0u);
}

TEST_F(MetaServerAdminTest, AnExpiredTablesReplicasAreGarbageAndItIsNotRecalled) {
  const PartitionConfiguration config = ConfigOf("t", 0);
  Level(FunctionLevel::kLively);
  DropAppRequest drop{.app_name = "t"};
  drop.options.reserve_seconds = 100;
  ASSERT_EQ(Ask<DropAppResponse>(kRpcDropApp, drop)->err, ErrorCode::kOk);
  const ReplicaInfo left = Report(config, PartitionStatus::kInactive);
  EXPECT_FALSE(Sync(1, {left})->gc_replicas);
  Pass(absl::Seconds(101));
  EXPECT_FALSE(Sync(1, {left})->gc_replicas) << "clocks that agree may lie some seconds apart";
  Pass(absl::Seconds(5));
  EXPECT_EQ(Sync(1, {left})->gc_replicas.value().size(), 1u);
  EXPECT_EQ(Ask<RecallAppResponse>(kRpcRecallApp, RecallAppRequest{.app_id = 1})->err,
            ErrorCode::kAppNotExist);
}

// ---- compaction on request ----

TEST_F(MetaServerAdminTest, ACompactionIsEnvironmentsAndItsProgressWhatMembersReport) {
  const auto start = [&](StartManualCompactRequest request) {
    return Ask<StartManualCompactResponse>(kRpcStartManualCompact, request)->err;
  };
  const auto query = [&](const std::string& name) {
    return *Ask<QueryManualCompactResponse>(kRpcQueryManualCompact, TableNameRequest{name});
  };
  EXPECT_EQ(start({.app_name = "nobody's"}), ErrorCode::kAppNotExist);
  EXPECT_EQ(query("nobody's").err, ErrorCode::kAppNotExist);
  EXPECT_EQ(query("t").err, ErrorCode::kInvalidState) << "none was asked for";
  EXPECT_EQ(start({.app_name = "t", .target_level = 0}), ErrorCode::kInvalidParameters);
  EXPECT_EQ(start({.app_name = "t", .max_running_count = -1}), ErrorCode::kInvalidParameters);
  SetEnv("manual_compact.disabled", "true");
  EXPECT_EQ(start({.app_name = "t"}), ErrorCode::kOperationDisabled);
  SetEnv("manual_compact.disabled", "false");

  ASSERT_EQ(
      start({.app_name = "t", .trigger_time = 100, .bottommost = true, .max_running_count = 2}),
      ErrorCode::kOk);
  const auto envs = Info().envs;
  EXPECT_EQ(envs.at("manual_compact.once.trigger_time"), "100");
  EXPECT_EQ(envs.at("manual_compact.once.target_level"), "-1");
  EXPECT_EQ(envs.at("manual_compact.once.bottommost_level_compaction"), "force");
  EXPECT_EQ(envs.at("manual_compact.max_concurrent_running_count"), "2");

  const auto config = ConfigOf("t", 0);
  const int32_t partitions = Info().partition_count;
  const auto report = [&](Endpoint node, ManualCompactStatus status) {
    for (int n = 1; n <= 4; ++n) {
      if (ServerAt(n) != node) continue;
      ReplicaInfo info = Report(
          config, node == config.primary ? PartitionStatus::kPrimary : PartitionStatus::kSecondary);
      info.manual_compact_status = static_cast<int32_t>(status);
      Sync(n, {info});
    }
  };
  report(config.primary, ManualCompactStatus::kRunning);
  EXPECT_EQ(query("t").progress, 0);
  report(config.primary, ManualCompactStatus::kFinished);
  EXPECT_EQ(query("t").progress, 100 / (3 * partitions));
  for (Endpoint node : config.secondaries) report(node, ManualCompactStatus::kFinished);
  EXPECT_EQ(query("t").progress, 100 / partitions);
  // What they say of the last one says nothing of the next.
  ASSERT_EQ(start({.app_name = "t"}), ErrorCode::kOk);
  EXPECT_EQ(query("t").progress, 0);
}

// ---- what there is not ----

TEST_F(MetaServerAdminTest, WhatArionDoesNotDoSaysSoInItsAnswer) {
  struct Row {
    const char* code;
    std::optional<std::string> DisabledResponse::*text;
  };
  for (const Row& row : {Row{"RPC_CM_START_BULK_LOAD", &DisabledResponse::hint_at_2},
                         Row{"RPC_CM_QUERY_BACKUP_POLICY", &DisabledResponse::hint_at_4},
                         Row{"RPC_CM_QUERY_BULK_LOAD_STATUS", &DisabledResponse::hint_at_7}}) {
    for (Framing framing : {Framing::kRdsn, Framing::kThriftV0}) {
      const auto response = Ask<DisabledResponse>(row.code, TableNameRequest{"t"}, framing);
      ASSERT_TRUE(response) << row.code;
      EXPECT_EQ(response->err, ErrorCode::kOperationDisabled);
      EXPECT_TRUE(((*response).*row.text).has_value()) << row.code;
    }
  }
  EXPECT_EQ(Ask<HintResponse>(kRpcStartRecovery, StartRecoveryRequest{})->err,
            ErrorCode::kServiceAlreadyRunning);
  EXPECT_EQ(AskBytes("RPC_CM_NONSENSE", "")->error, ErrorCode::kHandlerNotFound);
  EXPECT_EQ(AskBytes(kRpcUpdateAppEnv, "xx")->error, ErrorCode::kInvalidData);
}

}  // namespace
}  // namespace arion
