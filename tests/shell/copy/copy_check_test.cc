// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/copy_check.h"

#include <absl/time/clock.h>
#include <gtest/gtest.h>

#include "base/status.h"
#include "tests/shell/copy/fake_table.h"

namespace arion::shell {
namespace {

class CopyCheckTest : public testing::Test {
 protected:
  CopyCheckTest() {
    target_.partitions = 3;
    for (int i = 0; i < 50; ++i) source_.Add(absl::StrCat("h", i), "s", absl::StrCat("v", i));
    target_.records = source_.records;
  }
  absl::StatusOr<CopyCheckResult> Check(CopyCheckOptions options = {}) {
    return CheckCopy({&source_, "t", [this] { return source_.Shares(); }},
                     {&target_, "u", [this] { return target_.Shares(); }}, options, of_,
                     [](int64_t) { return true; });
  }
  FakeTable source_, target_;
  std::vector<Share> of_ = source_.Shares();
};

TEST_F(CopyCheckTest, EqualTablesAreEqualWhateverTheirPartitions) {
  const auto result = Check();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->IsEqual());
  int64_t records = 0;
  for (const RecordSum& sum : result->source) records += sum.records;
  EXPECT_EQ(records, 50);
}

TEST_F(CopyCheckTest, OneDifferenceIsSeenInItsPartition) {
  const std::string raw_key = JoinRawKey("h7", "s");
  const auto at = PartitionHash(raw_key) % 4;
  const auto original = target_.records[raw_key];
  const absl::Time later = absl::Now() + absl::Hours(10);
  for (const auto& changed : {FakeTable::Record{"other"}, {"v7", later}}) {
    target_.records[raw_key] = changed;
    const auto result = Check();
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(result->source[i] == result->target[i], i != at) << i;
    EXPECT_EQ(result->source[at].records, result->target[at].records);
  }
  EXPECT_TRUE(Check({.expiry_times = ExpiryTimes::kOmit})->IsEqual());
  target_.records[raw_key] = {"other"};
  EXPECT_TRUE(Check({.compared = Values::kOmit})->IsEqual());
  target_.records.erase(raw_key);
  EXPECT_EQ(Check()->target[at].records, Check()->source[at].records - 1);
  target_.records[raw_key] = original;
  target_.Add("more", "s", "v");
  EXPECT_FALSE(Check()->IsEqual());
}

TEST_F(CopyCheckTest, TwoChangesDoNotMakeUpForEachOther) {
  // Values that change places: a sum of parts would be the same.
  std::swap(target_.records[JoinRawKey("h1", "s")].value,
            target_.records[JoinRawKey("h2", "s")].value);
  of_ = {{0, 1}};
  source_.partitions = 1;
  EXPECT_FALSE(Check()->IsEqual());
}

TEST_F(CopyCheckTest, WhatExpiresSoonIsLeftOut) {
  source_.Add("mortal", "s", "v", absl::Now() + absl::Minutes(1));
  const auto result = Check();
  EXPECT_TRUE(result->IsEqual());
  EXPECT_EQ(result->left_out, 1);
}

TEST_F(CopyCheckTest, OnePartitionIsComparedAlone) {
  of_ = {{2, 4}};
  target_.Add("elsewhere0", "s", "v");
  const auto hash = PartitionHash(JoinRawKey("elsewhere0", "s"));
  EXPECT_EQ(Check()->IsEqual(), hash % 4 != 2);
  for (const auto& [raw_key, record] : source_.records)
    if (PartitionHash(raw_key) % 4 != 2) target_.records.erase(raw_key);
  target_.records.erase(JoinRawKey("elsewhere0", "s"));
  EXPECT_TRUE(Check()->IsEqual());
}

TEST_F(CopyCheckTest, ErrorsAndSplitsOnTheWayChangeNothing) {
  int reads = 0;
  const auto flaky = [&reads](FakeTable* table) {
    return [&reads, table](int32_t) {
      if (++reads == 9) table->partitions *= 2;
      return reads % 3 == 0 ? absl::UnavailableError("failover") : absl::OkStatus();
    };
  };
  target_.read_error = flaky(&target_);
  source_.read_error = flaky(&source_);
  const auto result = Check();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->IsEqual());
  int64_t records = 0;
  for (const RecordSum& sum : result->source) records += sum.records;
  EXPECT_EQ(records, 50);
}

TEST_F(CopyCheckTest, WhatIsRefusedForGoodEndsIt) {
  target_.read_error = [](int32_t) { return absl::PermissionDeniedError("no"); };
  EXPECT_TRUE(absl::IsPermissionDenied(Check().status()));
}

}  // namespace
}  // namespace arion::shell
