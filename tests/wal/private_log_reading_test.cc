// Reading a private log beside its writer: what it costs, how much memory, what when files fail.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "tests/wal/log_world.h"
#include "tests/wal/memory_file.h"
#include "wal/log_format.h"
#include "wal/private_log.h"

namespace arion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PrivateLogReadingTest : public ::testing::Test {
 protected:
  // Appends decrees [first, last], `at_once` at a time.
  void Fill(int64_t first, int64_t last, size_t bytes, int64_t at_once = 8) {
    for (int64_t d = first; d <= last;) {
      w.env().RunOn(w.strand(), [&] {
        for (int64_t i = 0; i < at_once && d <= last; ++i) w.AppendHere(MakeMutation(d++, bytes));
      });
      w.Settle(absl::Milliseconds(5));
    }
    w.Settle();
  }
  std::vector<int64_t> Read(int64_t first, uint64_t bytes_max = 1 << 20) {
    std::vector<int64_t> decrees;
    w.env().RunInPool([&] {
      w.watched().bytes_read = 0;
      w.watched().bytes_at_once_max = 0;
      const auto read = w.log->ReadFrom(Decree(first), bytes_max);
      status = read.status();
      if (!read.ok()) return;
      for (const MutationPtr& m : read->mutations) decrees.push_back(m->decree.value());
    });
    return decrees;
  }
  void Drop(const LogNeeds& needs) {
    w.env().RunOn(w.strand(), [&] { w.log->DropUnneeded(needs); });
    w.Settle();
  }
  std::string PathOf(const std::string& name) { return JoinPath(kLogDirectory, name); }

  LogWorld w;
  absl::Status status;
};

TEST_F(PrivateLogReadingTest, TheLastDecreeOfALargeFileIsFoundWithoutReadingTheFile) {
  ASSERT_TRUE(w.Open().ok());
  Fill(1, 1920, 16 << 10);
  ASSERT_EQ(w.log->stats().files, 1);
  ASSERT_GT(w.log->stats().bytes, 30u << 20);
  // By the entries of the writer, ...
  EXPECT_THAT(Read(1920), ElementsAre(1920));
  EXPECT_LT(w.watched().bytes_read, 512u << 10);
  // ... of replay, ...
  ASSERT_TRUE(w.Close().ok());
  ASSERT_TRUE(w.Open().ok());
  EXPECT_THAT(Read(1920), ElementsAre(1920));
  EXPECT_LT(w.watched().bytes_read, 512u << 10);
  // ... and, where replay left the file out, of the first who read it.
  Fill(1921, 2100, 16 << 10);
  ASSERT_TRUE(w.Close().ok());
  PrivateLogOptions options = TestLogOptions();
  options.applied = Decree(2050);
  ASSERT_TRUE(w.Open(options).ok());
  ASSERT_GT(w.ReplayedDecrees().front(), 1000);
  EXPECT_EQ(Read(1500, 1).front(), 1500);
  EXPECT_GT(w.watched().bytes_read, 20u << 20) << "nothing is known of it yet";
  EXPECT_EQ(Read(1500, 1).front(), 1500);
  EXPECT_LT(w.watched().bytes_read, 512u << 10);
  EXPECT_EQ(Read(300, 1).front(), 300);
  EXPECT_LT(w.watched().bytes_read, 512u << 10);
}

TEST_F(PrivateLogReadingTest, NoMoreIsReadThanIsGivenBackAndAStep) {
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 4 << 20;
  ASSERT_TRUE(w.Open(options).ok());
  Fill(1, 12000, 1000, 40);
  ASSERT_GT(w.log->stats().files, 2);
  for (const int64_t first : {1, 2, 777, 3500, 3999, 8000, 11990, 12000}) {
    SCOPED_TRACE(first);
    for (const uint64_t bytes_max : {1u, 10000u, 300000u, 2000000u}) {
      const std::vector<int64_t> decrees = Read(first, bytes_max);
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_FALSE(decrees.empty());
      EXPECT_EQ(decrees.front(), first);
      EXPECT_EQ(decrees.back() - first + 1, static_cast<int64_t>(decrees.size()));
      const uint64_t given = decrees.size() * EncodedSize(*MakeMutation(1, 1000));
      EXPECT_LE(given, std::max<uint64_t>(bytes_max, 1200));
      // Before the first: a step and a block. Behind the last: a chunk. Between: starts of blocks at
      // the ends of chunks, twice.
      EXPECT_LE(w.watched().bytes_read, given * 5 / 4 + (1u << 20)) << bytes_max;
      EXPECT_LE(w.watched().bytes_at_once_max, std::max<uint64_t>(bytes_max, kBlockBytesTarget));
    }
  }
  EXPECT_TRUE(Read(12001).empty());
  EXPECT_TRUE(status.ok());
}

