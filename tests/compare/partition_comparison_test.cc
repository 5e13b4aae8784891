// SPDX-License-Identifier: Apache-2.0
#include "tools/compare/partition_comparison.h"

#include <absl/strings/str_format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"
#include "tests/compare/partition_of_map.h"

namespace arion::compare {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string Key(int i) { return PartitionOfMap::Key(absl::StrFormat("%06d", i)); }

class PartitionComparisonTest : public testing::Test {
 protected:
  // All suspects; `at_once`: as many as a caller has room for.
  std::vector<std::string> Suspects(size_t at_once = 10'000) {
    PartitionComparison comparison(here_, there_);
    std::vector<std::string> all;
    for (int calls = 0; !comparison.IsDone(); ++calls) {
      std::vector<std::string> some;
      const absl::Status went = comparison.Continue(at_once, &some);
      EXPECT_TRUE(went.ok()) << went;
      EXPECT_LE(some.size(), at_once);
      all.insert(all.end(), some.begin(), some.end());
      if (!went.ok() || calls > 100'000) break;
    }
    records_ = comparison.records();
    return all;
  }
  void FillBoth(int count) {
    for (int i = 0; i < count; ++i) here_.Put(Key(i), "v"), there_.Put(Key(i), "v");
  }

  PartitionOfMap here_, there_;
  int64_t records_ = 0;
};

TEST_F(PartitionComparisonTest, EqualSidesAreAddedUpAndNotRead) {
  EXPECT_THAT(Suspects(), IsEmpty());
  EXPECT_EQ(records_, 0);
  FillBoth(20'000);
  EXPECT_THAT(Suspects(), IsEmpty());
  EXPECT_EQ(records_, 20'000);
  EXPECT_EQ(here_.reads() + there_.reads(), 0);
  EXPECT_LE(here_.sums(), 5);
}

TEST_F(PartitionComparisonTest, EveryKindOfDifferenceIsFound) {
  FillBoth(20'000);
  there_.Put(Key(7), "other value");
  there_.Put(Key(8'100), "v", 5);
  there_.Remove(Key(12'345));
  here_.Remove(Key(19'999));
  EXPECT_THAT(Suspects(), ElementsAre(Key(7), Key(8'100), Key(12'345), Key(19'999)));
  EXPECT_EQ(records_, 19'999);
  // Not all of a range that differs comes from the servers.
  EXPECT_LE(here_.records_read(), 4 * 2 * PartitionComparison::kReadRecords);
}

TEST_F(PartitionComparisonTest, OneSideMayHaveNothing) {
  for (int i = 0; i < 3000; ++i) here_.Put(Key(i), "v");
  EXPECT_EQ(Suspects().size(), 3000u);
  EXPECT_EQ(records_, 3000);
  std::swap(here_, there_);
  EXPECT_EQ(Suspects().size(), 3000u);
  EXPECT_EQ(records_, 0);
}

TEST_F(PartitionComparisonTest, MoreThanThereIsRoomForComesLater) {
  for (int i = 0; i < 1000; ++i) here_.Put(Key(i), "v"), there_.Put(Key(i), i % 3 == 0 ? "w" : "v");
  const std::vector<std::string> at_once = Suspects();
  EXPECT_EQ(at_once.size(), 334u);
  const int64_t records = records_;
  EXPECT_EQ(Suspects(7), at_once);
  EXPECT_EQ(records_, records);
}

// A server of another version gives records in its own batches.
TEST_F(PartitionComparisonTest, SidesMayAnswerInBatchesOfTheirOwn) {
  FillBoth(5000);
  there_.Put(Key(4321), "w");
  there_.set_batch_max(100);
  EXPECT_THAT(Suspects(), ElementsAre(Key(4321)));
  std::swap(here_, there_);
  EXPECT_THAT(Suspects(), ElementsAre(Key(4321)));
}

TEST_F(PartitionComparisonTest, KeysOfAnyBytesAreInOrder) {
  const std::vector<std::string> keys = {
      PartitionOfMap::Key(""), PartitionOfMap::Key(std::string(300, '\0')),
      PartitionOfMap::Key("a"), PartitionOfMap::Key(std::string(1, '\xff'))};
  for (const std::string& key : keys) here_.Put(key, "v");
  EXPECT_THAT(Suspects(), testing::ElementsAreArray(keys));
}

TEST_F(PartitionComparisonTest, AnErrorIsToldAndItGoesOnAfterIt) {
  FillBoth(100);
  there_.Put(Key(50), "w");
  there_.set_error(absl::UnavailableError("gone"));
  PartitionComparison comparison(here_, there_);
  std::vector<std::string> suspects;
  EXPECT_TRUE(absl::IsUnavailable(comparison.Continue(10, &suspects)));
  there_.set_error(absl::OkStatus());
  EXPECT_TRUE(comparison.Continue(10, &suspects).ok());
  EXPECT_TRUE(comparison.IsDone());
  EXPECT_THAT(suspects, ElementsAre(Key(50)));
}

}  // namespace
}  // namespace arion::compare
