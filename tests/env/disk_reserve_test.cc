// SPDX-License-Identifier: Apache-2.0
#include "env/disk_reserve.h"

#include <gtest/gtest.h>

#include "env/file_system.h"
#include "sim/sim_environment.h"

namespace arion {
namespace {

constexpr uint64_t kMore = 2 * DiskReserve::kGrowthBytesMax;

class DiskReserveTest : public testing::Test {
 protected:
  static sim::SimNode& Started(sim::SimNode& node) {
    node.Start();
    EXPECT_TRUE(node.environment().files().CreateDirectories("/d").ok());
    return node;
  }

  sim::SimWorld world_{7};
  sim::SimNode& node_ = Started(world_.AddNode("r"));
  DiskReserve reserve_{node_.environment().files(), "/d"};
};

TEST_F(DiskReserveTest, GrowsALittleAtATimeUntilItIsGivenUp) {
  EXPECT_EQ(*reserve_.Size(), 0u);
  EXPECT_EQ(*reserve_.GrowBy(kMore), DiskReserve::kGrowthBytesMax);
  EXPECT_EQ(*reserve_.GrowBy(kMore), kMore);
  EXPECT_EQ(*reserve_.Size(), kMore);
  EXPECT_EQ(*reserve_.GiveUp(), 0u);
  EXPECT_EQ(*reserve_.Size(), 0u);
}

TEST_F(DiskReserveTest, GivesUpWhatIsAskedForAndNoMore) {
  ASSERT_EQ(*reserve_.GrowBy(kMore), DiskReserve::kGrowthBytesMax);
  node_.disk().SetFreeBytes(0);
  EXPECT_EQ(*reserve_.ShrinkBy(4096), DiskReserve::kGrowthBytesMax - 4096);
  EXPECT_EQ(node_.disk().free_bytes(), 4096u);
  EXPECT_EQ(*reserve_.ShrinkBy(UINT64_MAX), 0u);
  EXPECT_EQ(*reserve_.ShrinkBy(4096), 0u) << "there is none";
}

TEST_F(DiskReserveTest, AGrowthForWhichThereIsNoRoomLeavesItAsItWas) {
  ASSERT_EQ(*reserve_.GrowBy(kMore), DiskReserve::kGrowthBytesMax);
  node_.disk().SetFreeBytes(1 << 20);
  EXPECT_TRUE(absl::IsResourceExhausted(reserve_.GrowBy(kMore).status()));
  EXPECT_EQ(*reserve_.Size(), DiskReserve::kGrowthBytesMax);
  EXPECT_EQ(node_.disk().free_bytes(), uint64_t{1} << 20);
}

// What was left in the cache would be written at once later, before every log's flush.
TEST_F(DiskReserveTest, EachGrowthIsSynced) {
  node_.disk().FailSyncs(1);
  EXPECT_FALSE(reserve_.GrowBy(kMore).ok());
  EXPECT_EQ(*reserve_.Size(), 0u);
}

}  // namespace
}  // namespace arion
