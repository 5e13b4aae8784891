// When a replica makes checkpoints, and which files of its log stay. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "disks/disk_layout.h"
#include "tests/replica/server_world.h"

namespace arion {
namespace {

class ReplicaMaintenanceTest : public ReplicaServerWorld {
 protected:
  ReplicaMaintenanceTest() {
    meta_.SetReplicaCount(1);
    options_.checkpoint_interval = absl::Hours(10);  // none by the clock
  }
  // Replaying them takes some 2 ms.
  void PutOneMebibyte(Server& server) {
    for (int i = 0; i < 20; ++i)
      ASSERT_EQ(Put(server, i, std::string(50 << 10, 'v')), ErrorCode::kOk);
  }
};

TEST_F(ReplicaMaintenanceTest, ACheckpointIsMadeWhenReplayWouldTakeLongerThanItsBound) {
  options_.replay_max = absl::Milliseconds(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  PutOneMebibyte(server);
  world_.RunFor(absl::Seconds(3));
  EXPECT_EQ(Snapshot(server).last_durable, last_decree_);

  // Again for what comes after it, and not before that is as much.
  const Decree first = last_decree_;
  ASSERT_EQ(Put(server, 1, "little"), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(30));
  EXPECT_EQ(Snapshot(server).last_durable, first);
  PutOneMebibyte(server);
  world_.RunFor(absl::Seconds(3));
  EXPECT_EQ(Snapshot(server).last_durable, last_decree_);
}

TEST_F(ReplicaMaintenanceTest, ACheckpointIsMadeOnRequest) {
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_EQ(Put(server, 1, "one"), ErrorCode::kOk);
  server.server->AskForCheckpoints(PartitionId{2, 3});
  world_.RunFor(absl::Seconds(1));
  EXPECT_EQ(Snapshot(server).last_durable, Decree(0)) << "of another partition";
  server.server->AskForCheckpoints(kPid);
  world_.RunFor(absl::Seconds(1));
  EXPECT_EQ(Snapshot(server).last_durable, last_decree_);
  ASSERT_EQ(Put(server, 2, "two"), ErrorCode::kOk);
  server.server->AskForCheckpoints(std::nullopt);
  world_.RunFor(absl::Seconds(1));
  EXPECT_EQ(Snapshot(server).last_durable, last_decree_);
}

TEST_F(ReplicaMaintenanceTest, ShortReplaysAskForNoCheckpoint) {
  options_.replay_max = absl::Seconds(10);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  PutOneMebibyte(server);
  world_.RunFor(absl::Minutes(5));
  EXPECT_EQ(Snapshot(server).last_durable, Decree(0));
}

// ---- which files of the log stay ----

class LogFilesTest : public ReplicaServerWorld {
 protected:
  LogFilesTest() {
    options_.log_segment_bytes = 64 << 10;
    options_.log_preallocate = false;
    options_.checkpoint_interval = absl::Seconds(1);
  }
  // Three members, the group is whole; secondaries_ may leave.
  Server& MakeGroup() {
    Server& primary = AddServer();
    secondaries_ = {&AddServer(), &AddServer()};
    EXPECT_TRUE(MakePrimary(primary));
    for (Server* secondary : secondaries_) EXPECT_TRUE(AddSecondary(primary, *secondary));
    return primary;
  }
  // Some 10 files.
  void PutOneMebibyte(Server& server) {
    for (int i = 0; i < 20; ++i)
      ASSERT_EQ(Put(server, i, std::string(50 << 10, 'v')), ErrorCode::kOk);
  }
  void Leave(Server& primary, Server& secondary) {
    secondary.Crash(sim::CrashMode::kPowerNone);
    meta_.Propose(primary.address, ConfigType::kDowngradeToInactive, secondary.address);
    ASSERT_TRUE(world_.RunUntil(
        [&] { return !meta_.configuration().IsSecondary(secondary.address); }, absl::Seconds(30)));
    ASSERT_TRUE(WaitFor(primary, PartitionStatus::kPrimary));
  }
  // The test is the learner; its group checks are answered with learner_says_.
  void BeLearnerOf(Server& primary) {
    client_->SetHandler([this](InboundRequest request) {
      const auto check = DecodeWrapped<GroupCheckRequest>(request.body);
      if (!check.ok()) return;
      signature_ = check->config.learner_signature;
      request.responder.Reply(ErrorCode::kOk, EncodeWrapped(GroupCheckResponse{
                                                  .pid = kPid,
                                                  .err = learner_says_,
                                                  .learner_status = LearnerStatus::kWithoutPrepare,
                                                  .learner_signature = signature_,
                                                  .node = client_->local()}));
    });
    meta_.Propose(primary.address, ConfigType::kAddSecondaryForLoadBalance, client_->local());
    ASSERT_TRUE(world_.RunUntil([this] { return signature_ != 0; }, absl::Seconds(20)));
  }
  LearnResponse Learn(Server& primary, Decree applied) {
    return *DecodeWrapped<LearnResponse>(
        Call(primary, kRpcLearn,
             EncodeWrapped(LearnRequest{.pid = kPid,
                                        .learner = client_->local(),
                                        .signature = signature_,
                                        .last_committed_decree_in_app = applied}))
            .body);
  }
  // Once the checkpoint holds everything.
  size_t FilesAtRest(Server& server) {
    world_.RunFor(absl::Seconds(5));
    EXPECT_EQ(Snapshot(server).last_durable, Snapshot(server).last_committed);
    size_t count = 0;
    for (const DataDirectory& directory : options_.layout.data_directories) {
      const auto names =
          server.node.environment().files().List(directory.path + "/2.1.pegasus/plog");
      for (const std::string& name : names.value_or(std::vector<std::string>()))
        count += name.starts_with("log.") ? 1 : 0;
    }
    return count;
  }

  std::vector<Server*> secondaries_;
  int64_t signature_ = 0;
  ErrorCode learner_says_ = ErrorCode::kOk;
};

TEST_F(LogFilesTest, WhatAnAbsentMemberLacksStaysUntilItIsBack) {
  Server& primary = MakeGroup();
  PutOneMebibyte(primary);
  PutOneMebibyte(primary);
  const size_t whole = FilesAtRest(primary);
  EXPECT_LE(whole, 21u) << "no more than the mutations that may be in flight";
  Leave(primary, *secondaries_[1]);
  PutOneMebibyte(primary);
  PutOneMebibyte(primary);
  EXPECT_GE(FilesAtRest(primary), 30u);
  Restart(*secondaries_[1]);
  ASSERT_TRUE(AddSecondary(primary, *secondaries_[1]));
  PutOneMebibyte(primary);
  EXPECT_LE(FilesAtRest(primary), 21u);
}

TEST_F(LogFilesTest, AMemberThatIsGoneForGoodHoldsNoMoreThanItsLimit) {
  options_.log_for_member = {.bytes_max = 400 << 10};
  Server& primary = MakeGroup();
  Leave(primary, *secondaries_[1]);
  PutOneMebibyte(primary);
  PutOneMebibyte(primary);
  EXPECT_LE(FilesAtRest(primary), 7u);
}

// On a table that nobody writes to. The test is the learner.
TEST_F(LogFilesTest, WhatALearnerHeldGoesWithItsSession) {
  options_.log_for_member = {.bytes_max = 16 << 20};
  meta_.SetReplicaCount(1);
  Server& primary = AddServer();
  ASSERT_TRUE(MakePrimary(primary));
  for (int i = 0; i < 6; ++i) PutOneMebibyte(primary);  // more decrees than the memory holds
  EXPECT_LE(FilesAtRest(primary), 2u);
  BeLearnerOf(primary);
  const LearnResponse given = Learn(primary, Decree(0));
  ASSERT_EQ(given.type, LearnType::kApp);
  const auto asked_for_files = [&] {
    const GetFileSizeRequest request{.file_list = given.state.files,
                                     .source_dir = given.base_local_dir,
                                     .source_disk_tag = given.replica_disk_tag.value_or(""),
                                     .pid = kPid};
    return DecodeWrapped<GetFileSizeResponse>(
               Call(primary, kRpcGetFileSize, EncodeWrapped(request)).body)
        ->error;
  };
  PutOneMebibyte(primary);
  EXPECT_GE(FilesAtRest(primary), 8u);
  EXPECT_EQ(asked_for_files(), 0);
  learner_says_ = ErrorCode::kInvalidState;
  world_.RunFor(absl::Seconds(15));  // a group check, and checkpoints that find nothing new
  EXPECT_LE(FilesAtRest(primary), 2u);
  EXPECT_NE(asked_for_files(), 0);
}

// Another leads now, and knows what the others lack; nobody writes any more.
TEST_F(LogFilesTest, WhatAPrimaryKeptForOthersGoesAfterItsOffice) {
  Server& primary = MakeGroup();
  PutOneMebibyte(primary);
  PutOneMebibyte(primary);
  EXPECT_GE(FilesAtRest(primary), 8u);
  meta_.Propose(primary.address, ConfigType::kDowngradeToSecondary, primary.address);
  ASSERT_TRUE(WaitFor(primary, PartitionStatus::kSecondary));
  EXPECT_LE(FilesAtRest(primary), 2u);
}

// On a table that nobody writes to.
TEST_F(LogFilesTest, WhatWasKeptForAMemberGoesWhenItHasBeenAwayTooLong) {
  options_.log_for_member = {.bytes_max = 16 << 20, .age_max_seconds = 60};
  Server& primary = MakeGroup();
  Leave(primary, *secondaries_[1]);
  PutOneMebibyte(primary);
  PutOneMebibyte(primary);
  EXPECT_GE(FilesAtRest(primary), 15u);
  world_.RunFor(absl::Seconds(90));
  EXPECT_LE(FilesAtRest(primary), 2u);
}

// Its copy does not end: the test is the learner.
TEST_F(LogFilesTest, ALearnerHoldsWhatLiesBehindItsCheckpointButNoMoreThanTheDataTakes) {
  options_.log_for_member = {.bytes_max = 2500 << 10};
  meta_.SetReplicaCount(1);
  Server& primary = AddServer();
  ASSERT_TRUE(MakePrimary(primary));
  for (int i = 0; i < 6; ++i) PutOneMebibyte(primary);  // more decrees than the memory holds
  EXPECT_LE(FilesAtRest(primary), 2u);
  BeLearnerOf(primary);
  const LearnResponse checkpoint = Learn(primary, Decree(0));
  ASSERT_EQ(checkpoint.type, LearnType::kApp);
  for (int i = 0; i < 2; ++i) PutOneMebibyte(primary);
  EXPECT_GE(FilesAtRest(primary), 15u);
  for (int i = 0; i < 6; ++i) PutOneMebibyte(primary);
  EXPECT_LE(FilesAtRest(primary), 30u);
  EXPECT_EQ(Learn(primary, checkpoint.state.to_decree_included).type, LearnType::kApp);
}

TEST_F(LogFilesTest, TheLogOfADuplicatedTableStaysWhole) {
  meta_.SetReplicaCount(1);
  meta_.app().duplicating = true;
  Server& primary = AddServer();
  ASSERT_TRUE(MakePrimary(primary));
  PutOneMebibyte(primary);
  PutOneMebibyte(primary);
  EXPECT_GE(FilesAtRest(primary), 20u);
  ASSERT_TRUE(Stop(primary).ok());
  Restart(primary);
  ASSERT_TRUE(WaitFor(primary, PartitionStatus::kPrimary));
  PutOneMebibyte(primary);
  EXPECT_GE(FilesAtRest(primary), 30u);

  ASSERT_TRUE(Stop(primary).ok());
  options_.log_keep_duplicated = false;
  Restart(primary);
  ASSERT_TRUE(WaitFor(primary, PartitionStatus::kPrimary));
  PutOneMebibyte(primary);
  EXPECT_LE(FilesAtRest(primary), 2u);
}

}  // namespace
}  // namespace arion
