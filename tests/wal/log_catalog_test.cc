// SPDX-License-Identifier: Apache-2.0
#include "wal/log_catalog.h"
#include "env/clock.h"
#include "wal/log_needs.h"
#include "wal/replay_estimate.h"

#include <gmock/gmock.h>

namespace arion {
namespace {

using ::testing::ElementsAre;

class TestClock : public Clock {
 public:
  Instant Now() const override { return Instant(); }
  int64_t WallMicros() const override { return seconds * 1000000; }
  int64_t seconds = 1'700'000'000;
};

class LogCatalogTest : public ::testing::Test {
 protected:
  // A file of a first block and one of a MiB per decree.
  void AddFile(int64_t index, int64_t first, int64_t last) {
    const LogFileName name{index, start_};
    catalog_.Add({.file = name, .header_max_decree = Decree(first - 1), .end = 60});
    uint64_t position = 60;
    for (int64_t d = first; d <= last; ++d, position += 1 << 20)
      catalog_.Add({.file = name,
                    .at = {.position = position,
                           .crc = static_cast<uint32_t>(d),
                           .max_decree = Decree(d - 1)},
                    .end = position + (1 << 20),
                    .max_decree = Decree(d)});
    start_ += static_cast<int64_t>(position);
  }

  TestClock clock_;
  LogCatalog catalog_{{}, clock_};
  int64_t start_ = 0;
};

TEST_F(LogCatalogTest, ReadingBeginsAtTheBlockBeforeWhichNothingIsNeeded) {
  EXPECT_FALSE(catalog_.Begin(Decree(1))->has_value());
  AddFile(1, 1, 10);
  AddFile(2, 11, 20);
  const auto piece = catalog_.Begin(Decree(15));
  ASSERT_TRUE(piece.ok() && piece->has_value());
  EXPECT_EQ((*piece)->file_name, LogFileName(2, 60 + (10 << 20)).ToString());
  EXPECT_EQ((*piece)->from.position, 60u + (4 << 20));
  EXPECT_EQ((*piece)->from.crc, 15u);
  EXPECT_TRUE((*piece)->is_indexed);
  EXPECT_EQ((*catalog_.Begin(Decree(1)))->name.index, 1);
  EXPECT_FALSE(catalog_.After(**piece)->has_value());
}

TEST_F(LogCatalogTest, ReadingEndsWhereTheLogEndedWhenItBegan) {
  AddFile(1, 1, 10);
  const auto piece = catalog_.Begin(Decree(1));
  AddFile(2, 11, 20);
  EXPECT_FALSE(catalog_.After(**piece)->has_value()) << "or what came between would be missed";
}

TEST_F(LogCatalogTest, FilesDroppedWhileReadingAreOutOfRange) {
  AddFile(1, 1, 10);
  AddFile(2, 11, 20);
  AddFile(3, 21, 30);
  const auto piece = catalog_.Begin(Decree(1));
  EXPECT_EQ(catalog_.DropOldest(2).size(), 2u);
  EXPECT_TRUE(absl::IsOutOfRange(catalog_.After(**piece).status()));
  EXPECT_TRUE(absl::IsOutOfRange(catalog_.Begin(Decree(20)).status()));
  EXPECT_FALSE(catalog_.Covers(Decree(20)));
  EXPECT_TRUE(catalog_.Covers(Decree(21)));
  EXPECT_FALSE(catalog_.Holds({2, 0}));
  EXPECT_TRUE(catalog_.Holds({3, 0}));
}

TEST_F(LogCatalogTest, ANewBeginningHidesWhatWasBefore) {
  AddFile(1, 1, 10);
  catalog_.StartAnew(start_, Decree(100));
  EXPECT_FALSE(catalog_.Covers(Decree(5)));
  EXPECT_TRUE(catalog_.Covers(Decree(101)));
  EXPECT_FALSE(catalog_.Begin(Decree(101))->has_value());
  EXPECT_EQ(catalog_.WorkAbove(Decree(0)).bytes, 0u);
  AddFile(2, 101, 110);
  EXPECT_EQ((*catalog_.Begin(Decree(101)))->name.index, 2);
  EXPECT_EQ(catalog_.CountUnneeded({.checkpoint = Decree(100)}, {}), 1u);
}

TEST_F(LogCatalogTest, WorkIsWhatLiesAboveTheDecree) {
  AddFile(1, 1, 10);
  AddFile(2, 11, 20);
  EXPECT_EQ(catalog_.WorkAbove(Decree(0)).bytes, 120u + (20 << 20));
  EXPECT_EQ(catalog_.WorkAbove(Decree(15)).bytes, 5u << 20);
  EXPECT_EQ(catalog_.WorkAbove(Decree(15)).mutations, 5);
  EXPECT_EQ(catalog_.WorkAbove(Decree(20)).bytes, 0u);
  EXPECT_EQ(catalog_.WorkAbove(Decree(99)).mutations, 0);
}

TEST_F(LogCatalogTest, AFilesAgeCountsFromItsLastBlock) {
  AddFile(1, 1, 10);
  AddFile(2, 11, 20);
  const LogReserve hour{.bytes_max = 1 << 30, .age_max_seconds = 3600};
  EXPECT_EQ(catalog_.CountUnneeded({.checkpoint = Decree(20)}, hour), 0u);
  clock_.seconds += 3600;
  EXPECT_EQ(catalog_.CountUnneeded({.checkpoint = Decree(20)}, hour), 1u);
  EXPECT_THAT(catalog_.DropOldest(1), ElementsAre("log.1.0"));
  EXPECT_EQ(catalog_.gauges()->files.value(), 1);
}

TEST_F(LogCatalogTest, TheLongerIndexOfAFileCounts) {
  LogCatalog catalog(
      {.files = {{.name = {1, 0}, .file_name = "log.1.0", .content_bytes = 1 << 20}}}, clock_);
  EXPECT_FALSE((*catalog.Begin(Decree(1)))->is_indexed);
  LogIndex half, whole;
  half.Add({}, 1 << 19);
  whole.Add({}, 1 << 20);
  catalog.SetIndex({1, 0}, half);
  EXPECT_FALSE((*catalog.Begin(Decree(1)))->is_indexed);
  catalog.SetIndex({1, 0}, whole);
  catalog.SetIndex({1, 0}, half);
  EXPECT_TRUE((*catalog.Begin(Decree(1)))->is_indexed);
  catalog.SetIndex({9, 0}, whole);  // dropped meanwhile
}

using LogCatalogDeathTest = LogCatalogTest;

TEST_F(LogCatalogDeathTest, FilesFollowEachOther) {
  AddFile(1, 1, 10);
  EXPECT_DEATH(catalog_.Add({.file = {3, start_}, .end = 60}), "log_catalog/C1");
  EXPECT_DEATH(catalog_.Add({.file = {2, start_ - 1}, .end = 60}), "log_catalog/C1");
  const LogFileEntry first{.name = {1, 0}, .file_name = "log.1.0", .content_bytes = 100};
  EXPECT_DEATH(LogCatalog({.files = {first, {.name = {3, 100}}}}, clock_), "a hole");
  EXPECT_DEATH(LogCatalog({.files = {first, {.name = {2, 101}}}}, clock_), "a hole");
}

TEST_F(LogCatalogDeathTest, BlocksOfTheNewestFileFollowEachOther) {
  EXPECT_DEATH(catalog_.Add({.file = {1, 0}, .at = {.position = 60}, .end = 100}),
               "log_catalog/C2");
  AddFile(1, 1, 1);
  const int64_t second = start_;
  AddFile(2, 2, 2);
  const uint64_t end = 60 + (1 << 20);
  EXPECT_DEATH(catalog_.Add({.file = {2, second}, .at = {.position = end}, .end = end}),
               "log_catalog/C2");
  EXPECT_DEATH(catalog_.Add({.file = {2, second}, .at = {.position = end + 1}, .end = end + 9}),
               "log_catalog/C2");
  EXPECT_DEATH(catalog_.Add({.file = {1, 0}, .at = {.position = end}, .end = end + 9}),
               "log_catalog/C2");
}

TEST_F(LogCatalogDeathTest, AnIndexEndsWithItsFile) {
  AddFile(1, 1, 1);
  LogIndex index;
  index.Add({}, 2 << 20);
  EXPECT_DEATH(catalog_.SetIndex({1, 0}, index), "log_catalog/C3");
}

TEST_F(LogCatalogDeathTest, ANewBeginningVoidsAllThatWasBefore) {
  AddFile(1, 1, 10);
  EXPECT_DEATH(catalog_.StartAnew(start_ - 1, Decree(10)), "log_catalog/C4");
  catalog_.StartAnew(start_ + 60, Decree(10));
  EXPECT_DEATH(catalog_.StartAnew(start_, Decree(10)), "log_catalog/C4");
}

TEST_F(LogCatalogDeathTest, TheNewestFileStays) {
  AddFile(1, 1, 10);
  EXPECT_DEATH(catalog_.DropOldest(1), "log_catalog/C5");
  AddFile(2, 11, 20);
  EXPECT_DEATH(catalog_.DropOldest(3), "log_catalog/C5");
  EXPECT_EQ(catalog_.DropOldest(1).size(), 1u);
}

}  // namespace
}  // namespace arion
