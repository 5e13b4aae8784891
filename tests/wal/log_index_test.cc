// SPDX-License-Identifier: Apache-2.0
#include "wal/log_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace arion {
namespace {

constexpr uint64_t kBlock = 40 << 10;

TEST(LogIndexTest, WithoutEntriesReadingBeginsAtTheStart) {
  LogIndex index;
  EXPECT_EQ(index.Find(Decree(1000)).position, 0u);
  index.Add({0, 0, Decree(5)}, 60);
  EXPECT_EQ(index.Find(Decree(1000)).position, 0u);
  EXPECT_EQ(index.end(), 60u);
}

TEST(LogIndexTest, OnlyTheNextBlockIsTaken) {
  LogIndex index;
  index.Add({100, 1, Decree(1)}, 200);
  EXPECT_EQ(index.end(), 0u);
  index.Add({0, 0, Decree(0)}, 100);
  index.Add({0, 0, Decree(0)}, 100);
  index.Add({50, 0, Decree(0)}, 150);
  EXPECT_EQ(index.end(), 100u);
}

// A file of blocks with decrees that mostly rise; every decree is behind where Find says, and not
// far.
TEST(LogIndexTest, EveryDecreeLiesBehindItsEntry) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    struct Block {
      uint64_t position;
      std::vector<Decree> decrees;
      Decree max_before;
    };
    std::vector<Block> blocks;
    LogIndex index;
    uint64_t position = 0;
    Decree next{static_cast<int64_t>(random() % 100)}, max = next;
    for (int i = 0; i < 300; ++i) {
      Block block{position, {}, max};
      for (size_t n = random() % 4; n > 0; --n) {
        if (random() % 10 == 0) next = next - static_cast<int64_t>(random() % 20);
        block.decrees.push_back(++next);
        max = std::max(max, next);
      }
      const uint64_t end = position + random() % kBlock + 16;
      index.Add({position, static_cast<uint32_t>(i), block.max_before}, end);
      position = end;
      blocks.push_back(block);
    }
    EXPECT_EQ(index.end(), position);
    for (Decree first{0}; first <= max + 5; ++first) {
      const LogIndex::Entry from = index.Find(first);
      for (const Block& block : blocks) {
        if (block.position == from.position) {
          ASSERT_EQ(block.max_before, from.position == 0 ? block.max_before : from.max_decree);
        }
        if (block.position < from.position) {
          ASSERT_TRUE(std::all_of(block.decrees.begin(), block.decrees.end(),
                                  [first](Decree d) { return d < first; }));
        }
        // No later place would do but one within a step.
        if (block.position >= from.position + LogIndex::kStepBytes + kBlock + 16) {
          ASSERT_GE(block.max_before, first);
        }
      }
    }
  }
}

TEST(LogIndexDeathTest, WhatIsBeforeAPlaceNeverFalls) {
  LogIndex index;
  EXPECT_DEATH(index.Add({0, 0, Decree(0)}, 0), "an empty block");
  index.Add({0, 0, Decree(0)}, LogIndex::kStepBytes);
  index.Add({LogIndex::kStepBytes, 0, Decree(9)}, 2 * LogIndex::kStepBytes);
  EXPECT_DEATH(index.Add({2 * LogIndex::kStepBytes, 0, Decree(8)}, 3 * LogIndex::kStepBytes),
               "the decrees between");
}

}  // namespace
}  // namespace arion
