// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/table_copy.h"

#include <absl/time/clock.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/status.h"
#include "tests/shell/copy/fake_table.h"

namespace arion::shell {
namespace {

using testing::HasSubstr;

class TableCopyTest : public testing::Test {
 protected:
  TableCopyTest() {
    target_.partitions = 3;
    for (int i = 0; i < 40; ++i) source_.Add(absl::StrCat("h", i), "s", absl::StrCat("v", i));
    for (int i = 0; i < 20; ++i) source_.Add("many", absl::StrCat("s", i), "v");
  }
  TableCopy Copy(CopyOptions options = {}) {
    return TableCopy({&source_, "t"}, {&target_, "u"}, options, AtTheBeginning(source_.Shares()),
                     {});
  }
  // Of each partition of the source: what is behind the position may be missing at the target, and
  // nothing else (table_copy/C1).
  void ExpectPositionsTrue(const std::vector<CopyPosition>& positions) {
    for (const auto& [raw_key, record] : source_.records) {
      for (const CopyPosition& position : positions) {
        const auto count = static_cast<uint64_t>(position.share.count);
        if (PartitionHash(raw_key) % count != static_cast<uint64_t>(position.share.index)) continue;
        if (position.is_done || (position.after && raw_key <= *position.after)) {
          EXPECT_TRUE(target_.records.contains(raw_key)) << raw_key;
        }
      }
    }
  }
  static bool GoOn() { return true; }
  FakeTable source_, target_;
};

TEST_F(TableCopyTest, AllIsThereAfterwards) {
  TableCopy copy = Copy();
  EXPECT_EQ(*copy.Run(GoOn), TableCopy::End::kAll);
  EXPECT_EQ(target_.records, source_.records);
  EXPECT_EQ(copy.counts().copied, 60);
  EXPECT_EQ(copy.partitions_done(), 4);
  EXPECT_EQ(target_.writes, 60);
}

TEST_F(TableCopyTest, TimesStayAndWhatHasExpiredIsLeftOut) {
  const absl::Time later = absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now()) + 1000);
  source_.Add("mortal", "s", "v", later);
  source_.Add("gone", "s", "v", absl::Now() - absl::Seconds(1));
  TableCopy copy = Copy();
  ASSERT_TRUE(copy.Run(GoOn).ok());
  EXPECT_EQ(target_.records.at(JoinRawKey("mortal", "s")).expires, later);
  EXPECT_FALSE(target_.records.contains(JoinRawKey("gone", "s")));
  EXPECT_EQ(copy.counts().skipped, 1);
  FakeTable other;
  TableCopy without({&source_, "t"}, {&other, "u"}, {.expiry_times = ExpiryTimes::kOmit},
                    AtTheBeginning(source_.Shares()), {});
  ASSERT_TRUE(without.Run(GoOn).ok());
  EXPECT_EQ(other.records.at(JoinRawKey("mortal", "s")).expires, absl::InfiniteFuture());
}

TEST_F(TableCopyTest, WhatIsThereIsKeptWhereThatIsAskedFor) {
  target_.Add("h1", "s", "ours");
  source_.Add("", "x", "v");
  TableCopy copy = Copy({.existing = CopyOptions::Existing::kKept});
  ASSERT_TRUE(copy.Run(GoOn).ok());
  EXPECT_EQ(target_.records.at(JoinRawKey("h1", "s")).value, "ours");
  EXPECT_EQ(
      copy.counts(),
      (CopyCounts{.copied = 59, .skipped = 1, .not_copied = 1, .bytes = copy.counts().bytes}));
}

TEST_F(TableCopyTest, RecordsOfAHashKeyGoTogether) {
  source_.Add("many", "s5", "v", absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now()) + 1000));
  source_.Add("", "a", "v");
  source_.Add("", "b", "v");
  source_.batch = 100;
  TableCopy copy = Copy({.together = 100});
  ASSERT_TRUE(copy.Run(GoOn).ok());
  EXPECT_EQ(target_.records, source_.records);
  // 40 alone, 2 without a hash key; of "many" one of its own time, and those before and after it.
  EXPECT_EQ(target_.writes, 45);
}

TEST_F(TableCopyTest, ValuesAreFilteredOrLeftOut) {
  TableCopy filtered = Copy({.values = *ValueFilter::Make("prefix", "v3")});
  ASSERT_TRUE(filtered.Run(GoOn).ok());
  EXPECT_EQ(filtered.counts().copied, 11);
  EXPECT_EQ(filtered.counts().skipped, 49);
  TableCopy empty = Copy({.written = Values::kOmit});
  ASSERT_TRUE(empty.Run(GoOn).ok());
  EXPECT_EQ(target_.records.size(), 60u);
  for (const auto& [raw_key, record] : target_.records) EXPECT_EQ(record.value, "");
}

