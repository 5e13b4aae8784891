// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/full_disks.h"

#include <gmock/gmock.h>

#include "tests/sim_cluster/small_cluster.h"

namespace arion::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FullDisksTest : public SmallCluster {
 protected:
  FullDisks disks_{world_, lives_, groups_, troubles_, checkers_};
};

TEST_F(FullDisksTest, TheMetaServersIsFilledOnceItsReserveIsWhole) {
  troubles_.Count(Fault::kMetaDiskFull);
  disks_.FillMeta(absl::Seconds(5));
  EXPECT_FALSE(lives_.meta().is_disk_full) << "there is no reserve before it has started";
  EXPECT_EQ(troubles_.CountOf(Fault::kMetaDiskFull), 0);

  StartAll();
  ASSERT_TRUE(lives_.meta().HasWholeReserve());
  troubles_.Count(Fault::kMetaDiskFull);
  disks_.FillMeta(absl::Seconds(5));
  EXPECT_TRUE(lives_.meta().is_disk_full);
  world_.RunFor(absl::Seconds(6));
  EXPECT_FALSE(lives_.meta().is_disk_full);
  EXPECT_EQ(troubles_.CountOf(Fault::kMetaDiskFull), 1);
}

TEST_F(FullDisksTest, AGroupThatStillNeedsAFullServerIsAViolation) {
  StartAll();
  groups_.AddTable({.name = "table1", .app_id = 1, .partition_count = 1});
  PartitionConfiguration config;
  config.pid = {1, 0};
  config.primary = server(0).endpoint;
  config.secondaries = {server(1).endpoint, server(2).endpoint};
  groups_.Store(config, world_.now());
  disks_.FillOneAndJudge();
  world_.RunFor(absl::Seconds(36));
  EXPECT_THAT(checkers_.violations, ElementsAre(HasSubstr("full_disks/F1: replica")));
  EXPECT_TRUE(disks_.must_take_writes());
  world_.RunFor(absl::Seconds(30));
  EXPECT_FALSE(disks_.must_take_writes());
}

}  // namespace
}  // namespace arion::sim
