// What a server tells of its start, and what its replicas do meanwhile.
// SPDX-License-Identifier: Apache-2.0
#include "replica/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replica/recovery_text.h"
#include "tests/replica/server_world.h"

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
  options_.ask_disks = [](std::vector<std::function<void()>> jobs) {
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

TEST_F(RecoveryTest, WhatWasReadIsReadAgainAfterARestart) {
  Server& server = Filled();
  for (int i = 0; i < 32; ++i) EXPECT_EQ(Get(server, 0, Pid(0)), "value");
  EXPECT_TRUE(Stop(server).ok());
  Restart(server);
  EXPECT_TRUE(world_.RunUntil([&] { return server.server->replay().warmed_keys.value() == 1; },
                              absl::Seconds(10)));
}

TEST_F(RecoveryTest, SequentiallyOneIsOpenedAtATimeAndAllAreServed) {
  options_.recovery_mode = RecoveryMode::kSequential;
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

TEST_F(RecoveryTest, AStopDuringRecoveryOpensNothingMore) {
  options_.recovery_mode = RecoveryMode::kSequential;
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
