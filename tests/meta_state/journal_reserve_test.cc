// When room for the meta server's journal is short, and what the reserve gives. SPDX-License-Identifier: Apache-2.0
#include "meta_state/journal_reserve.h"

#include <gtest/gtest.h>

#include "env/file_system.h"
#include "sim/sim_environment.h"

namespace arion {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kWhole = 8 * kMiB;

class JournalReserveTest : public testing::Test {
 protected:
  static sim::SimNode& Started(sim::SimNode& node) {
    node.Start();
    EXPECT_TRUE(node.environment().files().CreateDirectories("/m").ok());
    return node;
  }
  // Looks until the reserve has what it wants.
  void Fill() {
    for (int looks = 0; looks < 100; ++looks) {
      const StoreRoom room = reserve_.Look();
      if (room.reserve_bytes >= room.reserve_bytes_wanted) return;
    }
    FAIL() << "it does not grow";
  }
  sim::SimWorld world_{7};
  sim::SimNode& node_ = Started(world_.AddNode("m"));
  JournalReserve reserve_{node_.environment().files(), "/m", kWhole};
};

TEST_F(JournalReserveTest, WhereThereIsRoomItGrowsToWhatIsWanted) {
  const StoreRoom first = reserve_.Look();
  EXPECT_EQ(first.path, "/m");
  EXPECT_EQ(first.reserve_bytes_wanted, kWhole);
  Fill();
  EXPECT_EQ(reserve_.Look().reserve_bytes, kWhole);
  EXPECT_FALSE(reserve_.is_short());
}

TEST_F(JournalReserveTest, RoomIsShortBelowTheLowBoundUntilThereIsTwiceThatAndTheReserveIsWhole) {
  Fill();
  node_.disk().SetFreeBytes(4 * kMiB);
  reserve_.Look();
  EXPECT_FALSE(reserve_.is_short());
  node_.disk().SetFreeBytes(4 * kMiB - 1);
  EXPECT_TRUE(reserve_.Look().is_short);
  node_.disk().SetFreeBytes(8 * kMiB - 1);
  EXPECT_TRUE(reserve_.Look().is_short);
  node_.disk().SetFreeBytes(8 * kMiB);
  EXPECT_FALSE(reserve_.Look().is_short);
  EXPECT_FALSE(reserve_.is_short());
}

TEST_F(JournalReserveTest, WhileTheReserveIsNotWholeRoomStaysShort) {
  Fill();
  node_.disk().SetFreeBytes(0);
  reserve_.OnNoSpace();
  EXPECT_TRUE(reserve_.is_short());
  ASSERT_TRUE(reserve_.GiveUpFor(1));
  node_.disk().SetFreeBytes(8 * kMiB);
  EXPECT_TRUE(reserve_.Look().is_short) << "nothing is left over for the reserve";
  node_.disk().SetFreeBytes(64 * kMiB);
  Fill();
  EXPECT_FALSE(reserve_.is_short());
}

TEST_F(JournalReserveTest, APieceIsALittleLargerThanWhatIsToBeStored) {
  Fill();
  node_.disk().SetFreeBytes(0);
  EXPECT_TRUE(reserve_.GiveUpFor(5000));
  EXPECT_EQ(node_.disk().free_bytes(), 16384u) << "two blocks for it, two to spare";
  EXPECT_TRUE(reserve_.GiveUpFor(2 * kWhole)) << "all that is left";
  EXPECT_EQ(node_.disk().free_bytes(), kWhole);
  EXPECT_FALSE(reserve_.GiveUpFor(1)) << "nothing is left";
}

TEST_F(JournalReserveTest, WhatIsOfUseOnlyAsAWholeTakesNothingOfTooSmallAReserve) {
  Fill();
  node_.disk().SetFreeBytes(0);
  EXPECT_FALSE(reserve_.GiveUpForAllOf(kWhole));
  EXPECT_EQ(node_.disk().free_bytes(), 0u);
  EXPECT_TRUE(reserve_.GiveUpForAllOf(kWhole - 2 * 4096));
  EXPECT_EQ(node_.disk().free_bytes(), kWhole);
}

TEST_F(JournalReserveTest, WhatComesFreeOnAFullDiskIsTakenBack) {
  Fill();
  node_.disk().SetFreeBytes(0);
  ASSERT_TRUE(reserve_.GiveUpFor(5000));
  reserve_.TakeBack(4096);
  EXPECT_EQ(node_.disk().free_bytes(), 16384u) << "the disk is not known to be full";
  reserve_.OnNoSpace();
  reserve_.TakeBack(4096);
  EXPECT_EQ(node_.disk().free_bytes(), 12288u);
  reserve_.TakeBack(kWhole);
  EXPECT_EQ(node_.disk().free_bytes(), 0u) << "not more than is wanted";
}

}  // namespace
}  // namespace arion
