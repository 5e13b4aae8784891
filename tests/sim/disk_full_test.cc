// A disk that fills up. Reads go on, new writes are refused with an error that every
// client knows, nothing is fenced or set aside, and it heals by itself.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "disks/disk_layout.h"
#include "disks/disk_snapshot.h"
#include "env/disk_reserve.h"
#include "env/file_system.h"
#include "tests/replica/server_world.h"

namespace arion {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr absl::Duration kHealLimit = absl::Seconds(10);

class DiskFullTest : public ReplicaServerWorld {
 protected:
  // Three members, `a` the primary, `written_` acknowledged.
  void MakeGroup() {
    options_.log_segment_bytes = 64 << 10;
    for (int i = 0; i < 3; ++i) AddServer();
    ASSERT_TRUE(MakePrimary(a()));
    ASSERT_TRUE(AddSecondary(a(), b()));
    ASSERT_TRUE(AddSecondary(a(), c()));
    for (int i = 0; i < 30; ++i) ASSERT_EQ(PutNext(), ErrorCode::kOk);
  }
  Server& a() { return *servers_[0]; }
  Server& b() { return *servers_[1]; }
  Server& c() { return *servers_[2]; }

  ErrorCode PutNext() {
    const ErrorCode err = Put(a(), written_, ValueOf(written_));
    if (err == ErrorCode::kOk) ++written_;
    return err;
  }
  static std::string ValueOf(int i) { return std::string(600, static_cast<char>('a' + i % 26)); }
  void ExpectEverythingIsReadAt(Server& server) {
    for (int i = 0; i < written_; ++i) ASSERT_EQ(Get(server, i), ValueOf(i)) << i;
  }
  // What is in flight may take its time; then only refusals.
  void WriteUntilRefused() {
    const Instant end = world_.now() + absl::Seconds(30);
    while (world_.now() < end) {
      if (PutNext() == ErrorCode::kDiskInsufficient) return;
      world_.RunFor(absl::Milliseconds(20));
    }
    ADD_FAILURE() << "writes go on";
  }
  void ExpectHealed(Instant space_returned) {
    while (world_.now() < space_returned + kHealLimit) {
      if (PutNext() == ErrorCode::kOk) return;
      world_.RunFor(absl::Milliseconds(100));
    }
    ADD_FAILURE() << "no write works " << kHealLimit << " after space returned";
  }
  void ExpectNothingSetAside() {
    for (auto& server : servers_) {
      EXPECT_EQ(CountDirectories(*server, ".err"), 0) << server->address;
      EXPECT_EQ(server->server->Disks()[0].io_errors, 0) << server->address;
    }
  }

  void FillAndFreeThePrimarysDisk() {
    MakeGroup();
    const Ballot ballot = meta_.configuration().ballot;
    for (int round = 0; round < 3; ++round) {
      a().node.disk().SetFreeBytes(static_cast<uint64_t>(round) * 40000);
      WriteUntilRefused();
      EXPECT_NE(a().server->Disks()[0].state, DiskStatus::kNormal);
      ExpectEverythingIsReadAt(a());
      world_.RunFor(absl::Seconds(20));
      EXPECT_EQ(PutNext(), ErrorCode::kDiskInsufficient);
      ExpectEverythingIsReadAt(a());
      a().node.disk().SetFreeBytes(100 * kMiB);
      ExpectHealed(world_.now());
      world_.RunFor(absl::Seconds(5));
      EXPECT_EQ(a().server->Disks()[0].reserve_bytes, options_.disk.reserve_bytes) << "made again";
    }
    EXPECT_EQ(meta_.configuration().ballot, ballot) << "a full disk is no reason to lose office";
    ExpectEverythingIsReadAt(a());
    ExpectNothingSetAside();
  }

