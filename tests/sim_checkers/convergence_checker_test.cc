// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/convergence_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/raw_key.h"
#include "base/value_schema.h"

namespace arion::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint8_t kIds[] = {1, 2};

// Two clusters with one partition each. A time is the write's; "" removes.
class ConvergenceCheckerTest : public ::testing::Test {
 protected:
  // By a client of `side`.
  void Write(int side, int64_t time, const std::string& value) {
    Apply(side, time, {.value = value});
  }
  // At `side`, what a client of the other one wrote.
  void Receive(int side, int64_t time, const std::string& value) {
    const TimeTag tag{.timestamp_us = time, .cluster_id = kIds[1 - side], .deleted = value.empty()};
    Apply(side, 1000, {.value = value, .time_tag = tag.packed()});
  }

  ConvergenceChecker checker_{{kIds[0], kIds[1]}};

 private:
  void Apply(int side, int64_t time, WriteOp op) {
    const std::string key = JoinRawKey("k", "s");
    op.key = key;
    op.kind = op.value.empty() ? WriteOp::Kind::kRemove : WriteOp::Kind::kPut;
    checker_.Applied(side, pid_, Decree(++decree_), time, {op});
  }

  const PartitionId pid_{2, 0};
  int64_t decree_ = 0;
};

TEST_F(ConvergenceCheckerTest, TheLatestAtBothIsRight) {
  Write(0, 10, "a"), Write(1, 11, "b");
  Receive(0, 11, "b");  // a comes too late there, and is left out
  EXPECT_THAT(checker_.Judge(), IsEmpty());
  EXPECT_THAT(checker_.JudgeEnd(), IsEmpty());
  EXPECT_EQ(checker_.CountContended(), 1);
}

TEST_F(ConvergenceCheckerTest, WhatBothMadeOfItCountsNotWhoCameLast) {
  Write(0, 10, "a"), Write(1, 11, "b");
  Receive(0, 11, "b"), Receive(1, 10, "a");
  EXPECT_THAT(checker_.Judge(),
              ElementsAre("convergence_checker/V1: cluster 2 makes \"a\" of 10 by 1 of [2.0] "
                          "k/s as decree 4, and had \"b\" of 11 by 2"));
  EXPECT_THAT(checker_.JudgeEnd(),
              ElementsAre(HasSubstr("cluster 2 ends with \"a\" of 10 by 1 of")));
}

// Equal and wrong.
TEST_F(ConvergenceCheckerTest, AWriteThatBothLostIsSeen) {
  Write(0, 10, "a"), Receive(1, 10, "a");
  Write(0, 11, ""), Receive(1, 11, "");
  EXPECT_THAT(checker_.JudgeEnd(), IsEmpty()) << "a remove is a write";
  Write(1, 12, "b");
  EXPECT_THAT(checker_.JudgeEnd(),
              ElementsAre("convergence_checker/V2: cluster 1 ends with nothing of 11 by 1 of [2.0] "
                          "k/s, and the latest is \"b\" of 12 by 2"));
}

TEST_F(ConvergenceCheckerTest, OfEqualTimesTheLargerIdIsLater) {
  Write(0, 10, "a"), Write(1, 10, "b");
  Receive(0, 10, "b");
  EXPECT_THAT(checker_.JudgeEnd(), IsEmpty());
  Receive(1, 10, "a");
  EXPECT_THAT(checker_.Judge(), SizeIs(1));
}

// A put and a remove of one mutation.
TEST_F(ConvergenceCheckerTest, OfOneTimeOfOneClusterTheLastIsLatest) {
  Write(0, 10, "a"), Write(0, 10, "");
  Receive(1, 10, "a"), Receive(1, 10, "");
  EXPECT_THAT(checker_.Judge(), IsEmpty());
  EXPECT_THAT(checker_.JudgeEnd(), IsEmpty());
}

TEST_F(ConvergenceCheckerTest, AWriteOfWhoIsBehindIsCounted) {
  Write(0, 10, "a");
  Write(1, 9, "b");
  EXPECT_EQ(checker_.overtaken(), 1);
}

}  // namespace
}  // namespace arion::sim
