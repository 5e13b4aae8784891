// SPDX-License-Identifier: Apache-2.0
#include "wal/private_log.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/wal/log_world.h"
#include "wal/log_format.h"
#include "wal/log_identity.h"

namespace arion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PrivateLogTest, ReplaysWhatWasReportedDurableAfterAPowerCut) {
  LogWorld w;
  ASSERT_TRUE(w.Open().ok());
  for (int64_t d = 1; d <= 20; ++d) w.Append(MakeMutation(d, 100));
  w.Settle();
  ASSERT_EQ(w.answers.size(), 20u);
  for (const auto& [m, status] : w.answers) ASSERT_TRUE(status.ok()) << status;
  w.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(w.Open().ok());
  ASSERT_EQ(w.replayed.size(), 20u);
  for (size_t i = 0; i < 20; ++i) EXPECT_TRUE(SameMutation(*w.replayed[i], *w.appended[i]));
  EXPECT_FALSE(w.summary.was_clean);
  EXPECT_EQ(w.summary.max_decree, Decree(20));
  EXPECT_EQ(w.summary.max_ballot, Ballot(3));
}

TEST(PrivateLogTest, AnswersInAppendOrderEachOnce) {
  LogWorld w;
  ASSERT_TRUE(w.Open().ok());
  w.env().RunOn(w.strand(), [&] {
    for (int64_t d = 1; d <= 50; ++d) w.AppendHere(MakeMutation(d, 1000));
  });
  w.Settle();
  ASSERT_EQ(w.answers.size(), 50u);
  for (size_t i = 0; i < 50; ++i) EXPECT_EQ(w.answers[i].first, w.appended[i]);
}

TEST(PrivateLogTest, WhatQueuesDuringAWriteBecomesOneBlock) {
  LogWorld w;
  ASSERT_TRUE(w.Open().ok());
  w.Append(MakeMutation(1, 100));
  w.Settle();
  const int64_t first = w.log->stats().writes_done;  // the file's first block and one more
  EXPECT_EQ(first, 1);
  w.env().RunOn(w.strand(), [&] {
    w.AppendHere(MakeMutation(2, 100));
    EXPECT_TRUE(w.log->IsBusy());
    for (int64_t d = 3; d <= 40; ++d) w.AppendHere(MakeMutation(d, 100));
  });
  w.Settle();
  EXPECT_EQ(w.log->stats().writes_done - first, 2);
  EXPECT_FALSE(w.log->IsBusy());
}

// It was left as soon as one more of that size did not fit, for dozens of blocks.
TEST(PrivateLogTest, AFileIsNotLeftEarlyForAMutationThatWasOnceLarge) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 16 << 20;
  ASSERT_TRUE(w.Open(options).ok());
  w.Append(MakeMutation(1, 9 << 20));
  w.Settle();
  for (int64_t d = 2; d <= 40; ++d) {
    w.Append(MakeMutation(d, 100 << 10));
    w.Settle();
  }
  EXPECT_EQ(w.log->stats().files, 1);
}

TEST(PrivateLogTest, ALargeQueueIsCutIntoBlocksOfAboutAMebibyte) {
  LogWorld w;
  ASSERT_TRUE(w.Open().ok());
  w.env().RunOn(w.strand(), [&] {
    for (int64_t d = 1; d <= 10; ++d) w.AppendHere(MakeMutation(d, 400 << 10));
  });
  w.Settle();
  ASSERT_EQ(w.answers.size(), 10u);
  // 3 mutations bring a block beyond 1 MiB: 3 (with the file's first block) + 3 + 3 + 1.
  EXPECT_EQ(w.log->stats().writes_done, 4);
}

