// How many replicas of one server may compact at a time. SPDX-License-Identifier: Apache-2.0
#include "replica/compaction_slots.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

TEST(CompactionSlotsTest, OneOfADiskAtATimeAndAsManyOfATableAsItAllows) {
  const auto slots = std::make_shared<CompactionSlots>();
  auto first = slots->TryTake(0, 1, 0);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(slots->TryTake(0, 2, 0), nullptr) << "of the same disk";
  EXPECT_EQ(slots->TryTake(1, 1, 1), nullptr) << "of the same table, which allows one";
  const auto second = slots->TryTake(1, 1, 2);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(slots->Now().running, 2);
  first = nullptr;
  EXPECT_NE(slots->TryTake(0, 2, 0), nullptr);
}

TEST(CompactionSlotsTest, WhatATableHeldIsFreeAgainOnceItsReplicaEnds) {
  const auto slots = std::make_shared<CompactionSlots>();
  auto first = slots->TryTake(0, 1, 1);
  ASSERT_EQ(slots->TryTake(1, 1, 1), nullptr);
  first = nullptr;
  EXPECT_EQ(slots->Now().running, 0);
  EXPECT_NE(slots->TryTake(1, 1, 1), nullptr);
}

TEST(CompactionSlotsTest, WhoWaitsIsCountedWhileItWaits) {
  const auto slots = std::make_shared<CompactionSlots>();
  auto first = slots->Queue();
  const auto second = slots->Queue();
  EXPECT_EQ(slots->Now().queued, 2);
  EXPECT_EQ(slots->Now().running, 0);
  first = nullptr;
  EXPECT_EQ(slots->Now().queued, 1);
}

TEST(CompactionSlotsTest, ASlotMayOutliveItsOwnersHold) {
  auto slots = std::make_shared<CompactionSlots>();
  const std::weak_ptr<CompactionSlots> watched = slots;
  auto taken = slots->TryTake(0, 1, 0);
  slots = nullptr;
  EXPECT_FALSE(watched.expired());
  taken = nullptr;
  EXPECT_TRUE(watched.expired());
}

TEST(CompactionSlotsTest, AChangeIsToldToWhoAskedForIt) {
  CompactionSlots slots;
  slots.Changed();  // nobody asked
  int told = 0;
  slots.OnChanged([&] { ++told; });
  slots.Changed();
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace arion
