// SPDX-License-Identifier: Apache-2.0
#include "wal/log_retention.h"
#include "wal/log_needs.h"

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
  needs.for_member.bytes_max = 1 << 20;
  EXPECT_EQ(Droppable(files, needs), 3u);
  needs.learner = Decree(20);
  EXPECT_EQ(Droppable(files, needs), 2u);
  needs.member = Decree(19);
  EXPECT_EQ(Droppable(files, needs), 1u);
  needs.learner = Decree(9);
  EXPECT_EQ(Droppable(files, needs), 0u);
  needs.learner = Decree(100);
  EXPECT_EQ(Droppable(files, needs), 1u);
  needs.member = Decree(30);
  EXPECT_EQ(Droppable(files, needs), 3u);
}

TEST(LogRetentionTest, AMemberThatNeverComesBackHoldsNoMoreThanItsLimits) {
  const auto files = Files({0, 10, 20, 30, 40});
  LogNeeds needs = Checkpoint(100);
  needs.member = Decree(5);
  const auto kept = [&](const LogReserve& for_member) {
    needs.for_member = for_member;
    return files.size() - Droppable(files, needs);
  };
  EXPECT_EQ(kept({}), 1u);
  EXPECT_EQ(kept({.bytes_max = 1 << 20}), 5u);
  EXPECT_EQ(kept({.bytes_max = 399}), 3u);
  EXPECT_EQ(kept({.bytes_max = 1 << 20, .files_max = 2}), 2u);
  EXPECT_EQ(kept({.bytes_max = 1 << 20, .age_max_seconds = 121}), 3u);
  needs.member = Decree(20);  // within the limits only what it needs
  EXPECT_EQ(kept({.bytes_max = 1 << 20}), 3u);
  needs.learner = Decree(10);  // each has a limit of its own
  EXPECT_EQ(kept({.bytes_max = 399}), 4u);
  needs.for_learner.bytes_max = 399;
  EXPECT_EQ(kept({.bytes_max = 399}), 3u);
  EXPECT_EQ(kept({}), 3u);
}

TEST(LogRetentionTest, VoidFilesGoWhateverTheyHold) {
  EXPECT_EQ(Droppable(Files({0, 50, 90}), Checkpoint(0), 100), 1u);
  EXPECT_EQ(Droppable(Files({0, 50, 90}), Checkpoint(0), 199), 1u);
  EXPECT_EQ(Droppable(Files({0, 50, 90}), Checkpoint(0), 200), 2u);
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

// File i and all newer ones: void files hold no reserve; others do, as long as every limit holds.
bool IsWithin(const RandomLog& log, size_t i, const LogReserve& limits) {
  uint64_t bytes = 0;
  for (size_t k = i; k < log.files.size(); ++k) {
    const LogFileEntry& file = log.files[k];
    const bool is_old = k + 1 < log.files.size() && limits.age_max_seconds > 0 &&
                        kNow - file.last_write_unix_s >= limits.age_max_seconds;
    if (is_old || file.end_offset() <= log.valid_start_offset) return false;
    bytes += file.content_bytes;
  }
  return limits.bytes_max > 0 && bytes <= limits.bytes_max &&
         (limits.files_max == 0 || static_cast<int64_t>(log.files.size() - i) <= limits.files_max);
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
    const auto any_limits = [&] {
      return LogReserve{.bytes_max = random() % 400,
                        .files_max = static_cast<int64_t>(random() % 5),
                        .age_max_seconds = static_cast<int64_t>(random() % 1000)};
    };
    const LogReserve reserve = random() % 2 == 0 ? any_limits() : LogReserve{};
    if (needs.member) needs.for_member = any_limits();
    const size_t n = CountDroppable(log.files, needs, reserve, log.valid_start_offset, kNow);
    dropped += n;
    ASSERT_TRUE(log.files.empty() ? n == 0 : n < log.files.size());
    for (const Record& record : log.records) {
      if (record.file >= n) continue;
      if (record.offset < log.valid_start_offset) continue;
      const Decree d = record.decree;
      ASSERT_LT(d, needs.checkpoint);
      ASSERT_LE(d, needs.learner.value_or(d));
      if (d > needs.member.value_or(d)) {
        ASSERT_FALSE(IsWithin(log, n - 1, needs.for_member));
      }
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
    if (n > 0) {
      ASSERT_FALSE(IsWithin(log, n - 1, reserve));
    }
  }
  EXPECT_GT(dropped, 10000u);
}

TEST(LogRetentionDeathTest, FilesThatAreJoinedHaveNoHole) {
  std::vector<LogFileEntry> files = Files({0, 10, 20});
  CheckJoined(files);
  CheckJoined({});
  files[2].name.start_offset = 201;
  EXPECT_DEATH(CheckJoined(files), "a hole");
  files.erase(files.begin() + 1);
  EXPECT_DEATH(CheckJoined(files), "a hole");
}

}  // namespace
}  // namespace arion
