// A partition of a follower table, from its master's primary on; and that primary's part.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "followers/first_content_copy.h"
#include "messages/duplication_messages.h"
#include "messages/table_environments.h"
#include "messages/tool_messages.h"
#include "replica/replica_shipping.h"
#include "tests/replica/log_lines.h"
#include "tests/replica/server_world.h"

namespace arion {
namespace {

constexpr PartitionId kFollower{3, 1};
constexpr char kDirectory[] = "/d1/replica/reps/3.1.pegasus";

// The meta server is both clusters'. Server 1 leads the master's partition.
class ReplicaFollowersTest : public ReplicaServerWorld {
 protected:
  void MakeMaster(int records) {
    AddServer();
    meta_.SetReplicaCount(1);
    ASSERT_TRUE(MakePrimary(master()));
    for (int i = 0; i < records; ++i)
      ASSERT_EQ(Put(master(), i, "v" + std::to_string(i)), ErrorCode::kOk);
    meta_.listed().partitions = {.app_id = kPid.app_id,
                                 .partition_count = 4,
                                 .is_stateful = true,
                                 .partitions = {meta_.configuration()}};
  }
  // From now on proposals are of the table that follows.
  void Follow(std::string metas = "10.0.0.9:34601") {
    meta_.app().app_id = kFollower.app_id;
    meta_.app().app_name = "f";
    meta_.app().envs = {{kEnvMasterCluster, "source"},
                        {kEnvMasterMetas, std::move(metas)},
                        {kEnvMasterAppName, "t"}};
  }
  void ProposeFirst(Server& server, Ballot ballot = Ballot(0)) {
    meta_.configuration(kFollower).ballot = ballot;
    meta_.Propose(server.address, ConfigType::kAssignPrimary, server.address, kFollower);
  }
  LearnResponse AskForCheckpoint(Server& server, PartitionId pid = kPid) {
    const RpcResult result =
        Call(server, kRpcQueryLastCheckpoint, EncodeWrapped(LearnRequest{.pid = pid}), {});
    EXPECT_EQ(result.error, ErrorCode::kOk);
    return *DecodeWrapped<LearnResponse>(result.body);
  }
  ErrorCode Copy(Server& server, const LearnResponse& listed) {
    const RpcResult result = Call(server, kRpcCopyFile,
                                  EncodeWrapped(CopyRequest{.source = server.address,
                                                            .source_dir = listed.base_local_dir,
                                                            .dst_dir = "/x",
                                                            .file_name = listed.state.files.at(0),
                                                            .offset = 0,
                                                            .size = 8,
                                                            .is_last = false,
                                                            .overwrite = true}),
                                  {});
    return DecodeWrapped<CopyResponse>(result.body)->error;
  }
  bool Exists(Server& server, const std::string& path) {
    return arion::Exists(server.node.environment().files(), path);
  }
  Server& master() { return *servers_[0]; }
};

TEST_F(ReplicaFollowersTest, APrimaryGivesItsCheckpointAndHoldsItAsLongAsSomebodyCopies) {
  ASSERT_NO_FATAL_FAILURE(MakeMaster(3));
  const LearnResponse given = AskForCheckpoint(master());
  ASSERT_EQ(given.err, ErrorCode::kOk);
  EXPECT_EQ(given.learnee, master().address);
  EXPECT_EQ(given.replica_disk_tag, "ssd1");
  EXPECT_GT(given.state.to_decree_included, Decree(0));
  ASSERT_FALSE(given.state.files.empty());
  EXPECT_EQ(given.state.file_sizes->size(), given.state.files.size());
  for (const std::string& name : given.state.files) EXPECT_EQ(name.find('/'), name.npos);
  EXPECT_TRUE(given.base_local_dir.ends_with(
      absl::StrCat("/data/checkpoint.", given.state.to_decree_included.value())));
  EXPECT_EQ(Copy(master(), given), ErrorCode::kOk);
  // Others take its place meanwhile.
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(Put(master(), i, "later"), ErrorCode::kOk);
    world_.RunFor(absl::Minutes(5));
    EXPECT_EQ(Copy(master(), given), ErrorCode::kOk);
  }
  world_.RunFor(ReplicaShipping::kFollowerLook * (ReplicaShipping::kIdleLooksMax + 2));
  EXPECT_EQ(Copy(master(), given), ErrorCode::kObjectNotFound);
}

TEST_F(ReplicaFollowersTest, NobodyButAPrimaryGivesOne) {
  ASSERT_NO_FATAL_FAILURE(MakeMaster(1));
  EXPECT_EQ(AskForCheckpoint(master(), {9, 9}).err, ErrorCode::kObjectNotFound);
  meta_.SetReplicaCount(2);
  Server& member = AddServer();
  ASSERT_TRUE(AddSecondary(master(), member));
  EXPECT_EQ(AskForCheckpoint(member).err, ErrorCode::kObjectNotFound);
}

// What it is sent begins behind what the meta server has stored, whoever led when that was said.
TEST_F(ReplicaFollowersTest, AFollowerBeginsWithAllThatIsNotSent) {
  options_.duplication_group = {.ids = {{"here", 1}, {"there", 2}}, .own_id = 1};
  meta_.app().duplicating = true;
  ASSERT_NO_FATAL_FAILURE(MakeMaster(3));
  const auto sync = [this](DuplicationStatus status, int64_t confirmed) {
    const DuplicationEntry entry{.dupid = 7,
                                 .status = static_cast<int32_t>(status),
                                 .remote = "there",
                                 .progress = std::map<int32_t, int64_t>{{kPid.index, confirmed}}};
    meta_.AnswerAs(
        kRpcDuplicationSync,
        EncodeWrapped(DuplicationSyncResponse{.dup_map = {{kPid.app_id, {{7, entry}}}}}));
    world_.RunFor(absl::Seconds(30));
  };
  EXPECT_EQ(AskForCheckpoint(master()).err, ErrorCode::kBusy) << "nobody has said what is sent";
  sync(DuplicationStatus::kApp, 1);
  const Decree first = AskForCheckpoint(master()).state.to_decree_included;
  EXPECT_GT(first, Decree(0));
  for (int i = 0; i < 5; ++i) ASSERT_EQ(Put(master(), i, "more"), ErrorCode::kOk);
  sync(DuplicationStatus::kApp, last_decree_.value());
  EXPECT_EQ(AskForCheckpoint(master()).state.to_decree_included, last_decree_);
  EXPECT_LT(first, last_decree_);
}

TEST_F(ReplicaFollowersTest, AFirstPrimaryBeginsWithWhatItsMasterHas) {
  ASSERT_NO_FATAL_FAILURE(MakeMaster(20));
  const Decree at = last_decree_;
  Server& server = AddServer();
  Follow();
  ASSERT_TRUE(MakePrimary(server, kFollower));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Get(server, i, kFollower), "v" + std::to_string(i));
  EXPECT_GE(Snapshot(server, kFollower).last_committed, at);
  EXPECT_FALSE(Exists(server, absl::StrCat(kDirectory, ".first.tmp")));
  ASSERT_EQ(Put(server, 0, "own", 0, kFollower), ErrorCode::kOk);
  // What it has is its own from now on: a start asks nobody.
  meta_.listed().partitions.err = ErrorCode::kAppNotExist;
  server.Crash(sim::CrashMode::kPowerNone);
  Restart(server);
  ASSERT_TRUE(WaitFor(server, PartitionStatus::kPrimary, kFollower));
  EXPECT_EQ(Get(server, 0, kFollower), "own");
  EXPECT_EQ(Get(server, 7, kFollower), "v7");
  // Its members get everything from it.
  meta_.SetReplicaCount(2);
  Server& member = AddServer();
  ASSERT_TRUE(AddSecondary(server, member, kFollower));
}

