// When a replica makes checkpoints. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace arion
