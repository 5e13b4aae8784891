// SPDX-License-Identifier: Apache-2.0
#include "wal/log_retention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace arion {
namespace {

constexpr int64_t kNow = 1'700'000'000;

// Files of 100 bytes each, written a minute after each other until now; maxima[i]: what file i's
// header says of all before it.
std::vector<LogFileEntry> Files(std::vector<int64_t> maxima) {
  std::vector<LogFileEntry> files;
  for (const int64_t max : maxima) {
    const auto i = static_cast<int64_t>(files.size());
    const auto left = static_cast<int64_t>(maxima.size()) - 1 - i;
    files.push_back({.name = {i + 1, i * 100},
                     .content_bytes = 100,
                     .header_max_decree = Decree(max),
                     .last_write_unix_s = kNow - 60 * left});
  }
  return files;
}

size_t Droppable(const std::vector<LogFileEntry>& files, const LogNeeds& needs,
                 int64_t valid_start_offset = 0) {
  return CountDroppable(files, needs, {}, valid_start_offset, kNow);
}
LogNeeds Checkpoint(int64_t decree) { return {.checkpoint = Decree(decree)}; }

TEST(LogRetentionTest, AFileGoesWhenTheNextHeaderSaysAllIsInTheCheckpoint) {
  const auto files = Files({0, 10, 20, 30});
  EXPECT_EQ(Droppable(files, Checkpoint(9)), 0u);
  EXPECT_EQ(Droppable(files, Checkpoint(11)), 1u);
  EXPECT_EQ(Droppable(files, Checkpoint(29)), 2u);
  EXPECT_EQ(Droppable(files, Checkpoint(31)), 3u);
}

TEST(LogRetentionTest, TheFileThatHoldsTheLastDurableCommittedDecreeStays) {
  const auto files = Files({0, 10, 20, 30});
  EXPECT_EQ(Droppable(files, Checkpoint(10)), 0u);
  EXPECT_EQ(Droppable(files, Checkpoint(20)), 1u);
  EXPECT_EQ(Droppable(files, Checkpoint(30)), 2u);
}

TEST(LogRetentionTest, TheNewestFileStays) {
  EXPECT_EQ(Droppable(Files({0, 10}), Checkpoint(1000)), 1u);
  EXPECT_EQ(Droppable(Files({0}), Checkpoint(1000)), 0u);
  EXPECT_EQ(Droppable({}, Checkpoint(1000)), 0u);
}

TEST(LogRetentionTest, WhoeverNeedsLeastDecidesNothing) {
  const auto files = Files({0, 10, 20, 30});
  LogNeeds needs = Checkpoint(35);
  EXPECT_EQ(Droppable(files, needs), 3u);
  needs.learner = Decree(20);
  EXPECT_EQ(Droppable(files, needs), 2u);
  needs.member = Decree(19);
  EXPECT_EQ(Droppable(files, needs), 1u);
  needs.duplication = Decree(9);
  EXPECT_EQ(Droppable(files, needs), 0u);
  needs.duplication = Decree(100);
  EXPECT_EQ(Droppable(files, needs), 1u);
}

TEST(LogRetentionTest, VoidFilesGoWhateverTheyHold) {
  EXPECT_EQ(Droppable(Files({0, 50, 90}), Checkpoint(0), 100), 1u);
  EXPECT_EQ(Droppable(Files({0, 50, 90}), Checkpoint(0), 199), 1u);
  EXPECT_EQ(Droppable(Files({0, 50, 90}), Checkpoint(0), 200), 2u);
}

// spec/disk-formats.md 6.1.
TEST(LogRetentionTest, WhileDuplicatingOnlyWhatIsConfirmedCounts) {
  const auto files = Files({0, 50, 90});
  LogNeeds needs = Checkpoint(95);
  needs.duplication = kInvalidDecree;  // not known yet
  EXPECT_EQ(Droppable(files, needs, 200), 0u);
  needs.duplication = Decree(0);
  EXPECT_EQ(Droppable(files, needs, 200), 0u);
  needs.duplication = Decree(50);
  EXPECT_EQ(Droppable(files, needs, 200), 1u);
}

TEST(LogRetentionTest, HeadersMayFallAfterANewBeginning) {
  // Files 0 and 1 are void (valid from 200); file 2's header was set back to 5.
  const auto files = Files({0, 50, 5, 60});
  EXPECT_EQ(Droppable(files, Checkpoint(0), 200), 2u);
  EXPECT_EQ(Droppable(files, Checkpoint(59), 200), 2u);
  EXPECT_EQ(Droppable(files, Checkpoint(61), 200), 3u);
  EXPECT_EQ(RetainedAbove(files, 200, Decree(70)), Decree(5));
}

TEST(LogRetentionTest, TheReserveHoldsFilesWhileEachOfItsLimitsDoes) {
  const auto files = Files({0, 10, 20, 30, 40});
  const LogNeeds needs = Checkpoint(100);
  const auto kept = [&](const LogReserve& reserve) {
    return files.size() - CountDroppable(files, needs, reserve, 0, kNow);
  };
  EXPECT_EQ(kept({}), 1u);
  EXPECT_EQ(kept({.files_max = 3, .age_max_seconds = 1000}), 1u) << "no bytes, no reserve";
  EXPECT_EQ(kept({.bytes_max = 99}), 1u);
  EXPECT_EQ(kept({.bytes_max = 300}), 3u);
  EXPECT_EQ(kept({.bytes_max = 399}), 3u);
  EXPECT_EQ(kept({.bytes_max = 10000}), 5u);
  EXPECT_EQ(kept({.bytes_max = 10000, .files_max = 2}), 2u);
  EXPECT_EQ(kept({.bytes_max = 10000, .age_max_seconds = 121}), 3u);
  EXPECT_EQ(kept({.bytes_max = 10000, .age_max_seconds = 120}), 2u);
  EXPECT_EQ(kept({.bytes_max = 200, .files_max = 4, .age_max_seconds = 1000}), 2u);
}

TEST(LogRetentionTest, TheReserveHoldsNoVoidFiles) {
  const LogReserve all{.bytes_max = 10000};
  EXPECT_EQ(CountDroppable(Files({0, 10, 20, 30}), Checkpoint(100), all, 200, kNow), 2u);
}

TEST(LogRetentionTest, WhatIsRetainedStartsBehindTheOldestHeader) {
  EXPECT_EQ(RetainedAbove(Files({7, 10, 20}), 0, Decree(30)), Decree(7));
  EXPECT_EQ(RetainedAbove({}, 0, Decree(30)), Decree(30));
  EXPECT_EQ(RetainedAbove(Files({7, 10}), 150, Decree(30)), Decree(30));
  EXPECT_EQ(RetainedAbove(Files({7, 10}), 100, Decree(30)), Decree(10));
}

// ---- any log, any needs ----

struct Record {
  size_t file = 0;
  Decree decree;
  int64_t offset = 0;
};
struct RandomLog {
  std::vector<LogFileEntry> files;
  std::vector<Record> records;
  int64_t valid_start_offset = 0;
  Decree max_decree;
};

RandomLog MakeRandomLog(std::mt19937_64& random) {
  RandomLog log;
  int64_t offset = 0;
  Decree decree{static_cast<int64_t>(random() % 50)};
  log.max_decree = decree;
  const size_t files = random() % 8;
  for (size_t i = 0; i < files; ++i) {
    if (i > 0 && random() % 6 == 0) {  // a new beginning
      log.valid_start_offset = offset;
      decree = log.max_decree = Decree(static_cast<int64_t>(random() % 100));
    }
    LogFileEntry file{.name = {static_cast<int64_t>(i) + 1, offset},
                      .header_max_decree = log.max_decree,
                      .last_write_unix_s = kNow - static_cast<int64_t>(random() % 1000)};
    for (size_t n = random() % 12; n > 0; --n) {
      // Mostly the next, sometimes prepared anew from below.
      if (random() % 8 == 0) decree = decree - static_cast<int64_t>(random() % 5);
      ++decree;
      log.max_decree = std::max(log.max_decree, decree);
      log.records.push_back({i, decree, offset});
      offset += 10;
    }
    file.content_bytes = static_cast<uint64_t>(offset - file.name.start_offset);
    log.files.push_back(file);
  }
  return log;
}

TEST(LogRetentionTest, NothingThatIsNeededIsEverDropped) {
  std::mt19937_64 random(4);
  size_t dropped = 0;
  for (int round = 0; round < 200000; ++round) {
    const RandomLog log = MakeRandomLog(random);
    const auto any = [&] { return Decree(static_cast<int64_t>(random() % 130)); };
    LogNeeds needs{.checkpoint = any()};
    if (random() % 3 == 0) needs.learner = any();
    if (random() % 3 == 0) needs.member = any();
    if (random() % 4 == 0) needs.duplication = random() % 2 == 0 ? any() : kInvalidDecree;
    LogReserve reserve;
    if (random() % 2 == 0)
      reserve = {.bytes_max = random() % 400,
                 .files_max = static_cast<int64_t>(random() % 5),
                 .age_max_seconds = static_cast<int64_t>(random() % 1000)};
    const size_t n = CountDroppable(log.files, needs, reserve, log.valid_start_offset, kNow);
    dropped += n;
    ASSERT_TRUE(log.files.empty() ? n == 0 : n < log.files.size());
    for (const Record& record : log.records) {
      if (record.file >= n) continue;
      if (record.offset < log.valid_start_offset) continue;
      const Decree d = record.decree;
      ASSERT_LE(d, needs.duplication.value_or(d));
      ASSERT_LT(d, needs.checkpoint);
      ASSERT_LE(d, needs.learner.value_or(d));
      ASSERT_LE(d, needs.member.value_or(d));
    }
    // What is left covers all that is above what was dropped.
    const std::vector<LogFileEntry> left(log.files.begin() + static_cast<ptrdiff_t>(n),
                                         log.files.end());
    const Decree above = RetainedAbove(left, log.valid_start_offset, log.max_decree);
    for (const Record& record : log.records) {
      if (record.file < n && record.offset >= log.valid_start_offset) {
        ASSERT_LE(record.decree, above);
      }
    }
    // Void files hold no reserve; others do, as long as every limit holds.
    if (n > 0 && n < log.files.size() && reserve.bytes_max > 0 && !needs.duplication) {
      uint64_t bytes = 0;
      for (size_t i = n - 1; i < log.files.size(); ++i) bytes += log.files[i].content_bytes;
      const bool within = bytes <= reserve.bytes_max &&
                          (reserve.files_max == 0 ||
                           static_cast<int64_t>(log.files.size() - n) < reserve.files_max) &&
                          (reserve.age_max_seconds == 0 ||
                           kNow - log.files[n - 1].last_write_unix_s < reserve.age_max_seconds) &&
                          log.files[n - 1].end_offset() > log.valid_start_offset;
      bool newer_within = true;
      for (size_t i = n; i + 1 < log.files.size(); ++i)
        newer_within = newer_within &&
                       (reserve.age_max_seconds == 0 ||
                        kNow - log.files[i].last_write_unix_s < reserve.age_max_seconds) &&
                       log.files[i].end_offset() > log.valid_start_offset;
      ASSERT_FALSE(within && newer_within);
    }
  }
  EXPECT_GT(dropped, 10000u);
}

}  // namespace
}  // namespace arion
