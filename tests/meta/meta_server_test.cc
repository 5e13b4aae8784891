// SPDX-License-Identifier: Apache-2.0
#include "meta/meta_server.h"

#include <algorithm>
#include <set>

#include "meta_overview/cluster_health.h"
#include "tests/meta/meta_fixture.h"

namespace arion {
namespace {

class MetaServerTest : public MetaFixture {
 protected:
  void SetUp() override { ASSERT_TRUE(StartMeta().ok()); }
  void CompleteTable(int servers, int partitions = 1) {
    StartAndSync(servers);
    ASSERT_EQ(Create("t", partitions, 3).err, ErrorCode::kOk);
    Obey();
    ASSERT_EQ(ConfigOf("t", 0).MemberCount(), 3u);
  }
  void RestartWithReserve(uint64_t bytes) {
    reserve_bytes_ = bytes;
    StopMeta(sim::CrashMode::kProcess);
    ASSERT_TRUE(StartMeta().ok());
  }
  ClusterOverview Overview() {
    std::optional<ClusterOverview> seen;
    server_->Overview([&](ClusterOverview overview) { seen = std::move(overview); });
    world_.RunUntil([&] { return seen.has_value(); }, absl::Milliseconds(50));
    return seen.value_or(ClusterOverview{});
  }
  int NumberOf(Endpoint endpoint) { return static_cast<int>(endpoint.ip & 0xff); }
  std::string CopyOfTheState() { return (*node_.disk().Find("/meta/meta.journal"))->content; }
  void PutBack(const std::string& copy) {
    StopMeta(sim::CrashMode::kProcess);
    const auto journal = *node_.disk().Find("/meta/meta.journal");
    ASSERT_TRUE(node_.disk().Truncate(*journal, 0).ok());
    ASSERT_TRUE(node_.disk().Write(*journal, 0, copy, sim::SimDisk::Path::kCached).ok());
    ASSERT_TRUE(StartMeta().ok());
  }
};

TEST_F(MetaServerTest, ANewTableIsCompleteWithoutWaitingForAnyInterval) {
  StartAndSync(3);
  Instant begin = world_.now();
  CreateAppResponse created = Create("temp", 8, 3);
  EXPECT_EQ(created.err, ErrorCode::kOk);
  EXPECT_EQ(created.appid, 1);
  Obey();
  EXPECT_LT(world_.now() - begin, absl::Seconds(2));

  QueryConfigResponse table = Query("temp");
  EXPECT_TRUE(table.is_stateful);
  EXPECT_EQ(table.partition_count, 8);
  std::map<Endpoint, int> primaries;
  for (const PartitionConfiguration& config : table.partitions) {
    EXPECT_TRUE(config.primary.IsValid());
    EXPECT_EQ(config.secondaries.size(), 2u);
    EXPECT_EQ(config.ballot, Ballot(3));
    ++primaries[config.primary];
  }
  ASSERT_EQ(primaries.size(), 3u);
  for (const auto& [endpoint, count] : primaries) EXPECT_GE(count, 2) << endpoint;
}

TEST_F(MetaServerTest, ADeadPrimaryIsRemovedAndASecondaryUpgraded) {
  CompleteTable(3);
  PartitionConfiguration before = ConfigOf("t", 0);
  int primary = NumberOf(before.primary);
  KillServer(primary);
  Pass(absl::Seconds(4));
  PartitionConfiguration headless = ConfigOf("t", 0);
  EXPECT_EQ(headless.ballot, before.ballot + 1);
  EXPECT_FALSE(headless.primary.IsValid());
  ASSERT_FALSE(headless.last_drops.empty());
  EXPECT_EQ(headless.last_drops.back(), before.primary);
  Obey();
  PartitionConfiguration after = ConfigOf("t", 0);
  EXPECT_TRUE(before.IsSecondary(after.primary));
  EXPECT_EQ(after.ballot, before.ballot + 2);

  // It comes back and is taken in again.
  StartServer(primary);
  Sync(primary, {Report(before, PartitionStatus::kInactive)});
  Obey();
  EXPECT_EQ(ConfigOf("t", 0).MemberCount(), 3u);
}

TEST_F(MetaServerTest, ARestartedServerGetsItsPrimariesBackTwoAnIntervalAtMost) {
  constexpr int kPartitions = 18;
  CompleteTable(3, kPartitions);
  Level(FunctionLevel::kLively);
  const auto led_by_first = [this] {
    const std::vector<PartitionConfiguration> all = Query("t").partitions;
    return std::count_if(all.begin(), all.end(), [](const PartitionConfiguration& config) {
      return config.primary == ServerAt(1);
    });
  };
  const auto before = led_by_first();
  ASSERT_GE(before, kPartitions / 3 - 1);
  std::vector<ReplicaInfo> replicas;
  for (const PartitionConfiguration& config : Query("t").partitions)
    replicas.push_back(Report(config, PartitionStatus::kInactive));
  KillServer(1);
  Pass(absl::Seconds(4));
  Obey();
  ASSERT_EQ(led_by_first(), 0);

  StartServer(1);
  Sync(1, replicas);
  const Instant back = world_.now();
  auto led = led_by_first();
  while (led < before && world_.now() < back + 20 * options_.guardian_interval) {
    const Instant from = world_.now();
    while (world_.now() < from + options_.guardian_interval) {
      Pass(absl::Milliseconds(500));
      Obey();
    }
    const auto now = led_by_first();
    EXPECT_LE(now, led + 2);
    led = now;
  }
  EXPECT_EQ(led, before);
  EXPECT_GE(world_.now() - back, (before / 2 - 1) * options_.guardian_interval);
}

TEST_F(MetaServerTest, NobodyIsDeclaredDeadBeforeOneGraceHasPassed) {
  CompleteTable(3);
  Ballot ballot = ConfigOf("t", 0).ballot;
  int primary = NumberOf(ConfigOf("t", 0).primary);
  Beacon(primary);
  KillServer(primary);
  Pass(options_.grace - absl::Milliseconds(300));
  EXPECT_EQ(ConfigOf("t", 0).ballot, ballot);
  Pass(absl::Milliseconds(400));
  EXPECT_EQ(ConfigOf("t", 0).ballot, ballot + 1);
}

TEST_F(MetaServerTest, TheDeadAreNoticedHoweverOftenItPlans) {
  CompleteTable(3);
  const int primary = NumberOf(ConfigOf("t", 0).primary);
  KillServer(primary);
  const std::string sync = EncodeWrapped(ConfigSyncRequest{.node = ServerAt(primary % 3 + 1)});
  for (int i = 0; i < 10000; ++i) {  // each makes it plan, and arm its timer anew
    if (i % 1000 == 0) Pass(absl::Microseconds(400));
    AskBytes(kRpcConfigSync, sync, Framing::kRdsn, absl::ZeroDuration());
    world_.RunFor(absl::Microseconds(400));
  }
  EXPECT_EQ(server_->stats().server_deaths.value(), 1);
  EXPECT_NE(ConfigOf("t", 0).primary, ServerAt(primary));
}

TEST_F(MetaServerTest, ADeadSecondaryIsRemovedByItsPrimary) {
  CompleteTable(3);
  PartitionConfiguration before = ConfigOf("t", 0);
  KillServer(NumberOf(before.secondaries[0]));
  Pass(absl::Seconds(4));
  EXPECT_EQ(ConfigOf("t", 0).ballot, before.ballot) << "only the primary may remove it";
  std::optional<Proposal> proposal = TakeProposal();
  ASSERT_TRUE(proposal);
  EXPECT_EQ(proposal->to, before.primary);
  EXPECT_EQ(proposal->request.type, ConfigType::kDowngradeToInactive);
  EXPECT_EQ(proposal->request.node, before.secondaries[0]);
  EXPECT_EQ(proposal->request.config, before);
  Update(UpdateFor(*proposal));
  PartitionConfiguration after = ConfigOf("t", 0);
  EXPECT_EQ(after.secondaries.size(), 1u);
  EXPECT_EQ(after.last_drops, std::vector<Endpoint>{before.secondaries[0]});
}

TEST_F(MetaServerTest, ARestartedMetaServerGoesOnWhereItWas) {
  CompleteTable(3, 4);
  std::vector<PartitionConfiguration> before = Query("t").partitions;
  for (sim::CrashMode mode : {sim::CrashMode::kProcess, sim::CrashMode::kPowerNone}) {
    StopMeta(mode);
    ASSERT_TRUE(StartMeta().ok());
    EXPECT_EQ(Query("t").partitions, before);
  }
  Pass(absl::Seconds(20));
  EXPECT_EQ(Query("t").partitions, before) << "beacons go on: nobody is dead";
  // A server that was gone before is noticed a grace after the start.
  int primary = NumberOf(before[0].primary);
  KillServer(primary);
  StopMeta(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(StartMeta().ok());
  Pass(absl::Seconds(4));
  EXPECT_FALSE(ConfigOf("t", 0).primary.IsValid());
  EXPECT_EQ(Create("t2", 1, 2).appid, 2) << "ids go on";
}

// What members know is larger than what is stored, so that each proposal would be outdated to
// them.
// The former life declared it dead, perhaps while its clock stood still (sim seed 80300162).
TEST_F(MetaServerTest, ALifeThatBeginsCountsADeathOfWhoeverLeadsNothing) {
  CompleteTable(3);
  const Endpoint deposed = ConfigOf("t", 0).primary;
  KillServer(NumberOf(deposed));
  Pass(absl::Seconds(4));
  Obey();
  const Endpoint leader = ConfigOf("t", 0).primary;
  ASSERT_NE(leader, deposed);
  StopMeta(sim::CrashMode::kProcess);
  ASSERT_TRUE(StartMeta().ok());
  const auto deaths = [&](Endpoint server) {
    const auto ack = Ask<BeaconAck>(
        kRpcBeacon, BeaconMessage{.time = 77,
                                  .from_node = server,
                                  .to_node = transport_.local(),
                                  .start_time = servers_[NumberOf(server)].start_time});
    return ack ? ack->arion_deaths : std::nullopt;
  };
  EXPECT_EQ(deaths(deposed), 1);
  EXPECT_EQ(deaths(deposed), 1) << "once";
  EXPECT_EQ(deaths(leader), 0);
}

TEST_F(MetaServerTest, WhoSaysThatItStopsIsNotChosenBeforeOthersUntilItsProcessIsAnother) {
  CompleteTable(3);
  const PartitionConfiguration config = ConfigOf("t", 0);
  const int leaving = NumberOf(config.secondaries[0]);
  const auto is_chosen = [&] {
    ConfigurationUpdateRequest down{.config = ConfigOf("t", 0),
                                    .type = ConfigType::kDowngradeToSecondary};
    down.node = down.config.primary;
    Update(UpdateFor({down.node, down}));
    const Endpoint chosen = TakeProposal()->to;
    transport_.sent.clear();
    Update(UpdateFor(
        {chosen,
         {.config = ConfigOf("t", 0), .type = ConfigType::kUpgradeToPrimary, .node = chosen}}));
    return chosen == ServerAt(leaving);
  };
  servers_[leaving].stops = true;
  Beacon(leaving);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(is_chosen());
  servers_[leaving].stops = false;
  Beacon(leaving);
  for (int i = 0; i < 4 && !is_chosen(); ++i) ASSERT_LT(i, 3);
}

TEST_F(MetaServerTest, WhoseBeaconsNameNoProcessIsAnOlderVersionsUntilTheyDo) {
  const auto beacon = [&](int64_t start_time, std::optional<int64_t> process_id) {
    return Ask<BeaconAck>(kRpcBeacon, BeaconMessage{.time = 77,
                                                    .from_node = ServerAt(1),
                                                    .to_node = transport_.local(),
                                                    .start_time = start_time,
                                                    .process_id = process_id});
  };
  const auto is_older = [&] { return Overview().servers.at(0).is_older; };
  ASSERT_TRUE(beacon(8, std::nullopt));
  EXPECT_EQ(is_older(), true);
  ASSERT_TRUE(beacon(9, 5));
  EXPECT_EQ(is_older(), false);
}

TEST_F(MetaServerTest, AWallClockBeyondAllNumbersTellsNothing) {
  for (int i = 0; i < 9; ++i) {  // a late beacon alone changes nothing
    const auto ack =
        Ask<BeaconAck>(kRpcBeacon, BeaconMessage{.time = 77,
                                                 .from_node = ServerAt(1 + i % 3),
                                                 .to_node = transport_.local(),
                                                 .start_time = servers_[1 + i % 3].start_time,
                                                 .wall_ms = INT64_MAX / 2 - 1});
    ASSERT_TRUE(ack);
    EXPECT_LE(ack->agreed_wall_ms.value_or(0), node_.WallMicros() / 1000);
  }
}

// 2.5.0 says it as the time that comes back: without it most of a mixed cluster's clocks are not
// known, and nothing is ever removed by time (sim seed 9, --older 2).
TEST_F(MetaServerTest, AnOlderServersBeaconTellsItsWallClock) {
  StartAndSync(3);
  const auto agreed = [&](int64_t time) {
    std::optional<BeaconAck> ack;
    for (int n = 1; n <= 3; ++n)
      ack = Ask<BeaconAck>(kRpcBeacon, BeaconMessage{.time = time,
                                                     .from_node = ServerAt(n),
                                                     .to_node = transport_.local(),
                                                     .start_time = ++next_start_time_});
    return ack ? ack->agreed_wall_ms.value_or(0) : -1;
  };
  EXPECT_EQ(agreed(77), 0) << "a process that began anew, and a number that is no time";
  const int64_t now = node_.WallMicros() / 1000;
  EXPECT_NEAR(static_cast<double>(agreed(now)), static_cast<double>(now), 1000);
}

// As after SIGSTOP: what was sent meanwhile is read at once, with the time at which it was sent.
TEST_F(MetaServerTest, AfterAStandstillWhatWaitedTellsNoTime) {
  StartAndSync(3);
  Pass(absl::Seconds(4));
  node_.PauseFor(absl::Seconds(20));
  testing::internal::CaptureStderr();
  Pass(absl::Seconds(24));
  const std::string logged = testing::internal::GetCapturedStderr();
  EXPECT_EQ(logged.find("wall clock"), std::string::npos) << logged;
}

TEST_F(MetaServerTest, AnOlderCopyOfTheStatePutBackIsCaughtUp) {
  CompleteTable(3);
  const std::string copy = CopyOfTheState();
  const PartitionConfiguration old = ConfigOf("t", 0);
  const int first = NumberOf(old.primary);
  KillServer(first);
  Pass(absl::Seconds(4));
  Obey();
  StartServer(first);
  Sync(first, {Report(old, PartitionStatus::kInactive)});
  Obey();
  const PartitionConfiguration last = ConfigOf("t", 0);
  ASSERT_EQ(last.MemberCount(), 3u);
  ASSERT_NE(last.primary, old.primary);

  PutBack(copy);
  ASSERT_EQ(ConfigOf("t", 0).ballot, old.ballot);

  transport_.sent.clear();
  for (int n = 1; n <= 3; ++n) {
    Sync(n, {Report(last, ServerAt(n) == last.primary ? PartitionStatus::kPrimary
                                                      : PartitionStatus::kSecondary)});
  }
  const std::optional<Proposal> proposal = TakeProposal();
  ASSERT_TRUE(proposal) << "no primary for ever";
  EXPECT_EQ(proposal->request.config.ballot, last.ballot + 1);
  EXPECT_EQ(proposal->to, last.primary);
  Update(UpdateFor(*proposal));
  Obey();
  EXPECT_EQ(ConfigOf("t", 0).primary, last.primary);
  EXPECT_EQ(ConfigOf("t", 0).MemberCount(), 3u);
}

TEST_F(MetaServerTest, WhereEveryMemberWentBackBehindWhatWasToldBeforeARestartNobodyLeads) {
  CompleteTable(3);
  const PartitionConfiguration config = ConfigOf("t", 0);
  const auto holds = [&](PartitionStatus status, int64_t decree) {
    ReplicaInfo report = Report(config, status);
    report.durability = static_cast<int8_t>(Durability::kFsync);
    report.last_prepared_decree = report.last_committed_decree = Decree(decree);
    report.last_mutation_ballot = config.ballot;
    return report;
  };
  for (int i = 0; i < 2;
       ++i)  // the first may have been written before the configuration was stored
    Sync(NumberOf(config.primary), {holds(PartitionStatus::kPrimary, 30)});
  Pass(absl::Seconds(12));  // an interval of the guardian
  for (int n = 1; n <= 3; ++n) KillServer(n);
  StopMeta(sim::CrashMode::kProcess);
  ASSERT_TRUE(StartMeta().ok());
  for (int n = 1; n <= 3; ++n) StartServer(n);
  transport_.sent.clear();
  for (int n = 1; n <= 3; ++n) {
    ReplicaInfo older = holds(PartitionStatus::kInactive, 29);
    older.unclean = older.is_unproven = true;
    Sync(n, {older});
  }
  Pass(absl::Seconds(1));
  EXPECT_FALSE(TakeProposal());
  EXPECT_FALSE(ConfigOf("t", 0).primary.IsValid());
}

// Servers 1 to 3 are the members, 4 is known only; the state and the members' disks may be older
//           copies.
class MetaServerStartTest : public MetaServerTest {
 protected:
  void Begin() {
    CompleteTable(3);
    StartServer(4);
    Sync(4);
    Pass(absl::Seconds(12));  // an interval of the guardian
    ASSERT_FALSE(ConfigOf("t", 0).IsMember(ServerAt(4)));
  }
  enum class Proven { kNo, kYes };
  void AllMembersBeginAnew(Proven proven = Proven::kNo) {
    const PartitionConfiguration config = ConfigOf("t", 0);
    for (int n = 1; n <= 4; ++n) KillServer(n);
    StopMeta(sim::CrashMode::kProcess);
    ASSERT_TRUE(StartMeta().ok());
    for (int n = 1; n <= 3; ++n) StartServer(n);
    for (int n = 1; n <= 3; ++n) {
      ReplicaInfo older = Report(config, PartitionStatus::kInactive);
      if (proven == Proven::kNo) older.is_unproven = true;
      Sync(n, {older});
    }
  }
  ErrorCode PrimaryAsksForItsBallot() {
    ConfigurationUpdateRequest update{.info = {.app_id = 1},
                                      .config = ConfigOf("t", 0),
                                      .type = ConfigType::kPrimaryForceUpdateBallot};
    update.node = update.config.primary;
    ++update.config.ballot;
    return Update(update)->err;
  }
};

// It was left out later than the state that was put back knows, and opened again because that names
// it.
TEST_F(MetaServerStartTest, AProvenCopyResumesNoSoonerAtTheStart) {
  Begin();
  AllMembersBeginAnew(Proven::kYes);
  EXPECT_EQ(PrimaryAsksForItsBallot(), ErrorCode::kBusy);
  StartServer(4);
  Sync(4);
  EXPECT_EQ(PrimaryAsksForItsBallot(), ErrorCode::kOk);
}

TEST_F(MetaServerStartTest, ACopyThatMayBeOlderLeadsWhenEachServerThatWasKnownHasTold) {
  Begin();
  AllMembersBeginAnew();
  EXPECT_EQ(PrimaryAsksForItsBallot(), ErrorCode::kBusy);
  StartServer(4);
  EXPECT_EQ(PrimaryAsksForItsBallot(), ErrorCode::kBusy);
  Sync(4);
  EXPECT_EQ(PrimaryAsksForItsBallot(), ErrorCode::kOk);
}

TEST_F(MetaServerStartTest, WhoDoesNotComeIsAwaitedForAGraceAndAtTheNextStartNoMore) {
  Begin();
  AllMembersBeginAnew();
  Pass(options_.grace - absl::Seconds(1));
  EXPECT_EQ(PrimaryAsksForItsBallot(), ErrorCode::kBusy);
  Pass(absl::Seconds(2));
  EXPECT_EQ(PrimaryAsksForItsBallot(), ErrorCode::kOk);
  Pass(absl::Seconds(12));
  AllMembersBeginAnew();
  EXPECT_EQ(PrimaryAsksForItsBallot(), ErrorCode::kOk);
}

TEST_F(MetaServerTest, WhatAPrimaryToldIsStoredLaterWhereTheDiskRefusedIt) {
  CompleteTable(3);
  const PartitionConfiguration config = ConfigOf("t", 0);
  node_.disk().FailCalls("/meta", sim::DiskTrouble::kReadOnly, 100);
  ReplicaInfo told = Report(config, PartitionStatus::kPrimary);
  told.durability = static_cast<int8_t>(Durability::kFsync);
  told.last_prepared_decree = told.last_committed_decree = Decree(30);
  for (int i = 0; i < 2; ++i) Sync(NumberOf(config.primary), {told});
  Pass(absl::Seconds(12));  // an interval of the guardian
  EXPECT_EQ(CopyOfTheState().find("/arion/committed/"), std::string::npos);
  node_.disk().FailCalls("/meta", sim::DiskTrouble::kReadOnly, 0);
  Pass(absl::Seconds(12));
  EXPECT_NE(CopyOfTheState().find("/arion/committed/"), std::string::npos);
}

TEST_F(MetaServerTest, AnIdOfWhichAServerHasAReplicaIsNotGivenAgain) {
  CompleteTable(3);
  const std::string copy = CopyOfTheState();
  const int32_t unknown = Create("u", 1, 3).appid;
  Obey();
  const PartitionConfiguration lost = ConfigOf("u", 0);
  PutBack(copy);
  ASSERT_EQ(Query("u").err, ErrorCode::kObjectNotFound);
  Sync(1, {Report(lost, PartitionStatus::kSecondary)});
  Sync(2, {{.pid = {INT32_MAX, 0}, .ballot = Ballot(9)}});  // damaged
  EXPECT_EQ(Create("v", 1, 3).appid, unknown + 1);
  EXPECT_EQ(Create("w", 1, 3).appid, unknown + 2);
}

TEST_F(MetaServerTest, AChangeAfterAnOlderCopyWasPutBackIsNewToWhoKnowsLaterOnes) {
  CompleteTable(3);
  const std::string copy = CopyOfTheState();
  const auto rename = [this](const char* from, const char* to) {
    transport_.called.clear();
    EXPECT_EQ(Ask<RenameAppResponse>(kRpcRenameApp, RenameAppRequest{from, to})->err,
              ErrorCode::kOk);
    world_.RunFor(absl::Milliseconds(20));
    return DecodeWrapped<TableChangedRequest>(transport_.called.front().request.body)->info.version;
  };
  rename("t", "u");
  rename("u", "v");
  const std::optional<int64_t> known = rename("v", "w");
  Pass(absl::Seconds(10));
  PutBack(copy);
  EXPECT_GT(rename("t", "z"), known);
}

TEST_F(MetaServerTest, ARestartedPrimaryThatStoppedCleanlyResumesWithALargerBallot) {
  CompleteTable(3);
  PartitionConfiguration before = ConfigOf("t", 0);
  int primary = NumberOf(before.primary);
  StartServer(primary);  // faster than a grace
  std::optional<ConfigSyncResponse> answer =
      Sync(primary, {Report(before, PartitionStatus::kInactive)});
  ASSERT_EQ(answer->partitions.size(), 1u);
  EXPECT_EQ(answer->partitions[0].config, before);
  EXPECT_EQ(answer->partitions[0].info.app_name, "t");
  EXPECT_EQ(answer->partitions[0].host_node, ServerAt(primary));
  ConfigurationUpdateRequest force{.info = answer->partitions[0].info,
                                   .config = before,
                                   .type = ConfigType::kPrimaryForceUpdateBallot,
                                   .node = before.primary};
  ++force.config.ballot;
  EXPECT_EQ(Update(force)->err, ErrorCode::kOk);
  Pass(absl::Seconds(10));
  EXPECT_EQ(ConfigOf("t", 0).primary, before.primary);
  EXPECT_EQ(ConfigOf("t", 0).ballot, before.ballot + 1);
}

TEST_F(MetaServerTest, WhoAsksWhileAChangeIsBeingStoredIsAnsweredWhenItIs) {
  CompleteTable(3);
  ConfigurationUpdateRequest update{.info = {.app_id = 1},
                                    .config = ConfigOf("t", 0),
                                    .type = ConfigType::kPrimaryForceUpdateBallot};
  update.node = update.config.primary;
  ++update.config.ballot;
  InboundRequest first;
  first.header.name = kRpcUpdateConfiguration;
  first.body = EncodeWrapped(update);
  transport_.handler(std::move(first));
  const auto answer = Update(update);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->err, ErrorCode::kOk);
  EXPECT_EQ(answer->config.ballot, update.config.ballot);
}

// Told that it is the primary still, it would go on under the ballot that it had.
TEST_F(MetaServerTest, AnOlderVersionsPrimaryThatBeganAnewIsToldWhenItLeadsNoMore) {
  CompleteTable(3);
  const PartitionConfiguration before = ConfigOf("t", 0);
  ASSERT_TRUE(Ask<BeaconAck>(kRpcBeacon, BeaconMessage{.time = 77,
                                                       .from_node = before.primary,
                                                       .to_node = transport_.local(),
                                                       .start_time = 99}));
  Sync(NumberOf(before.primary), {Report(before, PartitionStatus::kInactive)});
  ConfigurationUpdateRequest force{
      .config = before, .type = ConfigType::kPrimaryForceUpdateBallot, .node = before.primary};
  ++force.config.ballot;
  const auto answer = Update(force);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->err, ErrorCode::kInvalidVersion);
  EXPECT_GT(answer->config.ballot, before.ballot);
  EXPECT_TRUE(answer->config.IsSecondary(before.primary)) << "it stays a member";
  Obey();
  EXPECT_TRUE(before.IsSecondary(ConfigOf("t", 0).primary));
}

TEST_F(MetaServerTest, ARestartedPrimaryThatStoppedUncleanlyLosesItsRoleAtOnce) {
  CompleteTable(3);
  PartitionConfiguration before = ConfigOf("t", 0);
  int primary = NumberOf(before.primary);
  StartServer(primary);
  ReplicaInfo report = Report(before, PartitionStatus::kInactive);
  report.unclean = true;
  Sync(primary, {report});
  // Whatever it asks for.
  ConfigurationUpdateRequest force{
      .config = before, .type = ConfigType::kPrimaryForceUpdateBallot, .node = before.primary};
  ++force.config.ballot;
  auto refused = Update(force);
  EXPECT_TRUE(!refused || refused->err == ErrorCode::kInvalidVersion);
  Obey();
  PartitionConfiguration after = ConfigOf("t", 0);
  EXPECT_NE(after.primary, before.primary);
  EXPECT_TRUE(before.IsSecondary(after.primary));
}

TEST_F(MetaServerTest, APrimaryStillLoadingOneGraceAfterItsLastServiceIsReplaced) {
  CompleteTable(3);
  PartitionConfiguration before = ConfigOf("t", 0);
  int primary = NumberOf(before.primary);
  StartServer(primary);
  ReplicaInfo report = Report(before, PartitionStatus::kInactive);
  report.loading = true;
  Sync(primary, {report});
  Pass(absl::Seconds(2));
  EXPECT_EQ(ConfigOf("t", 0), before) << "it may still come";
  Pass(absl::Milliseconds(1500));
  Obey();
  EXPECT_TRUE(before.IsSecondary(ConfigOf("t", 0).primary));
}

// All begin anew; the former primary leads again.
class ReportsThatComeLate : public MetaServerTest {
 protected:
  void AllRestart() {
    CompleteTable(3);
    before_ = ConfigOf("t", 0);
    chosen_ = NumberOf(before_.primary);
    for (int n = 1; n <= 3; ++n) StartServer(n);
  }
  void AllAreLoaded() {
    for (int n = 1; n <= 3; ++n) {
      ReplicaInfo loaded = Report(before_, PartitionStatus::kInactive);
      loaded.unclean = true;
      Sync(n, {loaded});
    }
    Obey();
    led_ = ConfigOf("t", 0);
    ASSERT_EQ(led_.primary, before_.primary);
  }
  ReplicaInfo Loading() const {
    ReplicaInfo report = Report(before_, PartitionStatus::kInactive);
    report.loading = true;
    return report;
  }
  void ExpectItLeads() {
    ConfigurationUpdateRequest removal{
        .config = led_, .type = ConfigType::kRemove, .node = led_.secondaries.front()};
    ++removal.config.ballot;
    removal.config.secondaries.erase(removal.config.secondaries.begin());
    EXPECT_EQ(Update(removal)->err, ErrorCode::kOk) << "it is no former process that asks";
    Pass(absl::Seconds(10));
    EXPECT_EQ(ConfigOf("t", 0).primary, led_.primary) << "its lease ran all the time";
  }