TEST_F(ReplicaFollowersTest, AnEmptyMasterMakesAnEmptyFollower) {
  ASSERT_NO_FATAL_FAILURE(MakeMaster(0));
  Server& server = AddServer();
  Follow();
  ASSERT_TRUE(MakePrimary(server, kFollower));
  EXPECT_EQ(Get(server, 1, kFollower), std::nullopt);
  EXPECT_EQ(Put(server, 1, "one", 0, kFollower), ErrorCode::kOk);
}

TEST_F(ReplicaFollowersTest, WhatStandsInTheWayIsSaidAndTriedAgain) {
  ASSERT_NO_FATAL_FAILURE(MakeMaster(3));
  Server& server = AddServer();
  world_.RunFor(absl::Seconds(2));
  QueryConfigResponse& told = meta_.listed().partitions;
  const QueryConfigResponse right = told;
  LogLines lines("does not get its first content");
  const auto fails = [&](const char* text) {
    ProposeFirst(server);
    world_.RunFor(absl::Seconds(15));
    const std::vector<std::string> said = lines.Take();
    EXPECT_TRUE(std::any_of(said.begin(), said.end(),
                            [&](const std::string& line) { return line.find(text) != line.npos; }))
        << text << "; " << said.size() << ", the first: " << (said.empty() ? "" : said.front());
    EXPECT_EQ(Snapshot(server, kFollower).pid, PartitionId{}) << "it is not made";
    EXPECT_FALSE(Exists(server, kDirectory));
  };
  Follow("nonsense");
  fails("nonsense");
  Follow("10.0.0.77:34601");
  fails("its meta servers: ");
  Follow();
  told = {.err = ErrorCode::kObjectNotFound};
  fails("its meta server says ERR_OBJECT_NOT_FOUND");
  told = right;
  told.partition_count = 8;
  fails("it has 8 partitions there and 4 here");
  told = right;
  told.partitions.front().primary = {};
  fails("a partition has no primary there");
  told = right;
  told.partitions.front().pid.app_id = 77;
  fails("a primary says ERR_OBJECT_NOT_FOUND");
  told = right;
  ASSERT_TRUE(MakePrimary(server, kFollower));
  EXPECT_EQ(Get(server, 2, kFollower), "v2");
}