TEST_F(PrivateLogReadingTest, DecreesPreparedAnewAreAllFound) {
  ASSERT_TRUE(w.Open().ok());
  Fill(1, 300, 4000);
  // A new primary prepares 250 to 300 again, then goes on.
  for (int64_t d = 250; d <= 600; ++d) {
    w.Append(MakeMutation(d, 4000, /*ballot=*/4));
    w.Settle(absl::Milliseconds(5));
  }
  w.Settle();
  for (const bool reopened : {false, true}) {
    SCOPED_TRACE(reopened);
    if (reopened) {
      w.Crash(sim::CrashMode::kPowerNone);
      ASSERT_TRUE(w.Open().ok());
    }
    const std::vector<int64_t> decrees = Read(280, 1 << 30);
    EXPECT_EQ(std::count(decrees.begin(), decrees.end(), 280), 2);
    EXPECT_EQ(std::count(decrees.begin(), decrees.end(), 300), 2);
    EXPECT_EQ(std::count(decrees.begin(), decrees.end(), 301), 1);
    EXPECT_EQ(std::count(decrees.begin(), decrees.end(), 599), 1);
  }
}

TEST_F(PrivateLogReadingTest, WhatWasDroppedIsOutOfRange) {
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 64 << 10;
  ASSERT_TRUE(w.Open(options).ok());
  Fill(1, 400, 1000);
  Drop({.checkpoint = Decree(200)});
  EXPECT_FALSE(w.log->Covers(Decree(1)));
  EXPECT_TRUE(w.log->Covers(Decree(200))) << "the file of the checkpoint's decree stays";
  Read(1);
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  EXPECT_EQ(Read(200).front(), 200);
}

// wal/FORMAT.md 8.
TEST_F(PrivateLogReadingTest, TheReserveKeepsFilesForMembersThatComeBack) {
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 64 << 10;
  options.reserve = {.bytes_max = 1 << 20, .files_max = 4, .age_max_seconds = 3600};
  ASSERT_TRUE(w.Open(options).ok());
  Fill(1, 600, 1000);
  ASSERT_GT(w.log->stats().files, 6);
  Drop({.checkpoint = Decree(600)});
  EXPECT_EQ(w.log->stats().files, 4);
  // Files that were there before a restart have their age, too.
  w.Crash(sim::CrashMode::kPowerNone);
  options.reserve.files_max = 0;
  options.applied = Decree(600);
  ASSERT_TRUE(w.Open(options).ok());
  const int64_t files = w.log->stats().files;
  Drop({.checkpoint = Decree(600)});
  EXPECT_EQ(w.log->stats().files, files);
  w.Settle(absl::Hours(2));
  Drop({.checkpoint = Decree(600)});
  EXPECT_LT(w.log->stats().files, files);
  EXPECT_TRUE(w.log->Covers(Decree(601)));
}

TEST_F(PrivateLogReadingTest, WhoNeedsTheLogKeepsIt) {
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 64 << 10;
  ASSERT_TRUE(w.Open(options).ok());
  Fill(1, 400, 1000);
  Drop({.checkpoint = Decree(400), .learner = Decree(0)});
  EXPECT_TRUE(w.log->Covers(Decree(1)));
  Drop({.checkpoint = Decree(400), .learner = Decree(150), .member = Decree(300)});
  EXPECT_FALSE(w.log->Covers(Decree(1)));
  EXPECT_TRUE(w.log->Covers(Decree(151)));
  const LogReserve limits{.bytes_max = 150 << 10};  // two files
  Drop({.checkpoint = Decree(400), .member = Decree(200), .for_member = {.bytes_max = 1 << 20}});
  EXPECT_TRUE(w.log->Covers(Decree(201)));
  Drop({.checkpoint = Decree(400), .member = Decree(200), .for_member = limits});
  EXPECT_FALSE(w.log->Covers(Decree(201)));
  EXPECT_TRUE(w.log->Covers(Decree(391)));
}

