// SPDX-License-Identifier: Apache-2.0
#include "replica_server/replica_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "disks/disk_snapshot.h"
#include "disks/init_info.h"
#include "disks/open_file_budget.h"
#include "replica/replica_options.h"
#include "replica/replica_snapshot.h"
#include "stats/request_stats.h"
#include "tests/replica/log_lines.h"
#include "tests/replica/server_world.h"

namespace arion {
namespace {

class ReplicaServerTest : public ReplicaServerWorld {
 protected:
  static std::string Value(int row, size_t bytes) {
    return std::string(bytes, static_cast<char>('a' + row % 26));
  }
  // a, the primary, and b hold 300 rows and have made checkpoints; their logs' old files are gone.
  void FillTwo(Server& a, Server& b, size_t value_bytes) {
    ASSERT_TRUE(MakePrimary(a));
    ASSERT_TRUE(AddSecondary(a, b));
    for (int i = 0; i < 300; ++i) ASSERT_EQ(Put(a, i, Value(i, value_bytes)), ErrorCode::kOk);
    world_.RunFor(absl::Seconds(10));
  }
  // a leads; a learner has found damage in the newest file of its log, which a start reads whatever
  // the engine holds.
  void DamageNewestLogFile(Server& a) {
    options_.checkpoint_interval = absl::Hours(1);
    Server& b = AddServer();
    Server& c = AddServer();
    ASSERT_NO_FATAL_FAILURE(FillTwo(a, b, 100));
    ASSERT_TRUE(a.node.disk().Rot(NewestLogFile(a), 5000, 1).ok());
    ASSERT_TRUE(AddSecondary(a, c));
    EXPECT_EQ(a.server->Disks()[0].io_errors, 1);
    world_.RunFor(absl::Seconds(10));
  }
  std::string NewestLogFile(Server& a) { return JoinPath(Snapshot(a).directory, "plog/log.1.0"); }
  // Of a primary that does not exist.
  GroupCheckRequest Invitation(Server& server) {
    GroupCheckRequest request{.app = meta_.app(), .node = server.address};
    request.config = {.pid = kPid,
                      .ballot = Ballot(3),
                      .primary = *Endpoint::Parse("10.0.0.77:34801"),
                      .status = PartitionStatus::kPotentialSecondary,
                      .learner_signature = 5};
    return request;
  }
  ErrorCode InviteByGroupCheck(Server& server) {
    const RpcResult result = Call(server, kRpcGroupCheck, EncodeWrapped(Invitation(server)));
    EXPECT_EQ(result.error, ErrorCode::kOk);
    return DecodeWrapped<GroupCheckResponse>(result.body)->err;
  }
};

// replica/OLDER.md 2.
TEST_F(ReplicaServerTest, MessagesBearThePartitionsThreadToPeersAndNoneToTheMetaServer) {
  std::map<std::string, std::optional<int32_t>> threads;
  network_.on_request = [&threads, meta = meta_.address()](Endpoint from, Endpoint,
                                                           const OutboundRequest& request) {
    if (from != meta && request.pid == PartitionId{}) threads[request.name] = request.thread_hash;
  };
  Server& a = AddServer();
  Server& b = AddServer();
  ASSERT_TRUE(MakePrimary(a));
  ASSERT_TRUE(AddSecondary(a, b));
  ASSERT_EQ(Put(a, 1, "v"), ErrorCode::kOk);
  for (const char* name : {kRpcPrepare, kRpcGroupCheck, kRpcLearn, kRpcLearnCompletion})
    EXPECT_EQ(threads[name], kPid.thread_hash()) << name;
  for (const char* name : {kRpcBeacon, kRpcConfigSync, kRpcUpdateConfiguration})
    EXPECT_EQ(threads[name], 0) << name;
  network_.on_request = nullptr;
}

TEST_F(ReplicaServerTest, AWriteIsReadBackAndSurvivesACleanRestart) {
  meta_.SetReplicaCount(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  EXPECT_EQ(meta_.configuration().ballot, Ballot(1));
  ASSERT_EQ(Put(server, 1, "one"), ErrorCode::kOk);
  EXPECT_EQ(last_decree_, Decree(1));
  EXPECT_EQ(Get(server, 1), "one");
  EXPECT_EQ(Get(server, 2), std::nullopt);

  EXPECT_TRUE(Stop(server).ok());
  Restart(server);
  ASSERT_TRUE(WaitFor(server, PartitionStatus::kPrimary));
  EXPECT_EQ(meta_.configuration().ballot, Ballot(2))
      << "a restarted primary never reuses its ballot";
  EXPECT_EQ(Get(server, 1), "one");
}

TEST_F(ReplicaServerTest, EveryAcknowledgedWriteSurvivesAPowerCut) {
  meta_.SetReplicaCount(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 25; ++i) {
      ASSERT_EQ(Put(server, round * 100 + i, "v" + std::to_string(i)), ErrorCode::kOk);
    }
    server.Crash(round % 2 == 0 ? sim::CrashMode::kPowerNone : sim::CrashMode::kPowerRandom);
    Restart(server);
    ASSERT_TRUE(WaitFor(server, PartitionStatus::kPrimary));
    for (int r = 0; r <= round; ++r)
      for (int i = 0; i < 25; ++i)
        ASSERT_EQ(Get(server, r * 100 + i), "v" + std::to_string(i)) << r << " " << i;
  }
}

TEST_F(ReplicaServerTest, TtlAndRemoveAnswerAsTheProtocolSays) {
  meta_.SetReplicaCount(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  const auto now = static_cast<int32_t>(ExpiryNow(server.node));
  ASSERT_EQ(Put(server, 1, "for ever"), ErrorCode::kOk);
  ASSERT_EQ(Put(server, 2, "short", now + 30), ErrorCode::kOk);
  const auto ttl = [&](int i) {
    return *DecodeWrapped<TtlResponse>(Call(server, kRpcTtl, EncodeWrapped(Blob(Key(i)))).body);
  };
  EXPECT_EQ(ttl(1).ttl_seconds, -1);
  EXPECT_GT(ttl(2).ttl_seconds, 20);
  EXPECT_LE(ttl(2).ttl_seconds, 30);
  EXPECT_EQ(ttl(3).error, 1);
  world_.RunFor(absl::Seconds(31));
  EXPECT_EQ(Get(server, 2), std::nullopt);
  EXPECT_EQ(Call(server, kRpcRemove, EncodeWrapped(Blob(Key(1)))).error, ErrorCode::kOk);
  EXPECT_EQ(Get(server, 1), std::nullopt);
}

TEST_F(ReplicaServerTest, MembersLearnAndApplyWhatThePrimaryCommits) {
  Server& a = AddServer();
  Server& b = AddServer();
  Server& c = AddServer();
  ASSERT_TRUE(MakePrimary(a));
  ASSERT_TRUE(AddSecondary(a, b));
  for (int i = 0; i < 30; ++i) ASSERT_EQ(Put(a, i, "v" + std::to_string(i)), ErrorCode::kOk);
  ASSERT_TRUE(AddSecondary(a, c));
  for (int i = 30; i < 60; ++i) ASSERT_EQ(Put(a, i, "v" + std::to_string(i)), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(15));
  const ReplicaSnapshot primary = Snapshot(a);
  EXPECT_GE(primary.last_applied, last_decree_);
  for (Server* member : {&b, &c})
    EXPECT_GE(Snapshot(*member).last_applied, last_decree_) << member->address;
  EXPECT_EQ(Call(b, kRpcGet, EncodeWrapped(Blob(Key(1)))).error, ErrorCode::kInvalidState);

  // The primary goes; a secondary that is made primary has everything.
  a.Crash(sim::CrashMode::kPowerRandom);
  auto& configuration = meta_.configuration();
  configuration.primary = Endpoint{};
  configuration.ballot = configuration.ballot + 1;
  meta_.Propose(b.address, ConfigType::kUpgradeToPrimary, b.address);
  ASSERT_TRUE(WaitFor(b, PartitionStatus::kPrimary));
  for (int i = 0; i < 60; ++i) EXPECT_EQ(Get(b, i), "v" + std::to_string(i));
}

TEST_F(ReplicaServerTest, ALearnerFarBehindCopiesACheckpoint) {
  options_.log_segment_bytes = 64 << 10;
  Server& a = AddServer();
  Server& b = AddServer();
  Server& c = AddServer();
  ASSERT_NO_FATAL_FAILURE(FillTwo(a, b, 1000));
  ASSERT_TRUE(AddSecondary(a, c));
  for (int i = 300; i < 320; ++i) ASSERT_EQ(Put(a, i, "late"), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(15));
  EXPECT_GE(Snapshot(c).last_applied, last_decree_);
  EXPECT_FALSE(Exists(c.node.environment().files(), Snapshot(c).directory + "/learn"));

  // What it learned survives a power cut, as the only member.
  c.Crash(sim::CrashMode::kPowerNone);
  a.Crash(sim::CrashMode::kPowerNone);
  b.Crash(sim::CrashMode::kPowerNone);
  auto& configuration = meta_.configuration();
  configuration.primary = c.address;
  configuration.secondaries.clear();
  configuration.ballot = configuration.ballot + 1;
  meta_.SetReplicaCount(1);
  Restart(c);
  ASSERT_TRUE(WaitFor(c, PartitionStatus::kPrimary));
  for (int i = 0; i < 300; ++i) ASSERT_EQ(Get(c, i), Value(i, 1000)) << i;
  for (int i = 300; i < 320; ++i) ASSERT_EQ(Get(c, i), "late") << i;
}

// Removing the copy that was installed opens directories; what lies in them is gone by then.
TEST_F(ReplicaServerTest, ALearnerThatLacksDescriptorsToRemoveItsCopyIsNotFenced) {
  options_.log_segment_bytes = 64 << 10;
  options_.checkpoint_interval = absl::Seconds(1);
  options_.log_for_member = {};  // it gets a checkpoint
  Server& a = AddServer();
  Server& b = AddServer();
  Server& c = AddServer();
  ASSERT_NO_FATAL_FAILURE(FillTwo(a, b, 1000));
  meta_.Propose(a.address, ConfigType::kAddSecondary, c.address);
  ASSERT_TRUE(world_.RunUntil([&] { return !Snapshot(c).directory.empty(); }, absl::Seconds(5)));
  sim::SimDisk& disk = c.node.disk();
  disk.FailCalls(Snapshot(c).directory + "/learn", sim::DiskTrouble::kNoDescriptors, 30);
  for (int i = 0; i < 30; ++i) {
    meta_.Propose(a.address, ConfigType::kAddSecondary, c.address);
    world_.RunFor(absl::Seconds(2));
  }
  EXPECT_GT(disk.calls_failed(), 0);
  disk.FailCalls("", sim::DiskTrouble::kNoDescriptors, 0);
  ASSERT_TRUE(AddSecondary(a, c));
  EXPECT_EQ(CountDirectories(c, ".err"), 0);
}

// What is kept of the log for a member that is away has a bad byte.
TEST_F(ReplicaServerTest, AMemberComesBackThoughAPartOfThePrimarysLogIsDamaged) {
  options_.log_segment_bytes = 64 << 10;
  Server& a = AddServer();
  Server& b = AddServer();
  Server& c = AddServer();
  ASSERT_TRUE(MakePrimary(a));
  ASSERT_TRUE(AddSecondary(a, b));
  ASSERT_TRUE(AddSecondary(a, c));
  ASSERT_EQ(Put(a, 0, "first"), ErrorCode::kOk);
  c.Crash(sim::CrashMode::kPowerNone);
  meta_.Propose(a.address, ConfigType::kRemove, c.address);
  ASSERT_TRUE(world_.RunUntil([&] { return !meta_.configuration().IsSecondary(c.address); },
                              absl::Seconds(20)));
  for (int i = 0; i < 300; ++i) ASSERT_EQ(Put(a, i, Value(i, 1000)), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(10));
  FileSystem& files = a.node.environment().files();
  const std::string log = Snapshot(a).directory + "/plog";
  const std::vector<std::string> names = *files.List(log);
  std::vector<std::string> closed;
  for (const std::string& name : names)
    if (name.starts_with("log.")) closed.push_back(JoinPath(log, name));
  ASSERT_GE(closed.size(), 4u) << "kept for the member that left";
  ASSERT_TRUE(a.node.disk().Rot(closed[2], 30000, 1).ok());

  Restart(c);
  ASSERT_TRUE(AddSecondary(a, c));
  EXPECT_EQ(a.server->Disks()[0].io_errors, 1) << "it is told, once";
  for (int i = 300; i < 310; ++i) ASSERT_EQ(Put(a, i, "late"), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(15));
  EXPECT_GE(Snapshot(c).last_applied, last_decree_);
  EXPECT_FALSE(Exists(files, closed[2])) << "nobody needs it any more";
  a.Crash(sim::CrashMode::kPowerNone);
  Restart(a);
  EXPECT_TRUE(WaitFor(a, PartitionStatus::kSecondary)) << "nor does a start";
  EXPECT_GE(Snapshot(a).last_applied, last_decree_);
}

TEST_F(ReplicaServerTest, DamageInTheNewestLogFileIsLeftBehindWithTheNextWrite) {
  Server& a = AddServer();
  ASSERT_NO_FATAL_FAILURE(DamageNewestLogFile(a));
  const std::string directory = Snapshot(a).directory;
  ASSERT_EQ(Put(a, 300, "late"), ErrorCode::kOk);
  a.Crash(sim::CrashMode::kPowerNone);
  Restart(a);
  EXPECT_TRUE(WaitFor(a, PartitionStatus::kSecondary));
  EXPECT_EQ(Snapshot(a).directory, directory);
  EXPECT_GE(Snapshot(a).last_prepared, last_decree_);
}

TEST_F(ReplicaServerTest, DamageInTheNewestLogFileIsLeftBehindWithoutAWriteToo) {
  Server& a = AddServer();
  ASSERT_NO_FATAL_FAILURE(DamageNewestLogFile(a));
  const std::string directory = Snapshot(a).directory;
  EXPECT_EQ(Snapshot(a).last_prepared, last_decree_ + 1) << "one empty write";
  EXPECT_EQ(Snapshot(a).last_durable, last_decree_ + 1);
  EXPECT_FALSE(Exists(a.node.environment().files(), NewestLogFile(a)));
  a.Crash(sim::CrashMode::kPowerNone);
  Restart(a);
  EXPECT_TRUE(WaitFor(a, PartitionStatus::kSecondary));
  EXPECT_EQ(Snapshot(a).directory, directory);
  EXPECT_EQ(Snapshot(a).last_prepared, last_decree_ + 1);
}

TEST_F(ReplicaServerTest, AnInterruptedLearnerGoesOnAndLeavesNothingBehind) {
  options_.log_segment_bytes = 1 << 20;
  options_.checkpoint_interval = absl::Seconds(1);
  options_.log_for_member = {};         // it gets a checkpoint
  options_.send_limits.disk = 1 << 20;  // so that each chunk takes half a second, all 5 s
  Server& a = AddServer();
  Server& b = AddServer();
  Server& c = AddServer();
  ASSERT_NO_FATAL_FAILURE(FillTwo(a, b, 17 << 10));
  meta_.Propose(a.address, ConfigType::kAddSecondary, c.address);
  const auto is_copying = [&] {
    for (const auto& directory : options_.layout.data_directories)
      if (Exists(c.node.environment().files(), directory.path + "/2.1.pegasus/learn")) return true;
    return false;
  };
  ASSERT_TRUE(world_.RunUntil(is_copying, absl::Seconds(10)));
  world_.RunFor(absl::Seconds(3.5));
  c.Crash(sim::CrashMode::kProcess);
  Restart(c);
  ASSERT_TRUE(AddSecondary(a, c));
  int64_t copied = 0;
  for (const DiskSnapshot& disk : c.server->Disks()) copied += disk.copy_received_bytes;
  EXPECT_GT(copied, 500 << 10);
  EXPECT_LT(copied, 2 << 20) << "the first chunks were there";
  for (int i = 500; i < 520; ++i) ASSERT_EQ(Put(a, i, "late"), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(15));
  EXPECT_GE(Snapshot(c).last_applied, last_decree_);
  EXPECT_FALSE(is_copying());
}

TEST_F(ReplicaServerTest, AMemberThatLearnsAgainIsMarkedWithTheCheckpointItTakesOver) {
  options_.log_segment_bytes = 64 << 10;
  options_.checkpoint_interval = absl::Seconds(1);
  options_.log_for_member = {};  // it gets a checkpoint
  Server& a = AddServer();
  Server& b = AddServer();
  Server& c = AddServer();
  ASSERT_NO_FATAL_FAILURE(FillTwo(a, b, 1000));
  ASSERT_TRUE(AddSecondary(a, c));
  world_.RunFor(absl::Seconds(5));
  const std::string directory = Snapshot(c).directory;
  c.Crash(sim::CrashMode::kProcess);
  meta_.Propose(a.address, ConfigType::kDowngradeToInactive, c.address);
  ASSERT_TRUE(WaitFor(a, PartitionStatus::kPrimary));
  for (int i = 0; i < 300; ++i) ASSERT_EQ(Put(a, i, Value(i, 2000)), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(10));

  Restart(c);
  world_.RunFor(absl::Seconds(2));
  const auto copies = [&] {
    return Exists(c.node.environment().files(), JoinPath(directory, "learn"));
  };
  const auto is_marked = [&] {
    return LoadInitInfo(c.node.environment().files(), directory)->is_learner;
  };
  meta_.Propose(a.address, ConfigType::kAddSecondary, c.address);
  ASSERT_TRUE(world_.RunUntil(copies, absl::Seconds(20)));
  EXPECT_FALSE(is_marked()) << "it holds what it held as a member";
  ASSERT_TRUE(world_.RunUntil([&] { return !copies(); }, absl::Seconds(20)));
  EXPECT_TRUE(is_marked());
  c.Crash(sim::CrashMode::kProcess);
  Restart(c);
  world_.RunFor(absl::Seconds(2));
  const std::vector<ReplicaInfo>& report = meta_.reports().at(c.address);
  ASSERT_EQ(report.size(), 1u);
  EXPECT_EQ(report[0].last_mutation_ballot, kInvalidBallot);
  ASSERT_TRUE(AddSecondary(a, c));
  EXPECT_FALSE(is_marked());
}

TEST_F(ReplicaServerTest, WhatNoCorrectServerSendsIsCountedOfItsTable) {
  options_.log_segment_bytes = 1 << 20;
  options_.checkpoint_interval = absl::Seconds(1);
  options_.log_for_member = {};  // it gets a checkpoint
  int wrong_chunks = 2;
  options_.other_requests = [&](InboundRequest& request) {
    if (request.header.name != kRpcCopyFile || wrong_chunks == 0) return false;
    --wrong_chunks;
    request.responder.Reply(ErrorCode::kOk, EncodeWrapped(CopyResponse{.offset = 7}));
    return true;
  };
  Server& a = AddServer();
  Server& b = AddServer();
  Server& c = AddServer();
  const auto odd = [](const Server& server) {
    const auto rows = server.server->requests().Read(RequestBook::Level::kTable);
    return rows.at(0).counts[static_cast<size_t>(ReplicaCount::kOddMessages)];
  };
  ASSERT_NO_FATAL_FAILURE(FillTwo(a, b, 17 << 10));
  ASSERT_TRUE(AddSecondary(a, c));
  EXPECT_EQ(wrong_chunks, 0);
  EXPECT_EQ(odd(c), 2u);

  PrepareRequest prepare{.pid = kPid};
  prepare.config = {kPid, Ballot(-1), a.address, PartitionStatus::kSecondary};
  prepare.mutation =
      std::make_shared<Mutation>(Mutation{.pid = kPid, .ballot = Ballot(-1), .decree = Decree(1)});
  const RpcResult refused = Call(b, kRpcPrepare, EncodePrepare(prepare, PeerGeneration::k25));
  EXPECT_EQ(DecodeWrapped<PrepareAck>(refused.body)->err, ErrorCode::kInvalidData);
  EXPECT_EQ(odd(b), 1u);
  EXPECT_EQ(odd(a), 0u);
}

TEST_F(ReplicaServerTest, ALearnerIsAdmittedWhileWritesGoOnAndNoneStalls) {
  options_.log_segment_bytes = 64 << 10;
  Server& a = AddServer();
  Server& b = AddServer();
  Server& c = AddServer();
  ASSERT_NO_FATAL_FAILURE(FillTwo(a, b, 1000));
  int done = 0;
  absl::Duration longest;
  bool goes_on = true;
  // As clients do, asks again while the new configuration is on its way to the meta server and back.
  std::function<void(Instant)> put = [&](Instant begin) {
    client_->Call(a.address,
                  {.name = kRpcPut,
                   .body = EncodeWrapped(UpdateRequest{Key(done % 300), std::string(500, 'x'), 0}),
                   .pid = kPid,
                   .timeout = absl::Seconds(20)},
                  client_strand_, [&, begin](const RpcResult& result) {
                    if (result.error == ErrorCode::kInvalidState) return put(begin);
                    EXPECT_EQ(result.error, ErrorCode::kOk);
                    ++done;
                    longest = std::max(longest, world_.now() - begin);
                    if (goes_on) put(world_.now());
                  });
  };
  client_strand_->Post([&] { put(world_.now()); });
  ASSERT_TRUE(AddSecondary(a, c));
  goes_on = false;
  world_.RunFor(absl::Seconds(15));
  EXPECT_GT(done, 1000);
  EXPECT_LT(longest, absl::Milliseconds(300));
  EXPECT_EQ(Snapshot(c).last_committed, Snapshot(a).last_committed);
}

TEST_F(ReplicaServerTest, WithoutALeaseNothingIsServed) {
  meta_.SetReplicaCount(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_EQ(Put(server, 1, "one"), ErrorCode::kOk);
  meta_.SetSilent(true);
  world_.RunFor(options_.lease + absl::Seconds(1));
  EXPECT_EQ(Call(server, kRpcGet, EncodeWrapped(Blob(Key(1)))).error, ErrorCode::kInvalidState);
  EXPECT_EQ(Put(server, 1, "two"), ErrorCode::kInvalidState);
  meta_.SetSilent(false);
  ASSERT_TRUE(WaitFor(server, PartitionStatus::kPrimary));
  EXPECT_EQ(Get(server, 1), "one");
}

TEST_F(ReplicaServerTest, ADamagedReplicaIsSetAsideAndReported) {
  meta_.SetReplicaCount(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  const std::string directory = Snapshot(server).directory;
  ASSERT_TRUE(Stop(server).ok());
  server.node.Start();
  ASSERT_TRUE(
      WriteFileDurably(server.node.environment().files(), directory + "/.init-info", "garbage")
          .ok());
  server.node.Crash(sim::CrashMode::kProcess);
  Restart(server);
  world_.RunFor(absl::Seconds(10));
  FileSystem& files = server.node.environment().files();
  EXPECT_FALSE(Exists(files, directory));
  int set_aside = 0;
  const auto names = files.List(ParentDirectory(directory));
  ASSERT_TRUE(names.ok());
  for (const std::string& name : *names) set_aside += name.ends_with(".err") ? 1 : 0;
  EXPECT_EQ(set_aside, 1);
  EXPECT_TRUE(meta_.reports().at(server.address).empty());
  EXPECT_FALSE(meta_.configuration().primary.IsValid()) << "the server asks to be taken out";
}

TEST_F(ReplicaServerTest, ALearnerThatNoDirectoryCanTakeIsRefused) {
  Server& server = AddServer();
  world_.RunFor(absl::Seconds(2));
  server.node.disk().SetFreeBytes(100 << 20);
  world_.RunFor(absl::Seconds(5));
  LogLines said("no data directory can take a new replica");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(InviteByGroupCheck(server), ErrorCode::kDiskInsufficient);
  EXPECT_EQ(CountDirectories(server, ".pegasus"), 0);
  EXPECT_EQ(said.Take().size(), 1u) << "though it is met at each look";
  world_.RunFor(absl::Seconds(70));
  const std::vector<std::string> ended = said.Take();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].find("no more: "), 0u) << ended[0];
  server.node.disk().SetFreeBytes(UINT64_MAX);
  world_.RunFor(absl::Seconds(10));
  EXPECT_EQ(InviteByGroupCheck(server), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(1));
  EXPECT_EQ(CountDirectories(server, ".pegasus"), 1);
}

TEST_F(ReplicaServerTest, ALearnerThatOpenFilesDoNotCarryIsRefused) {
  const auto limit = std::make_shared<int64_t>(130);
  options_.open_files =
      std::make_shared<OpenFileBudget>([limit] { return OpenFileBudget::Sight{.limit = *limit}; });
  Server& server = AddServer();
  world_.RunFor(absl::Seconds(2));
  EXPECT_EQ(InviteByGroupCheck(server), ErrorCode::kDiskInsufficient);
  EXPECT_EQ(CountDirectories(server, ".pegasus"), 0);
  *limit = 1024;
  world_.RunFor(absl::Seconds(2));
  EXPECT_EQ(InviteByGroupCheck(server), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(1));
  EXPECT_EQ(CountDirectories(server, ".pegasus"), 1);
}

// A group check goes on with a session: what failed does not go on. A new invitation is another's.
TEST_F(ReplicaServerTest, ALearnerThatWasSetAsideIsMadeAnewOnlyWhenItIsInvitedAnew) {
  Server& server = AddServer();
  world_.RunFor(absl::Seconds(2));
  EXPECT_EQ(InviteByGroupCheck(server), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(1));
  const std::string directory = Snapshot(server).directory;
  ASSERT_TRUE(Stop(server).ok());
  server.node.Start();
  ASSERT_TRUE(
      WriteFileDurably(server.node.environment().files(), directory + "/.init-info", "garbage")
          .ok());
  server.node.Crash(sim::CrashMode::kProcess);
  Restart(server);
  world_.RunFor(absl::Seconds(5));
  ASSERT_EQ(CountDirectories(server, ".err"), 1);
  EXPECT_EQ(InviteByGroupCheck(server), ErrorCode::kObjectNotFound);
  client_->SendOneWay(server.address,
                      {.name = kRpcAddLearner, .body = EncodeWrapped(Invitation(server))});
  world_.RunFor(absl::Seconds(1));
  EXPECT_EQ(CountDirectories(server, ".pegasus"), 1);
  EXPECT_EQ(InviteByGroupCheck(server), ErrorCode::kOk);
}

TEST_F(ReplicaServerTest, AnAssignmentNeverReplacesLostDataByNothing) {
  meta_.SetReplicaCount(1);
  meta_.configuration().ballot = Ballot(5);
  Server& server = AddServer();
  world_.RunFor(absl::Seconds(2));
  meta_.Propose(server.address, ConfigType::kAssignPrimary, server.address);
  world_.RunFor(absl::Seconds(5));
  EXPECT_EQ(Snapshot(server).pid, PartitionId{});
}

// Nobody is left of its partition, and no answer to its reports names it: it closes after a while.
// What it last was is still reported, and whoever decides may call it back.
TEST_F(ReplicaServerTest, AClosedReplicaIsReportedAsItWasAndServesAgainWhenItIsAssigned) {
  meta_.SetReplicaCount(1);
  options_.closed_replica_linger = absl::Seconds(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_EQ(Put(server, 1, "one"), ErrorCode::kOk);
  PartitionConfiguration& config = meta_.configuration();
  config.primary = Endpoint{};
  config.last_drops = {server.address};
  config.ballot = config.ballot + 1;
  world_.RunFor(absl::Minutes(1));
  EXPECT_EQ(Call(server, kRpcGet, EncodeWrapped(Blob(Key(1)))).error, ErrorCode::kObjectNotFound);
  const std::vector<ReplicaInfo>& reports = meta_.reports().at(server.address);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_FALSE(reports[0].loading.value_or(false));
  EXPECT_EQ(reports[0].last_prepared_decree, last_decree_);
  meta_.Propose(server.address, ConfigType::kAssignPrimary, server.address);
  ASSERT_TRUE(WaitFor(server, PartitionStatus::kPrimary));
  EXPECT_EQ(Get(server, 1), "one");
}

TEST_F(ReplicaServerTest, WhoServesNobodyClosesAtOnceWhereOthersLackOpenFiles) {
  meta_.SetReplicaCount(1);
  options_.open_files = std::make_shared<OpenFileBudget>(
      [] { return OpenFileBudget::Sight{.limit = 150}; });  // carries one
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  meta_.configuration().primary = Endpoint{};
  meta_.configuration().last_drops = {server.address};
  meta_.configuration().ballot = meta_.configuration().ballot + 1;
  world_.RunFor(absl::Seconds(30));
  EXPECT_EQ(Call(server, kRpcGet, EncodeWrapped(Blob(Key(1)))).error, ErrorCode::kObjectNotFound)
      << "it would have lingered for minutes";
  EXPECT_TRUE(options_.open_files->MayTakeReplica());
}

TEST_F(ReplicaServerTest, WhatWasCountedOfATableIsForgottenAWhileAfterItsReplicas) {
  meta_.SetReplicaCount(1);
  options_.closed_replica_linger = absl::Seconds(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_EQ(Put(server, 1, "one"), ErrorCode::kOk);
  meta_.Forget(kPid);
  meta_.SetGarbage(kPid);
  world_.RunFor(absl::Minutes(1));
  ASSERT_EQ(Snapshot(server).pid, PartitionId{});
  const RequestBook& book = server.server->requests();
  EXPECT_EQ(book.Read(RequestBook::Level::kTable).size(), 1u);
  world_.RunFor(RequestBook::kKeep);
  EXPECT_TRUE(book.Read(RequestBook::Level::kTable).empty());
  EXPECT_EQ(book.Read(RequestBook::Level::kServer)[0].by_kind.at(RequestKind::kPut).latency.count,
            1u);
}

TEST_F(ReplicaServerTest, AFailedSyncFencesTheReplicaAndAcknowledgesNothing) {
  meta_.SetReplicaCount(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_EQ(Put(server, 1, "one"), ErrorCode::kOk);
  server.node.disk().FailSyncs(1);
  EXPECT_NE(Put(server, 2, "two"), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(5));
  EXPECT_EQ(Snapshot(server).pid, PartitionId{}) << "set aside";
}

TEST_F(ReplicaServerTest, AFullDiskSetsNothingAsideAndServesAgainWhenThereIsRoom) {
  meta_.SetReplicaCount(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_EQ(Put(server, 1, "one"), ErrorCode::kOk);
  const std::string directory = Snapshot(server).directory;
  FileSystem& files = server.node.environment().files();
  // As an older version leaves it, so that the next ballot needs a file of its own.
  ASSERT_TRUE(WriteFileDurably(files, JoinPath(directory, kInitInfoName),
                               EncodeInitInfo(*LoadInitInfo(files, directory)))
                  .ok());
  server.node.disk().SetFreeBytes(0);
  const Ballot before = meta_.configuration().ballot;
  // Each new office writes a ballot to .init-info: there is no room for it.
  for (int i = 0; i < 40; ++i) {
    meta_.configuration().primary = Endpoint{};
    ++meta_.configuration().ballot;
    meta_.Propose(server.address, ConfigType::kAssignPrimary, server.address);
    world_.RunFor(absl::Milliseconds(500));
  }
  EXPECT_TRUE(Exists(files, directory));
  const auto names = files.List(ParentDirectory(directory));
  ASSERT_TRUE(names.ok());
  for (const std::string& name : *names) EXPECT_FALSE(name.ends_with(".err")) << name;
  EXPECT_LT(meta_.configuration().ballot - before, 80);

  server.node.disk().SetFreeBytes(UINT64_MAX);
  for (int i = 0; i < 10; ++i) {
    meta_.Propose(server.address, ConfigType::kAssignPrimary, server.address);
    world_.RunFor(absl::Seconds(1));
  }
  ASSERT_TRUE(WaitFor(server, PartitionStatus::kPrimary));
  EXPECT_EQ(Get(server, 1), "one");
}

TEST_F(ReplicaServerTest, AServerWithAReplicaThatCantBeOpenedStillStops) {
  meta_.SetReplicaCount(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_EQ(Put(server, 1, "one"), ErrorCode::kOk);
  server.Crash(sim::CrashMode::kProcess);
  server.node.disk().SetFreeBytes(0);
  Restart(server);
  world_.RunFor(absl::Seconds(3));
  EXPECT_TRUE(Stop(server).ok());
}

TEST_F(ReplicaServerTest, TheSameSeedRunsTheSame) {
  const auto run = [] {
    sim::SimWorld world(5);
    sim::SimNetwork network(world);
    FakeMeta meta(world, network);
    meta.SetReplicaCount(1);
    Server server(world, 1);
    ReplicaServerOptions options;
    options.layout.data_directories = {{"d", "/d/replica/reps"}};
    options.meta_servers = {meta.address()};
    EXPECT_TRUE(server.Start(network, options).ok());
    world.RunFor(absl::Seconds(3));
    meta.Propose(server.address, ConfigType::kAssignPrimary, server.address);
    world.RunFor(absl::Seconds(200));
    server.Crash(sim::CrashMode::kPowerRandom);
    return world.trace_hash();
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace arion
