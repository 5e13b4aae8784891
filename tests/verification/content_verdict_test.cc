// SPDX-License-Identifier: Apache-2.0
#include "verification/content_verdict.h"
#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace arion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = ContentVerdictKind;

Endpoint Node(int i) { return {0x0a000000u + static_cast<uint32_t>(i), 34801}; }
CountedContent Of(int node, uint64_t sum, int64_t records = 10) {
  return {.member = Node(node), .records = records, .sum = sum, .ranges = {}};
}

TEST(ContentVerdictTest, AllCountedAndAlikeAreEqual) {
  const ContentVerdict verdict = JudgeContents({Of(1, 5), Of(2, 5), Of(3, 5)}, 3);
  EXPECT_EQ(verdict.kind, Kind::kEqual);
  EXPECT_EQ(verdict.sum, 5u);
  EXPECT_EQ(verdict.records, 10);
  EXPECT_THAT(verdict.differing, IsEmpty());
}

TEST(ContentVerdictTest, OneThatDiffersFromTheMajorityIsNamedWhicheverItIs) {
  for (int odd = 1; odd <= 3; ++odd) {
    std::vector<CountedContent> counted;
    for (int i = 1; i <= 3; ++i) counted.push_back(Of(i, i == odd ? 6 : 5));
    const ContentVerdict verdict = JudgeContents(counted, 3);
    EXPECT_EQ(verdict.kind, Kind::kMajority);
    EXPECT_EQ(verdict.sum, 5u);
    EXPECT_THAT(verdict.differing, ElementsAre(Node(odd)));
  }
}

TEST(ContentVerdictTest, TheSameSumOfAnotherNumberOfRecordsDiffers) {
  EXPECT_THAT(JudgeContents({Of(1, 5), Of(2, 5, 11), Of(3, 5)}, 3).differing, ElementsAre(Node(2)));
}

TEST(ContentVerdictTest, NobodyIsNamedWithoutAMajority) {
  for (const auto& counted :
       {std::vector{Of(1, 5), Of(2, 6)}, std::vector{Of(1, 5), Of(2, 6), Of(3, 7)},
        std::vector{Of(1, 5), Of(2, 5), Of(3, 6), Of(4, 6)}}) {
    const ContentVerdict verdict = JudgeContents(counted, counted.size());
    EXPECT_EQ(verdict.kind, Kind::kUndecided);
    EXPECT_THAT(verdict.differing, IsEmpty());
  }
}

// Those that were not counted might be with the others.
TEST(ContentVerdictTest, MostOfThoseCountedAreNotMostOfAll) {
  EXPECT_EQ(JudgeContents({Of(1, 5), Of(2, 5), Of(3, 6)}, 5).kind, Kind::kUndecided);
  EXPECT_THAT(JudgeContents({Of(1, 5), Of(2, 5), Of(3, 5), Of(4, 6)}, 5).differing,
              ElementsAre(Node(4)));
  EXPECT_EQ(JudgeContents({Of(1, 5), Of(2, 6)}, 3).kind, Kind::kUndecided);
}

TEST(ContentVerdictTest, WhereNotAllWereCountedNothingIsVerified) {
  EXPECT_EQ(JudgeContents({}, 3).kind, Kind::kUnverified);
  EXPECT_EQ(JudgeContents({Of(1, 5)}, 1).kind, Kind::kUnverified);
  EXPECT_EQ(JudgeContents({Of(1, 5), Of(2, 5)}, 3).kind, Kind::kUnverified);
}

TEST(ContentVerdictTest, WhatDiffersIsNamedByTheRangesThatAllHave) {
  std::vector<CountedContent> counted = {Of(1, 0), Of(2, 0), Of(3, 0)};
  counted[0].ranges = {{"", 0, 0}, {"b", 1, 1}, {"d", 2, 2}, {"f", 1, 4}, {"h", 1, 8}};
  counted[1].ranges = {
      {"", 0, 0}, {"b", 3, 3}, {"f", 1, 4}, {"h", 1, 8}};  // cuts not at d: the same
  counted[2].ranges = {{"", 0, 0}, {"b", 1, 1}, {"d", 2, 2}, {"f", 1, 5}, {"h", 1, 8}};
  const std::vector<DifferingRange> ranges = RangesThatDiffer(counted);
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].first, "f");
  EXPECT_EQ(ranges[0].end, "h");
  EXPECT_THAT(ranges[0].records, ElementsAre(1, 1, 1));
}

TEST(ContentVerdictTest, ALostFirstRecordOfARangeIsNamedWithItsNeighbour) {
  std::vector<CountedContent> counted = {Of(1, 0), Of(2, 0)};
  counted[0].ranges = {{"", 0, 0}, {"b", 1, 1}, {"d", 1, 2}, {"f", 1, 4}};
  counted[1].ranges = {{"", 0, 0}, {"b", 1, 1}, {"f", 1, 4}};
  const std::vector<DifferingRange> ranges = RangesThatDiffer(counted);
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].first, "b");
  EXPECT_EQ(ranges[0].end, "f");
  EXPECT_THAT(ranges[0].records, ElementsAre(2, 1));
}

TEST(ContentVerdictTest, WhatAPeerNeverSaysNamesNothing) {
  std::vector<CountedContent> counted = {Of(1, 0), Of(2, 0)};
  EXPECT_THAT(RangesThatDiffer(counted), IsEmpty());
  counted[0].ranges = {{"z", 1, 1}, {"a", 1, 1}};
  counted[1].ranges = {{"q", 9, 9}};
  EXPECT_THAT(RangesThatDiffer(counted), IsEmpty());
  counted[0].ranges = {{"", INT64_MAX, 1}, {"b", INT64_MAX, 1}};
  counted[1].ranges = {{"", 9, 9}};
  EXPECT_THAT(RangesThatDiffer(counted), testing::SizeIs(1));
}

}  // namespace
}  // namespace arion