TEST(PrivateLogTest, CleanStopTrimsTheFileAndMarksTheStop) {
  LogWorld w;
  ASSERT_TRUE(w.Open().ok());
  w.Append(MakeMutation(1, 100));
  w.Settle();
  EXPECT_EQ(w.Content("log.1.0").size(), 1u << 20);  // pre-written
  const int64_t end = w.log->end_offset();
  ASSERT_TRUE(w.Close().ok());
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0"));
  EXPECT_EQ(static_cast<int64_t>(w.Content("log.1.0").size()), end);
  w.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(w.Open().ok());
  EXPECT_TRUE(w.summary.was_clean);
  EXPECT_FALSE(w.summary.cut_tail);
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1));
  // Nothing written since: still clean. Something written: no longer.
  w.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(w.Open().ok());
  EXPECT_TRUE(w.summary.was_clean);
  w.Append(MakeMutation(2, 100));
  w.Settle();
  w.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(w.Open().ok());
  EXPECT_FALSE(w.summary.was_clean);
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1, 2));
}

TEST(PrivateLogTest, AfterACleanStopOnlyTheEndIsReadThatTheEngineLacks) {
  LogWorld w;
  ASSERT_TRUE(w.Open().ok());
  for (int64_t d = 1; d <= 800; ++d) {
    w.Append(MakeMutation(d, 1000, d <= 5 ? 9 : 3));
    if (d % 20 == 0) w.Settle(absl::Milliseconds(20));
  }
  w.Settle();
  ASSERT_TRUE(w.Close().ok());
  PrivateLogOptions options = TestLogOptions();
  // Twice, for nothing is written meanwhile; then with an engine that lacks more.
  for (const int64_t applied : {800, 800, 797, 400}) {
    options.applied = Decree(applied);
    w.Crash(sim::CrashMode::kPowerNone);
    ASSERT_TRUE(w.Open(options).ok());
    EXPECT_TRUE(w.summary.was_clean);
    EXPECT_EQ(w.summary.max_decree, Decree(800));
    EXPECT_EQ(w.summary.max_ballot, Ballot(9)) << "of records that were not read";
    ASSERT_FALSE(w.replayed.empty());
    EXPECT_LE(w.replayed.front()->decree, Decree(applied)) << "the last one's ballot is known";
    EXPECT_GT(w.replayed.front()->decree, Decree(applied - 200)) << "one step of the index";
    for (size_t i = 1; i < w.replayed.size(); ++i)
      EXPECT_EQ(w.replayed[i]->decree, w.replayed[i - 1]->decree + 1);
    EXPECT_EQ(w.replayed.back()->decree, Decree(800));
    if (applied == 797) {
      ASSERT_TRUE(w.Close().ok());
    }
  }
  // All is still there, and it goes on as ever.
  w.Append(MakeMutation(801, 100));
  w.Settle();
  std::vector<MutationPtr> read;
  w.env().RunInPool([&] { read = w.log->ReadFrom(Decree(1), 100 << 20)->mutations; });
  ASSERT_EQ(read.size(), 801u);
  EXPECT_EQ(read[0]->decree, Decree(1));
  w.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(w.Open().ok());
  EXPECT_FALSE(w.summary.was_clean);
  EXPECT_EQ(w.replayed.size(), 801u);
}

// A log of this many records of 1000 bytes, closed.
void CloseFilled(LogWorld& w, int64_t records) {
  ASSERT_TRUE(w.Open().ok());
  for (int64_t d = 1; d <= records; ++d) {
    w.Append(MakeMutation(d, 1000));
    if (d % 20 == 0) w.Settle(absl::Milliseconds(20));
  }
  w.Settle();
  ASSERT_TRUE(w.Close().ok());
}

TEST(PrivateLogTest, AnEngineThatLacksMoreThanACleanStopTellsReadsTheWholeFile) {
  LogWorld w;
  CloseFilled(w, 4000);
  PrivateLogOptions options = TestLogOptions();
  options.applied = Decree(1000);
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_EQ(w.replayed.size(), 4000u);
}

