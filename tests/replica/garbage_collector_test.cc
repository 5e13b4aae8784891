// SPDX-License-Identifier: Apache-2.0
#include "disks/garbage_collector.h"
#include "env/file_system.h"

#include <gtest/gtest.h>

#include "disks/disk_snapshot.h"
#include "tests/replica/server_world.h"

namespace arion {
namespace {

TEST(GarbageNameTest, OnlyNamesThatServersGiveAreGarbage) {
  using enum GarbageKind;
  EXPECT_EQ(ParseGarbageName("2.1.pegasus.1700000000000000.err"),
            (GarbageName{kFailed, 1700000000000000}));
  EXPECT_EQ(ParseGarbageName("2.1.pegasus.1700000000000000.gar"),
            (GarbageName{kUnneeded, 1700000000000000}));
  EXPECT_EQ(ParseGarbageName("2.1.pegasus.disk.migrate.tmp"),
            (GarbageName{kMoveTarget, std::nullopt}));
  EXPECT_EQ(ParseGarbageName("2.1.pegasus.first.tmp"), (GarbageName{kMoveTarget, std::nullopt}));
  EXPECT_EQ(ParseGarbageName("2.1.pegasus.disk.migrate.ori"),
            (GarbageName{kMoveSource, std::nullopt}));
  EXPECT_EQ(ParseGarbageName("2.1.pegasus/data.1700000000000000.discarded"),
            (GarbageName{kDiscarded, 1700000000000000}));
  for (const char* name :
       {"2.1.pegasus", "2.1.pegasus.bak", "2.1.pegasus.tmp", "2.1.pegasus.err", "err", ".err",
        "photos.1.err", "2.1.pegasus.-1.gar", "2.1.pegasus.1x.gar", "2.1.pegasus..gar",
        "2.1.pegasus.99999999999999999999.gar", "2.1.pegasus.1.err.bak", "2.1.pegasus/data",
        "2.1.pegasus/data.discarded", "2.1.pegasus/data.x.discarded",
        "2.1.pegasus/plog.1.discarded", "2.1.pegasus/x/data.1.discarded",
        "2.1.pegasus.1.gar/data.1.discarded", "data.1.discarded"})
    EXPECT_EQ(ParseGarbageName(name), std::nullopt) << name;
}

class GarbageCollectorTest : public ReplicaServerWorld {
 protected:
  GarbageCollectorTest() {
    meta_.SetReplicaCount(1);
    options_.garbage = {.interval = absl::Minutes(1),
                        .keep_failed = absl::Hours(7),
                        .keep_unneeded = absl::Hours(3)};
  }
  FileSystem& Files(Server& server) { return server.node.environment().files(); }
  std::string Name(Server& server, const char* suffix) {
    return absl::StrCat("/d1/replica/reps/7.0.pegasus.", server.node.WallMicros(), suffix);
  }
  void Make(Server& server, const std::string& directory, int files = 1) {
    server.node.environment().RunInPool([&] {
      ASSERT_TRUE(Files(server).CreateDirectories(directory + "/data/rdb").ok());
      for (int i = 0; i < files; ++i)
        ASSERT_TRUE(
            WriteFileDurably(Files(server), absl::StrCat(directory, "/data/rdb/", i), "x").ok());
    });
    server.node.disk().MakeDurable();
  }
};

TEST_F(GarbageCollectorTest, WhatWasSetAsideGoesWhenItsTimeIsOverAndNothingElse) {
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_EQ(Put(server, 1, "one"), ErrorCode::kOk);
  const std::string failed = Name(server, ".err");
  const std::string unneeded = Name(server, ".gar");
  const std::string others[] = {"/d1/replica/reps/7.0.pegasus.bak",
                                "/d1/replica/reps/photos.1.err"};
  Make(server, failed);
  Make(server, unneeded, 100);
  for (const std::string& other : others) Make(server, other);
  Make(server, "/d1/replica/reps/7.1.pegasus.disk.migrate.tmp");
  Make(server, "/d1/replica/reps/7.2.pegasus.disk.migrate.ori");

  world_.RunFor(absl::Minutes(2 * 60 + 55));
  EXPECT_TRUE(Exists(Files(server), unneeded + "/data/rdb/99"));
  EXPECT_EQ(server.server->Disks()[0].failed_replicas, 1);
  EXPECT_EQ(server.server->Disks()[0].unneeded_replicas, 1);
  EXPECT_EQ(server.server->Disks()[0].move_targets, 1);
  EXPECT_EQ(server.server->Disks()[0].move_sources, 1);
  EXPECT_EQ(server.server->Disks()[1].failed_replicas, 0);
  world_.RunFor(absl::Minutes(10));
  EXPECT_FALSE(Exists(Files(server), unneeded));
  EXPECT_TRUE(Exists(Files(server), failed));
  EXPECT_EQ(server.server->Disks()[0].unneeded_replicas, 0);
  world_.RunFor(absl::Hours(4));
  EXPECT_FALSE(Exists(Files(server), failed));
  EXPECT_EQ(server.server->Disks()[0].failed_replicas, 0);
  for (const std::string& other : others) EXPECT_TRUE(Exists(Files(server), other)) << other;
  EXPECT_EQ(Get(server, 1), "one");
}

TEST_F(GarbageCollectorTest, OnADiskThatIsNearlyFullWhatNobodyNeedsGoesAfterTenMinutes) {
  Server& server = AddServer();
  const std::string failed = Name(server, ".err"), unneeded = Name(server, ".gar");
  Make(server, failed);
  Make(server, unneeded);
  server.node.disk().SetFreeBytes(uint64_t{1} << 30);  // of 100 GiB
  world_.RunFor(absl::Minutes(9));
  EXPECT_TRUE(server.node.disk().Find(unneeded).ok());
  world_.RunFor(absl::Minutes(4));
  EXPECT_FALSE(server.node.disk().Find(unneeded).ok());
  EXPECT_TRUE(server.node.disk().Find(failed).ok());
}

TEST_F(GarbageCollectorTest, DataThatALearnerGaveUpGoAsFailedReplicasDo) {
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_EQ(Put(server, 1, "one"), ErrorCode::kOk);
  const std::string discarded =
      absl::StrCat(Snapshot(server).directory, "/data.", server.node.WallMicros(), ".discarded");
  Make(server, discarded, 40);
  world_.RunFor(absl::Minutes(6 * 60 + 50));
  EXPECT_TRUE(Exists(Files(server), discarded + "/data/rdb/39"));
  EXPECT_EQ(server.server->Disks()[0].discarded_data, 1);
  world_.RunFor(absl::Minutes(20));
  EXPECT_FALSE(Exists(Files(server), discarded));
  EXPECT_EQ(server.server->Disks()[0].discarded_data, 0);
  EXPECT_EQ(Get(server, 1), "one");
}

TEST_F(GarbageCollectorTest, ALargeDirectoryGoesInSlicesAndOnAfterACrash) {
  Server& server = AddServer();
  world_.RunFor(absl::Seconds(1));
  const std::string garbage = Name(server, ".gar");
  Make(server, garbage, 300);
  EXPECT_TRUE(world_.RunUntil([&] { return !Exists(Files(server), garbage + "/data/rdb/0"); },
                              absl::Hours(4)));
  EXPECT_TRUE(Exists(Files(server), garbage + "/data/rdb/99")) << "all at once";
  server.Crash(sim::CrashMode::kPowerNone);
  Restart(server);
  world_.RunFor(absl::Minutes(30));
  EXPECT_TRUE(Exists(Files(server), garbage)) << "seen for less than an hour";
  world_.RunFor(absl::Minutes(40));
  EXPECT_FALSE(Exists(Files(server), garbage));
}

TEST_F(GarbageCollectorTest, AWallClockThatJumpsRemovesNothingAtOnce) {
  Server& server = AddServer();
  const std::string failed = Name(server, ".err");
  Make(server, failed);
  world_.RunFor(absl::Minutes(2));
  server.node.JumpWall(absl::Hours(365 * 24));
  world_.RunFor(absl::Minutes(50));
  EXPECT_TRUE(Exists(Files(server), failed));
  server.node.JumpWall(-absl::Hours(365 * 24));
  world_.RunFor(absl::Hours(2));
  EXPECT_TRUE(Exists(Files(server), failed));
}

TEST_F(GarbageCollectorTest, WhatWasSetAsideWhileTheWallClockRanAheadIsNotKeptForThatLong) {
  Server& server = AddServer();
  server.node.JumpWall(absl::Hours(1000));
  const std::string failed = Name(server, ".err");
  server.node.JumpWall(-absl::Hours(1000));
  Make(server, failed);
  world_.RunFor(absl::Minutes(6 * 60 + 55));
  EXPECT_TRUE(Exists(Files(server), failed));
  world_.RunFor(absl::Minutes(10));
  EXPECT_FALSE(Exists(Files(server), failed));
}

TEST_F(GarbageCollectorTest, AReplicaIsNoGarbageBeforeTheMetaServerSaysSo) {
  options_.closed_replica_linger = absl::Seconds(5);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_EQ(Put(server, 1, "one"), ErrorCode::kOk);
  meta_.Forget(kPid);
  world_.RunFor(absl::Hours(48));
  EXPECT_EQ(CountDirectories(server, "2.1.pegasus"), 1) << "closed, and kept";
  EXPECT_EQ(CountDirectories(server, ".gar"), 0);
  meta_.SetGarbage(kPid);
  world_.RunFor(absl::Minutes(2));
  EXPECT_EQ(CountDirectories(server, "2.1.pegasus"), 0);
  EXPECT_EQ(CountDirectories(server, ".gar"), 1);
  EXPECT_EQ(Snapshot(server).pid, PartitionId{}) << "counts as a replica no longer";
  world_.RunFor(absl::Hours(4));
  EXPECT_EQ(CountDirectories(server, ".gar"), 0);
}

TEST_F(GarbageCollectorTest, ADiskThatFailedIsNotTouched) {
  Server& server = AddServer();
  const std::string failed = Name(server, ".gar");
  Make(server, failed);
  ASSERT_TRUE(MakePrimary(server));
  server.node.disk().FailSyncs(1);
  Put(server, 1, "lost");
  world_.RunFor(absl::Seconds(5));
  ASSERT_EQ(server.server->Disks()[0].state, DiskStatus::kIoError);
  world_.RunFor(absl::Hours(10));
  EXPECT_TRUE(Exists(Files(server), failed));
}

}  // namespace
}  // namespace arion
