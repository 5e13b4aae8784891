// What a table's environments ask for, and when that is due. SPDX-License-Identifier: Apache-2.0
#include "data_api/compaction_wishes.h"

#include <gtest/gtest.h>

#include "messages/table_environments.h"

namespace arion {
namespace {

using Terms = Engine::CompactionTerms;
constexpr int64_t kMidnight = 1700000000;

TEST(DueCompactionTest, OnceIsDueFromItsTimeOnUntilItHasRun) {
  const auto wishes = CompactionWishes::From({{kEnvCompactOnce, "1700001000"},
                                              {kEnvCompactOnceLevel, "2"},
                                              {kEnvCompactOnceBottommost, "force"}});
  EXPECT_EQ(DueCompaction(wishes, 0, 1700000999, kMidnight), std::nullopt);
  EXPECT_EQ(DueCompaction(wishes, 0, 1700001000, kMidnight),
            (Terms{.target_level = 2, .bottommost = true}));
  EXPECT_TRUE(DueCompaction(wishes, 1700000999999, 1800000000, kMidnight));
  EXPECT_FALSE(DueCompaction(wishes, 1700001000000, 1800000000, kMidnight));
}

TEST(DueCompactionTest, DailyIsDueForAnHourOfEachOfItsTimes) {
  const auto wishes = CompactionWishes::From({{kEnvCompactDaily, "15:00,03:00"}});
  const int64_t three = kMidnight + 3 * 3600, four = three + 3600;
  EXPECT_FALSE(DueCompaction(wishes, 0, three - 1, kMidnight));
  EXPECT_TRUE(DueCompaction(wishes, 0, three, kMidnight));
  EXPECT_TRUE(DueCompaction(wishes, 1000 * (three - 100), four - 1, kMidnight));
  EXPECT_FALSE(DueCompaction(wishes, 0, four, kMidnight)) << "set in the morning, for the night";
  EXPECT_FALSE(DueCompaction(wishes, 1000 * (three + 1), four - 1, kMidnight));
  EXPECT_TRUE(DueCompaction(wishes, 1000 * (three + 1), kMidnight + 15 * 3600, kMidnight));
}

TEST(DueCompactionTest, NothingIsDueWhereItIsDisabledOrUnreadable) {
  EXPECT_FALSE(
      DueCompaction(CompactionWishes::From({{kEnvCompactOnce, "1"}, {kEnvCompactDisabled, "true"}}),
                    0, 1700000000, kMidnight));
  const auto wishes = CompactionWishes::From({{kEnvCompactOnce, "soon"}, {kEnvCompactDaily, "3"}});
  EXPECT_FALSE(wishes.Any());
}

TEST(CompactionWishesTest, AllThatATableSaysIsRead) {
  const auto wishes = CompactionWishes::From({{kEnvCompactRunningMax, "3"},
                                              {kEnvCompactDaily, "23:30,1:05"},
                                              {kEnvCompactDailyLevel, "4"},
                                              {kEnvCompactDailyBottommost, "force"}});
  EXPECT_FALSE(wishes.is_disabled);
  EXPECT_EQ(wishes.running_max, 3);
  EXPECT_EQ(wishes.daily_minutes, (std::vector<int>{65, 23 * 60 + 30}));
  EXPECT_EQ(wishes.daily, (Terms{.target_level = 4, .bottommost = true}));
  EXPECT_EQ(wishes.once, Terms{});
  EXPECT_TRUE(wishes.Any());
  EXPECT_FALSE(CompactionWishes::From({}).Any());
}

TEST(CompactionAfterSplitTest, ASplitMakesOneDueUntilItIsDoneForTheCount) {
  const KeyOwnership owned{.index = 1, .count = 8};
  EXPECT_EQ(CompactionAfterSplit(true, owned, 0), 8);
  EXPECT_EQ(CompactionAfterSplit(true, owned, 4), 8) << "it was split twice";
  EXPECT_EQ(CompactionAfterSplit(true, owned, 8), 0);
  EXPECT_EQ(CompactionAfterSplit(true, {.index = 1, .count = 4}, 8), 0);
  EXPECT_EQ(CompactionAfterSplit(false, owned, 0), 0) << "it never was split";
  EXPECT_EQ(CompactionAfterSplit(true, {}, 0), 0) << "nothing would go";
  EXPECT_EQ(CompactionAfterSplit(true, {.index = 8, .count = 8}, 0), 0);
}

}  // namespace
}  // namespace arion
