// SPDX-License-Identifier: Apache-2.0
#include "tools/load/run/server_stages.h"

#include <gtest/gtest.h>

namespace arion::load {
namespace {

const Endpoint kOne = *Endpoint::Parse("127.0.0.1:1"), kTwo = *Endpoint::Parse("127.0.0.1:2");

TEST(ServerStagesTest, StagesOfOneTableAreReadInTheirOrder) {
  const StageSums sums = StageSumsOf(
      ParseSamples("arion_write_stage_seconds_sum{table=\"t\",stage=\"queue\"} 0.5\n"
                   "arion_write_stage_seconds_count{table=\"t\",stage=\"queue\"} 10\n"
                   "arion_write_stage_seconds_sum{table=\"t\",stage=\"apply\"} 2\n"
                   "arion_write_stage_seconds_count{table=\"t\",stage=\"apply\"} 10\n"
                   "arion_write_stage_seconds_sum{table=\"u\",stage=\"apply\"} 7\n"
                   "arion_write_stage_seconds_bucket{table=\"t\",stage=\"apply\",le=\"1\"} 9\n"),
      "t");
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_EQ(sums[0].stage, "queue");
  EXPECT_EQ(sums[0].writes, 10);
  EXPECT_EQ(sums[0].seconds, 0.5);
  EXPECT_EQ(sums[1].stage, "apply");
  EXPECT_EQ(sums[1].seconds, 2);
}

TEST(ServerStagesTest, WhatLiesBetweenIsSummedOverServersThatWereThereAllTheTime) {
  const StageSums between = Between({{kOne, {{"apply", 10, 1}}}, {kTwo, {{"apply", 100, 5}}}},
                                    {{kOne, {{"apply", 30, 3}, {"reply", 5, 0.5}}},
                                     {kTwo, {{"apply", 7, 0.1}}},  // restarted
                                     {*Endpoint::Parse("127.0.0.1:3"), {{"apply", 9, 9}}}});
  ASSERT_EQ(between.size(), 2u);
  EXPECT_EQ(between[0].writes, 20);
  EXPECT_EQ(between[0].seconds, 2);
  EXPECT_EQ(between[1].stage, "reply");
  EXPECT_EQ(between[1].writes, 5);
}

TEST(ServerStagesTest, NothingWrittenIsNothingTold) {
  EXPECT_TRUE(Between({{kOne, {{"apply", 10, 1}}}}, {{kOne, {{"apply", 10, 1}}}}).empty());
  EXPECT_TRUE(Between({}, {}).empty());
}

}  // namespace
}  // namespace arion::load