TEST(PrivateLogTest, WhatIsNotAsACleanStopLeftItIsReadWhole) {
  LogWorld w;
  CloseFilled(w, 800);
  const std::string log = w.Content("log.1.0");
  const LogIdentity identity = *ReadLogIdentity(w.files(), kIdentityPath);
  ASSERT_FALSE(identity.last_file->marks.empty());
  const auto write_identity = [&](const LogIdentity& written) {
    ASSERT_TRUE(WriteFileDurably(w.files(), kIdentityPath, written.Format()).ok());
  };
  PrivateLogOptions options = TestLogOptions();
  options.applied = Decree(800);
  const auto replayed = [&] {
    EXPECT_TRUE(w.Open(options).ok());
    w.Crash(sim::CrashMode::kPowerNone);
    return w.replayed.size();
  };
  EXPECT_LT(replayed(), 200u);
  // Marks that do not fit.
  for (int i = 0; i < 4; ++i) {
    LogIdentity other = identity;
    LogIdentity::LastFile& last = *other.last_file;
    if (i == 0) last.marks.back().crc ^= 1;
    if (i == 1) ++last.marks.back().position;
    if (i == 2) ++last.content_bytes;
    if (i == 3) ++last.index;
    write_identity(other);
    EXPECT_EQ(replayed(), 800u) << i;
  }
  write_identity(identity);
  // Asked to.
  options.reads_newest_whole = true;
  EXPECT_EQ(replayed(), 800u);
  options.reads_newest_whole = false;
  // Void up to somewhere in it.
  options.valid_start_offset = 5000;
  EXPECT_GT(replayed(), 700u);
  options.valid_start_offset = 0;
  // Damage behind the mark is judged as ever: the last block is torn, one before it is not.
  std::string damaged = log;
  damaged[log.size() - 10] = static_cast<char>(damaged[log.size() - 10] ^ 1);
  w.Put("log.1.0", damaged);
  EXPECT_GT(replayed(), 700u);
  w.Put("log.1.0", log);
  write_identity(identity);
  damaged = log;
  const size_t at = identity.last_file->marks.back().position + 100;
  damaged[at] = static_cast<char>(damaged[at] ^ 1);
  w.Put("log.1.0", damaged);
  EXPECT_TRUE(absl::IsDataLoss(w.Open(options)));
}

TEST(PrivateLogTest, CloseOfABusyLogIsRefusedAndHarmless) {
  LogWorld w;
  ASSERT_TRUE(w.Open().ok());
  w.Append(MakeMutation(1, 100));
  EXPECT_TRUE(absl::IsFailedPrecondition(w.log->Close()));
  w.Settle();
  ASSERT_EQ(w.answers.size(), 1u);
  EXPECT_TRUE(w.answers[0].second.ok());
}

// 60 records in files of 16 KiB, each record a write.
void OpenAndFillFiles(LogWorld& w, PrivateLogOptions* options) {
  options->segment_bytes_max = 16 << 10;
  ASSERT_TRUE(w.Open(*options).ok());
  for (int64_t d = 1; d <= 60; ++d) {
    w.Append(MakeMutation(d, 1000));
    w.Settle(absl::Milliseconds(20));
  }
}

// What is dropped of it is removed.
void OpenFilledAfterACleanStop(LogWorld& w, PrivateLogOptions* options) {
  options->preallocate = false;
  ASSERT_NO_FATAL_FAILURE(OpenAndFillFiles(w, options));
  ASSERT_TRUE(w.Close().ok());
  ASSERT_TRUE(w.Open(*options).ok());
}

TEST(PrivateLogTest, FilesSwitchAtTheSegmentsSize) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  ASSERT_NO_FATAL_FAILURE(OpenAndFillFiles(w, &options));
  w.Settle();
  ASSERT_EQ(w.answers.size(), 60u);
  EXPECT_GT(w.log->stats().files, 3);
  for (const std::string& name : w.Names()) EXPECT_LE(w.Content(name).size(), 16u << 10) << name;
  w.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_EQ(w.replayed.size(), 60u);
}

TEST(PrivateLogTest, WorksWithoutPreallocationAndInThePageCache) {
  for (const Durability durability : {Durability::kFsync, Durability::kOs}) {
    LogWorld w;
    PrivateLogOptions options = TestLogOptions();
    options.segment_bytes_max = 16 << 10;
    options.preallocate = false;
    options.durability = durability;
    ASSERT_TRUE(w.Open(options).ok());
    for (int64_t d = 1; d <= 60; ++d) w.Append(MakeMutation(d, 1000));
    w.Settle();
    ASSERT_EQ(w.answers.size(), 60u);
    w.Crash(durability == Durability::kFsync ? sim::CrashMode::kPowerNone
                                             : sim::CrashMode::kProcess);
    ASSERT_TRUE(w.Open(options).ok());
    EXPECT_EQ(w.replayed.size(), 60u);
  }
}

