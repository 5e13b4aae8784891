// What a server's verifications came to, and how many run at a time. SPDX-License-Identifier: Apache-2.0
#include "verification/verification_book.h"

#include <gtest/gtest.h>

#include <set>

namespace arion {
namespace {

constexpr PartitionId kHere{2, 0}, kThere{2, 1};

VerifyReplicasResponse Found(ContentVerdictKind verdict, int64_t ended_ms) {
  VerifyReplicasResponse result;
  result.verdict = verdict;
  result.ended_ms = ended_ms;
  return result;
}

TEST(VerificationBookTest, SoManyAreCoordinatedAtATime) {
  const auto book = std::make_shared<VerificationBook>();
  auto first = book->TryTake(), second = book->TryTake();
  EXPECT_EQ(book->TryTake(), nullptr);
  first = nullptr;
  EXPECT_NE(book->TryTake(), nullptr);
}

TEST(VerificationBookTest, TurnsAreSpreadOverTheInterval) {
  constexpr int64_t kInterval = 1000;
  std::set<int64_t> changes;
  for (int32_t index = 0; index < 64; ++index)
    for (int64_t now = 0; now < kInterval; ++now)
      if (VerificationInterval({2, index}, now, kInterval) !=
          VerificationInterval({2, index}, now + 1, kInterval))
        changes.insert(now / 100);
  EXPECT_EQ(changes.size(), 10u);
}

TEST(VerificationBookTest, APartitionsIntervalsAreAllEquallyLong) {
  constexpr int64_t kInterval = 1000;
  const int64_t first = VerificationInterval({2, 5}, 1700000000, kInterval);
  for (int64_t turns = 1; turns < 5; ++turns)
    EXPECT_EQ(VerificationInterval({2, 5}, 1700000000 + turns * kInterval, kInterval),
              first + turns);
}

TEST(VerificationBookTest, TheLastResultOfAPartitionIsKept) {
  VerificationBook book;
  EXPECT_EQ(book.Last(kHere).state, VerificationState::kNever);
  EXPECT_EQ(book.VerdictOf(kHere), std::nullopt);
  book.Ended(kHere, Found(ContentVerdictKind::kUndecided, 5));
  book.Ended(kHere, Found(ContentVerdictKind::kEqual, 7));
  EXPECT_EQ(book.Last(kHere).ended_ms, 7);
  EXPECT_EQ(book.VerdictOf(kHere), ContentVerdictKind::kEqual);
  EXPECT_EQ(book.VerdictOf(kThere), std::nullopt);
}

TEST(VerificationBookTest, WhatAFormerPrimaryFoundIsHistory) {
  VerificationBook book;
  book.Ended(kHere, Found(ContentVerdictKind::kUndecided, 5));
  book.Ended(kThere, Found(ContentVerdictKind::kUndecided, 6));
  ASSERT_EQ(book.Now().undecided_now, 2);
  book.NotPrimaryAnyMore(kHere);
  EXPECT_EQ(book.VerdictOf(kHere), std::nullopt);
  EXPECT_EQ(book.Last(kHere).ended_ms, 5) << "who asks is still told";
  EXPECT_EQ(book.Now().undecided_now, 1);
}

TEST(VerificationBookTest, EachThatEndedIsCountedByItsVerdict) {
  VerificationBook book;
  book.Ended(kHere, Found(ContentVerdictKind::kEqual, 5));
  book.Ended(kHere, Found(ContentVerdictKind::kMajority, 6));
  book.Ended(kThere, Found(ContentVerdictKind::kEqual, 9));
  book.set_aside().Add();
  const VerificationBook::Counts counts = book.Now();
  EXPECT_EQ(counts.ended[static_cast<size_t>(ContentVerdictKind::kEqual)], 2);
  EXPECT_EQ(counts.ended[static_cast<size_t>(ContentVerdictKind::kMajority)], 1);
  EXPECT_EQ(counts.last_ended_ms, 9);
  EXPECT_EQ(counts.set_aside, 1);
  EXPECT_EQ(counts.undecided_now, 0);
}

}  // namespace
}  // namespace arion
