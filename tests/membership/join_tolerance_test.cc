// SPDX-License-Identifier: Apache-2.0
#include "membership/join_tolerance.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

AppInfo TableOf(int32_t id) {
  return {.status = AppStatus::kAvailable,
          .app_name = "t" + std::to_string(id),
          .app_id = id,
          .partition_count = 8};
}
using Obstacles = std::map<int32_t, Obstacle>;

TEST(JoinToleranceTest, WhatArionCantCarryOnIsInTheWay) {
  ClusterListing listing;
  for (int32_t id = 1; id <= 7; ++id) listing.tables.push_back(TableOf(id));
  listing.tables[0].duplicating = true;
  listing.tables[1].is_bulk_loading = true;
  listing.being_split = {3};
  listing.being_restored = {4};
  listing.being_backed_up = {5};
  listing.tables[5].atomic_idempotent = true;
  EXPECT_EQ(ObstaclesIn(listing), (Obstacles{{1, Obstacle::kDuplicated},
                                             {2, Obstacle::kBulkLoaded},
                                             {3, Obstacle::kSplit},
                                             {4, Obstacle::kRestored},
                                             {5, Obstacle::kBackedUp}}));
  EXPECT_EQ(ObstacleLines(listing, {{1, Obstacle::kDuplicated}, {3, Obstacle::kSplit}}),
            (std::vector<std::string>{"table \"t1\" (id 1) is duplicated",
                                      "table \"t3\" (id 3) is being split"}));
}

TEST(JoinToleranceTest, WhatADroppedTableWasDoesNotCount) {
  ClusterListing listing;
  listing.tables = {TableOf(1)};
  listing.tables[0].duplicating = true;
  for (const AppStatus gone : {AppStatus::kDropping, AppStatus::kDropped}) {
    listing.tables[0].status = gone;
    EXPECT_EQ(ObstaclesIn(listing), Obstacles{});
    listing.tables[0].init_partition_count = 4;
    EXPECT_FALSE(MayBeInTheMaking(listing.tables[0]));
  }
}

TEST(JoinToleranceTest, ASplitShowsInPartitionsThatAreNotRegisteredYet) {
  AppInfo table = TableOf(1);
  for (const int32_t never : {-1, 0, 8}) {
    table.init_partition_count = never;
    EXPECT_FALSE(MayBeInTheMaking(table));
  }
  table.init_partition_count = 4;
  EXPECT_TRUE(MayBeInTheMaking(table));
  QueryConfigResponse partitions;
  partitions.partitions.resize(2);
  partitions.partitions[0] = {.ballot = Ballot(3), .primary = {1, 2}};
  partitions.partitions[1] = {.ballot = Ballot(4), .primary = {1, 2}};
  EXPECT_EQ(JudgeInTheMaking(table, partitions), InTheMaking::kNo) << "it was split once";
  partitions.partitions[1] = {.ballot = Ballot(-1)};
  EXPECT_EQ(JudgeInTheMaking(table, partitions), InTheMaking::kSplit);
}

TEST(JoinToleranceTest, ARestoreShowsInPartitionsThatNobodyHasFilledYet) {
  AppInfo table = TableOf(1);
  QueryConfigResponse partitions;
  partitions.partitions.resize(1);
  partitions.partitions[0].ballot = Ballot(0);
  EXPECT_EQ(JudgeInTheMaking(table, partitions), InTheMaking::kNo) << "a new table's";
  table.envs[kEnvRestorePolicy] = "";
  EXPECT_TRUE(MayBeInTheMaking(table));
  EXPECT_EQ(JudgeInTheMaking(table, partitions), InTheMaking::kRestored);
  partitions.partitions[0] = {.ballot = Ballot(1), .primary = {1, 2}};
  EXPECT_EQ(JudgeInTheMaking(table, partitions), InTheMaking::kNo) << "it was restored once";
}

TEST(JoinToleranceTest, OnlyPartitionsThatAreListedAreReported) {
  ClusterListing listing;
  listing.tables = {TableOf(2)};
  EXPECT_TRUE(MayBeReported(listing, {2, 0}) && MayBeReported(listing, {2, 7}));
  EXPECT_FALSE(MayBeReported(listing, {2, 8}) || MayBeReported(listing, {2, -1}) ||
               MayBeReported(listing, {3, 0}));
}

}  // namespace
}  // namespace arion