TEST(PrivateLogTest, FilesBelowTheAppliedDecreeAreNotRead) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  ASSERT_NO_FATAL_FAILURE(OpenAndFillFiles(w, &options));
  ASSERT_TRUE(w.Close().ok());
  options.applied = Decree(40);
  ASSERT_TRUE(w.Open(options).ok());
  ASSERT_FALSE(w.replayed.empty());
  EXPECT_GT(w.replayed.front()->decree, Decree(1));
  EXPECT_LE(w.replayed.front()->decree, Decree(41));
  EXPECT_EQ(w.replayed.back()->decree, Decree(60));
  // What is below is still there for others.
  EXPECT_TRUE(w.log->Covers(Decree(1)));
}

TEST(PrivateLogTest, DropThroughRemovesWholeFilesFromTheFrontAndNeverTheNewest) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  ASSERT_NO_FATAL_FAILURE(OpenAndFillFiles(w, &options));
  const int64_t before = w.log->stats().files;
  EXPECT_TRUE(w.log->Covers(Decree(1)));
  w.env().RunOn(w.strand(), [&] { w.log->DropThrough(Decree(30)); });
  w.Settle();
  EXPECT_LT(w.log->stats().files, before);
  EXPECT_FALSE(w.log->Covers(Decree(1)));
  EXPECT_TRUE(w.log->Covers(Decree(31)));
  w.env().RunInPool([&] {
    EXPECT_TRUE(absl::IsOutOfRange(w.log->ReadFrom(Decree(1), 1 << 20).status()));
    auto read = w.log->ReadFrom(Decree(31), 1 << 30);
    ASSERT_TRUE(read.ok());
    ASSERT_EQ(read->mutations.size(), 30u);
    EXPECT_FALSE(read->is_cut);
    EXPECT_EQ(read->mutations.front()->decree, Decree(31));
    auto few = w.log->ReadFrom(Decree(31), 1);
    ASSERT_TRUE(few.ok());
    EXPECT_EQ(few->mutations.size(), 1u);
    EXPECT_TRUE(few->is_cut);
  });
  w.env().RunOn(w.strand(), [&] { w.log->DropThrough(Decree(60)); });
  w.Settle();
  EXPECT_EQ(w.log->stats().files, 1);
  w.Crash(sim::CrashMode::kPowerNone);
  options.applied = Decree(60);
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_EQ(w.replayed.back()->decree, Decree(60));
}

// Nothing is appended after the start, but a checkpoint needs fewer files.
TEST(PrivateLogTest, FilesDroppedAfterACleanStartAreNotMissedAtTheNext) {
  for (const bool preallocate : {true, false}) {  // they are kept, or removed
    SCOPED_TRACE(preallocate);
    LogWorld w;
    PrivateLogOptions options = TestLogOptions();
    options.preallocate = preallocate;
    ASSERT_NO_FATAL_FAILURE(OpenAndFillFiles(w, &options));
    ASSERT_TRUE(w.Close().ok());
    ASSERT_TRUE(w.Open(options).ok());
    const size_t before = w.Names().size();
    w.env().RunOn(w.strand(), [&] { w.log->DropThrough(Decree(40)); });
    w.Settle();
    EXPECT_LT(w.log->stats().files, static_cast<int64_t>(before));
    w.Crash(sim::CrashMode::kPowerNone);
    const LogIdentity identity = *ReadLogIdentity(w.files(), kIdentityPath);
    EXPECT_FALSE(identity.clean) << "it would say that as many files are there";
    options.applied = Decree(40);
    ASSERT_TRUE(w.Open(options).ok());
    EXPECT_EQ(w.replayed.back()->decree, Decree(60));
    ASSERT_TRUE(w.Close().ok());
    ASSERT_TRUE(w.Open(options).ok());
    EXPECT_TRUE(w.summary.was_clean);
  }
}

