// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/older_disks.h"

#include "tests/sim_cluster/small_cluster.h"

namespace arion::sim {
namespace {

class OlderDisksTest : public SmallCluster {
 protected:
  void Store(std::vector<size_t> members) {
    PartitionConfiguration config;
    config.pid = {1, 0};
    config.primary = server(members[0]).endpoint;
    for (size_t i = 1; i < members.size(); ++i)
      config.secondaries.push_back(server(members[i]).endpoint);
    groups_.Store(config, world_.now());
  }

  OlderDisks disks_{settings_, world_, lives_, groups_, troubles_};
};

TEST_F(OlderDisksTest, WithoutACopyNoDiskMayGoBack) {
  EXPECT_FALSE(disks_.MayGoBack(server(0), Fault::kDiskPutBack));
  EXPECT_FALSE(disks_.MayGoBack(server(0), Fault::kDiskOfAnother));
  EXPECT_TRUE(disks_.MayGoBack(server(0), Fault::kBitRot)) << "that needs none";
}

TEST_F(OlderDisksTest, ACopyOfAnotherDiskServesTheOthersOnly) {
  StartAll();
  server(1).images[0].Copy(server(1).node->disk(), settings_.DiskPaths(), DiskImage::Half::kFirst);
  server(1).images[0].Copy(server(1).node->disk(), settings_.DiskPaths(), DiskImage::Half::kSecond);
  ASSERT_FALSE(server(1).LastImage().IsEmpty());
  EXPECT_TRUE(disks_.MayGoBack(server(0), Fault::kDiskOfAnother));
  EXPECT_FALSE(disks_.MayGoBack(server(1), Fault::kDiskOfAnother));
  EXPECT_TRUE(disks_.MayGoBack(server(1), Fault::kDiskPutBack));
}

TEST_F(OlderDisksTest, OfEachGroupAMemberIsSpared) {
  Store({0, 1});
  EXPECT_TRUE(disks_.HaveAllWithout({server(0).endpoint}));
  EXPECT_TRUE(disks_.HaveAllWithout({server(0).endpoint, server(2).endpoint}));
  EXPECT_FALSE(disks_.HaveAllWithout({server(0).endpoint, server(1).endpoint}));
}

TEST_F(OlderDisksTest, AMemberThatNobodyKnowsOfSparesNoGroup) {
  Store({0, 1});
  const Endpoint known = server(0).endpoint;
  const auto knows = [known](PartitionId, Endpoint member) { return member == known; };
  EXPECT_TRUE(disks_.HaveAllWithout({server(1).endpoint}, knows));
  EXPECT_FALSE(disks_.HaveAllWithout({server(0).endpoint}, knows));
}

TEST_F(OlderDisksTest, TheOthersLosePowerAndComeBack) {
  StartAll();
  disks_.CrashOthers(server(2));
  EXPECT_FALSE(server(0).node->alive());
  EXPECT_FALSE(server(1).node->alive());
  EXPECT_TRUE(server(2).node->alive());
  world_.RunFor(absl::Seconds(3));
  EXPECT_TRUE(lives_.AreAllUp());
}

}  // namespace
}  // namespace arion::sim
