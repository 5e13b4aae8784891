// SPDX-License-Identifier: Apache-2.0
#include "recovery/recovery_plan.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

constexpr uint64_t kMiB = 1 << 20;
using Pids = std::vector<PartitionId>;

PartitionId Pid(int32_t index) { return {1, index}; }

ReplicaToRecover Of(int32_t index, size_t disk, uint64_t log_bytes) {
  return {.pid = Pid(index), .disk = disk, .log_bytes = log_bytes};
}

TEST(RecoveryPlan, AllDisksBeginAtOnceEachWithItsLanes) {
  RecoveryPlan plan({.lanes_per_disk = 2});
  for (int i = 0; i < 4; ++i) plan.Add(Of(i, 0, kMiB));
  for (int i = 4; i < 8; ++i) plan.Add(Of(i, 1, kMiB));
  EXPECT_EQ(plan.Begin(), (Pids{Pid(0), Pid(1), Pid(4), Pid(5)}));
  EXPECT_EQ(plan.Begin(), Pids());
  plan.End(Pid(4));
  EXPECT_EQ(plan.Begin(), Pids{Pid(6)}) << "the other disk's lanes are none of its business";
}

TEST(RecoveryPlan, TheLongestComesFirst) {
  RecoveryPlan plan({.lanes_per_disk = 1});
  for (int i = 0; i < 3; ++i) plan.Add(Of(i, 0, (i + 1) * kMiB));
  EXPECT_EQ(plan.Begin(), Pids{Pid(2)});
  plan.End(Pid(2));
  EXPECT_EQ(plan.Begin(), Pids{Pid(1)});
}

TEST(RecoveryPlan, SmallOnesPassAHugeOne) {
  RecoveryPlan plan({.lanes_per_disk = 2});
  plan.Add(Of(0, 0, 10240 * kMiB));
  for (int i = 1; i < 64; ++i) plan.Add(Of(i, 0, kMiB));
  EXPECT_EQ(plan.Begin(), (Pids{Pid(0), Pid(1)}));
  for (int i = 1; i < 63; ++i) {
    plan.End(Pid(i));
    ASSERT_EQ(plan.Begin(), Pids{Pid(i + 1)});
  }
  EXPECT_EQ(plan.waiting(), 0u);
  EXPECT_EQ(plan.under_way(), 2u) << "all small ones went through beside it";
}

TEST(RecoveryPlan, PrimariesGoBeforeTheUnknownAndThoseBeforeSecondaries) {
  RecoveryPlan plan({.lanes_per_disk = 2});
  plan.SetRole(Pid(3), LastRole::kPrimary);  // told before it was measured
  plan.Add(Of(0, 0, 9 * kMiB));
  plan.Add(Of(1, 0, 8 * kMiB));
  plan.Add(Of(2, 0, 7 * kMiB));
  plan.Add(Of(3, 0, 1 * kMiB));
  plan.SetRole(Pid(1), LastRole::kSecondary);
  EXPECT_EQ(plan.Begin(), (Pids{Pid(0), Pid(3)})) << "one lane by length, one by role";
  plan.End(Pid(3));
  EXPECT_EQ(plan.Begin(), Pids{Pid(2)});
  plan.End(Pid(2));
  EXPECT_EQ(plan.Begin(), Pids{Pid(1)});
}

TEST(RecoveryPlan, WhatIsUnderWayKeepsToTheDisksShareOfMemory) {
  RecoveryPlan plan({.lanes_per_disk = 4,
                     .memory_bytes_per_disk = 100 * kMiB,
                     .memory_bytes_per_replica = 80 * kMiB});
  plan.Add(Of(0, 0, 4096 * kMiB));
  plan.Add(Of(1, 0, 60 * kMiB));
  plan.Add(Of(2, 0, 15 * kMiB));
  plan.Add(Of(3, 1, 60 * kMiB));
  EXPECT_EQ(plan.Begin(), (Pids{Pid(0), Pid(2), Pid(3)})) << "60 MiB more do not fit beside 80";
  plan.End(Pid(0));
  EXPECT_EQ(plan.Begin(), Pids{Pid(1)});
}

TEST(RecoveryPlan, OneThatNeedsMoreThanThereIsGoesAlone) {
  RecoveryPlan plan({.lanes_per_disk = 2, .memory_bytes_per_disk = kMiB});
  plan.Add(Of(0, 0, 64 * kMiB));
  plan.Add(Of(1, 0, 64 * kMiB));
  EXPECT_EQ(plan.Begin(), Pids{Pid(0)});
  plan.End(Pid(0));
  EXPECT_EQ(plan.Begin(), Pids{Pid(1)});
}

TEST(RecoveryPlan, WhatServesKeepsNoMoreUnflushedThanAllMay) {
  RecoveryPlan plan({.lanes_per_disk = 4, .memory_bytes_kept = 10 * kMiB});
  for (int i = 0; i < 4; ++i) plan.Add(Of(i, 0, 4 * kMiB));
  ASSERT_EQ(plan.Begin().size(), 4u);
  EXPECT_TRUE(plan.MayKeep(Pid(0)));
  plan.End(Pid(0));
  EXPECT_TRUE(plan.MayKeep(Pid(1)));
  EXPECT_FALSE(plan.MayKeep(Pid(2))) << "two keep theirs for good";
}

TEST(RecoveryPlan, OneAtATimeIsFlushedBesideTheLanes) {
  RecoveryPlan plan({.lanes_per_disk = 2, .memory_bytes_kept = 0});
  for (int i = 0; i < 6; ++i) plan.Add(Of(i, 0, 4 * kMiB));
  ASSERT_EQ(plan.Begin(), (Pids{Pid(0), Pid(1)}));
  EXPECT_FALSE(plan.MayKeep(Pid(0)));
  EXPECT_EQ(plan.Begin(), Pids{Pid(2)}) << "the lane of what is flushed is free";
  EXPECT_FALSE(plan.MayKeep(Pid(1)));
  EXPECT_EQ(plan.Begin(), Pids()) << "the second flush keeps its lane";
  plan.End(Pid(0));
  EXPECT_EQ(plan.Begin(), Pids{Pid(3)}) << "now it is the one beside the lanes";
  plan.End(Pid(2));
  EXPECT_EQ(plan.Begin(), Pids{Pid(4)});
}

TEST(RecoveryPlan, WhatIsFlushedHoldsItsMemoryMeanwhile) {
  RecoveryPlan plan(
      {.lanes_per_disk = 1, .memory_bytes_per_disk = 10 * kMiB, .memory_bytes_kept = 0});
  for (int i = 0; i < 3; ++i) plan.Add(Of(i, 0, 6 * kMiB));
  ASSERT_EQ(plan.Begin(), Pids{Pid(0)});
  EXPECT_FALSE(plan.MayKeep(Pid(0)));
  EXPECT_EQ(plan.Begin(), Pids());
  plan.End(Pid(0));
  EXPECT_EQ(plan.Begin(), Pids{Pid(1)});
}

TEST(RecoveryPlan, SequentialIsOneAtATimeInTheOrderOfDisks) {
  RecoveryPlan plan({.mode = RecoveryMode::kSequential, .lanes_per_disk = 4});
  plan.Add(Of(0, 1, 9 * kMiB));
  plan.Add(Of(1, 0, kMiB));
  plan.Add(Of(2, 0, 2 * kMiB));
  for (const int next : {1, 2, 0}) {
    ASSERT_EQ(plan.Begin(), Pids{Pid(next)});
    ASSERT_EQ(plan.Begin(), Pids());
    plan.End(Pid(next));
  }
}

}  // namespace
}  // namespace arion
