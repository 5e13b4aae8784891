// The stand-in for a meta server of 2.5.0 answers as that does, and tells of what its process would not
// survive: of the rows src/replica/README.md A1 to A21 those that concern it.
// SPDX-License-Identifier: Apache-2.0
#include "sim_older/old_meta_server.h"
#include "base/mutation.h"
#include "messages/admin_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meta_state/journal_meta_store.h"
#include "rpc/thrift_codec.h"
#include "sim/sim_environment.h"
#include "sim/sim_transport.h"

namespace arion::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

constexpr Endpoint kMeta{0x0a000009, 34601}, kA{0x0a000001, 34801}, kB{0x0a000002, 34801};
constexpr PartitionId kPid{1, 0};

class OldMetaServerTest : public testing::Test {
 protected:
  OldMetaServerTest() {
    CHECK(meta_node_.disk().CreateDirectories("/meta").ok());
    meta_node_.disk().MakeDurable();
    network_.ForOlderServer(kMeta);
    a_.SetHandler([this](InboundRequest request) {
      if (request.header.name == kRpcConfigProposal)
        proposals_.push_back(*DecodeWrapped<ConfigurationUpdateRequest>(request.body));
    });
    Start();
  }
  ~OldMetaServerTest() override { meta_node_.Crash(CrashMode::kProcess); }

  void Start() {
    SimEnvironment& env = meta_node_.Start();
    transport_ = std::make_unique<SimTransport>(network_, meta_node_, kMeta);
    store_ = std::make_unique<JournalMetaStore>(env, "/meta", JournalMetaStoreOptions{});
    OldMetaOptions options{.cluster_name = "c",
                           .grace = absl::Seconds(3),
                           .check_interval = absl::Seconds(1),
                           .guardian_interval = absl::Seconds(1)};
    options.guardian.live_min = 1;
    options.guardian.live_percentage_min = 1;
    options.guardian.assign_delay = absl::Minutes(10);
    meta_ = std::make_unique<OldMetaServer>(
        env, *transport_, *store_, options,
        [this](const std::string& what) { violations_.push_back(what); });
    CHECK(meta_->Start().ok());
  }
  void Restart() {
    meta_node_.Crash(CrashMode::kPowerNone);
    meta_.reset(), store_.reset(), transport_.reset();
    network_.NodeDied(kMeta, SimNetwork::Farewell::kReset);
    Start();
  }
  // Of `node`; its answer, if there is one within two seconds.
  std::optional<RpcResult> Say(SimTransport& node, OutboundRequest request) {
    auto answer = std::make_shared<std::optional<RpcResult>>();
    request.timeout = absl::Seconds(2);
    node.Call(kMeta, std::move(request), strand_,
              [answer](RpcResult result) { *answer = std::move(result); });
    world_.RunUntil([answer] { return answer->has_value(); }, absl::Seconds(3));
    if (*answer && (*answer)->error == ErrorCode::kTimeout) return std::nullopt;
    return *answer;
  }
  template <class Response, class Request>
  Response Ask(SimTransport& node, const char* name, const Request& request) {
    const auto answer = Say(node, {.name = name, .body = EncodeWrapped(request)});
    CHECK(answer) << name;
    return *DecodeWrapped<Response>(answer->body);
  }
  BeaconAck Beacon(SimTransport& node) {
    return Ask<BeaconAck>(node, kRpcBeacon,
                          BeaconMessage{.time = 7, .from_node = node.local(), .to_node = kMeta});
  }
  void Create(int32_t factor) {
    CreateAppRequest create{.app_name = "t"};
    create.options = {.partition_count = 1, .replica_count = factor, .app_type = "pegasus"};
    EXPECT_EQ(Ask<CreateAppResponse>(a_, kRpcCreateApp, create).err, ErrorCode::kOk);
  }
  ConfigurationUpdateRequest Update(int64_t ballot, ConfigType type, Endpoint node) {
    ConfigurationUpdateRequest update{.type = type, .node = node};
    update.config = {.pid = kPid, .ballot = Ballot(ballot), .max_replica_count = 2, .primary = kA};
    return update;
  }
  ConfigurationUpdateResponse Ask(const ConfigurationUpdateRequest& update) {
    return Ask<ConfigurationUpdateResponse>(a_, kRpcUpdateConfiguration, update);
  }

  SimWorld world_{1};
  SimNetwork network_{world_};
  SimNode& meta_node_ = world_.AddNode("meta");
  SimNode& peers_ = world_.AddNode("peers");
  SimEnvironment& env_ = peers_.Start();
  StrandPtr strand_ = env_.NewStrand("peers");
  SimTransport a_{network_, peers_, kA}, b_{network_, peers_, kB};
  std::unique_ptr<SimTransport> transport_;
  std::unique_ptr<JournalMetaStore> store_;
  std::unique_ptr<OldMetaServer> meta_;
  std::vector<std::string> violations_;
  std::vector<ConfigurationUpdateRequest> proposals_;
};

