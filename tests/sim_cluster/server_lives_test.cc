// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/server_lives.h"

#include <gmock/gmock.h>

#include "tests/sim_cluster/small_cluster.h"

namespace arion::sim {
namespace {

using ::testing::IsEmpty;

class ServerLivesTest : public SmallCluster {};

TEST_F(ServerLivesTest, AllAreUpOnceAllWereStarted) {
  EXPECT_FALSE(lives_.AreAllUp());
  StartAll();
  EXPECT_TRUE(lives_.AreAllUp());
  EXPECT_THAT(checkers_.violations, IsEmpty());
}

TEST_F(ServerLivesTest, AServerThatCrashedComesBackAfterItsDelay) {
  StartAll();
  int down = 0;
  lives_.on_down = [&down](SimServer&) { ++down; };
  lives_.CrashServer(server(0), CrashMode::kPowerRandom);
  lives_.RestartLater(server(0), absl::Seconds(3));
  EXPECT_EQ(down, 1);
  world_.RunFor(absl::Seconds(2));
  EXPECT_FALSE(server(0).node->alive());
  world_.RunFor(absl::Seconds(2));
  EXPECT_TRUE(server(0).IsUp());
}

TEST_F(ServerLivesTest, AStopIsCleanAndAnotherLifeFollows) {
  StartAll();
  const uint32_t life = server(1).node->life();
  lives_.StopServer(server(1));
  EXPECT_FALSE(server(1).IsUp());
  world_.RunFor(absl::Seconds(40));
  EXPECT_TRUE(server(1).IsUp());
  EXPECT_GT(server(1).node->life(), life);
  EXPECT_THAT(checkers_.violations, IsEmpty());
}

TEST_F(ServerLivesTest, AServerIsFoundByItsAddress) {
  EXPECT_EQ(lives_.ServerAt(server(2).endpoint), &server(2));
  EXPECT_EQ(lives_.ServerAt(Endpoint{1, 1}), nullptr);
}

}  // namespace
}  // namespace arion::sim