TEST_F(TableCopyTest, WhatMayPassIsTriedAgain) {
  std::map<std::string, int> tries;
  target_.write_error = [&](const std::string& raw_key) {
    return ++tries[raw_key] % 3 == 0 ? absl::OkStatus() : absl::UnavailableError("failover");
  };
  int reads = 0;
  source_.read_error = [&](int32_t) {
    return ++reads % 2 == 0 ? absl::OkStatus() : absl::DeadlineExceededError("late");
  };
  TableCopy copy = Copy();
  EXPECT_EQ(*copy.Run([&] {
    ExpectPositionsTrue(copy.positions());
    return true;
  }),
            TableCopy::End::kAll);
  EXPECT_EQ(target_.records, source_.records);
  EXPECT_EQ(copy.counts().copied, 60);
  EXPECT_GE(copy.errors(), 120);
  EXPECT_THAT(copy.last_error(), testing::AnyOf(HasSubstr("failover"), HasSubstr("late")));
}

TEST_F(TableCopyTest, WhatWouldBeAnsweredTheSameEndsItWithTheKey) {
  target_.write_error = [](const std::string& raw_key) {
    return raw_key == JoinRawKey("h7", "s") ? absl::InvalidArgumentError("too large")
                                            : absl::OkStatus();
  };
  TableCopy copy = Copy();
  const auto end = copy.Run(GoOn);
  EXPECT_TRUE(absl::IsInvalidArgument(end.status()));
  EXPECT_THAT(std::string(end.status().message()), HasSubstr("record \"h7\" \"s\" of t to u"));
  ExpectPositionsTrue(copy.positions());
  // What goes on from there, with the mend, comes to all of it.
  target_.write_error = [](const std::string&) { return absl::OkStatus(); };
  TableCopy again({&source_, "t"}, {&target_, "u"}, {}, copy.positions(), copy.counts());
  ASSERT_TRUE(again.Run(GoOn).ok());
  EXPECT_EQ(target_.records, source_.records);
  EXPECT_EQ(again.counts().copied, 60) << "each is counted once, however often it was written";
}

TEST_F(TableCopyTest, PatienceEnds) {
  source_.read_error = [](int32_t) { return absl::UnavailableError("no primary"); };
  TableCopy copy = Copy({.patience = absl::Milliseconds(300)});
  const auto end = copy.Run(GoOn);
  EXPECT_TRUE(absl::IsUnavailable(end.status()));
  EXPECT_THAT(std::string(end.status().message()), HasSubstr("partition "));
  EXPECT_THAT(std::string(end.status().message()), HasSubstr("nothing came through"));
}

TEST_F(TableCopyTest, AnywhereItIsStoppedAnotherRunGoesOn) {
  source_.batch = 2;
  for (int stop = 0; stop < 40; stop += 3) {
    target_.records.clear();
    int left = stop;
    // Writes of some keys come through only at the second try, so that positions stand still while
    // others behind them are written.
    std::set<std::string> failed;
    target_.write_error = [&](const std::string& raw_key) {
      if (--left < 0) return absl::UnavailableError("down");
      return raw_key.size() % 2 == 0 && failed.insert(raw_key).second
                 ? absl::UnavailableError("once")
                 : absl::OkStatus();
    };
    TableCopy copy = Copy();
    EXPECT_TRUE(absl::IsAborted(copy.Run([&] { return left >= 0; }).status()));
    ExpectPositionsTrue(copy.positions());
    target_.write_error = [](const std::string&) { return absl::OkStatus(); };
    TableCopy again({&source_, "t"}, {&target_, "u"}, {}, copy.positions(), copy.counts());
    ASSERT_TRUE(again.Run(GoOn).ok());
    ASSERT_EQ(target_.records, source_.records) << stop;
    ASSERT_EQ(again.counts().copied, 60);
  }
}

TEST_F(TableCopyTest, WhatIsSplitMeanwhileIsCopiedFromBothHalves) {
  int reads = 0;
  source_.read_error = [&](int32_t) {
    if (++reads == 7) source_.partitions *= 2;
    return absl::OkStatus();
  };
  TableCopy copy = Copy();
  EXPECT_EQ(*copy.Run(GoOn), TableCopy::End::kDivided);
  ExpectPositionsTrue(copy.positions());
  copy.Divide(source_.Shares());
  EXPECT_EQ(copy.partitions(), 8);
  EXPECT_EQ(*copy.Run(GoOn), TableCopy::End::kAll);
  EXPECT_EQ(target_.records, source_.records);
}

TEST_F(TableCopyTest, ARateIsKept) {
  const absl::Time begun = absl::Now();
  TableCopy copy = Copy({.rate = {.most = 100}});
  ASSERT_TRUE(copy.Run(GoOn).ok());
  // Sixty, ten of which go at once.
  EXPECT_GE(absl::Now() - begun, absl::Milliseconds(450));
}

}  // namespace
}  // namespace arion::shell