TEST_F(OldMetaServerTest, ABeaconIsAnsweredWithoutAFieldOfOurs) {
  EXPECT_EQ(Beacon(a_), (BeaconAck{.time = 7,
                                   .this_node = kMeta,
                                   .primary_node = kMeta,
                                   .is_master = true,
                                   .allowed = true}));
  EXPECT_FALSE(Ask<ClusterInfoResponse>(a_, kRpcClusterInfo, ClusterInfoRequest{}).arion_caps);
  EXPECT_THAT(violations_, IsEmpty());
}

TEST_F(OldMetaServerTest, UpdatesAreJudgedStoredAndKeptOverARestart) {
  Beacon(a_), Beacon(b_);
  Create(2);
  world_.RunFor(absl::Milliseconds(1500));
  ASSERT_FALSE(proposals_.empty());
  EXPECT_EQ(proposals_.front().type, ConfigType::kAssignPrimary);
  const auto assigned = Update(1, ConfigType::kAssignPrimary, kA);
  EXPECT_EQ(Ask(assigned).err, ErrorCode::kOk);
  EXPECT_EQ(Ask(assigned).err, ErrorCode::kOk) << "sent again";
  EXPECT_EQ(Ask(Update(3, ConfigType::kAssignPrimary, kA)).err, ErrorCode::kInvalidVersion);
  auto joined = Update(2, ConfigType::kUpgradeToSecondary, kB);
  joined.config.secondaries = {kB};
  EXPECT_EQ(Ask(joined).config.ballot, Ballot(2));
  Restart();
  const auto left = Update(3, ConfigType::kDowngradeToInactive, kB);
  EXPECT_THAT(Ask(left).config.last_drops, ElementsAre(kB));
  EXPECT_THAT(violations_, IsEmpty());
}

TEST_F(OldMetaServerTest, ADeadPrimaryIsTakenOutByTheMetaServerItself) {
  Beacon(a_), Beacon(b_);
  Create(2);
  Ask(Update(1, ConfigType::kAssignPrimary, kA));
  auto joined = Update(2, ConfigType::kUpgradeToSecondary, kB);
  joined.config.secondaries = {kB};
  Ask(joined);
  for (int i = 0; i < 6; ++i) Beacon(b_), world_.RunFor(absl::Seconds(1));
  const auto config =
      Ask<QueryConfigResponse>(b_, kRpcQueryConfig, QueryConfigRequest{"t"}).partitions.at(0);
  EXPECT_EQ(config.ballot, Ballot(3));
  EXPECT_FALSE(config.primary.IsValid());
  EXPECT_THAT(config.secondaries, ElementsAre(kB));
  EXPECT_THAT(config.last_drops, ElementsAre(kA));
}

TEST_F(OldMetaServerTest, ADroppedTableKeepsItsLastMembersAndComesBack) {
  Beacon(a_);
  Create(1);
  Ask(Update(1, ConfigType::kAssignPrimary, kA));
  DropAppRequest drop{.app_name = "t"};
  drop.options.reserve_seconds = 100;
  EXPECT_EQ(Ask<DropAppResponse>(a_, kRpcDropApp, drop).err, ErrorCode::kOk);
  EXPECT_EQ(Ask<QueryConfigResponse>(a_, kRpcQueryConfig, QueryConfigRequest{"t"}).err,
            ErrorCode::kObjectNotFound);
  Restart();
  Beacon(a_);
  EXPECT_EQ(Ask<RecallAppResponse>(a_, kRpcRecallApp, RecallAppRequest{.app_id = 1}).err,
            ErrorCode::kOk);
  const auto config =
      Ask<QueryConfigResponse>(a_, kRpcQueryConfig, QueryConfigRequest{"t"}).partitions.at(0);
  EXPECT_EQ(config.ballot, Ballot(3));
  EXPECT_THAT(config.last_drops, ElementsAre(kA));
}

TEST_F(OldMetaServerTest, WhatItsProcessWouldNotSurviveIsTold) {
  Beacon(a_);
  Create(1);
  Say(a_, {.name = kRpcConfigSync, .body = "?"});
  Say(a_, {.name = kRpcUpdateConfiguration,
           .body = EncodeWrapped(Update(1, ConfigType::kUpgradeToSecondary, kB))});
  ConfigSyncRequest sync{.node = kA, .stored_replicas = {{{.pid = {9, 0}}}}};
  Say(a_, {.name = kRpcConfigSync, .body = EncodeWrapped(sync)});
  Say(a_, {.name = "RPC_RRDB_RRDB_GET", .pid = kPid});
  sync = {.node = kA, .missing_replicas = {{kPid}}};
  Say(a_, {.name = kRpcConfigSync, .body = EncodeWrapped(sync)});
  EXPECT_THAT(violations_, ElementsAre(StartsWith("replica/README.md A1: "),
                                       StartsWith("replica/README.md A13: an update"),
                                       StartsWith("replica/README.md A13: a config sync"),
                                       StartsWith("replica/README.md A15: "),
                                       StartsWith("replica/OLDER.md 3: ")));
}

}  // namespace
}  // namespace arion::sim
