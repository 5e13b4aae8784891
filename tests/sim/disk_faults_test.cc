// A sync or write that fails fences the replicas whose bytes it covered and no
// other; a slow disk is noticed.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "disks/disk_snapshot.h"
#include "env/file_system.h"
#include "tests/replica/server_world.h"

namespace arion {
namespace {

constexpr PartitionId kOther{2, 0};

class DiskFaultsTest : public ReplicaServerWorld {};

TEST_F(DiskFaultsTest, AFailedFlushFencesWhatItCoveredAndNoOther) {
  options_.layout.data_directories = {{"ssd1", "/d1/replica/reps"}};
  Server& a = AddServer();
  Server& b = AddServer();
  Server& c = AddServer();
  for (const PartitionId pid : {kPid, kOther}) {
    ASSERT_TRUE(MakePrimary(a, pid));
    ASSERT_TRUE(AddSecondary(a, b, pid));
    ASSERT_TRUE(AddSecondary(a, c, pid));
    for (int i = 0; i < 20; ++i) ASSERT_EQ(Put(a, i, "v", 0, pid), ErrorCode::kOk);
  }
  world_.RunFor(absl::Seconds(10));  // checkpoints are made, commits told: nothing is to be written
  const Ballot others_ballot = meta_.configuration(kOther).ballot;

  a.node.disk().FailSyncs(1);
  EXPECT_NE(Put(a, 20, "in doubt"), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(3));
  EXPECT_EQ(CountDirectories(a, ".err"), 1) << "the replica that was written";
  EXPECT_EQ(a.server->Disks()[0].state, DiskStatus::kIoError);
  EXPECT_EQ(a.server->Disks()[0].io_errors, 1);
  EXPECT_EQ(b.server->Disks()[0].io_errors, 0);

  // The other one on the same disk never noticed.
  EXPECT_EQ(meta_.configuration(kOther).ballot, others_ballot);
  EXPECT_EQ(Put(a, 50, "w", 0, kOther), ErrorCode::kOk);
  EXPECT_EQ(Get(a, 50, kOther), "w");
  EXPECT_EQ(Get(a, 0, kOther), "v");

  // Nothing acknowledged is lost, and the lost copy is learned anew, on the only disk there is.
  auto& configuration = meta_.configuration();
  if (configuration.primary == a.address || !configuration.primary.IsValid()) {
    configuration.primary = Endpoint{};
    std::erase(configuration.secondaries, a.address);
    configuration.ballot = configuration.ballot + 1;
  }
  meta_.Propose(b.address, ConfigType::kUpgradeToPrimary, b.address);
  ASSERT_TRUE(WaitFor(b, PartitionStatus::kPrimary));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Get(b, i), "v");
  ASSERT_TRUE(AddSecondary(b, a));
  ASSERT_EQ(Put(b, 21, "after"), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(12));
  EXPECT_GE(Snapshot(a).last_applied, last_decree_);
}

TEST_F(DiskFaultsTest, ANewReplicaGoesToADiskThatDidNotFail) {
  meta_.SetReplicaCount(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  const std::string failed = ParentDirectory(Snapshot(server).directory);
  server.node.disk().FailSyncs(1);
  EXPECT_NE(Put(server, 1, "v"), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(3));
  ASSERT_TRUE(MakePrimary(server, kOther));
  EXPECT_NE(ParentDirectory(Snapshot(server, kOther).directory), failed);
}

// Wherever in a working replica's life one sync fails, nothing after it is acknowledged falsely and
// nobody else is harmed.
TEST_F(DiskFaultsTest, OneFailedSyncAtAnyMomentLosesNothing) {
  options_.log_segment_bytes = 64 << 10;
  options_.checkpoint_interval = absl::Seconds(1);
  options_.layout.failed_directory_rest_max =
      absl::ZeroDuration();  // the next round begins at once
  options_.layout.data_directories = {{"ssd1", "/d1/replica/reps"}};
  Server& a = AddServer();
  Server& b = AddServer();
  ASSERT_TRUE(MakePrimary(a));
  ASSERT_TRUE(AddSecondary(a, b));
  int written = 0, fenced = 0;
  const auto value = [](int i) { return std::string(700, static_cast<char>('a' + i % 26)); };
  for (int round = 0; round < 40; ++round) {
    world_.RunFor(absl::Microseconds(137 * round));
    b.node.disk().FailSyncs(1);
    const int before = CountDirectories(b, ".err");
    const Instant end = world_.now() + absl::Seconds(6);
    while (world_.now() < end) {
      if (Put(a, written, value(written)) == ErrorCode::kOk) ++written;
      world_.RunFor(absl::Milliseconds(20));
    }
    b.node.disk().FailSyncs(0);
    const int more = CountDirectories(b, ".err") - before;
    ASSERT_LE(more, 1) << round;
    fenced += more;
    ASSERT_EQ(CountDirectories(a, ".err"), 0);
    if (!meta_.configuration().IsSecondary(b.address)) {
      ASSERT_TRUE(AddSecondary(a, b)) << round;
    }
  }
  EXPECT_GE(fenced, 20) << "the rounds met something";
  for (int i = 0; i < written; ++i) ASSERT_EQ(Get(a, i), value(i)) << i;
}

TEST_F(DiskFaultsTest, ASlowDiskIsNoticedAndForgiven) {
  options_.disk.sync_p99_max = absl::Milliseconds(100);
  meta_.SetReplicaCount(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  const auto write_for = [&](absl::Duration time) {
    const Instant end = world_.now() + time;
    for (int i = 0; world_.now() < end; ++i) {
      ASSERT_EQ(Put(server, i % 10, "v"), ErrorCode::kOk);
      world_.RunFor(absl::Milliseconds(10));
    }
  };
  write_for(absl::Seconds(10));
  EXPECT_FALSE(server.server->Disks()[0].is_slow);
  server.node.disk().SetSlowness(2000);
  write_for(absl::Seconds(2));
  EXPECT_FALSE(server.server->Disks()[0].is_slow) << "three seconds are not four";
  write_for(absl::Seconds(6));
  EXPECT_TRUE(server.server->Disks()[0].is_slow);
  EXPECT_GE(server.server->Disks()[0].slow_for, absl::Seconds(4));
  EXPECT_EQ(server.server->Disks()[0].state, DiskStatus::kNormal) << "slow is not failed";
  server.node.disk().SetSlowness(1);
  write_for(absl::Seconds(5));
  EXPECT_TRUE(server.server->Disks()[0].is_slow) << "a few good seconds are no proof";
  write_for(absl::Seconds(6));
  EXPECT_FALSE(server.server->Disks()[0].is_slow);
}

TEST_F(DiskFaultsTest, ASlowDiskIsNoticedWhereNobodyWrites) {
  meta_.SetReplicaCount(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  world_.RunFor(absl::Seconds(30));
  EXPECT_FALSE(server.server->Disks()[0].is_slow) << "idle is not slow";
  server.node.disk().SetSlowness(20000);
  world_.RunFor(absl::Seconds(6));
  EXPECT_TRUE(server.server->Disks()[0].is_slow);
}

}  // namespace
}  // namespace arion
