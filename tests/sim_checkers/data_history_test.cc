// Operations on records as they were asked and answered, and how they are shown. SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/data_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace arion::sim {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using Done = DataOperation::Outcome;

TEST(DataHistoryTest, AnUndecidedOperationHasNoEnd) {
  DataHistory history;
  const size_t index = history.Invoke({.kind = DataOperation::Kind::kPut}, Instant(5));
  history.Return(index, Done::kUndecided, Instant(9));
  EXPECT_EQ(history.operations()[index].returned, Instant::InfiniteFuture());
  EXPECT_EQ(history.operations()[index].invoked, Instant(5));
  history.Return(index, Done::kAnswered, Instant(9));
  EXPECT_EQ(history[index].returned, Instant(9));
}

TEST(DataHistoryTest, OnlyAnswersCount) {
  DataHistory history;
  for (const Done outcome : {Done::kAnswered, Done::kRefused, Done::kUndecided})
    history.Return(history.Invoke({.kind = DataOperation::Kind::kPut}, Instant(1)), outcome,
                   Instant(2));
  history.Return(history.Invoke({.kind = DataOperation::Kind::kGet}, Instant(1)), Done::kAnswered,
                 Instant(2));
  EXPECT_EQ(history.CountAnswered(), 2);
  EXPECT_EQ(history.CountAnswered(DataOperation::Kind::kPut), 1);
  EXPECT_EQ(history.CountAnswered(DataOperation::Kind::kScan), 0);
}

TEST(DataOperationTest, EachKindHasANameOfItsOwn) {
  std::set<std::string> names;
  int kinds = 0;
  for (; kinds <= static_cast<int>(DataOperation::Kind::kTtl); ++kinds)
    names.insert(KindName(static_cast<DataOperation::Kind>(kinds)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kinds));
  EXPECT_FALSE(names.contains("?"));
}

TEST(DataOperationTest, WhatWasAskedAndAnsweredIsShown) {
  DataOperation incr{.kind = DataOperation::Kind::kIncr,
                     .outcome = Done::kAnswered,
                     .hash_key = "h",
                     .invoked = Instant(1500000000),
                     .returned = Instant(2000000000),
                     .sort_key = "s",
                     .amount = 3};
  incr.number = 7;
  EXPECT_THAT(incr.ToString(), HasSubstr("1.500000 to 2.000000 INCR h:s by 3 expiry 0 -> 7"));
  const DataOperation put{
      .kind = DataOperation::Kind::kPut,
      .hash_key = "h",
      .writes = {{.sort_key = "a", .value = "1", .expire_ts = 9}, {.sort_key = "b"}}};
  EXPECT_THAT(put.ToString(), EndsWith("to ? PUT h a=1@9 b removed"));
  const DataOperation get{
      .kind = DataOperation::Kind::kGet, .outcome = Done::kAnswered, .hash_key = "h"};
  EXPECT_THAT(get.ToString(), EndsWith("GET h -> nothing"));
}

}  // namespace
}  // namespace arion::sim
