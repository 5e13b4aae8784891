// SPDX-License-Identifier: Apache-2.0
#include "tools/compare/table_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/status.h"
#include "tests/compare/partition_of_map.h"

namespace arion::compare {
namespace {

using testing::UnorderedElementsAre;

class TableComparisonTest : public testing::Test {
 protected:
  static std::string KeyOf(int i) { return PartitionOfMap::Key(std::to_string(i)); }
  static constexpr int kPartitions = 3;
  static constexpr int kEach = 500;
  static constexpr uint32_t kSoon = 100;

  TableComparisonTest() {
    for (int i = 0; i < kPartitions; ++i) {
      here_.push_back(std::make_unique<PartitionOfMap>());
      there_.push_back(std::make_unique<PartitionOfMap>());
      for (int k = 0; k < kEach; ++k) here_[i]->Put(KeyOf(k), "v"), there_[i]->Put(KeyOf(k), "v");
    }
  }
  absl::StatusOr<TableComparison::Result> Compare(size_t different_max = 1000) {
    TableComparison::Partitions here, there;
    for (auto& one : here_) here.push_back(std::move(one));
    for (auto& one : there_) there.push_back(std::move(one));
    return TableComparison(std::move(here), std::move(there),
                           {.catch_up =
                                [this](const std::set<int32_t>& partitions) {
                                  waited_for_.push_back(partitions);
                                  return absl::OkStatus();
                                },
                            .show = [](int64_t) { return absl::OkStatus(); },
                            .soon = [] { return kSoon; }},
                           {.different_max = different_max})
        .Run();
  }

  std::vector<std::unique_ptr<PartitionOfMap>> here_, there_;
  std::vector<std::set<int32_t>> waited_for_;
};

TEST_F(TableComparisonTest, EqualTablesNeedNoWaiting) {
  const auto result = Compare();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->is_whole && result->different.empty() && result->changing.empty());
  EXPECT_EQ(result->records, kPartitions * kEach);
  EXPECT_TRUE(waited_for_.empty());
}

TEST_F(TableComparisonTest, WhatDiffersIsNamedWithItsPartition) {
  there_[2]->Put(KeyOf(7), "other");
  here_[1]->Remove(KeyOf(8));
  const auto result = Compare();
  ASSERT_TRUE(result.ok()) << result.status();
  std::vector<std::pair<int32_t, std::string>> named;
  for (const Suspect& one : result->different) named.emplace_back(one.partition, one.key);
  EXPECT_THAT(named, UnorderedElementsAre(std::pair(2, KeyOf(7)), std::pair(1, KeyOf(8))));
  EXPECT_TRUE(result->is_whole);
  EXPECT_EQ(waited_for_, (std::vector<std::set<int32_t>>{{1, 2}, {1, 2}}));
}

TEST_F(TableComparisonTest, ManyDifferencesEndIt) {
  for (int i = 0; i < kPartitions; ++i)
    for (int k = 0; k < 20'000; ++k) here_[i]->Put(KeyOf(100'000 + k), "only here");
  const auto result = Compare(10);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GE(result->different.size(), 10u);
  EXPECT_LE(result->different.size(), kPartitions * TableComparison::kSuspectsMax);
  EXPECT_FALSE(result->is_whole);
}

TEST_F(TableComparisonTest, WhatExpiresSoonMayBeGoneOnOneSide) {
  here_[0]->Put(KeyOf(1), "v", kSoon);
  there_[0]->Remove(KeyOf(1));
  there_[1]->Put(KeyOf(2), "v", kSoon - 1);
  here_[1]->Remove(KeyOf(2));
  here_[2]->Put(KeyOf(3), "v", kSoon + 1);
  there_[2]->Remove(KeyOf(3));
  const auto result = Compare();
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->different.size(), 1u);
  EXPECT_EQ(result->different[0].key, KeyOf(3));
}

TEST_F(TableComparisonTest, ErrorsEndIt) {
  there_[1]->set_error(absl::UnavailableError("gone"));
  const auto failed = Compare();
  EXPECT_TRUE(absl::IsUnavailable(failed.status()));
  EXPECT_NE(failed.status().message().find("partition 1"), std::string::npos) << failed.status();
}

TEST(ParallelWorkTest, DoesAllOfItOnceAndStopsAtAnError) {
  std::vector<std::atomic<int>> done(1000);
  const auto never = [] { return absl::OkStatus(); };
  EXPECT_TRUE(ParallelWork::Run(
                  done.size(), 8,
                  [&](size_t i) {
                    ++done[i];
                    return absl::OkStatus();
                  },
                  never)
                  .ok());
  for (const auto& one : done) EXPECT_EQ(one, 1);
  EXPECT_TRUE(ParallelWork::Run(
                  0, 8, [](size_t) { return absl::InternalError(""); }, never)
                  .ok());
  std::atomic<int> begun = 0;
  EXPECT_TRUE(absl::IsAborted(ParallelWork::Run(
      1'000'000, 2,
      [&](size_t i) { return ++begun, i == 5 ? absl::AbortedError("") : absl::OkStatus(); },
      never)));
  EXPECT_LT(begun, 1000);
}

TEST(ParallelWorkTest, TheCallerMayStopIt) {
  std::atomic<bool> is_stopped = false;
  const absl::Status status = ParallelWork::Run(
      1, 1,
      [&](size_t) {
        while (!is_stopped) std::this_thread::yield();
        return absl::OkStatus();
      },
      [&] {
        is_stopped = true;
        return absl::AbortedError("Ctrl-C");
      });
  EXPECT_TRUE(absl::IsAborted(status));
}

}  // namespace
}  // namespace arion::compare
