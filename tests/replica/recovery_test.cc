// What a server tells of its start, and what its replicas do meanwhile.
// SPDX-License-Identifier: Apache-2.0
#include "recovery/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "disks/disk_snapshot.h"
#include "disks/log_place.h"
#include "recovery/log_replay_stats.h"
#include "recovery/recovery_plan.h"
#include "recovery/recovery_progress.h"
#include "recovery/recovery_text.h"
#include "replica/replica_snapshot.h"
#include "tests/replica/log_lines.h"
#include "tests/replica/server_world.h"
#include "wal/private_log.h"

namespace arion {
namespace {

using Phase = RecoveryReport::Phase;

class RecoveryTest : public ReplicaServerWorld {
 protected:
  static constexpr int kPartitions = 4;
  static PartitionId Pid(int32_t index) { return {kPid.app_id, index}; }

  // One server with four replicas, some rows in each.
  Server& Filled() {
    meta_.SetReplicaCount(1);
    Server& server = AddServer();
    for (int i = 0; i < kPartitions; ++i) {
      meta_.configuration(Pid(i)).max_replica_count = 1;
      EXPECT_TRUE(MakePrimary(server, Pid(i)));
      for (int row = 0; row < 10 * (i + 1); ++row)
        EXPECT_EQ(Put(server, row, "value", 0, Pid(i)), ErrorCode::kOk);
    }
    return server;
  }
};

TEST_F(RecoveryTest, AfterAKillTheReportCountsWhatWasReplayed) {
  options_.checkpoint_interval = absl::Hours(1);
  Server& server = Filled();
  server.Crash(sim::CrashMode::kProcess);
  Restart(server);
  EXPECT_TRUE(world_.RunUntil([&] { return server.server->RecoveryNow().phase == Phase::kDone; },
                              absl::Seconds(10)));
  const RecoveryReport report = server.server->RecoveryNow();
  EXPECT_EQ(report.all.done, size_t{kPartitions});
  EXPECT_EQ(report.all.failed, 0u);
  EXPECT_GT(report.all.bytes, 0u);
  EXPECT_EQ(report.disks.size(), 2u);
  EXPECT_EQ(report.disks[0].done + report.disks[1].done, size_t{kPartitions});
  EXPECT_GT(server.server->replay().mutations.value(), 0);
  for (int i = 0; i < kPartitions; ++i) {
    ASSERT_TRUE(WaitFor(server, PartitionStatus::kPrimary, Pid(i)));
    EXPECT_EQ(Get(server, 0, Pid(i)), "value");
  }
}

TEST_F(RecoveryTest, ItServesBeforeWhatItReplayedIsFlushed) {
  options_.checkpoint_interval = absl::Hours(1);
  Server& server = Filled();
  server.Crash(sim::CrashMode::kProcess);
  Restart(server);
  ASSERT_TRUE(WaitFor(server, PartitionStatus::kPrimary, Pid(3)));
  const ReplicaSnapshot snapshot = Snapshot(server, Pid(3));
  EXPECT_LT(snapshot.last_durable, snapshot.last_applied);
  EXPECT_EQ(Get(server, 0, Pid(3)), "value");
}

TEST_F(RecoveryTest, ADiskThatHangsIsLeftOutAndNamedTheOtherServes) {
  Server& server = Filled();
  EXPECT_TRUE(Stop(server).ok());
  options_.layout.ask_disks = [](std::vector<std::function<void()>> jobs) {
    // The first disk never ends; who asks again leaves it out.
    jobs.back()();
    std::vector<bool> answered(jobs.size(), false);
    answered.back() = true;
    return answered;
  };
  Restart(server);
  EXPECT_TRUE(world_.RunUntil([&] { return server.server->RecoveryNow().phase == Phase::kDone; },
                              absl::Seconds(10)));
  const RecoveryReport report = server.server->RecoveryNow();
  EXPECT_EQ(report.disks[0].done, 0u);
  EXPECT_GT(report.disks[1].done, 0u);
  EXPECT_EQ(server.server->Disks()[0].state, DiskStatus::kIoError);
}

// Left out it would stay so until the next start, and its replicas be made again elsewhere.
TEST_F(RecoveryTest, WithoutAFileForADirectorysLockTheStartEndsToBeTriedAgain) {
  Server& server = Filled();
  EXPECT_TRUE(Stop(server).ok());
  const std::string directory = options_.layout.data_directories[0].path;
  for (const sim::DiskTrouble want :
       {sim::DiskTrouble::kNoDescriptors, sim::DiskTrouble::kNoMemory}) {
    server.node.disk().FailCalls(directory, want, 100);
    const absl::Status started = server.Start(network_, options_);
    EXPECT_TRUE(absl::IsResourceExhausted(started)) << started;
    server.Crash(sim::CrashMode::kProcess);
  }
  server.node.disk().FailCalls("", sim::DiskTrouble::kNoDescriptors, 0);
  Restart(server);
  for (int i = 0; i < kPartitions; ++i)
    EXPECT_TRUE(WaitFor(server, PartitionStatus::kPrimary, Pid(i)));
}

TEST_F(RecoveryTest, EachFiveSecondsTheLogSaysHowFarItIsAndInTheEndWhatTookTheTime) {
  Server& server = Filled();
  server.Crash(sim::CrashMode::kProcess);
  server.node.disk().SetSlowness(100000);  // a work of the pool takes two seconds at least
  LogLines lines("recovery");
  Restart(server);
  const auto is_done = [&] { return server.server->RecoveryNow().phase == Phase::kDone; };
  std::vector<std::pair<int64_t, std::string>> said;
  for (int second = 1; second < 1000 && !is_done(); ++second) {
    world_.RunFor(absl::Seconds(1));
    for (std::string& line : lines.Take()) said.emplace_back(second, std::move(line));
  }
  ASSERT_TRUE(is_done());
  ASSERT_GE(said.size(), 4u) << "two while it goes on, the last and the summary";
  for (size_t i = 0; i + 2 < said.size(); ++i) {
    EXPECT_THAT(said[i].first, testing::AnyOf(5 * i + 5, 5 * i + 6)) << said[i].second;
    EXPECT_THAT(
        said[i].second,
        testing::ContainsRegex("^recovery: (listing|recovering), [0-4]/4 replicas.*, remaining "));
  }
  EXPECT_THAT(said[said.size() - 2].second, testing::StartsWith("recovery: done, 4/4 replicas"));
  EXPECT_THAT(said.back().second, testing::StartsWith("recovery took "));
  world_.RunFor(absl::Seconds(20));
  EXPECT_THAT(lines.Take(), testing::IsEmpty()) << "it is over";
}

TEST_F(RecoveryTest, WhatWasReadIsReadAgainAfterARestart) {
  Server& server = Filled();
  for (int i = 0; i < 32; ++i) EXPECT_EQ(Get(server, 0, Pid(0)), "value");
  EXPECT_TRUE(Stop(server).ok());
  Restart(server);
  EXPECT_TRUE(world_.RunUntil([&] { return server.server->replay().warmed_keys.value() == 1; },
                              absl::Seconds(10)));
}

TEST_F(RecoveryTest, SequentiallyOneIsOpenedAtATimeAndAllAreServed) {
  options_.recovery.mode = RecoveryMode::kSequential;
  Server& server = Filled();
  server.Crash(sim::CrashMode::kProcess);
  Restart(server);
  size_t most = 0;
  EXPECT_TRUE(world_.RunUntil(
      [&] {
        const RecoveryReport report = server.server->RecoveryNow();
        most = std::max(most, report.all.under_way);
        return report.phase == Phase::kDone;
      },
      absl::Seconds(10)));
  EXPECT_LE(most, 1u);
  EXPECT_EQ(server.server->RecoveryNow().all.done, size_t{kPartitions});
}

TEST_F(RecoveryTest, ACleanStopLeavesNothingToApply) {
  Server& server = Filled();
  EXPECT_TRUE(Stop(server).ok());
  Restart(server);
  EXPECT_TRUE(world_.RunUntil([&] { return server.server->RecoveryNow().phase == Phase::kDone; },
                              absl::Seconds(10)));
  for (int i = 0; i < kPartitions; ++i) {
    const ReplicaSnapshot snapshot = Snapshot(server, Pid(i));
    EXPECT_EQ(snapshot.last_applied, snapshot.last_durable);
    EXPECT_EQ(snapshot.last_logged, snapshot.last_applied) << "no tail whose fate is open";
  }
}

TEST_F(RecoveryTest, AClockThatIsSetBackMeanwhileCostsNothing) {
  Server& server = Filled();
  for (const bool is_clean : {false, true}) {
    if (is_clean)
      EXPECT_TRUE(Stop(server).ok());
    else
      server.Crash(sim::CrashMode::kPowerNone);
    server.node.JumpWall(-absl::Hours(24 * 365));
    Restart(server);
    for (int i = 0; i < kPartitions; ++i) {
      ASSERT_TRUE(WaitFor(server, PartitionStatus::kPrimary, Pid(i)));
      EXPECT_EQ(Get(server, 0, Pid(i)), is_clean ? "newer" : "value");
      EXPECT_EQ(Get(server, 9, Pid(i)), "value");
      EXPECT_EQ(Put(server, 0, "newer", 0, Pid(i)), ErrorCode::kOk);
      EXPECT_EQ(Get(server, 0, Pid(i)), "newer") << "the later write, not the later clock";
    }
    EXPECT_EQ(server.server->RecoveryNow().all.failed, 0u);
  }
}

// As a primary of an older version logged them: each is decided from what is before it in the log.
TEST_F(RecoveryTest, WhatALogHoldsUndecidedIsDecidedFromWhatWasReplayedBefore) {
  options_.checkpoint_interval = absl::Hours(1);
  meta_.SetReplicaCount(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_EQ(Put(server, 0, "5"), ErrorCode::kOk);
  ASSERT_LT(Snapshot(server).last_durable, last_decree_) << "so that it is replayed, too";
  const std::string directory = Snapshot(server).directory;
  server.Crash(sim::CrashMode::kPowerNone);
  sim::SimEnvironment& env = server.node.Start();
  const StrandPtr strand = env.NewStrand("log");
  std::unique_ptr<PrivateLog> log;
  env.RunInPool([&] {
    const LogPlace place = LogPlaceOf("", directory);
    log = *PrivateLog::Open(
        env, strand,
        {.directory = place.directory, .identity_path = place.identity_path, .pid = kPid},
        [](MutationPtr) { return absl::OkStatus(); }, nullptr);
  });
  env.RunOn(strand, [&] {
    for (int i = 1; i <= 40; ++i) {
      auto m = std::make_shared<Mutation>();
      m->pid = kPid;
      m->ballot = meta_.configuration().ballot;
      m->decree = last_decree_ + i;
      m->last_committed = m->decree + -1;
      m->timestamp_us = env.clock().WallMicros();
      m->updates.push_back(
          i % 2 == 1
              ? Update{.code = WriteCode::kIncr, .data = EncodeWrapped(IncrRequest{Key(0), 2})}
              : Update{.code = WriteCode::kPut,
                       .data = EncodeWrapped(UpdateRequest{Key(1), "other", 0})});
      log->Append(std::move(m), [](const absl::Status& status) { EXPECT_TRUE(status.ok()); });
    }
  });
  world_.RunFor(absl::Seconds(2));
  log.reset();
  server.Crash(sim::CrashMode::kPowerNone);
  Restart(server);
  ASSERT_TRUE(WaitFor(server, PartitionStatus::kPrimary));
  EXPECT_EQ(Get(server, 0), "45");
  EXPECT_EQ(Get(server, 1), "other");
}

TEST_F(RecoveryTest, AStopDuringRecoveryOpensNothingMore) {
  options_.recovery.mode = RecoveryMode::kSequential;
  Server& server = Filled();
  server.Crash(sim::CrashMode::kProcess);
  Restart(server);
  EXPECT_TRUE(world_.RunUntil([&] { return server.server->RecoveryNow().all.under_way == 1; },
                              absl::Seconds(10)));
  std::optional<absl::Status> stopped;
  server.server->Stop([&](const absl::Status& status) { stopped = status; });
  EXPECT_TRUE(world_.RunUntil([&] { return stopped.has_value(); }, absl::Seconds(10)));
  EXPECT_TRUE(stopped->ok()) << *stopped;
  EXPECT_LT(server.server->RecoveryNow().all.done, size_t{kPartitions});
  server.Crash(sim::CrashMode::kProcess);
}

}  // namespace
}  // namespace arion