TEST_F(ReplicaFollowersTest, OnlyTheFirstPrimaryOfAPartitionAsksItsMaster) {
  ASSERT_NO_FATAL_FAILURE(MakeMaster(3));
  Server& server = AddServer();
  Follow();
  world_.RunFor(absl::Seconds(2));
  ProposeFirst(server, Ballot(4));
  world_.RunFor(absl::Seconds(5));
  EXPECT_EQ(Snapshot(server, kFollower).pid, PartitionId{});
  EXPECT_TRUE(meta_.Asked(kRpcQueryConfig).empty());
}

// Two were asked to be the first. What the second one copied was never the group's.
TEST_F(ReplicaFollowersTest, WhoWasNotTheFirstSetsItsCopyAside) {
  ASSERT_NO_FATAL_FAILURE(MakeMaster(3));
  Server& first = AddServer();
  Server& second = AddServer();
  Follow();
  world_.RunFor(absl::Seconds(2));
  meta_.HoldUpdates();
  ProposeFirst(second);
  world_.RunFor(absl::Seconds(5));
  ASSERT_TRUE(Exists(second, kDirectory)) << "it has what its master had";
  second.Crash(sim::CrashMode::kProcess);
  meta_.AnswerUpdates();
  meta_.configuration(kFollower) = {.pid = kFollower, .max_replica_count = 1};
  // The other one begins with another history, of the same length and more.
  meta_.app().envs.clear();
  ASSERT_TRUE(MakePrimary(first, kFollower));
  for (int i = 100; i < 120; ++i) ASSERT_EQ(Put(first, i, "group's", 0, kFollower), ErrorCode::kOk);
  Restart(second);
  meta_.SetReplicaCount(2);
  ASSERT_TRUE(AddSecondary(first, second, kFollower));
  EXPECT_EQ(CountDirectories(second, ".first.tmp"), 0);
  // As a primary it shows what it holds.
  first.Crash(sim::CrashMode::kPowerNone);
  PartitionConfiguration& config = meta_.configuration(kFollower);
  std::erase(config.secondaries, second.address);
  config.primary = second.address;
  config.ballot = config.ballot + 1;
  ASSERT_TRUE(WaitFor(second, PartitionStatus::kPrimary, kFollower));
  EXPECT_EQ(Get(second, 2, kFollower), std::nullopt) << "the master's";
  EXPECT_EQ(Get(second, 110, kFollower), "group's");
}

TEST_F(ReplicaFollowersTest, ACopyThatAStopInterruptsIsNotOpenedAndGoesOnLater) {
  ASSERT_NO_FATAL_FAILURE(MakeMaster(3));
  options_.receive_limits = {.disk = 1, .server = 1};  // it takes for ever
  Server& server = AddServer();
  Follow();
  world_.RunFor(absl::Seconds(2));
  ProposeFirst(server);
  world_.RunFor(absl::Seconds(5));
  EXPECT_TRUE(Snapshot(server, kFollower).loading);
  EXPECT_TRUE(Exists(server, absl::StrCat(kDirectory, ".first.tmp")));
  EXPECT_FALSE(Exists(server, kDirectory));
  EXPECT_TRUE(Stop(server).ok());
  options_.receive_limits = {};
  Restart(server);
  world_.RunFor(absl::Seconds(2));
  EXPECT_EQ(Snapshot(server, kFollower).pid, PartitionId{});
  ASSERT_TRUE(MakePrimary(server, kFollower));
  EXPECT_EQ(Get(server, 2, kFollower), "v2");
  EXPECT_FALSE(Exists(server, absl::StrCat(kDirectory, ".first.tmp")));
}

TEST_F(ReplicaFollowersTest, WhoShallLearnMeanwhileLearns) {
  ASSERT_NO_FATAL_FAILURE(MakeMaster(3));
  Server& first = AddServer();
  Follow();
  ASSERT_TRUE(MakePrimary(first, kFollower));
  options_.receive_limits = {.disk = 1, .server = 1};
  Server& second = AddServer();
  world_.RunFor(absl::Seconds(2));
  const PartitionConfiguration led = meta_.configuration(kFollower);
  meta_.configuration(kFollower) = {.pid = kFollower, .max_replica_count = 1};
  ProposeFirst(second);  // a late one
  meta_.configuration(kFollower) = led;
  world_.RunFor(absl::Seconds(5));
  EXPECT_TRUE(Snapshot(second, kFollower).loading);
  meta_.SetReplicaCount(2);
  meta_.Propose(first.address, ConfigType::kAddSecondary, second.address, kFollower);
  world_.RunFor(absl::Seconds(15));
  EXPECT_EQ(Snapshot(second, kFollower).status, PartitionStatus::kPotentialSecondary);
}

}  // namespace
}  // namespace arion
