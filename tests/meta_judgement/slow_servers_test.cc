// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/slow_servers.h"

#include "tests/meta/one_partition.h"

namespace arion {
namespace {

class SlowServersTest : public OnePartitionTest {
 protected:
  SlowServersTest() { Members(kA, {kB, kC}); }
  SlowServers OneLook() {
    next_look_ = Instant::InfiniteFuture();
    return {state_, now_, &next_look_};
  }
  bool MayTakeCopy(Endpoint node) { return OneLook().MayTakeCopy(node, partition().config); }
  void OnSlowDisk(Endpoint node, const char* tag) {
    state_.nodes[node].slow_disks = {tag};
    state_.nodes[node].slow_since = now_;
  }
};

TEST_F(SlowServersTest, ASlowDiskCountsAfterTwoSecondsAndForCopiesAtOnce) {
  OnSlowDisk(kB, "ssd");
  EXPECT_FALSE(OneLook().IsOnSlowDisk(kB, kPid));
  EXPECT_EQ(next_look_, now_ + absl::Seconds(2));
  EXPECT_FALSE(MayTakeCopy(kB));
  now_ = now_ + absl::Seconds(2);
  EXPECT_TRUE(OneLook().IsOnSlowDisk(kB, kPid));
  EXPECT_EQ(next_look_, Instant::InfiniteFuture());
  Dead(kB);
  EXPECT_FALSE(OneLook().IsOnSlowDisk(kB, kPid));
}

TEST_F(SlowServersTest, ASlowDiskIsNoneOfAReplicaOnAnother) {
  Reports(kB, {.status = PartitionStatus::kSecondary, .disk_tag = "ssd"});
  OnSlowDisk(kB, "another");
  now_ = now_ + absl::Seconds(2);
  EXPECT_FALSE(OneLook().IsOnSlowDisk(kB, kPid));
  EXPECT_TRUE(OneLook().IsOnSlowDisk(kB, {1, 1})) << "a new one might come to lie there";
}

TEST_F(SlowServersTest, AMemberAcknowledgesSlowlyToWhomSaysSoWhileThatOneLives) {
  state_.nodes[kA].slow_members = {kC};
  EXPECT_TRUE(OneLook().AcknowledgesSlowly(kC, kA));
  EXPECT_FALSE(OneLook().AcknowledgesSlowly(kC, kB));
  EXPECT_FALSE(MayTakeCopy(kC));
  EXPECT_TRUE(MayTakeCopy(kD));
  state_.nodes[kA].alive = false;
  EXPECT_FALSE(OneLook().AcknowledgesSlowly(kC, kA));
}

TEST_F(SlowServersTest, SlowToMostIsWhomAtLeastTwoAndMostOfTheOthersCallSlow) {
  Dead(kD);
  state_.nodes[kA].slow_members = {kC};
  EXPECT_FALSE(OneLook().IsSlowToMost(kC)) << "one may be badly connected itself";
  state_.nodes[kB].slow_members = {kC};
  EXPECT_TRUE(OneLook().IsSlowToMost(kC));
  EXPECT_EQ(OneLook().FastOf({kB, kC}, kPid), (std::vector{kB}));
}

TEST_F(SlowServersTest, WhoHasASlowDiskIsJudgedByThatAlone) {
  state_.nodes[kA].slow_members = state_.nodes[kB].slow_members = {kC};
  OnSlowDisk(kC, "another");
  EXPECT_FALSE(OneLook().AcknowledgesSlowly(kC, kA));
  EXPECT_FALSE(OneLook().IsSlowToMost(kC));
}

TEST_F(SlowServersTest, WhereMostAreSlowNobodyIs) {
  for (Endpoint node : {kA, kB}) OnSlowDisk(node, "ssd");
  now_ = now_ + absl::Seconds(2);
  EXPECT_TRUE(OneLook().IsOnSlowDisk(kB, kPid)) << "half of them";
  state_.nodes[kA].slow_members = {kC};
  EXPECT_FALSE(OneLook().IsOnSlowDisk(kB, kPid));
  EXPECT_FALSE(OneLook().AcknowledgesSlowly(kC, kA));
  EXPECT_TRUE(MayTakeCopy(kB));
}

}  // namespace
}  // namespace arion