// The stop is clean until the identity file says otherwise, whoever tried first to write that.
TEST(PrivateLogTest, FilesDroppedAfterACleanStartThatCouldNotBeNotedAtOnceAreNotMissed) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  ASSERT_NO_FATAL_FAILURE(OpenAndFillFiles(w, &options));
  ASSERT_TRUE(w.Close().ok());
  ASSERT_TRUE(w.Open(options).ok());
  w.watched().on_change = [](const std::string& path) {
    return path.starts_with(kIdentityPath) ? absl::ResourceExhaustedError("Too many open files")
                                           : absl::OkStatus();
  };
  w.env().RunOn(w.strand(), [&] { w.log->PrepareNextFile(); });
  w.Settle();
  w.watched().on_change = nullptr;
  w.env().RunOn(w.strand(), [&] { w.log->DropThrough(Decree(40)); });
  w.Settle();
  w.Crash(sim::CrashMode::kPowerNone);
  options.applied = Decree(40);
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_EQ(w.summary.lost, "");
}

// Else the next start would take it for lost.
TEST(PrivateLogTest, WhatCanNotBeNotedAsGoneForWantOfOpenFilesStaysUntilItCan) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  ASSERT_NO_FATAL_FAILURE(OpenFilledAfterACleanStop(w, &options));
  const size_t before = w.Names().size();
  w.watched().on_change = [](const std::string& path) {
    return path.starts_with(kIdentityPath) ? absl::ResourceExhaustedError("Too many open files")
                                           : absl::OkStatus();
  };
  w.env().RunOn(w.strand(), [&] { w.log->DropThrough(Decree(40)); });
  w.Settle();
  EXPECT_EQ(w.Names().size(), before);
  w.watched().on_change = nullptr;
  w.env().RunOn(w.strand(), [&] { w.log->DropThrough(Decree(50)); });
  w.Settle();
  EXPECT_LT(w.Names().size(), before);
  w.Crash(sim::CrashMode::kPowerNone);
  options.applied = Decree(50);
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_EQ(w.summary.lost, "");
}

// A full disk has no space for an identity file, but wants the files removed.
TEST(PrivateLogTest, FilesAreDroppedAfterACleanStartOnAFullDiskToo) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  ASSERT_NO_FATAL_FAILURE(OpenFilledAfterACleanStop(w, &options));
  const size_t before = w.Names().size();
  w.node().disk().SetFreeBytes(0);
  w.env().RunOn(w.strand(), [&] { w.log->DropThrough(Decree(40)); });
  w.Settle();
  EXPECT_LT(w.Names().size(), before);
}

TEST(PrivateLogTest, WhatIsKnownOfTheNewestFileOutlivesADrop) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 300 << 10;
  ASSERT_TRUE(w.Open(options).ok());
  for (int64_t d = 1; d <= 800; ++d) {
    w.Append(MakeMutation(d, 1000));
    if (d % 20 == 0) w.Settle(absl::Milliseconds(20));
  }
  w.Settle();
  ASSERT_TRUE(w.Close().ok());
  options.applied = Decree(800);
  ASSERT_TRUE(w.Open(options).ok());
  ASSERT_GT(w.log->stats().files, 2);
  EXPECT_LT(w.replayed.size(), 200u) << "one step of the index";
  w.env().RunOn(w.strand(), [&] { w.log->DropThrough(Decree(500)); });
  w.Settle();
  ASSERT_TRUE(w.Close().ok());
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_LT(w.replayed.size(), 200u);
}

TEST(PrivateLogTest, AnEmptyLogDoesNotCoverWhatTheEngineHolds) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  options.applied = Decree(7);
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_FALSE(w.log->Covers(Decree(7)));
  EXPECT_TRUE(w.log->Covers(Decree(8)));
}

