// From which disks that take no writes roles and copies move away. SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/full_disks.h"

#include "tests/meta/one_partition.h"

namespace arion {
namespace {

class FullDisksTest : public OnePartitionTest {
 protected:
  FullDisksTest() {
    Members(kA, {kB, kC});
    for (Endpoint node : {kA, kB, kC, kD}) HasDisk(node, 50, false);
  }
  FullDisks OneLook(int32_t write_members_min = 0) {
    next_look_ = Instant::InfiniteFuture();
    return {state_, write_members_min, now_, &next_look_};
  }
  // With so many percent left.
  void HasDisk(Endpoint endpoint, int64_t percent, bool is_full) {
    Node& node = state_.nodes[endpoint];
    node.disks = {{.tag = "ssd",
                   .total_bytes = 1000,
                   .available_bytes = 10 * percent,
                   .takes_no_writes = is_full}};
    node.nearly_full.clear();
    if (percent < 10) node.nearly_full.insert("ssd");
    node.full_since = now_;
  }
};

TEST_F(FullDisksTest, AFullDiskCountsAfterTwoSecondsAndForCopiesAtOnce) {
  HasDisk(kB, 0, true);
  EXPECT_FALSE(OneLook().MustLeave(kB, kPid));
  FullDisks look = OneLook();
  EXPECT_FALSE(look.MustLeave(kB, kPid));
  EXPECT_EQ(next_look_, now_ + absl::Seconds(2));
  EXPECT_FALSE(look.HasRoom(kB, kPid));
  EXPECT_EQ(look.WithRoom({kC, kB, kA}, kPid), (std::vector{kC, kA}));
  now_ = now_ + absl::Seconds(2);
  EXPECT_TRUE(OneLook().MustLeave(kB, kPid));
  EXPECT_EQ(next_look_, Instant::InfiniteFuture());
}

TEST_F(FullDisksTest, NobodyLeavesWhoHasRoomOrIsDeadOrUnknown) {
  now_ = now_ + absl::Minutes(1);
  EXPECT_FALSE(OneLook().MustLeave(kB, kPid));
  HasDisk(kB, 0, true);
  now_ = now_ + absl::Minutes(1);
  state_.nodes[kB].alive = false;
  EXPECT_FALSE(OneLook().MustLeave(kB, kPid));
  EXPECT_FALSE(OneLook().MustLeave({9, 34801}, kPid));
  EXPECT_FALSE(OneLook().HasRoom({9, 34801}, kPid));
  EXPECT_EQ(next_look_, Instant::InfiniteFuture());
}

TEST_F(FullDisksTest, AReplicaOnAnotherDiskStays) {
  HasDisk(kB, 0, true);
  state_.nodes[kB].disks.push_back({.tag = "hdd", .total_bytes = 1000, .available_bytes = 900});
  state_.nodes[kB].replicas[kPid] = {.pid = kPid, .disk_tag = "hdd"};
  now_ = now_ + absl::Seconds(2);
  EXPECT_FALSE(OneLook().MustLeave(kB, kPid));
  state_.nodes[kB].replicas[kPid].disk_tag = "ssd";
  EXPECT_TRUE(OneLook().MustLeave(kB, kPid));
}

TEST_F(FullDisksTest, WhileSomebodyHasMuchRoomWhoHasLessThanAFifthIsAWorsePlace) {
  HasDisk(kB, 19, false);
  EXPECT_TRUE(OneLook().IsTight(kB, kPid));
  EXPECT_FALSE(OneLook().HasMuchRoom(kB, kPid));
  HasDisk(kB, 20, false);
  EXPECT_FALSE(OneLook().IsTight(kB, kPid));
  EXPECT_TRUE(OneLook().HasMuchRoom(kB, kPid));
}

TEST_F(FullDisksTest, WhereNobodyHasMuchRoomOnlyANearlyFullOneIsAWorsePlace) {
  for (Endpoint node : {kA, kB, kC, kD}) HasDisk(node, 15, false);
  EXPECT_FALSE(OneLook().IsTight(kB, kPid));
  HasDisk(kB, 9, false);
  EXPECT_TRUE(OneLook().IsTight(kB, kPid));
}

TEST_F(FullDisksTest, WhoSaysNothingOfItsDisksIsNotSaidToHaveMuchRoom) {
  state_.nodes[kB].disks.clear();
  EXPECT_FALSE(OneLook().HasMuchRoom(kB, kPid));
  EXPECT_FALSE(OneLook().IsTight(kB, kPid));
}

TEST_F(FullDisksTest, AGroupOfThreeNeedsTwoLivingMembersWithRoom) {
  HasDisk(kB, 0, true);
  EXPECT_TRUE(OneLook().HasEnoughWithRoom(partition().config));
  state_.nodes[kC].alive = false;
  EXPECT_FALSE(OneLook().HasEnoughWithRoom(partition().config));
  state_.nodes[kC].alive = true;
  HasDisk(kA, 0, true);
  EXPECT_FALSE(OneLook().HasEnoughWithRoom(partition().config)) << "the primary counts as well";
}

TEST_F(FullDisksTest, AGroupNeedsAsManyAsAWriteNeeds) {
  HasDisk(kB, 0, true);
  EXPECT_FALSE(OneLook(3).HasEnoughWithRoom(partition().config));
  HasDisk(kB, 50, false);
  EXPECT_TRUE(OneLook(3).HasEnoughWithRoom(partition().config));
}

TEST_F(FullDisksTest, ATableOfTwoCopiesNeedsBothThoughAWriteNeedsOne) {
  partition().config.max_replica_count = 2;
  Members(kA, {kB});
  EXPECT_TRUE(OneLook().HasEnoughWithRoom(partition().config));
  HasDisk(kB, 0, true);
  EXPECT_FALSE(OneLook().HasEnoughWithRoom(partition().config));
  partition().config.max_replica_count = 1;
  Members(kA, {});
  EXPECT_TRUE(OneLook().HasEnoughWithRoom(partition().config));
}

}  // namespace
}  // namespace arion
