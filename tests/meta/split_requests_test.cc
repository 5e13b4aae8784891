// Splits of a whole meta server's tables, by the requests of tools and servers.
// SPDX-License-Identifier: Apache-2.0
#include "meta/split_requests.h"

#include <set>
#include <string>

#include "messages/admin_messages.h"
#include "messages/split_messages.h"
#include "messages/table_environments.h"
#include "tests/meta/meta_fixture.h"

namespace arion {
namespace {

class SplitRequestsTest : public MetaFixture {
 protected:
  void SetUp() override {
    ASSERT_TRUE(StartMeta().ok());
    StartAndSync(3);
    ASSERT_EQ(Create("t", 2, 3).err, ErrorCode::kOk);
    Obey();
    for (int32_t i : {0, 1}) ASSERT_EQ(ConfigOf("t", i).MemberCount(), 3u);
  }
  StartSplitResponse Start(int32_t count = 4) {
    return *Ask<StartSplitResponse>(kRpcStartSplit, StartSplitRequest{"t", count});
  }
  ControlSplitResponse Control(SplitControl type, int32_t parent = -1,
                               std::optional<int32_t> count = std::nullopt) {
    return *Ask<ControlSplitResponse>(
        kRpcControlSplit, ControlSplitRequest{"t", static_cast<int32_t>(type), parent, count});
  }
  QuerySplitResponse QueryOf(const char* name = "t") {
    return *Ask<QuerySplitResponse>(kRpcQuerySplit, QuerySplitRequest{name});
  }
  ConfigurationUpdateRequest Registration(int32_t parent, int64_t decree = 10) {
    ConfigurationUpdateRequest request{.config = ConfigOf("t", parent),
                                       .type = ConfigType::kRegisterChild,
                                       .child_decree = Decree(decree)};
    request.info.partition_count = 2;
    request.node = request.config.primary;
    ++request.config.ballot;
    return request;
  }
  std::shared_ptr<ErrorCode> BeginControl(SplitControl type, int32_t parent = -1,
                                          std::optional<int32_t> count = std::nullopt) {
    return Begin<ControlSplitResponse>(
        kRpcControlSplit, ControlSplitRequest{"t", static_cast<int32_t>(type), parent, count});
  }
  std::shared_ptr<ErrorCode> BeginRegistration(int32_t parent) {
    return Begin<ConfigurationUpdateResponse>(kRpcUpdateConfiguration, Registration(parent));
  }
  // Counts of partitions that were told in news since the last time.
  std::set<int32_t> TakeNews() {
    world_.RunFor(absl::Milliseconds(20));
    std::set<int32_t> counts;
    for (auto& call : transport_.called)
      if (call.request.name == kRpcTableChanged)
        counts.insert(DecodeWrapped<TableChangedRequest>(call.request.body)->info.partition_count);
    transport_.called.clear();
    return counts;
  }
  // Of the partition in a config sync of server n.
  std::optional<ConfigurationUpdateRequest> EntryOf(int n, int32_t index,
                                                    std::vector<ReplicaInfo> replicas = {}) {
    const std::optional<ConfigSyncResponse> sync = Sync(n, std::move(replicas));
    for (const auto& entry : sync->partitions)
      if (entry.config.pid.index == index) return entry;
    return std::nullopt;
  }
  static std::optional<int32_t> Is(SplitStatus status) { return static_cast<int32_t>(status); }
  static ReplicaInfo Child(int32_t index) {
    return {.pid = {1, index}, .ballot = Ballot(1), .status = PartitionStatus::kInactive};
  }
};

TEST_F(SplitRequestsTest, TablesAreSplitWhileTheyServe) {
  ASSERT_EQ(Start().err, ErrorCode::kOk);
  EXPECT_EQ(TakeNews(), std::set{2});
  for (Framing framing : {Framing::kRdsn, Framing::kThriftV0}) {
    const QueryConfigResponse query = Query("t", framing);
    EXPECT_EQ(query.partition_count, 4);
    ASSERT_EQ(query.partitions.size(), 4u);
    for (size_t child : {2u, 3u}) {
      EXPECT_EQ(query.partitions[child].ballot, Ballot(-1));
      EXPECT_EQ(query.partitions[child].MemberCount(), 0u);
    }
    EXPECT_TRUE(query.partitions[0].primary.IsValid());
  }
  // Nothing is proposed for them.
  Pass(absl::Seconds(30));
  EXPECT_FALSE(TakeProposal());
  EXPECT_EQ(EntryOf(1, 0)->info.partition_count, 2);
  EXPECT_EQ(EntryOf(1, 0)->meta_split_status, Is(SplitStatus::kSplitting));
  EXPECT_EQ(EntryOf(1, 0)->info.envs.at(kEnvValidatePartitionHash), "true");
  EXPECT_FALSE(EntryOf(1, 2));
  // Children that were reported, and may yet be registered.
  EXPECT_EQ(Sync(2, {Child(2), Child(3), Child(5)})->kept_children,
            (std::vector<PartitionId>{{1, 2}, {1, 3}}));
  EXPECT_FALSE(Sync(2)->kept_children);

  const ConfigurationUpdateRequest request = Registration(0);
  auto answer = Update(request);
  EXPECT_EQ(answer->err, ErrorCode::kOk);
  EXPECT_EQ(answer->config.ballot, request.config.ballot);
  EXPECT_EQ(answer->partition_count, 4);
  const PartitionConfiguration child = ConfigOf("t", 2);
  EXPECT_EQ(child.ballot, request.config.ballot);
  EXPECT_EQ(child.primary, request.config.primary);
  EXPECT_EQ(child.secondaries, request.config.secondaries);
  EXPECT_EQ(child.last_committed_decree, Decree(10));
  // The repeat of it.
  answer = Update(request);
  EXPECT_EQ(answer->err, ErrorCode::kOk);
  EXPECT_EQ(answer->partition_count, 4);
  EXPECT_EQ(EntryOf(1, 0)->info.partition_count, 4);
  EXPECT_FALSE(EntryOf(1, 0)->meta_split_status);
  EXPECT_EQ(EntryOf(1, 2)->info.partition_count, 4);
  EXPECT_EQ(EntryOf(1, 1)->info.partition_count, 2);
  EXPECT_EQ(Sync(2, {Child(2), Child(3)})->kept_children, (std::vector<PartitionId>{{1, 3}}));
  // Nobody has confirmed the first yet.
  EXPECT_EQ(TakeNews(), std::set{2});

  EXPECT_EQ(Update(Registration(1))->err, ErrorCode::kOk);
  EXPECT_EQ(TakeNews(), std::set{4});
  EXPECT_EQ(EntryOf(1, 1)->info.partition_count, 4);
  EXPECT_EQ(QueryOf().err, ErrorCode::kInvalidState);
  EXPECT_EQ(QueryOf().hint_msg, "app(t) is not splitting");
  // What is stored of it is whole.
  StopMeta(sim::CrashMode::kProcess);
  ASSERT_TRUE(StartMeta().ok());
  EXPECT_EQ(ConfigOf("t", 3).MemberCount(), 3u);
  EXPECT_EQ(QueryOf().err, ErrorCode::kInvalidState);
}

TEST_F(SplitRequestsTest, EveryAnswerToAnUpdateHasTheCountOfThatConfiguration) {
  ConfigurationUpdateRequest forced = Registration(0);
  forced.type = ConfigType::kPrimaryForceUpdateBallot;
  EXPECT_EQ(Update(forced)->partition_count, 2);
  Start();
  ++forced.config.ballot;
  EXPECT_EQ(Update(forced)->partition_count, 2);
  // Refused: a registration of before that.
  ConfigurationUpdateRequest late = Registration(0);
  late.config.ballot = forced.config.ballot;
  const auto answer = Update(late);
  EXPECT_EQ(answer->err, ErrorCode::kInvalidVersion);
  EXPECT_EQ(answer->config.ballot, forced.config.ballot);
  EXPECT_EQ(answer->partition_count, 2);
  EXPECT_EQ(ConfigOf("t", 2).ballot, Ballot(-1));
  EXPECT_EQ(Update(Registration(0))->partition_count, 4);
}

TEST_F(SplitRequestsTest, ARegistrationOfBeforeACancelIsNoRepeat) {
  Start();
  const ConfigurationUpdateRequest late = Registration(0);
  ConfigurationUpdateRequest forced = late;
  forced.type = ConfigType::kPrimaryForceUpdateBallot;
  EXPECT_EQ(Update(forced)->err, ErrorCode::kOk);
  EXPECT_EQ(Update(late)->err, ErrorCode::kInvalidVersion);
  ASSERT_EQ(Control(SplitControl::kCancel, -1, 2).err, ErrorCode::kOk);
  EXPECT_EQ(Update(late)->err, ErrorCode::kInvalidVersion);
  EXPECT_EQ(Update(forced)->err, ErrorCode::kOk);
}

TEST_F(SplitRequestsTest, OfTwoStartsAtOnceOneIsRefused) {
  const auto first = Begin<StartSplitResponse>(kRpcStartSplit, StartSplitRequest{"t", 4});
  const auto second = Begin<StartSplitResponse>(kRpcStartSplit, StartSplitRequest{"t", 4});
  world_.RunFor(absl::Milliseconds(50));
  EXPECT_EQ(*first, ErrorCode::kOk);
  EXPECT_EQ(*second, ErrorCode::kInvalidParameters);
  EXPECT_EQ(Query("t").partition_count, 4);
  EXPECT_EQ(Start(8).err, ErrorCode::kBusy);
  EXPECT_EQ(Start(8).hint_msg, "app(t) is already executing partition split");
}

TEST_F(SplitRequestsTest, TheStoreIsAskedFirst) {
  node_.disk().FailCalls("/meta", sim::DiskTrouble::kReadOnly, 100);
  const StartSplitResponse response = Start();
  EXPECT_NE(response.err, ErrorCode::kOk);
  EXPECT_EQ(response.hint_msg, "the state can't be stored");
  EXPECT_EQ(Query("t").partition_count, 2);
  node_.disk().FailCalls("/meta", sim::DiskTrouble::kReadOnly, 0);
  Pass(absl::Seconds(5));
  ASSERT_EQ(Start().err, ErrorCode::kOk);
  node_.disk().FailCalls("/meta", sim::DiskTrouble::kReadOnly, 100);
  const auto answer = Update(Registration(0));
  EXPECT_EQ(answer->err, ErrorCode::kFileOperationFailed);
  EXPECT_EQ(answer->partition_count, 2);
  EXPECT_EQ(ConfigOf("t", 2).ballot, Ballot(-1));
  node_.disk().FailCalls("/meta", sim::DiskTrouble::kReadOnly, 0);
  Pass(absl::Seconds(5));
  EXPECT_EQ(Update(Registration(0))->err, ErrorCode::kOk);
}

TEST_F(SplitRequestsTest, ToolsSeeHowFarItIs) {
  EXPECT_EQ(QueryOf("other").err, ErrorCode::kAppNotExist);
  EXPECT_EQ(QueryOf("other").hint_msg, "app(other) not existed");
  Start();
  const PartitionConfiguration config = ConfigOf("t", 0);
  for (int n : {1, 2, 3}) {
    if (ServerAt(n) != config.primary) continue;
    ReplicaInfo info = Report(config, PartitionStatus::kPrimary);
    info.split_progress = "makes the child";
    Sync(n, {info});
  }
  Control(SplitControl::kPause, 1);
  QuerySplitResponse query = QueryOf();
  EXPECT_EQ(query.err, ErrorCode::kOk);
  EXPECT_EQ(query.new_partition_count, 4);
  EXPECT_EQ(query.status, (std::map<int32_t, int32_t>{{0, 1}, {1, 3}}));
  EXPECT_EQ(query.progress,
            (std::map<int32_t, std::string>{{0, "makes the child"}, {1, "paused"}}));
  EXPECT_FALSE(query.seconds_left);
  Control(SplitControl::kRestart);
  Pass(absl::Seconds(10));
  Update(Registration(0));
  query = QueryOf();
  EXPECT_EQ(query.status, (std::map<int32_t, int32_t>{{1, 1}}));
  ASSERT_TRUE(query.seconds_left);
  EXPECT_NEAR(*query.seconds_left, 10, 2);
}

TEST_F(SplitRequestsTest, PausesHoldAtOnceAndAcrossRestarts) {
  Start();
  ASSERT_EQ(Control(SplitControl::kPause, 0).err, ErrorCode::kOk);
  auto answer = Update(Registration(0));
  EXPECT_EQ(answer->err, ErrorCode::kInvalidVersion);
  EXPECT_EQ(answer->partition_count, 2);
  EXPECT_EQ(EntryOf(1, 0)->meta_split_status, Is(SplitStatus::kPaused));
  EXPECT_EQ(EntryOf(1, 1)->meta_split_status, Is(SplitStatus::kSplitting));
  const ConfigSyncResponse sync = *Sync(1, {Child(2)});
  EXPECT_FALSE(sync.kept_children);
  EXPECT_FALSE(sync.gc_replicas);
  EXPECT_EQ(Update(Registration(1))->err, ErrorCode::kOk);

  StopMeta(sim::CrashMode::kProcess);
  ASSERT_TRUE(StartMeta().ok());
  StartAndSync(3);
  EXPECT_EQ(QueryOf().status, (std::map<int32_t, int32_t>{{0, 3}}));
  EXPECT_EQ(ConfigOf("t", 3).MemberCount(), 3u);
  EXPECT_EQ(ConfigOf("t", 2).ballot, Ballot(-1));
  EXPECT_EQ(Update(Registration(0))->err, ErrorCode::kInvalidVersion);
  EXPECT_EQ(Control(SplitControl::kCancel, -1, 2).err, ErrorCode::kChildRegistered);
  EXPECT_EQ(Control(SplitControl::kRestart).err, ErrorCode::kOk);
  EXPECT_EQ(QueryOf().status, (std::map<int32_t, int32_t>{{0, 1}}));
}

// Its server was taken for dead before it heard that the child was registered; seed 139600011.
TEST_F(SplitRequestsTest, ARegisteredChildIsKeptWhereItWasNotHeardOf) {
  StartServer(4);
  Start();
  EXPECT_EQ(Update(Registration(0))->err, ErrorCode::kOk);
  ReplicaInfo unborn = Child(2);
  unborn.is_unborn = true;
  EXPECT_EQ(Sync(4, {unborn})->kept_children, std::nullopt) << "its group is whole";
  KillServer(1);
  Pass(absl::Seconds(15));
  EXPECT_EQ(Sync(4, {unborn})->kept_children, (std::vector<PartitionId>{{1, 2}}));
  EXPECT_EQ(Sync(4, {Child(2)})->kept_children, std::nullopt) << "a replica like any other";
}

TEST_F(SplitRequestsTest, ACancelledSplitLeavesNothing) {
  Start();
  ASSERT_EQ(Control(SplitControl::kCancel, -1, 2).err, ErrorCode::kOk);
  EXPECT_EQ(Update(Registration(0))->err, ErrorCode::kInvalidVersion);
  EXPECT_EQ(Query("t").partitions.size(), 2u);
  EXPECT_FALSE(EntryOf(1, 0)->meta_split_status);
  EXPECT_FALSE(Sync(1, {Child(2)})->kept_children);
  StopMeta(sim::CrashMode::kProcess);
  ASSERT_TRUE(StartMeta().ok());
  EXPECT_EQ(Query("t").partitions.size(), 2u);
  EXPECT_EQ(Start().err, ErrorCode::kOk);
}

TEST_F(SplitRequestsTest, APauseWaitsForARegistrationThatIsBeingStored) {
  Start();
  const auto registered = BeginRegistration(0);
  const auto paused = BeginControl(SplitControl::kPause, 0);
  // Meanwhile no other begins.
  const auto second = BeginRegistration(1);
  world_.RunFor(absl::Milliseconds(100));
  EXPECT_EQ(*registered, ErrorCode::kOk);
  EXPECT_EQ(*paused, ErrorCode::kChildRegistered);
  EXPECT_EQ(*second, ErrorCode::kOk);
  EXPECT_EQ(ConfigOf("t", 3).MemberCount(), 3u);
}

TEST_F(SplitRequestsTest, ACancelAndARegistrationAtOnceExcludeEachOther) {
  Start();
  const auto registered = BeginRegistration(0);
  const auto cancelled = BeginControl(SplitControl::kCancel, -1, 2);
  world_.RunFor(absl::Milliseconds(100));
  EXPECT_EQ(*registered, ErrorCode::kOk);
  EXPECT_EQ(*cancelled, ErrorCode::kChildRegistered);

  ASSERT_EQ(Create("u", 2, 3).err, ErrorCode::kOk);
  Obey();
  const auto start = Ask<StartSplitResponse>(kRpcStartSplit, StartSplitRequest{"u", 4});
  ASSERT_EQ(start->err, ErrorCode::kOk);
  ConfigurationUpdateRequest request = Registration(0);
  request.config = ConfigOf("u", 0);
  request.node = request.config.primary;
  ++request.config.ballot;
  const auto first = Begin<ControlSplitResponse>(
      kRpcControlSplit,
      ControlSplitRequest{"u", static_cast<int32_t>(SplitControl::kCancel), -1, 2});
  const auto later = Begin<ConfigurationUpdateResponse>(kRpcUpdateConfiguration, request);
  world_.RunFor(absl::Milliseconds(100));
  EXPECT_EQ(*first, ErrorCode::kOk);
  EXPECT_EQ(*later, ErrorCode::kInvalidVersion);
  EXPECT_EQ(Query("u").partitions.size(), 2u);
}

TEST_F(SplitRequestsTest, ARegisteredChildIsCuredAndOthersAreLeftAlone) {
  Start();
  Update(Registration(0));
  const PartitionConfiguration before = ConfigOf("t", 2);
  for (int n : {1, 2, 3})
    if (ServerAt(n) == before.primary) KillServer(n);
  Pass(absl::Seconds(8));
  Obey();
  const PartitionConfiguration after = ConfigOf("t", 2);
  EXPECT_GT(after.ballot, before.ballot);
  EXPECT_TRUE(after.primary.IsValid());
  EXPECT_NE(after.primary, before.primary);
  EXPECT_EQ(ConfigOf("t", 3).ballot, Ballot(-1));
  EXPECT_EQ(QueryOf().status, (std::map<int32_t, int32_t>{{1, 1}}));
  // A member is missing: no child is made.
  EXPECT_EQ(Update(Registration(1))->err, ErrorCode::kInvalidVersion);
}

TEST_F(SplitRequestsTest, WhoRestartsWhileItsChildIsStoredMustResumeIt) {
  Start();
  const PartitionConfiguration before = ConfigOf("t", 0);
  const auto registered = BeginRegistration(0);
  for (int n : {1, 2, 3})
    if (ServerAt(n) == before.primary) StartServer(n);
  world_.RunFor(absl::Milliseconds(50));
  ASSERT_EQ(*registered, ErrorCode::kOk);
  EXPECT_EQ(ConfigOf("t", 2).primary, before.primary);
  for (int n : {1, 2, 3}) Sync(n, {Child(2)});
  Pass(absl::Seconds(10));
  Obey();
  EXPECT_TRUE(ConfigOf("t", 2).primary.IsValid());
  EXPECT_NE(ConfigOf("t", 2).primary, before.primary);
}

TEST_F(SplitRequestsTest, ProposalsHaveTheCountOfTheirPartition) {
  Start();
  Update(Registration(0));
  StartServer(4);
  Sync(4);
  KillServer(1);
  // Its place is kept for a while, then each partition gets a new copy.
  std::map<int32_t, int32_t> counts;
  for (int minute = 0; minute < 12; ++minute) {
    Pass(absl::Minutes(1));
    while (const auto proposal = TakeProposal()) {
      counts[proposal->request.config.pid.index] = proposal->request.info.partition_count;
      Update(UpdateFor(*proposal));
    }
  }
  EXPECT_EQ(counts, (std::map<int32_t, int32_t>{{0, 4}, {1, 2}, {2, 4}}));
}

TEST_F(SplitRequestsTest, AFreezedClusterMakesNoChildren) {
  Start();
  Level(FunctionLevel::kFreezed);
  EXPECT_EQ(EntryOf(1, 0)->meta_split_status, Is(SplitStatus::kPaused));
  EXPECT_EQ(Update(Registration(0))->err, ErrorCode::kStateFreezed);
  EXPECT_EQ(QueryOf().status, (std::map<int32_t, int32_t>{{0, 1}, {1, 1}}));
}

TEST_F(SplitRequestsTest, AnOlderServerIsToldOfNoSplit) {
  Start();
  const Endpoint older = ConfigOf("t", 0).secondaries[0];
  Ask<BeaconAck>(kRpcBeacon, BeaconMessage{.from_node = older,
                                           .to_node = transport_.local(),
                                           .start_time = ++next_start_time_});
  const auto sync = Ask<ConfigSyncResponse>(
      kRpcConfigSync, ConfigSyncRequest{.node = older, .stored_replicas = {{Child(2)}}});
  EXPECT_FALSE(sync->kept_children);
  ASSERT_EQ(sync->partitions.size(), 2u);
  for (const ConfigurationUpdateRequest& entry : sync->partitions) {
    EXPECT_EQ(entry.info.partition_count, 2);
    EXPECT_FALSE(entry.meta_split_status);
  }
}

TEST_F(SplitRequestsTest, ATableThatIsBeingSplitIsNotDropped) {
  Start();
  EXPECT_EQ(Ask<DropAppResponse>(kRpcDropApp, DropAppRequest{.app_name = "t"})->err,
            ErrorCode::kSplitting);
  EXPECT_EQ(Control(SplitControl::kCancel, -1, 2).err, ErrorCode::kOk);
  EXPECT_EQ(Ask<DropAppResponse>(kRpcDropApp, DropAppRequest{.app_name = "t"})->err,
            ErrorCode::kOk);
}

}  // namespace
}  // namespace arion
