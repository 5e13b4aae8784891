// The stand-in for a server of 2.5.0 tells of what its process would not survive: each row of
// replica/README.md A1 to A21 that concerns a replica server, sent to it by a peer that breaks
// the rules.
// SPDX-License-Identifier: Apache-2.0
#include "sim_older/old_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "engine/memory_engine.h"
#include "messages/client_messages.h"
#include "messages/duplicate_messages.h"
#include "rpc/thrift_codec.h"
#include "sim/sim_environment.h"
#include "sim/sim_transport.h"

namespace arion::sim {
namespace {

using enum PartitionStatus;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

constexpr PartitionId kPid{2, 1};
constexpr Endpoint kOld{0x0a000001, 34801}, kPeer{0x0a000002, 34801}, kMeta{0x0a000009, 34601};

class OldServerTest : public testing::Test {
 protected:
  OldServerTest() {
    CHECK(old_node_.disk().CreateDirectories("/d").ok());
    network_.ForOlderServer(kOld);
    meta_.SetHandler([this](InboundRequest request) { AnswerAsMeta(std::move(request)); });
    peer_.SetHandler([this](InboundRequest request) {
      const auto answer = answers_.find(request.header.name);
      if (answer != answers_.end())
        request.responder.Reply(ErrorCode::kOk, answer->second(request.body));
    });
    server_.Start();
    world_.RunFor(absl::Seconds(1));
  }
  ~OldServerTest() override { old_node_.Crash(CrashMode::kProcess); }

  void AnswerAsMeta(InboundRequest request) {
    std::string body;
    if (request.header.name == kRpcBeacon) {
      body = EncodeWrapped(BeaconAck{.this_node = kMeta, .is_master = true, .allowed = true});
    } else if (request.header.name == kRpcConfigSync) {
      ConfigSyncResponse response;
      if (synced_.pid == kPid) response.partitions = {{.info = app_, .config = synced_}};
      body = EncodeWrapped(response);
    } else {
      const auto update = *DecodeWrapped<ConfigurationUpdateRequest>(request.body);
      ConfigurationUpdateResponse response{.config = update.config};
      if (spoils_update_) response.config.secondaries = {kPeer};
      if (!spoils_update_) synced_ = update.config;
      body = EncodeWrapped(response);
    }
    request.responder.Reply(ErrorCode::kOk, std::move(body));
  }
  void Say(const char* name, std::string body, PartitionId header = {},
           std::optional<int32_t> thread = std::nullopt) {
    OutboundRequest request{.name = name, .body = std::move(body), .pid = header};
    request.thread_hash = thread.value_or(kPid.thread_hash());
    peer_.Call(kOld, std::move(request), peer_strand_, [](const RpcResult&) {});
    world_.RunFor(absl::Milliseconds(500));
  }
  ReplicaConfiguration Config(int64_t ballot, PartitionStatus role, int64_t session = 0) const {
    return {.pid = kPid,
            .ballot = Ballot(ballot),
            .primary = kPeer,
            .status = role,
            .learner_signature = session};
  }
  void CheckGroup(int64_t ballot, PartitionStatus role, int64_t committed, int64_t session = 0,
                  const char* name = kRpcGroupCheck) {
    GroupCheckRequest check{.app = app_, .node = kOld, .config = Config(ballot, role, session)};
    check.last_committed_decree = Decree(committed);
    Say(name, EncodeWrapped(check));
  }
  void Prepare(int64_t ballot, int64_t decree, int64_t committed, PartitionStatus role) {
    Mutation m{.pid = kPid,
               .ballot = Ballot(ballot),
               .decree = Decree(decree),
               .last_committed = Decree(committed)};
    m.updates.push_back({WriteCode::kEmpty});
    Say(kRpcPrepare, EncodePrepare({kPid, Config(ballot, role),
                                    std::make_shared<const Mutation>(std::move(m))}));
  }
  void Propose(ConfigType type, Endpoint node, std::vector<Endpoint> secondaries = {}) {
    ConfigurationUpdateRequest proposal{.info = app_, .config = synced_, .type = type};
    proposal.config.secondaries = std::move(secondaries);
    proposal.node = node;
    Say(kRpcConfigProposal, EncodeWrapped(proposal));
  }
  void Lead() {
    synced_ = {.pid = kPid, .max_replica_count = 3};
    Propose(ConfigType::kAssignPrimary, kOld);
    ASSERT_EQ(server_.Replicas().at(0).status, kPrimary);
  }
  // As a learner; what the peer answers to its first round.
  void LearnFrom(LearnResponse response) {
    response.config = Config(3, kPotentialSecondary);
    response.learnee = kPeer;
    answers_[kRpcLearn] = [response](const std::string&) { return EncodeWrapped(response); };
    CheckGroup(3, kPotentialSecondary, 0, 7, kRpcAddLearner);
  }
  // It is a member of an empty partition.
  void BecomeMember() {
    LearnFrom({.prepare_start_decree = Decree(1), .type = LearnType::kCache});
    CheckGroup(4, kSecondary, 0);
    ASSERT_EQ(server_.Replicas().at(0).status, kSecondary);
  }