  PartitionConfiguration before_, led_;
  int chosen_ = 0;
};

TEST_F(ReportsThatComeLate, HoweverLateAndOftenTheyChangeNothing) {
  AllRestart();
  Sync(chosen_, {Loading()});
  const ConfigSyncRequest late = ReportOf(chosen_, {Loading()});
  Send(late);
  AllAreLoaded();
  for (int times = 0; times < 3; ++times) {
    const std::optional<ConfigSyncResponse> answer = Send(late);
    EXPECT_EQ(answer->err, ErrorCode::kInvalidVersion);
    EXPECT_TRUE(answer->partitions.empty());
    Pass(options_.grace);
  }
  ExpectItLeads();
}

TEST_F(ReportsThatComeLate, OneThatTheOfficeOvertookSaysNothingAgainstIt) {
  AllRestart();
  AllAreLoaded();
  const ConfigSyncRequest overtaken = ReportOf(chosen_, {Loading()});
  EXPECT_EQ(Send(overtaken)->err, ErrorCode::kOk) << "none came between";
  ExpectItLeads();
}

// Its clock was set back, so that its beacons do not show it.
TEST_F(ReportsThatComeLate, OneThatWasAskedForUnderTheOfficeShowsANewProcess) {
  AllRestart();
  AllAreLoaded();
  Sync(chosen_, {Report(led_, PartitionStatus::kPrimary)});
  Sync(chosen_, {Loading()});
  Pass(options_.grace + absl::Seconds(1));
  EXPECT_NE(ConfigOf("t", 0).primary, led_.primary);
}

TEST_F(ReportsThatComeLate, WhatAFormerProcessWroteIsNotRead) {
  CompleteTable(3);
  const PartitionConfiguration led = ConfigOf("t", 0);
  const int primary = NumberOf(led.primary);
  Sync(primary, {Report(led, PartitionStatus::kPrimary)});
  const ConfigSyncRequest late = ReportOf(primary, {Report(led, PartitionStatus::kPrimary)});
  StartServer(primary);
  EXPECT_EQ(Send(late)->err, ErrorCode::kInvalidVersion);
  Sync(primary, {Report(led, PartitionStatus::kInactive)});
  EXPECT_EQ(Send(late)->err, ErrorCode::kInvalidVersion);
  Pass(options_.grace + absl::Seconds(1));
  EXPECT_NE(ConfigOf("t", 0).primary, led.primary) << "it does not resume";
}

TEST_F(ReportsThatComeLate, NorWhatWasWrittenForAFormerLifeOfTheMetaServer) {
  CompleteTable(3);
  const PartitionConfiguration led = ConfigOf("t", 0);
  const int primary = NumberOf(led.primary);
  Sync(primary, {Report(led, PartitionStatus::kPrimary)});
  ReplicaInfo loading = Report(led, PartitionStatus::kInactive);
  loading.loading = true;
  const ConfigSyncRequest late = ReportOf(primary, {loading});
  StopMeta(sim::CrashMode::kProcess);
  ASSERT_TRUE(StartMeta().ok());
  EXPECT_EQ(Send(late)->err, ErrorCode::kInvalidVersion);
  Pass(absl::Seconds(10));
  EXPECT_EQ(ConfigOf("t", 0).primary, led.primary);
}

// Other servers than Arion's, and older ones.
TEST_F(ReportsThatComeLate, WhatHasNoNumberIsTakenAndEndsNoOffice) {
  AllRestart();
  AllAreLoaded();
  const ConfigSyncRequest plain{.node = led_.primary,
                                .stored_replicas = std::vector<ReplicaInfo>{Loading()}};
  const std::optional<ConfigSyncResponse> answer = Send(plain);
  EXPECT_EQ(answer->err, ErrorCode::kOk);
  EXPECT_EQ(answer->partitions.size(), 1u);
  EXPECT_EQ(answer->next_number, std::nullopt);
  Pass(options_.grace);
  Send(plain);
  ExpectItLeads();
}

TEST_F(ReportsThatComeLate, WhoHeardNoAnswerIsToldTheNumberAgain) {
  StartAndSync(1);
  const ConfigSyncRequest report = ReportOf(1, {});
  const std::optional<ConfigSyncResponse> lost = Send(report);
  EXPECT_EQ(lost->err, ErrorCode::kOk);
  const std::optional<ConfigSyncResponse> refused = Send(report);
  EXPECT_EQ(refused->err, ErrorCode::kInvalidVersion);
  EXPECT_EQ(refused->next_number, lost->next_number);
  EXPECT_EQ(Sync(1)->err, ErrorCode::kOk);
}

TEST_F(MetaServerTest, AfterEverybodyRestartedTheLongestLogLeads) {
  CompleteTable(3);
  PartitionConfiguration before = ConfigOf("t", 0);
  auto restart = [&](Endpoint server, int64_t ballot, int64_t prepared) {
    StartServer(NumberOf(server));
    ReplicaInfo report = Report(before, PartitionStatus::kInactive);
    report.unclean = true;
    report.last_mutation_ballot = Ballot(ballot);
    report.last_prepared_decree = Decree(prepared);
    Sync(NumberOf(server), {report});
  };
  for (int n = 1; n <= 3; ++n) StartServer(n);
  restart(before.primary, 3, 10);
  restart(before.secondaries[0], 2, 12);
  EXPECT_EQ(ConfigOf("t", 0), before) << "the third has not reported";
  restart(before.secondaries[1], 3, 11);
  Obey();
  PartitionConfiguration after = ConfigOf("t", 0);
  EXPECT_EQ(after.primary, before.secondaries[1]);
  EXPECT_EQ(after.MemberCount(), 3u);
  EXPECT_EQ(after.ballot, before.ballot + 2);
}

TEST_F(MetaServerTest, TheFormerPrimaryWinsATie) {
  CompleteTable(3);
  PartitionConfiguration before = ConfigOf("t", 0);
  for (int n = 1; n <= 3; ++n) StartServer(n);
  for (int n = 1; n <= 3; ++n) {
    ReplicaInfo report = Report(before, PartitionStatus::kInactive);
    report.unclean = true;
    Sync(n, {report});
  }
  Obey();
  EXPECT_EQ(ConfigOf("t", 0).primary, before.primary);
  EXPECT_EQ(ConfigOf("t", 0).ballot, before.ballot + 2) << "never with the old ballot";
}

TEST_F(MetaServerTest, RepeatedUpdatesAreOkAndStaleOnesLearnTheConfiguration) {
  StartAndSync(3);
  Create("t", 1, 3);
  std::optional<Proposal> assign = TakeProposal();
  ASSERT_TRUE(assign);
  ConfigurationUpdateRequest update = UpdateFor(*assign);
  EXPECT_EQ(Update(update)->err, ErrorCode::kOk);
  EXPECT_EQ(Update(update)->err, ErrorCode::kOk) << "the answer was lost, it asks again";
  EXPECT_EQ(ConfigOf("t", 0).ballot, Ballot(1));
  update.config.primary = ServerAt(9);
  auto refused = Update(update);
  EXPECT_EQ(refused->err, ErrorCode::kInvalidVersion);
  EXPECT_EQ(refused->config, ConfigOf("t", 0));
}

TEST_F(MetaServerTest, HostileMessagesAreRefusedAndChangeNothing) {
  CompleteTable(3);
  std::vector<PartitionConfiguration> before = Query("t").partitions;
  ConfigurationUpdateRequest update{
      .config = before[0], .type = ConfigType::kRemove, .node = ServerAt(2)};
  ++update.config.ballot;

  auto with = [&](auto change) {
    ConfigurationUpdateRequest hostile = update;
    change(hostile);
    return Update(hostile)->err;
  };
  EXPECT_EQ(with([](auto& u) { u.config.pid = {99, 0}; }), ErrorCode::kObjectNotFound);
  EXPECT_EQ(with([](auto& u) { u.config.pid.index = -1; }), ErrorCode::kObjectNotFound);
  EXPECT_EQ(with([](auto& u) { u.config.pid.index = 1 << 30; }), ErrorCode::kObjectNotFound);
  EXPECT_EQ(with([](auto& u) { u.node = ServerAt(77); }), ErrorCode::kObjectNotFound);
  EXPECT_EQ(with([](auto& u) { u.type = static_cast<ConfigType>(1234); }),
            ErrorCode::kInvalidVersion);
  EXPECT_EQ(with([](auto& u) { u.type = ConfigType::kDropPartition; }), ErrorCode::kInvalidVersion);
  EXPECT_EQ(with([](auto& u) { u.config.ballot = Ballot(INT64_MAX); }), ErrorCode::kInvalidVersion);
  EXPECT_EQ(with([](auto& u) { u.config.max_replica_count = 1; }), ErrorCode::kInvalidVersion);
  EXPECT_EQ(with([](auto& u) {
              u.config.secondaries.assign(5, u.config.primary);
              u.type = ConfigType::kUpgradeToSecondary;
            }),
            ErrorCode::kInvalidVersion);
  EXPECT_EQ(with([](auto& u) {
              u.config.primary = {};
              u.type = ConfigType::kUpgradeToPrimary;
            }),
            ErrorCode::kInvalidVersion);

  ReplicaInfo foreign{.pid = {1234, 5}, .ballot = Ballot(9)};
  EXPECT_EQ(Sync(1, {foreign, foreign})->err, ErrorCode::kOk);
  EXPECT_EQ(Ask<ConfigSyncResponse>(kRpcConfigSync, ConfigSyncRequest{.node = ServerAt(55)})->err,
            ErrorCode::kObjectNotFound);
  for (const char* name : {kRpcBeacon, kRpcConfigSync, kRpcUpdateConfiguration, kRpcQueryConfig,
                           kRpcCreateApp, kRpcDropApp, kRpcListApps, kRpcListNodes}) {
    for (const char* garbage : {"", "\x0c", "\xff\xff\xff\xff\xff\xff\xff\xff"}) {
      auto reply = AskBytes(name, garbage);
      if (reply) {
        EXPECT_EQ(reply->error, ErrorCode::kInvalidData) << name;
      }
    }
  }
  EXPECT_EQ(AskBytes("RPC_CM_REGISTER_CHILD_REPLICA", "")->error, ErrorCode::kHandlerNotFound);
  EXPECT_EQ(Query("t").partitions, before);
}

TEST_F(MetaServerTest, TooFewServersFreezeTheConfiguration) {
  CompleteTable(3);
  PartitionConfiguration before = ConfigOf("t", 0);
  KillServer(NumberOf(before.secondaries[0]));
  KillServer(NumberOf(before.secondaries[1]));
  Pass(absl::Seconds(5));
  EXPECT_FALSE(TakeProposal());
  ConfigurationUpdateRequest shrink{
      .config = before, .type = ConfigType::kRemove, .node = before.secondaries[0]};
  ++shrink.config.ballot;
  std::erase(shrink.config.secondaries, shrink.node);
  EXPECT_EQ(Update(shrink)->err, ErrorCode::kStateFreezed);
  EXPECT_EQ(Create("other", 1, 1).err, ErrorCode::kStateFreezed);
}

TEST_F(MetaServerTest, LooksThatFindNobodyForAPrimaryAreCounted) {
  StartAndSync(3);
  ASSERT_EQ(Create("t", 1, 1).err, ErrorCode::kOk);
  Obey();
  const PartitionConfiguration before = ConfigOf("t", 0);
  Pass(absl::Seconds(20));
  EXPECT_EQ(server_->stats().primary_choice_failures.value(), 0);
  KillServer(NumberOf(before.primary));
  Pass(absl::Seconds(20));
  EXPECT_FALSE(ConfigOf("t", 0).primary.IsValid());
  EXPECT_GE(server_->stats().primary_choice_failures.value(), 2);
}

TEST_F(MetaServerTest, ADroppedTableIsHiddenAndItsNameFree) {
  CompleteTable(3);
  DropAppRequest drop{"t", {.success_if_not_exist = false}};
  EXPECT_EQ(Ask<DropAppResponse>(kRpcDropApp, drop)->err, ErrorCode::kOk);
  EXPECT_EQ(Query("t").err, ErrorCode::kObjectNotFound);
  EXPECT_FALSE(Query("t").is_stateful);
  EXPECT_EQ(Ask<DropAppResponse>(kRpcDropApp, drop)->err, ErrorCode::kAppNotExist);
  drop.options.success_if_not_exist = true;
  EXPECT_EQ(Ask<DropAppResponse>(kRpcDropApp, drop)->err, ErrorCode::kOk);
  EXPECT_TRUE(Sync(1)->partitions.empty());
  auto apps = Ask<ListAppsResponse>(kRpcListApps, ListAppsRequest{.status = AppStatus::kDropped});
  ASSERT_EQ(apps->infos.size(), 1u);
  EXPECT_GT(apps->infos[0].expire_second, apps->infos[0].drop_second);
  StopMeta(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(StartMeta().ok());
  Pass(absl::Seconds(1));
  EXPECT_EQ(Query("t").err, ErrorCode::kObjectNotFound);
  EXPECT_EQ(Create("t", 1, 3).appid, 2);
}

TEST_F(MetaServerTest, ThriftClientsAreNeverShownAPartitionThatLostItsPrimary) {
  CompleteTable(3);
  PartitionConfiguration before = ConfigOf("t", 0);
  KillServer(NumberOf(before.primary));
  Pass(absl::Seconds(4));
  EXPECT_FALSE(ConfigOf("t", 0).primary.IsValid());
  PartitionConfiguration shown = Query("t", Framing::kThriftV0).partitions[0];
  EXPECT_TRUE(before.IsSecondary(shown.primary));
  EXPECT_EQ(shown.MemberCount(), 2u);
}

TEST_F(MetaServerTest, ALostProposalIsSentAgain) {
  StartAndSync(3);
  Create("t", 1, 3);
  ASSERT_TRUE(TakeProposal());
  EXPECT_FALSE(TakeProposal());
  Pass(absl::Seconds(2));
  std::optional<Proposal> again = TakeProposal();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->request.type, ConfigType::kAssignPrimary);
  transport_.sent.clear();
  Sync(static_cast<int>(again->to.ip & 0xff));
  EXPECT_TRUE(TakeProposal()) << "a server that connects hears at once what it missed";
}

TEST_F(MetaServerTest, AfterAFailedSyncNothingChangesAnyMoreAndReadsGoOn) {
  CompleteTable(3);
  PartitionConfiguration before = ConfigOf("t", 0);
  node_.disk().FailSyncs(1);
  EXPECT_EQ(Create("other", 1, 3).err, ErrorCode::kFileOperationFailed);
  EXPECT_EQ(Create("another", 1, 3).err, ErrorCode::kFileOperationFailed)
      << "a failed sync is final";
  ConfigurationUpdateRequest shrink{
      .config = before, .type = ConfigType::kRemove, .node = before.secondaries[0]};
  ++shrink.config.ballot;
  std::erase(shrink.config.secondaries, shrink.node);
  EXPECT_EQ(Update(shrink)->err, ErrorCode::kFileOperationFailed) << "who can, serves on";
  EXPECT_EQ(ConfigOf("t", 0), before);
  EXPECT_EQ(Query("other").err, ErrorCode::kObjectNotFound);
  KillServer(NumberOf(before.secondaries[0]));
  Pass(absl::Seconds(8));
  EXPECT_FALSE(TakeProposal()) << "none could be followed";
  StopMeta(sim::CrashMode::kPowerRandom);
  ASSERT_TRUE(StartMeta().ok());
  EXPECT_EQ(ConfigOf("t", 0), before);
}

TEST_F(MetaServerTest, AFullDiskRefusesChangesUntilThereIsSpaceAgain) {
  CompleteTable(3);
  const PartitionConfiguration before = ConfigOf("t", 0);
  node_.disk().SetFreeBytes(0);
  EXPECT_EQ(Create("other", 1, 3).err, ErrorCode::kDiskInsufficient);
  const auto renamed = Ask<RenameAppResponse>(kRpcRenameApp, RenameAppRequest{"t", "u"});
  EXPECT_EQ(renamed->err, ErrorCode::kDiskInsufficient);
  const auto dropped = Ask<DropAppResponse>(kRpcDropApp, DropAppRequest{.app_name = "t"});
  EXPECT_EQ(dropped->err, ErrorCode::kDiskInsufficient);
  ConfigurationUpdateRequest shrink{
      .config = before, .type = ConfigType::kRemove, .node = before.secondaries[0]};
  ++shrink.config.ballot;
  std::erase(shrink.config.secondaries, shrink.node);
  EXPECT_EQ(Update(shrink)->err, ErrorCode::kFileOperationFailed) << "the primary asks again";
  EXPECT_EQ(ConfigOf("t", 0), before);
  for (int n = 1; n <= 3; ++n) EXPECT_EQ(Sync(n)->err, ErrorCode::kOk) << "nothing is on its way";
  KillServer(NumberOf(before.primary));
  Pass(absl::Seconds(8));
  EXPECT_EQ(ConfigOf("t", 0), before) << "the guardian's changes wait too";
  EXPECT_LT(node_.disk().next_sequence(), 1000u) << "but not in a hurry";

  node_.disk().SetFreeBytes(UINT64_MAX);
  Pass(absl::Seconds(4));
  Obey();
  const PartitionConfiguration after = ConfigOf("t", 0);
  EXPECT_TRUE(before.IsSecondary(after.primary));
  EXPECT_EQ(Create("other", 1, 2).err, ErrorCode::kOk);
  EXPECT_EQ(Ask<DropAppResponse>(kRpcDropApp, DropAppRequest{.app_name = "t"})->err,
            ErrorCode::kOk);
  StopMeta(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(StartMeta().ok());
  EXPECT_EQ(Query("t").err, ErrorCode::kObjectNotFound);
  EXPECT_EQ(Query("other").err, ErrorCode::kOk);
}

TEST_F(MetaServerTest, OnAFullDiskTablesAreRefusedFirstAndFailoversGoOnWithTheReserve) {
  RestartWithReserve(64 << 10);
  CompleteTable(3);
  Pass(absl::Seconds(2));
  EXPECT_TRUE(Overview().warnings.empty());
  node_.disk().SetFreeBytes(0);
  Pass(absl::Seconds(2));
  ASSERT_EQ(Overview().warnings.size(), 1u) << "said before anything had to be stored";
  EXPECT_EQ(Overview().warnings[0].kind, "meta_disk_full");
  EXPECT_TRUE(Overview().store.is_short);
  EXPECT_EQ(Create("other", 1, 3).err, ErrorCode::kDiskInsufficient);
  EXPECT_EQ(
      Ask<UpdateAppEnvResponse>(kRpcUpdateAppEnv, UpdateAppEnvRequest{.app_name = "t",
                                                                      .op = EnvOperation::kSet,
                                                                      .keys = {{"default_ttl"}},
                                                                      .values = {{"10"}}})
          ->err,
      ErrorCode::kDiskInsufficient);
  const PartitionConfiguration before = ConfigOf("t", 0);
  KillServer(NumberOf(before.primary));
  Pass(absl::Seconds(4));
  Obey();
  EXPECT_TRUE(before.IsSecondary(ConfigOf("t", 0).primary));
  node_.disk().SetFreeBytes(UINT64_MAX);
  Pass(absl::Seconds(3));
  EXPECT_TRUE(Overview().warnings.empty());
  EXPECT_EQ(Overview().store.reserve_bytes, uint64_t{64 << 10});
  EXPECT_EQ(Create("other", 1, 2).err, ErrorCode::kOk);
}

TEST_F(MetaServerTest, OfADeadPrimaryWhoseSuccessorCanNotBeStoredNobodySaysThatItServes) {
  CompleteTable(3);
  node_.disk().SetFreeBytes(0);
  KillServer(NumberOf(ConfigOf("t", 0).primary));
  Pass(absl::Seconds(8));
  const ClusterOverview overview = Overview();
  EXPECT_EQ(overview.tables.at(0).partitions[static_cast<size_t>(PartitionHealth::kUnreadable)], 1);
  const ClusterHealth health = HealthOf(overview);
  EXPECT_EQ(health.grade, ClusterHealth::Grade::kFailing);
  EXPECT_NE(health.wrong.find("no failover can be stored"), std::string::npos) << health.wrong;
}

TEST_F(MetaServerTest, ADiskThatCanNotBeWrittenRefusesChangesUntilItCan) {
  CompleteTable(3);
  const PartitionConfiguration before = ConfigOf("t", 0);
  node_.disk().FailCalls("/meta", sim::DiskTrouble::kReadOnly, 100);
  EXPECT_EQ(Create("other", 1, 3).err, ErrorCode::kFileOperationFailed);
  KillServer(NumberOf(before.primary));
  Pass(absl::Seconds(8));
  EXPECT_EQ(ConfigOf("t", 0), before);

  node_.disk().FailCalls("/meta", sim::DiskTrouble::kReadOnly, 0);
  Pass(absl::Seconds(4));
  Obey();
  EXPECT_TRUE(before.IsSecondary(ConfigOf("t", 0).primary));
  EXPECT_EQ(Create("other", 1, 2).err, ErrorCode::kOk);
}

// A primary is inactive while it asks for what was proposed.
TEST_F(MetaServerTest, NothingIsProposedWhileThereIsNoSpace) {
  CompleteTable(3);
  const PartitionConfiguration before = ConfigOf("t", 0);
  KillServer(NumberOf(before.secondaries[0]));
  Pass(options_.grace - absl::Seconds(1));
  node_.disk().SetFreeBytes(0);
  ConfigurationUpdateRequest shrink{
      .config = before, .type = ConfigType::kRemove, .node = before.secondaries[1]};
  ++shrink.config.ballot;
  std::erase(shrink.config.secondaries, shrink.node);
  EXPECT_EQ(Update(shrink)->err, ErrorCode::kFileOperationFailed);
  Pass(absl::Seconds(2));
  EXPECT_FALSE(TakeProposal());
  node_.disk().SetFreeBytes(UINT64_MAX);
  Pass(absl::Seconds(4));
  EXPECT_TRUE(TakeProposal());
}

TEST_F(MetaServerTest, ATableThatIsTooLargeForTheDiskDelaysNoOtherChange) {
  CompleteTable(3);
  const PartitionConfiguration before = ConfigOf("t", 0);
  node_.disk().SetFreeBytes(20000);
  KillServer(NumberOf(before.primary));
  for (int second = 0; second < 6; ++second) {  // who asked tries again and again
    EXPECT_EQ(Create("large", 1000, 2).err, ErrorCode::kDiskInsufficient);
    Pass(absl::Seconds(1));
    Obey();
  }
  EXPECT_TRUE(before.IsSecondary(ConfigOf("t", 0).primary));
}

TEST_F(MetaServerTest, AMetaServerThatStoodStillListensBeforeItJudges) {
  CompleteTable(3);
  std::vector<PartitionConfiguration> before = Query("t").partitions;
  node_.PauseFor(absl::Seconds(20));
  world_.RunFor(absl::Seconds(19));
  for (int n = 1; n <= 3; ++n) {
    BeaconMessage beacon{
        .time = 77, .from_node = ServerAt(n), .start_time = servers_[n].start_time};
    AskBytes(kRpcBeacon, EncodeWrapped(beacon), Framing::kRdsn, absl::ZeroDuration());
  }
  world_.RunFor(absl::Milliseconds(1100));
  Pass(absl::Seconds(5));
  EXPECT_EQ(Query("t").partitions, before);
}

// The first that is read after the pause makes it plan, and arm its timer anew.
TEST_F(MetaServerTest, AMetaServerThatStoodStillListensToTheEndWhateverComesFirst) {
  CompleteTable(3);
  const std::vector<PartitionConfiguration> before = Query("t").partitions;
  const auto send = [this](const char* name, std::string body) {
    AskBytes(name, std::move(body), Framing::kRdsn, absl::ZeroDuration());
  };
  const auto send_beacon = [&](int n) {
    send(kRpcBeacon,
         EncodeWrapped(BeaconMessage{
             .time = 77, .from_node = ServerAt(n), .start_time = servers_[n].start_time}));
  };
  for (const bool timer_comes_first : {false, true}) {
    node_.PauseFor(absl::Seconds(20));
    const auto sync = [&] {
      send(kRpcConfigSync, EncodeWrapped(ConfigSyncRequest{.node = ServerAt(1)}));
    };
    world_.RunFor(timer_comes_first ? absl::Seconds(19) : absl::Seconds(1));
    sync();
    world_.RunUntil([&] { return world_.now() >= node_.paused_until(); }, absl::Seconds(20));
    for (int n = 2; n <= 3; ++n) {
      world_.RunFor(absl::Milliseconds(25));
      sync();
      send_beacon(n);
    }
    send_beacon(1);
    Pass(absl::Seconds(5));
    EXPECT_EQ(server_->stats().server_deaths.value(), 0) << timer_comes_first;
    EXPECT_EQ(Query("t").partitions, before);
  }
  KillServer(1);
  Pass(absl::Seconds(4));
  EXPECT_EQ(server_->stats().server_deaths.value(), 1) << "an excuse ends";
}

TEST_F(MetaServerTest, AMemberOfAChangeOnItsWayIsToldToWait) {
  CompleteTable(3);
  PartitionConfiguration before = ConfigOf("t", 0);
  ConfigurationUpdateRequest shrink{
      .config = before, .type = ConfigType::kRemove, .node = before.secondaries[0]};
  ++shrink.config.ballot;
  std::erase(shrink.config.secondaries, shrink.node);
  node_.disk().SetSlowness(1000);
  AskBytes(kRpcUpdateConfiguration, EncodeWrapped(shrink), Framing::kRdsn, absl::Microseconds(1));
  for (Endpoint member : {before.primary, before.secondaries[0], before.secondaries[1]}) {
    std::optional<ConfigSyncResponse> answer = Sync(NumberOf(member));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->err, ErrorCode::kBusy);
    EXPECT_TRUE(answer->partitions.empty());
  }
  EXPECT_EQ(ConfigOf("t", 0), before) << "memory follows the store";
  EXPECT_FALSE(Update(shrink)) << "no answer while it is on its way";
}

TEST_F(MetaServerTest, ListsNodesAliveFirst) {
  StartAndSync(3);
  KillServer(1);
  Pass(absl::Seconds(4));
  auto nodes = Ask<ListNodesResponse>(kRpcListNodes, ListNodesRequest{});
  ASSERT_EQ(nodes->infos.size(), 3u);
  EXPECT_EQ(nodes->infos[0].status, NodeStatus::kAlive);
  EXPECT_EQ(nodes->infos[2].node, ServerAt(1));
  EXPECT_EQ(nodes->infos[2].status, NodeStatus::kUnalive);
  EXPECT_EQ(
      Ask<ListNodesResponse>(kRpcListNodes, ListNodesRequest{NodeStatus::kUnalive})->infos.size(),
      1u);
  auto info = Ask<ClusterInfoResponse>(kRpcClusterInfo, ClusterInfoRequest{});
  ASSERT_EQ(info->keys.size(), info->values.size());
  EXPECT_EQ(info->keys.front(), "meta_servers");
  EXPECT_EQ(info->keys.back(), "cluster_name");
  EXPECT_EQ(info->values.back(), "onebox");
  EXPECT_EQ(
      Ask<DuplicationSyncResponse>(kRpcDuplicationSync, DuplicationSyncRequest{ServerAt(1)})->err,
      ErrorCode::kOk);
}

}  // namespace
}  // namespace arion