TEST_F(PrivateLogReadingTest, ReplayIsEstimatedByWhatLiesAboveTheCheckpoint) {
  ASSERT_TRUE(w.Open().ok());
  EXPECT_EQ(w.log->EstimatedReplay(Decree(0)), absl::ZeroDuration());
  Fill(1, 2000, 10000);
  const absl::Duration all = w.log->EstimatedReplay(Decree(0));
  EXPECT_GT(all, absl::Milliseconds(50));
  EXPECT_LT(all, absl::Seconds(1));
  const absl::Duration half = w.log->EstimatedReplay(Decree(1000));
  EXPECT_NEAR(absl::FDivDuration(half, all), 0.5, 0.05);
  EXPECT_LT(w.log->EstimatedReplay(Decree(1999)), all / 50);
  EXPECT_EQ(w.log->EstimatedReplay(Decree(2000)), absl::ZeroDuration());
  EXPECT_EQ(w.log->EstimatedReplay(Decree(5000)), absl::ZeroDuration());
}

// EIO on read, of a file that is part of the log.
TEST_F(PrivateLogReadingTest, AReadErrorIsDataLossThatNamesTheFile) {
  ASSERT_TRUE(w.Open().ok());
  Fill(1, 100, 1000);
  w.watched().on_read = [](const std::string& path, uint64_t) { return InputOutputError(path); };
  Read(1);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("log.1.0"));
  w.watched().on_read = nullptr;
  EXPECT_EQ(Read(1).size(), 100u);
}

TEST_F(PrivateLogReadingTest, RottenBytesAreDataLossThatNamesThePlace) {
  ASSERT_TRUE(w.Open().ok());
  Fill(1, 1000, 1000);
  ASSERT_TRUE(w.node().disk().Rot(PathOf("log.1.0"), 600000, 1).ok());
  Read(1, 1 << 30);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("log.1.0: CORRUPT at "));
  // What does not pass the place is still read, verified: each entry carries the chain.
  EXPECT_EQ(Read(1000, 1 << 30), std::vector<int64_t>{1000});
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(PrivateLogReadingTest, AFileThatSomebodyRemovedIsDataLossAndTheNextDropFailsTheLog) {
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 64 << 10;
  ASSERT_TRUE(w.Open(options).ok());
  Fill(1, 200, 1000);
  const std::vector<std::string> names = w.Names();
  w.env().RunInPool([&] { ASSERT_TRUE(w.files().Remove(PathOf("log.1.0")).ok()); });
  Read(1);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("log.1.0 is gone"));
  // The writer doesn't look, until files are dropped.
  w.Append(MakeMutation(201, 100));
  w.Settle();
  EXPECT_TRUE(w.answers.back().second.ok());
  Drop({.checkpoint = Decree(0)});
  w.Append(MakeMutation(202, 100));
  w.Settle();
  EXPECT_TRUE(absl::IsDataLoss(w.answers.back().second)) << w.answers.back().second;
}

TEST_F(PrivateLogReadingTest, AFileThatSomebodyRemovedMayBeDropped) {
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 64 << 10;
  ASSERT_TRUE(w.Open(options).ok());
  Fill(1, 200, 1000);
  w.env().RunInPool([&] { ASSERT_TRUE(w.files().Remove(PathOf("log.1.0")).ok()); });
  Drop({.checkpoint = Decree(200)});
  EXPECT_FALSE(w.log->Covers(Decree(1)));
  w.Append(MakeMutation(201, 100));
  w.Settle();
  EXPECT_TRUE(w.answers.back().second.ok()) << w.answers.back().second;
}

// What is dropped is written again, also while a reader has it open.
TEST_F(PrivateLogReadingTest, AFileThatIsDroppedAndWrittenAgainWhileItIsReadIsNoDamage) {
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 64 << 10;
  ASSERT_TRUE(w.Open(options).ok());
  Fill(1, 200, 1000);
  bool is_dropped = false;
  w.watched().on_read = [&](const std::string& path, uint64_t) {
    if (path != PathOf("log.1.0") || std::exchange(is_dropped, true)) return absl::OkStatus();
    w.env().RunOn(w.strand(), [&] { w.log->DropUnneeded({.checkpoint = Decree(200)}); });
    for (int64_t d = 201; d <= 400; ++d) w.Append(MakeMutation(d, 1000));
    w.Settle();
    EXPECT_FALSE(Exists(w.files(), path));
    return absl::OkStatus();
  };
  Read(1);
  EXPECT_TRUE(is_dropped);
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
}

TEST_F(PrivateLogReadingTest, TheWholeFolderMayVanish) {
  ASSERT_TRUE(w.Open().ok());
  Fill(1, 200, 1000);
  w.env().RunInPool([&] { ASSERT_TRUE(w.files().RemoveAll(kLogDirectory).ok()); });
  Read(1);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  Drop({.checkpoint = Decree(100)});
  w.Append(MakeMutation(201, 100));
  w.Settle();
  EXPECT_TRUE(absl::IsDataLoss(w.answers.back().second)) << w.answers.back().second;
}

}  // namespace
}  // namespace arion