TEST(PrivateLogTest, AFileThatIsLeftTakesNothingMore) {
  LogWorld w;
  ASSERT_TRUE(w.Open().ok());
  w.env().RunOn(w.strand(), [&] { w.log->LeaveFile(); });
  for (int64_t d = 1; d <= 3; ++d) w.Append(MakeMutation(d, 100));
  w.Settle();
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0")) << "there was none to leave";
  w.env().RunOn(w.strand(), [&] {
    w.log->LeaveFile();
    w.log->LeaveFile();
  });
  w.Settle();
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0")) << "the next append begins one";
  for (int64_t d = 4; d <= 5; ++d) w.Append(MakeMutation(d, 100));
  w.Settle();
  EXPECT_EQ(w.Names().size(), 2u);
  EXPECT_TRUE(w.log->Covers(Decree(1)));
  w.Crash(sim::CrashMode::kPowerNone);
  PrivateLogOptions options = TestLogOptions();
  options.applied = Decree(3);
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(4, 5));
}

TEST(PrivateLogTest, StartAnewMakesEverythingBeforeVoid) {
  LogWorld w;
  ASSERT_TRUE(w.Open().ok());
  for (int64_t d = 1; d <= 5; ++d) w.Append(MakeMutation(d, 100));
  w.Settle();
  int64_t valid_from = 0;
  w.env().RunOn(w.strand(), [&] {
    w.log->StartAnew(Decree(100));
    valid_from = w.log->end_offset();
    EXPECT_FALSE(w.log->Covers(Decree(3)));
    EXPECT_TRUE(w.log->Covers(Decree(101)));
    w.AppendHere(MakeMutation(101, 100, 9));
  });
  w.Settle();
  EXPECT_TRUE(w.log->Covers(Decree(101)));
  EXPECT_FALSE(w.log->Covers(Decree(100)));
  EXPECT_THAT(w.Names(), ElementsAre("log.1.0", LogFileName{2, valid_from}.ToString()));
  w.Crash(sim::CrashMode::kPowerNone);
  PrivateLogOptions options = TestLogOptions();
  options.valid_start_offset = valid_from;
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(101));
  w.env().RunOn(w.strand(), [&] { w.log->DropThrough(Decree(0)); });
  w.Settle();
  EXPECT_THAT(w.Names(), ::testing::Not(::testing::Contains("log.1.0")));
}

TEST(PrivateLogTest, ALogThatEndsBeforeItsValidStartBeginsThere) {
  LogWorld w;
  ASSERT_TRUE(w.Open().ok());
  w.Append(MakeMutation(1, 100));
  w.Settle();
  ASSERT_TRUE(w.Close().ok());
  PrivateLogOptions options = TestLogOptions();
  options.valid_start_offset = 100000;
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_THAT(w.replayed, IsEmpty());
  EXPECT_EQ(w.log->end_offset(), 100000);
  w.Append(MakeMutation(2, 100));
  w.Settle();
  w.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(2));
}

// tests/sim/known_bugs.md B8: a sync that failed is never repeated.
TEST(PrivateLogTest, B8_F17_AFailedSyncFencesTheLog) {
  LogWorld w;
  ASSERT_TRUE(w.Open().ok());
  w.Append(MakeMutation(1, 100));
  w.Settle();
  w.node().disk().FailSyncs(1);
  w.env().RunOn(w.strand(), [&] {
    w.AppendHere(MakeMutation(2, 100));
    w.AppendHere(MakeMutation(3, 100));
  });
  w.Settle();
  w.Append(MakeMutation(4, 100));
  w.Settle();
  ASSERT_EQ(w.answers.size(), 4u);
  EXPECT_TRUE(w.answers[0].second.ok());
  for (size_t i = 1; i < 4; ++i)
    EXPECT_TRUE(absl::IsDataLoss(w.answers[i].second)) << w.answers[i].second;
  bool drained = false;
  w.env().RunOn(w.strand(), [&] { w.log->Drain([&] { drained = true; }); });
  w.Settle();
  EXPECT_TRUE(drained);
}

TEST(PrivateLogTest, AMutationLargerThanAFileIsWritten) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 4 << 10;
  ASSERT_TRUE(w.Open(options).ok());
  for (int64_t d = 1; d <= 4; ++d) w.Append(MakeMutation(d, d == 2 ? 100000 : 10));
  w.Settle();
  ASSERT_EQ(w.answers.size(), 4u);
  for (const auto& answer : w.answers) EXPECT_TRUE(answer.second.ok());
  w.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_EQ(w.replayed.size(), 4u);
}

