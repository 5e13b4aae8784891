// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/groups.h"

#include <gtest/gtest.h>

namespace arion::sim {
namespace {

constexpr PartitionId kPid{1, 0};
constexpr Endpoint kA{1, 1}, kB{2, 1}, kC{3, 1};

PartitionConfiguration Config(PartitionId pid, Endpoint primary,
                              std::vector<Endpoint> secondaries) {
  PartitionConfiguration config;
  config.pid = pid;
  config.primary = primary;
  config.secondaries = std::move(secondaries);
  return config;
}

Groups OneTable(int copies) {
  Groups groups(copies);
  groups.AddTable({.name = "table1", .app_id = 1, .partition_count = 1});
  return groups;
}

TEST(GroupsTest, AreWholeWhenEachPartitionHasAllItsMembers) {
  Groups groups = OneTable(3);
  EXPECT_FALSE(groups.IsWhole()) << "nothing is stored";
  groups.Store(Config(kPid, kA, {kB}), Instant(1));
  EXPECT_FALSE(groups.IsWhole()) << "one is missing";
  groups.Store(Config(kPid, kA, {kB, kC}), Instant(2));
  EXPECT_TRUE(groups.IsWhole());
  EXPECT_EQ(groups.stored_last(), Instant(2));
}

TEST(GroupsTest, ATableThatComesAndGoesIsStoredButNotWanted) {
  Groups groups = OneTable(1);
  const PartitionId other{2, 0};
  groups.Store(Config(other, kA, {}), Instant(1));
  EXPECT_FALSE(groups.IsWanted(other));
  EXPECT_NE(groups.Find(other), nullptr);
  EXPECT_FALSE(groups.IsWhole());
}

TEST(GroupsTest, TheLastOfTwoCopiesIsLostWithItsServer) {
  Groups groups = OneTable(2);
  groups.LoseCopyOf(kA);
  groups.Store(Config(kPid, kA, {kB}), Instant(1));
  groups.Store(Config(kPid, kA, {}), Instant(2));
  EXPECT_FALSE(groups.IsLostWithLastCopy(kPid));
  groups.Store(Config(kPid, {}, {}), Instant(3));
  EXPECT_TRUE(groups.IsLostWithLastCopy(kPid));
}

TEST(GroupsTest, ALastCopyOfAnotherServerIsNotTakenForLost) {
  Groups groups = OneTable(2);
  groups.LoseCopyOf(kA);
  groups.Store(Config(kPid, kB, {}), Instant(1));
  groups.Store(Config(kPid, {}, {}), Instant(2));
  EXPECT_FALSE(groups.IsLostWithLastCopy(kPid));
}

TEST(GroupsTest, OfThreeCopiesAPersonIsNeverAwaited) {
  Groups groups = OneTable(3);
  groups.LoseCopyOf(kA);
  groups.Store(Config(kPid, kA, {}), Instant(1));
  groups.Store(Config(kPid, {}, {}), Instant(2));
  EXPECT_FALSE(groups.IsLostWithLastCopy(kPid));
}

}  // namespace
}  // namespace arion::sim
