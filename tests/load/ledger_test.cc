// SPDX-License-Identifier: Apache-2.0
#include "tools/load/workload/ledger.h"

#include <gtest/gtest.h>

namespace arion::load {
namespace {

constexpr uint64_t kRun = 5;
constexpr int64_t kRecord = 42;

class LedgerTest : public testing::Test {
 protected:
  static Instant At(int64_t second) { return Instant(second * 1'000'000'000); }
  void Begin(int64_t sequence, int64_t at, Ledger::Write::Means means = Ledger::Write::Means::kPut,
             absl::Duration ttl = absl::InfiniteDuration()) {
    ledger_.WriteBegins({kRecord, sequence, means, ttl}, At(at));
  }
  void End(int64_t sequence, int64_t at, WriteOutcome outcome = WriteOutcome::kAcknowledged) {
    ledger_.WriteEnds(kRecord, sequence, outcome, At(at));
  }
  void Write(int64_t sequence, int64_t begin, int64_t end) {
    Begin(sequence, begin);
    End(sequence, end);
  }
  // Whether a read from `began` to `ended` may return the value of `sequence`; none: no value.
  bool MayRead(std::optional<int64_t> sequence, int64_t began, int64_t ended, uint64_t run = kRun) {
    const int64_t before = ledger_.verdict().Total();
    ledger_.ReadBegins(kRecord, At(began));
    std::string value;
    if (sequence) value = EncodeValue({run, kRecord, *sequence}, 50);
    ledger_.ReadEnds({kRecord, At(began)},
                     sequence ? std::optional<std::string_view>(value) : std::nullopt, At(ended));
    return ledger_.verdict().Total() == before;
  }
  Ledger ledger_{kRun};
};

TEST_F(LedgerTest, TheLastAcknowledgedWriteCounts) {
  Write(1, 10, 11);
  Write(2, 12, 13);
  EXPECT_TRUE(MayRead(2, 14, 15));
  EXPECT_FALSE(MayRead(1, 14, 15));
  EXPECT_FALSE(MayRead(std::nullopt, 14, 15));
}

TEST_F(LedgerTest, AWrittenRecordIsUncheckedUntilItIsReadAfterTheRun) {
  EXPECT_TRUE(MayRead(std::nullopt, 8, 9));
  EXPECT_EQ(ledger_.verdict().unchecked, 0) << "nothing was written";
  Write(1, 10, 11);
  EXPECT_TRUE(MayRead(1, 12, 13));
  EXPECT_EQ(ledger_.verdict().unchecked, 1);
  const Ledger::Read last = {kRecord, At(14), ReadTime::kAfterRun};
  ledger_.ReadBegins(kRecord, At(14));
  ledger_.ReadEndsWithout(last);
  EXPECT_EQ(ledger_.verdict().unchecked, 1);
  ledger_.ReadBegins(kRecord, At(14));
  ledger_.ReadEnds(last, EncodeValue({kRun, kRecord, 1}, 50), At(15));
  EXPECT_EQ(ledger_.verdict().unchecked, 0);
}

TEST_F(LedgerTest, AReadBesideAWriteMaySeeEither) {
  Write(1, 10, 11);
  Begin(2, 12);
  EXPECT_TRUE(MayRead(1, 13, 14));
  ledger_.ReadBegins(kRecord, At(15));  // keeps the old value readable
  End(2, 16);
  EXPECT_TRUE(MayRead(1, 15, 17));
  EXPECT_FALSE(MayRead(1, 17, 18));
}

TEST_F(LedgerTest, WhatWasReadOnceIsNotUnread) {
  Write(1, 10, 11);
  Begin(2, 12);
  EXPECT_TRUE(MayRead(2, 13, 14));
  EXPECT_FALSE(MayRead(1, 15, 16));
}

TEST_F(LedgerTest, WritesSideBySideMayEndInEitherOrder) {
  Begin(1, 10);
  Begin(2, 10);
  End(1, 12);
  End(2, 13);
  EXPECT_TRUE(MayRead(1, 14, 15));
}

TEST_F(LedgerTest, AWriteWithoutAnswerMayTakeEffectAtAnyTimeOrNever) {
  Write(1, 10, 11);
  Begin(2, 12);
  End(2, 13, WriteOutcome::kUnknown);
  EXPECT_TRUE(MayRead(1, 20, 21));
  EXPECT_TRUE(MayRead(2, 30, 31));
  EXPECT_FALSE(MayRead(1, 40, 41));
}

TEST_F(LedgerTest, ARefusedWriteNeverDoes) {
  Write(1, 10, 11);
  Begin(2, 12);
  End(2, 13, WriteOutcome::kRefused);
  EXPECT_TRUE(MayRead(1, 14, 15));
  EXPECT_FALSE(MayRead(2, 14, 15));
}

TEST_F(LedgerTest, ARemovedRecordIsGone) {
  Write(1, 10, 11);
  Begin(2, 12, Ledger::Write::Means::kRemove);
  End(2, 13);
  EXPECT_TRUE(MayRead(std::nullopt, 14, 15));
  EXPECT_FALSE(MayRead(1, 14, 15));
}

TEST_F(LedgerTest, WhatExpiresMayBeMissingThenButNotBefore) {
  Begin(1, 10, Ledger::Write::Means::kPut, absl::Seconds(10));
  End(1, 11);
  EXPECT_FALSE(MayRead(std::nullopt, 12, 13));
  EXPECT_TRUE(MayRead(std::nullopt, 19, 20));
}

TEST_F(LedgerTest, WhatWasThereBeforeTheRunIsTakenAsItIs) {
  EXPECT_TRUE(MayRead(9, 1, 2, 4));
  EXPECT_TRUE(MayRead(std::nullopt, 3, 4));
  Write(1, 10, 11);
  EXPECT_FALSE(MayRead(9, 12, 13, 4));
  EXPECT_FALSE(MayRead(std::nullopt, 12, 13));
}

TEST_F(LedgerTest, TypesTellWhatHappened) {
  Write(1, 10, 11);
  Write(2, 12, 13);
  EXPECT_FALSE(MayRead(1, 14, 15));
  EXPECT_FALSE(MayRead(std::nullopt, 14, 16));
  const std::string old = EncodeValue({kRun, kRecord, 1}, 50);
  ledger_.ReadEnds({kRecord, At(17), ReadTime::kAfterRun}, old, At(18));
  ledger_.ReadEnds({kRecord, At(17)}, "not ours", At(19));
  const Ledger::Verdict verdict = ledger_.verdict();
  ASSERT_EQ(verdict.first.size(), 4u);
  EXPECT_EQ(verdict.first[0].type, Violation::Type::kStale);
  EXPECT_EQ(verdict.first[0].text, "sequence 1 where sequence 2 was acknowledged");
  EXPECT_EQ(verdict.first[1].type, Violation::Type::kLost);
  EXPECT_EQ(verdict.first[2].type, Violation::Type::kLost);
  EXPECT_EQ(verdict.first[3].type, Violation::Type::kMixed);
}

TEST(ValueCodec, StampsComeBackAndDamageIsSeen) {
  const Stamp stamp{.run = 1ull << 60, .record = 123, .sequence = 1ll << 40};
  for (size_t bytes : {32, 33, 100, 1000}) {
    const std::string value = EncodeValue(stamp, bytes);
    EXPECT_EQ(value.size(), bytes);
    ASSERT_TRUE(DecodeValue(value).ok());
    EXPECT_EQ(*DecodeValue(value), stamp);
    for (size_t at = 0; at < bytes; ++at) {
      std::string damaged = value;
      damaged[at] ^= 0x10;
      EXPECT_FALSE(DecodeValue(damaged).ok()) << at;
    }
    EXPECT_FALSE(DecodeValue(std::string_view(value).substr(0, bytes - 1)).ok());
  }
  EXPECT_EQ(EncodeValue(stamp, 5).size(), 5u);
  EXPECT_FALSE(DecodeValue("").ok());
}

}  // namespace
}  // namespace arion::load