TEST(PrivateLogTest, CallbacksMayAppendAndMayDropTheLog) {
  LogWorld w;
  ASSERT_TRUE(w.Open().ok());
  int answered = 0;
  w.env().RunOn(w.strand(), [&] {
    w.log->Append(MakeMutation(1, 10), [&](const absl::Status&) {
      ++answered;
      w.log->Append(MakeMutation(2, 10), [&](const absl::Status&) {
        ++answered;
        w.log.reset();
      });
      w.log->Append(MakeMutation(3, 10), [&](const absl::Status&) { ++answered; });
    });
  });
  w.Settle();
  EXPECT_EQ(answered, 2);
}

TEST(PrivateLogTest, TheUncommittedTailIsAppendedAnewAtOpen) {
  LogWorld w;
  ASSERT_TRUE(w.Open().ok());
  for (int64_t d = 1; d <= 6; ++d) w.Append(MakeMutation(d, 50, 3, std::min<int64_t>(d - 1, 3)));
  w.Settle();
  w.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(w.Open().ok());
  ASSERT_EQ(w.Names().size(), 2u);
  w.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(w.Open().ok());
  EXPECT_THAT(w.ReplayedDecrees(), ElementsAre(1, 2, 3, 4, 5, 6, 4, 5, 6));
  EXPECT_EQ(w.Names().size(), 3u);
}

// Random work, a crash at a random point, and what must hold then; some fall into the recovery.
// Of tests/sim/known_bugs.md F14, F15, F16, B9 and B10, in this order: unsynced writes lost at
// random, the last one torn; one replica's share of it, by durability; crashes in file switches,
// drops and recovery; names lost that no directory sync covered; switches under load: no hole, a
// prefix.
struct Crashes {
  const char* name;
  Durability durability;
  bool power;  // the machine, not only the process

  friend std::ostream& operator<<(std::ostream& out, const Crashes& c) { return out << c.name; }
};
class CrashTest : public ::testing::TestWithParam<Crashes> {};