  SimWorld world_{5};
  SimNetwork network_{world_};
  SimNode& old_node_ = world_.AddNode("old");
  SimEnvironment& env_ = old_node_.Start();
  SimNode& peer_node_ = world_.AddNode("peer");
  SimTransport transport_{network_, old_node_, kOld};
  SimTransport peer_{network_, (peer_node_.Start(), peer_node_), kPeer};
  SimTransport meta_{network_, peer_node_, kMeta};
  StrandPtr peer_strand_ = peer_node_.environment().NewStrand("peer");
  MemoryEngineFactory engines_{env_};
  AppInfo app_{.app_type = "pegasus", .app_name = "t", .app_id = 2, .partition_count = 4};
  PartitionConfiguration synced_;
  bool spoils_update_ = false;
  std::map<std::string, std::function<std::string(const std::string&)>> answers_;
  std::vector<std::string> fatal_;
  OldDisk disk_;
  OldServer server_{env_,
                    transport_,
                    engines_,
                    world_.random(),
                    disk_,
                    {.meta_server = kMeta,
                     .data_directory = "/d",
                     .beacon_interval = absl::Milliseconds(200),
                     .lease = absl::Seconds(2),
                     .config_sync_interval = absl::Minutes(10),
                     .group_check_interval = absl::Seconds(2),
                     .prepare_timeout = absl::Seconds(1),
                     .learner_prepare_timeout = absl::Seconds(1),
                     .checkpoint_interval = absl::Seconds(10),
                     .closed_replica_linger = absl::Seconds(5),
                     .log_file_bytes = 64 << 10},
                    [this](std::string what) { fatal_.push_back(std::move(what)); }};
};

TEST_F(OldServerTest, WhoFollowsTheRulesEndsNobody) {
  BecomeMember();
  Prepare(4, 1, 0, kSecondary);
  Prepare(4, 2, 1, kSecondary);
  CheckGroup(4, kSecondary, 2);
  EXPECT_EQ(server_.Replicas().at(0).last_committed_decree, Decree(2));
  EXPECT_THAT(fatal_, IsEmpty());
}

TEST_F(OldServerTest, AMemberTakesWritesOfAnotherCluster) {
  BecomeMember();
  const UpdateRequest put{.key = Blob(std::string("\0\1hk", 4)), .value = "v"};
  const DuplicateRequest request{{{.timestamp_us = 7,
                                   .task_code = Blob(WriteCodeName(WriteCode::kPut)),
                                   .raw_message = Blob(EncodeWrapped(put)),
                                   .cluster_id = int8_t{2}}}};
  Mutation m{.pid = kPid, .ballot = Ballot(4), .decree = Decree(1)};
  m.updates = {{WriteCode::kDuplicate, 1, EncodeWrapped(request)}};
  Say(kRpcPrepare,
      EncodePrepare({kPid, Config(4, kSecondary), std::make_shared<const Mutation>(std::move(m))}));
  CheckGroup(4, kSecondary, 1);
  EXPECT_EQ(server_.Replicas().at(0).last_committed_decree, Decree(1));
  EXPECT_TRUE(fatal_.empty());
}

TEST_F(OldServerTest, MessagesThatDoNotDecode) {
  Say(kRpcGroupCheck, "\x0c");
  EXPECT_THAT(fatal_, ElementsAre(StartsWith("replica/README.md A1: ")));
}

TEST_F(OldServerTest, HeadersOfServersBearNoPartitionAndItsThread) {
  Say(kRpcLearn, EncodeWrapped(LearnRequest{.pid = kPid}), kPid);
  Say(kRpcLearn, EncodeWrapped(LearnRequest{.pid = kPid}), {}, 1);
  EXPECT_THAT(fatal_,
              ElementsAre(StartsWith("replica/OLDER.md 2: "), StartsWith("replica/OLDER.md 2: ")));
}

TEST_F(OldServerTest, PreparesOfAnotherRoleOrAboveAHole) {
  BecomeMember();
  Prepare(4, 1, 0, kPotentialSecondary);
  Prepare(4, 3, 2, kSecondary);
  EXPECT_THAT(fatal_, ElementsAre(StartsWith("replica/README.md A6: "),
                                  StartsWith("replica/README.md A6: ")));
}

TEST_F(OldServerTest, GroupChecksBeyondTheLogOrToAPrimary) {
  BecomeMember();
  CheckGroup(4, kSecondary, 1);
  EXPECT_THAT(fatal_, ElementsAre(StartsWith("replica/README.md A8: ")));
}

TEST_F(OldServerTest, AGroupCheckToAPrimary) {
  Lead();
  CheckGroup(1, kSecondary, 0);
  EXPECT_THAT(fatal_, ElementsAre(StartsWith("replica/README.md A8: ")));
}

TEST_F(OldServerTest, AddingAndRemovingBearTheirRoles) {
  BecomeMember();
  CheckGroup(4, kSecondary, 0, 0, kRpcAddLearner);
  Say(kRpcRemoveReplica, EncodeWrapped(Config(5, kSecondary)));
  EXPECT_THAT(fatal_, ElementsAre(StartsWith("replica/README.md A9: "),
                                  StartsWith("replica/README.md A9: ")));
}

TEST_F(OldServerTest, LearnAnswersThatBreakTheRules) {
  LearnFrom({.prepare_start_decree = Decree(1), .type = LearnType::kLog});
  LearnFrom({.type = LearnType::kLog});  // 0 is not -1
  LearnResponse beyond{.prepare_start_decree = kInvalidDecree, .type = LearnType::kApp};
  beyond.state.files = {"checkpoint.9/records"};
  beyond.state.to_decree_included = Decree(9);
  LearnFrom(beyond);
  EXPECT_THAT(fatal_, ElementsAre(StartsWith("replica/README.md A10: "),
                                  StartsWith("replica/README.md A10: "),
                                  StartsWith("replica/README.md A10: ")));
}

TEST_F(OldServerTest, FilesThatAreEmpty) {
  answers_[kRpcGetFileSize] = [](const std::string& body) {
    const auto asked = *DecodeWrapped<GetFileSizeRequest>(body);
    return EncodeWrapped(GetFileSizeResponse{.file_list = asked.file_list, .size_list = {0}});
  };
  LearnResponse response{.last_committed_decree = Decree(9),
                         .prepare_start_decree = kInvalidDecree,
                         .type = LearnType::kApp};
  response.state.files = {"checkpoint.9/records"};
  response.state.to_decree_included = Decree(9);
  LearnFrom(response);
  EXPECT_THAT(fatal_, ElementsAre(StartsWith("replica/README.md A18: ")));
}

TEST_F(OldServerTest, ProposalsOfAnotherNodeTypeOrOrder) {
  Lead();
  Propose(ConfigType::kAssignPrimary, kPeer);
  Propose(ConfigType::kUpgradeToSecondary, kPeer);
  Propose(ConfigType::kAddSecondary, kPeer, {kMeta});
  EXPECT_THAT(fatal_, ElementsAre(StartsWith("replica/README.md A11: "),
                                  StartsWith("replica/README.md A11: "),
                                  StartsWith("replica/README.md A11: ")));
}

TEST_F(OldServerTest, AnUpdateThatIsAcceptedWithOtherMembers) {
  synced_ = {.pid = kPid, .max_replica_count = 3};
  spoils_update_ = true;
  Propose(ConfigType::kAssignPrimary, kOld);
  EXPECT_THAT(fatal_, ElementsAre(StartsWith("replica/README.md A12: ")));
}

TEST_F(OldServerTest, AnAcknowledgementForAnotherDecree) {
  Lead();
  synced_.secondaries = {kPeer};
  synced_.ballot = synced_.ballot + 1;
  answers_[kRpcGroupCheck] = [](const std::string&) {
    return EncodeWrapped(GroupCheckResponse{.pid = kPid, .node = kPeer});
  };
  answers_[kRpcPrepare] = [](const std::string& body) {
    const auto request = *DecodePrepare(body);
    return EncodeWrapped(PrepareAck{
        .pid = kPid, .ballot = request.mutation->ballot, .decree = request.mutation->decree + 1});
  };
  Propose(ConfigType::kDowngradeToInactive, kMeta, {kPeer});  // it hears of its new member
  Say(kRpcPut, EncodeWrapped(UpdateRequest{.key = Blob(std::string("\0\1hk", 4))}), kPid);
  EXPECT_THAT(fatal_, ElementsAre(StartsWith("replica/README.md A7: ")));
}

}  // namespace
}  // namespace arion::sim
