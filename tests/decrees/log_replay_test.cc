// SPDX-License-Identifier: Apache-2.0
#include "decrees/log_replay.h"

#include <gtest/gtest.h>

#include "tests/pacifica/harness.h"

namespace arion {
namespace {

TEST(LogReplayTest, HandsOutWhatLaterMutationsProveCommitted) {
  LogReplay replay(kTestPid, Decree(0));
  std::vector<MutationPtr> apply;
  ASSERT_TRUE(replay.Add(MakeMutation(3, 1, 0, "a"), &apply).ok());
  EXPECT_TRUE(apply.empty());
  ASSERT_TRUE(replay.Add(MakeMutation(3, 2, 1, "b"), &apply).ok());
  ASSERT_EQ(apply.size(), 1u);
  EXPECT_EQ(apply[0]->decree, Decree(1));
  EXPECT_EQ(replay.Uncommitted().size(), 1u);
  EXPECT_EQ(replay.last_prepared(), Decree(2));
}

TEST(LogReplayTest, TheLargerBallotOfADecreeCounts) {
  LogReplay replay(kTestPid, Decree(0));
  std::vector<MutationPtr> apply;
  ASSERT_TRUE(replay.Add(MakeMutation(3, 1, 0, "old"), &apply).ok());
  ASSERT_TRUE(replay.Add(MakeMutation(4, 1, 0, "new"), &apply).ok());
  ASSERT_TRUE(replay.Add(MakeMutation(3, 1, 0, "old"), &apply).ok());
  ASSERT_TRUE(replay.Add(MakeMutation(4, 2, 1, "b"), &apply).ok());
  ASSERT_EQ(apply.size(), 1u);
  EXPECT_EQ(ContentOf(*apply[0]), "new");
  EXPECT_EQ(replay.max_ballot(), Ballot(4));
}

TEST(LogReplayTest, WhatWasOverruledIsNotInTheTail) {
  LogReplay replay(kTestPid, Decree(0));
  std::vector<MutationPtr> apply;
  ASSERT_TRUE(replay.Add(MakeMutation(3, 1, 0, "a"), &apply).ok());
  ASSERT_TRUE(replay.Add(MakeMutation(3, 2, 0, "decided behind a"), &apply).ok());
  ASSERT_TRUE(replay.Add(MakeMutation(4, 1, 0, "b"), &apply).ok());
  ASSERT_EQ(replay.Uncommitted().size(), 1u);
  EXPECT_EQ(ContentOf(*replay.Uncommitted()[0]), "b");
}

TEST(LogReplayTest, TellsUnderWhichBallotTheLastCommittedWasPreparedLast) {
  LogReplay replay(kTestPid, Decree(5));
  std::vector<MutationPtr> apply;
  EXPECT_EQ(replay.last_committed_ballot(), Ballot(0)) << "it lies before the log";
  ASSERT_TRUE(replay.Add(MakeMutation(3, 5, 4, "a"), &apply).ok());
  EXPECT_EQ(replay.last_committed_ballot(), Ballot(3));
  ASSERT_TRUE(replay.Add(MakeMutation(4, 5, 4, "a"), &apply).ok());
  EXPECT_EQ(replay.last_committed_ballot(), Ballot(4));
  ASSERT_TRUE(replay.Add(MakeMutation(6, 6, 5, "b"), &apply).ok());
  EXPECT_EQ(replay.last_committed_ballot(), Ballot(4));
  ASSERT_TRUE(replay.Add(MakeMutation(6, 7, 6, "c"), &apply).ok());
  EXPECT_EQ(replay.last_committed_ballot(), Ballot(6));
}

TEST(LogReplayTest, WhatTheEngineHasIsSkipped) {
  LogReplay replay(kTestPid, Decree(5));
  std::vector<MutationPtr> apply;
  for (int64_t d = 1; d <= 6; ++d)
    ASSERT_TRUE(replay.Add(MakeMutation(3, d, d - 1, "x"), &apply).ok());
  EXPECT_TRUE(apply.empty());
  EXPECT_EQ(replay.Uncommitted().size(), 1u);
}

TEST(LogReplayTest, AMissingCommittedDecreeIsDataLoss) {
  LogReplay replay(kTestPid, Decree(0));
  std::vector<MutationPtr> apply;
  ASSERT_TRUE(replay.Add(MakeMutation(3, 1, 0, "a"), &apply).ok());
  EXPECT_TRUE(absl::IsDataLoss(replay.Add(MakeMutation(3, 3, 2, "c"), &apply)));
}

TEST(LogReplayTest, AHoleThatNobodyCommittedIsNone) {
  LogReplay replay(kTestPid, Decree(0));
  std::vector<MutationPtr> apply;
  ASSERT_TRUE(replay.Add(MakeMutation(3, 1, 0, "a"), &apply).ok());
  ASSERT_TRUE(replay.Add(MakeMutation(3, 3, 1, "c"), &apply).ok());
  EXPECT_EQ(replay.Uncommitted().size(), 1u);
  EXPECT_EQ(replay.last_prepared(), Decree(3));
}

TEST(LogReplayTest, AForeignMutationIsDataLoss) {
  LogReplay replay(PartitionId{9, 9}, Decree(0));
  std::vector<MutationPtr> apply;
  EXPECT_TRUE(absl::IsDataLoss(replay.Add(MakeMutation(3, 1, 0, "a"), &apply)));
}

TEST(LogReplayTest, AnAbsurdDecreeClaimsNoMemory) {
  LogReplay replay(kTestPid, Decree(0));
  std::vector<MutationPtr> apply;
  EXPECT_TRUE(absl::IsDataLoss(replay.Add(MakeMutation(3, int64_t{1} << 60, 0, "a"), &apply)));
}

TEST(LogReplayTest, ALongLogIsHandedOutAsItGoes) {
  LogReplay replay(kTestPid, Decree(0));
  int64_t applied = 0;
  for (int64_t d = 1; d <= 5000; ++d) {
    std::vector<MutationPtr> apply;
    ASSERT_TRUE(replay.Add(MakeMutation(3, d, std::max<int64_t>(0, d - 20), "x"), &apply).ok());
    for (const MutationPtr& m : apply) ASSERT_EQ(m->decree, Decree(++applied));
  }
  EXPECT_EQ(applied, 4980);
  EXPECT_EQ(replay.Uncommitted().size(), 20u);
}

}  // namespace
}  // namespace arion