TEST_P(CrashTest, F14_F15_F16_B9_B10_NothingReportedDurableIsLostAndNothingElseAppears) {
  const bool power = GetParam().power;
  // What is answered must be there afterwards; in the page cache a power cut may take a tail.
  const bool kept_for_sure = GetParam().durability == Durability::kFsync || !power;
  int recoveries = 0;
  int crashes_in_work = 0;
  int crashes_in_recovery = 0;
  size_t reported = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    LogWorld w(seed * 7919);
    sim::SimRandom dice(seed);
    PrivateLogOptions options = TestLogOptions();
    options.durability = GetParam().durability;
    options.preallocate = dice.Below(4) != 0;
    options.segment_bytes_max = 8192 << dice.Below(5);
    std::vector<MutationPtr> durable_answers;             // in order, over all lives
    std::map<int64_t, std::vector<MutationPtr>> offered;  // all that was ever appended
    int64_t next = 1;
    int64_t ballot = 1;
    int64_t applied = 0;  // the engine has these: the log may drop them
    for (int life = 0; life < 4; ++life) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " life " << life);
      options.applied = Decree(applied);
      absl::Status opened = w.Open(options);
      ASSERT_TRUE(opened.ok()) << opened;
      ++recoveries;
      // What replay makes of it: the larger ballot counts.
      std::map<int64_t, MutationPtr> kept;
      for (const MutationPtr& m : w.replayed) {
        const auto& candidates = offered[m->decree.value()];
        ASSERT_TRUE(std::any_of(candidates.begin(), candidates.end(),
                                [&](const MutationPtr& o) { return SameMutation(*o, *m); }))
            << "decree " << m->decree << " was never appended like this";
        MutationPtr& slot = kept[m->decree.value()];
        if (slot == nullptr || slot->ballot <= m->ballot) slot = m;
      }
      for (const MutationPtr& m : durable_answers) {
        if (m->decree.value() <= applied) continue;
        const auto found = kept.find(m->decree.value());
        ASSERT_NE(found, kept.end())
            << "decree " << m->decree << " was reported durable and is lost";
        ASSERT_GE(found->second->ballot, m->ballot);
        if (found->second->ballot == m->ballot) {
          ASSERT_TRUE(SameMutation(*found->second, *m));
        }
      }
      int64_t expected = kept.empty() ? applied + 1 : kept.begin()->first;
      ASSERT_LE(expected, applied + 1);
      for (const auto& [d, m] : kept) ASSERT_EQ(d, expected++) << "a hole";
      // What recovery has read counts as reported durable from now on.
      durable_answers.clear();
      for (const auto& [d, m] : kept) durable_answers.push_back(m);
      if (dice.Below(4) == 0) {
        // Power is cut again before any new write.
        w.Crash(power ? sim::CrashMode::kPowerRandom : sim::CrashMode::kProcess);
        continue;
      }
      next = std::max(applied + 1, expected);
      ++ballot;
      bool crashed = false;
      const auto mode = !power               ? sim::CrashMode::kProcess
                        : dice.Below(4) == 0 ? sim::CrashMode::kProcess
                        : dice.Below(3) == 0 ? sim::CrashMode::kPowerNone
                        : dice.Below(2) == 0 ? sim::CrashMode::kPowerPrefix
                                             : sim::CrashMode::kPowerRandom;
      w.node().CrashAfterChanges(static_cast<int64_t>(dice.Below(60)), mode,
                                 [&] { crashed = true; });
      for (int step = 0; step < 60 && !crashed; ++step) {
        const int burst = 1 + static_cast<int>(dice.Below(6));
        for (int i = 0; i < burst && !crashed; ++i) {
          const int64_t committed =
              std::max<int64_t>(0, next - 1 - static_cast<int64_t>(dice.Below(5)));
          MutationPtr m =
              MakeMutation(next, dice.Below(dice.Below(10) == 0 ? 40000 : 800), ballot, committed);
          ++next;
          offered[m->decree.value()].push_back(m);
          w.strand()->Post([&, m] {
            w.log->Append(m, [&, m](const absl::Status& status) {
              if (!status.ok() || !kept_for_sure) return;
              durable_answers.push_back(m);
              ++reported;
            });
          });
        }
        if (kept_for_sure && !durable_answers.empty() && dice.Below(10) == 0) {
          applied = std::max(applied, durable_answers.back()->decree.value() -
                                          static_cast<int64_t>(dice.Below(10)));
          w.strand()->Post([&, d = Decree(applied)] { w.log->DropThrough(d); });
        }
        w.world().RunFor(absl::Microseconds(dice.Below(3000)));
      }
      if (!crashed && dice.Below(4) == 0) {
        w.world().RunFor(absl::Seconds(1));
      }
      if (!crashed) {
        w.node().CrashAfterChanges(-1, mode, [] {});
        w.Crash(mode);
      } else {
        ++crashes_in_work;
        w.log.reset();
        w.Start();
      }
      // A crash in the middle of the recovery, now and then.
      if (dice.Below(2) == 0) {
        bool again = false;
        w.node().CrashAfterChanges(static_cast<int64_t>(dice.Below(12)),
                                   power ? sim::CrashMode::kPowerRandom : sim::CrashMode::kProcess,
                                   [&] { again = true; });
        (void)w.Open(options);
        w.world().RunFor(absl::Seconds(1));
        if (!again) {
          w.node().CrashAfterChanges(-1, mode, [] {});
          w.Crash(sim::CrashMode::kProcess);
        } else {
          ++crashes_in_recovery;
          w.log.reset();
          w.Start();
        }
      }
    }
  }
  EXPECT_EQ(recoveries, 600);
  EXPECT_GT(crashes_in_work, 100);
  EXPECT_GT(crashes_in_recovery, 20);
  EXPECT_TRUE(!kept_for_sure || reported > 5000) << reported;
  RecordProperty("reported", static_cast<int>(reported));
}

INSTANTIATE_TEST_SUITE_P(Modes, CrashTest,
                         ::testing::Values(Crashes{"Durable", Durability::kFsync, true},
                                           Crashes{"PageCacheProcess", Durability::kOs, false},
                                           Crashes{"PageCachePower", Durability::kOs, true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace arion