  int written_ = 0;
};

TEST_F(DiskFullTest, APrimaryThatSeesItComingRefusesWritesServesReadsAndGoesOn) {
  options_.disk.available_bytes_min = kMiB;
  FillAndFreeThePrimarysDisk();
}

TEST_F(DiskFullTest, APrimaryWhoseLogMeetsItRefusesWritesServesReadsAndGoesOn) {
  options_.disk.available_bytes_min = 0;
  options_.checkpoint_interval = absl::Hours(1);  // which would make room: old log files go
  FillAndFreeThePrimarysDisk();
}

TEST_F(DiskFullTest, AMemberThatSaysSoStopsThePrimarysWrites) {
  options_.disk.available_bytes_min = kMiB;
  options_.group_check_interval = absl::Seconds(10);
  MakeGroup();
  const Ballot ballot = meta_.configuration().ballot;
  b().node.disk().SetFreeBytes(kMiB / 2);  // under its bound, and room for what is in flight
  WriteUntilRefused();
  EXPECT_EQ(a().server->Disks()[0].state, DiskStatus::kNormal);
  EXPECT_EQ(b().server->Disks()[0].state, DiskStatus::kSpaceInsufficient);
  ExpectEverythingIsReadAt(a());
  b().node.disk().SetFreeBytes(100 * kMiB);
  ExpectHealed(world_.now());
  EXPECT_EQ(meta_.configuration().ballot, ballot);
  ExpectNothingSetAside();
}

TEST_F(DiskFullTest, AMemberWhoseLogWaitsIsLeftOutNotLost) {
  options_.disk.available_bytes_min = 0;
  options_.disk.reserve_bytes = 0;
  MakeGroup();
  b().node.disk().SetFreeBytes(0);
  for (int i = 0; i < 200; ++i) PutNext();  // some wait until b is removed
  EXPECT_FALSE(meta_.configuration().IsSecondary(b().address));
  ExpectEverythingIsReadAt(a());
  b().node.disk().SetFreeBytes(100 * kMiB);
  ASSERT_TRUE(AddSecondary(a(), b()));
  // disk_watch/H2: b may be a member a moment before its server knows that there is room.
  ExpectHealed(world_.now());
  world_.RunFor(absl::Seconds(12));
  EXPECT_GE(Snapshot(b()).last_applied, last_decree_);
  ExpectNothingSetAside();
}

// Wherever the space ends: in the log, a spare, an info file, a checkpoint.
TEST_F(DiskFullTest, WhateverWriteMeetsItFirst) {
  options_.disk.available_bytes_min = 0;
  options_.checkpoint_interval = absl::Seconds(1);
  MakeGroup();
  for (int step = 0; step < 60; ++step) {
    Server& server = *servers_[static_cast<size_t>(step) % 3];
    const bool was_member = meta_.configuration().IsMember(server.address);
    server.node.disk().SetFreeBytes(static_cast<uint64_t>(step) * 1777 % 70000);
    const Instant end = world_.now() + absl::Seconds(4);
    while (world_.now() < end) {
      PutNext();
      ExpectEverythingIsReadAt(a());
      world_.RunFor(absl::Milliseconds(50));
    }
    server.node.disk().SetFreeBytes(UINT64_MAX);
    ExpectHealed(world_.now());
    if (was_member && !meta_.configuration().IsMember(server.address)) {
      ASSERT_TRUE(AddSecondary(a(), server)) << step;
    }
    ASSERT_FALSE(HasFailure()) << "step " << step;
  }
  ExpectNothingSetAside();
  ExpectEverythingIsReadAt(a());
}

TEST_F(DiskFullTest, ALearnerWaitsForRoomAndLearnsThen) {
  options_.disk.available_bytes_min = 0;
  meta_.SetReplicaCount(4);
  MakeGroup();
  for (int i = 0; i < 300; ++i) ASSERT_EQ(PutNext(), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(10));
  Server& d = AddServer();
  world_.RunFor(absl::Seconds(3));
  for (const uint64_t free : {0, 500, 5000, 30000, 90000}) {
    d.node.disk().SetFreeBytes(free);
    meta_.Propose(a().address, ConfigType::kAddSecondary, d.address);
    world_.RunFor(absl::Seconds(4));
  }
  EXPECT_FALSE(meta_.configuration().IsSecondary(d.address));
  d.node.disk().SetFreeBytes(100 * kMiB);
  ASSERT_TRUE(AddSecondary(a(), d));
  ExpectNothingSetAside();
}

// One learner at a time has room: who can't take the replica must not keep it.
TEST_F(DiskFullTest, ALearnerWithoutRoomMakesWayForAnother) {
  options_.disk.available_bytes_min = kMiB;
  options_.group_check_interval = absl::Seconds(10);
  for (int i = 0; i < 4; ++i) AddServer();
  ASSERT_TRUE(MakePrimary(a()));
  ASSERT_TRUE(AddSecondary(a(), b()));
  Server& full = c();
  Server& healthy = *servers_[3];
  full.node.disk().SetFreeBytes(kMiB / 2);
  world_.RunFor(absl::Seconds(5));
  meta_.Propose(a().address, ConfigType::kAddSecondary, full.address);
  world_.RunFor(absl::Seconds(12));
  meta_.Propose(a().address, ConfigType::kAddSecondary, healthy.address);
  EXPECT_TRUE(WaitFor(healthy, PartitionStatus::kSecondary));
}

// It meets the end of the space when it makes the replica.
TEST_F(DiskFullTest, ALearnerThatFindsNoRoomMakesWayForAnother) {
  options_.disk.available_bytes_min = 0;
  options_.disk.reserve_bytes = 0;
  options_.group_check_interval = absl::Seconds(10);
  for (int i = 0; i < 4; ++i) AddServer();
  ASSERT_TRUE(MakePrimary(a()));
  ASSERT_TRUE(AddSecondary(a(), b()));
  Server& full = c();
  Server& healthy = *servers_[3];
  full.node.disk().SetFreeBytes(0);
  meta_.Propose(a().address, ConfigType::kAddSecondary, full.address);
  world_.RunFor(absl::Seconds(12));
  meta_.Propose(a().address, ConfigType::kAddSecondary, healthy.address);
  EXPECT_TRUE(WaitFor(healthy, PartitionStatus::kSecondary));
}

TEST_F(DiskFullTest, AServerThatStartsOnAFullDiskServesOnceThereIsRoom) {
  options_.disk.available_bytes_min = kMiB;
  meta_.SetReplicaCount(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  for (int i = 0; i < 20; ++i) ASSERT_EQ(PutNext(), ErrorCode::kOk);
  server.Crash(sim::CrashMode::kPowerRandom);
  server.node.disk().SetFreeBytes(0);
  Restart(server);
  world_.RunFor(absl::Seconds(20));
  server.node.disk().SetFreeBytes(100 * kMiB);
  ASSERT_TRUE(WaitFor(server, PartitionStatus::kPrimary));
  ExpectHealed(world_.now());
  ExpectEverythingIsReadAt(server);
  ExpectNothingSetAside();
}

// What was uncommitted is written anew there before anything serves.
TEST_F(DiskFullTest, AFullLogHomeGivesUpItsReserveForWhatAStartOpens) {
  options_.disk.available_bytes_min = 0;
  options_.layout.log_home_directory = "/home";
  options_.log_preallocate = false;  // no zeros that a start cuts off
  meta_.SetReplicaCount(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  world_.RunFor(absl::Seconds(5));
  for (int i = 0; i < 20; ++i) ASSERT_EQ(PutNext(), ErrorCode::kOk);
  server.Crash(sim::CrashMode::kProcess);
  // As if the data directories were on another disk, where there is nothing to be given up.
  for (const DataDirectory& directory : options_.layout.data_directories)
    ASSERT_TRUE(server.node.disk().Remove(JoinPath(directory.path, kReserveName)).ok());
  server.node.disk().SetFreeBytes(0);
  Restart(server);
  ASSERT_TRUE(WaitFor(server, PartitionStatus::kPrimary));
  ExpectEverythingIsReadAt(server);
  ExpectNothingSetAside();
}

TEST_F(DiskFullTest, AServerWithAFullDiskStops) {
  options_.disk.available_bytes_min = 0;
  options_.disk.reserve_bytes = 0;
  meta_.SetReplicaCount(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  for (int i = 0; i < 20; ++i) ASSERT_EQ(PutNext(), ErrorCode::kOk);
  server.node.disk().SetFreeBytes(0);
  for (int i = 0; i < 4; ++i) {
    client_->Call(server.address,
                  {.name = kRpcPut,
                   .body = EncodeWrapped(UpdateRequest{Key(999), std::string(900000, 'x')}),
                   .pid = kPid,
                   .timeout = absl::Seconds(20)},
                  client_strand_, [](const RpcResult&) {});
  }
  world_.RunFor(absl::Seconds(2));
  EXPECT_EQ(server.server->Disks()[0].logs_waiting, 1);
  (void)Stop(server);  // the engine could not be flushed, and says so; but it ends
  server.node.disk().SetFreeBytes(UINT64_MAX);
  Restart(server);
  ASSERT_TRUE(WaitFor(server, PartitionStatus::kPrimary));
  ExpectEverythingIsReadAt(server);
}

}  // namespace
}  // namespace arion
