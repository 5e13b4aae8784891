// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/node_faults.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/sim_cluster/small_cluster.h"

namespace arion::sim {
namespace {

using ::testing::IsEmpty;

class NodeFaultsTest : public SmallCluster {
 protected:
  // Of all nodes, the meta server's too.
  int WallsThatAreWrong() const {
    int wrong = 0;
    for (const auto& node : world_.nodes()) {
      const int64_t right = kWallStartMicros + absl::ToInt64Microseconds(world_.now() - Instant(0));
      wrong += std::abs(node->WallMicros() - right) > 3600'000'000;
    }
    return wrong;
  }

  NodeFaults faults_{settings_, world_, lives_, troubles_, checkers_, nullptr};
};

TEST_F(NodeFaultsTest, OneWallClockIsWrongAtATime) {
  StartAll();
  for (size_t i = 0; i < 12; ++i) {
    faults_.JumpWall(server(i % 3));
    EXPECT_LE(WallsThatAreWrong(), 1);
  }
  faults_.End();
  EXPECT_EQ(WallsThatAreWrong(), 0);
}

TEST_F(NodeFaultsTest, WhoCrashesComesBack) {
  StartAll();
  for (int i = 0; i < 5; ++i) {
    faults_.CrashOne(server(0), absl::Seconds(2));
    faults_.CrashAll();
    faults_.CrashMeta(absl::Seconds(2));
    // After its delay, and once more where it dies in its recovery.
    EXPECT_TRUE(world_.RunUntil([this] { return lives_.AreAllUp(); }, absl::Seconds(60))) << i;
  }
  EXPECT_THAT(checkers_.violations, IsEmpty());
}

TEST_F(NodeFaultsTest, AMachineThatStoodStillKnowsNothingUntilItIsTold) {
  StartAll();
  while (!server(0).knows_nothing_since) faults_.PauseMachine(server(0), absl::Seconds(2));
  EXPECT_EQ(*server(0).knows_nothing_since, server(0).node->paused_until());
}

}  // namespace
}  // namespace arion::sim
