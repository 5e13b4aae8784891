// How the writer fails and recovers: a full disk, failing and short writes, failed flushes. And how
// it groups.
// SPDX-License-Identifier: Apache-2.0
#include "wal/log_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/wal/log_world.h"
#include "wal/log_recovery.h"
#include "wal/private_log.h"

namespace arion {
namespace {

// Passes everything on; writes fail as told.
class FaultyDevice : public LogDevice {
 public:
  FaultyDevice(LogDevice& device, uint64_t zeros_ahead_bytes_max)
      : LogDevice(zeros_ahead_bytes_max), device_(device) {}

  // The next `attempts` writes of files under `directory` get this far and end with `status`.
  struct Fault {
    std::string directory;
    int attempts = 0;
    size_t bytes = 0;
    absl::Status status;
  };
  Fault fault;
  int writes = 0;
  int records_largest = 0;
  int writes_without_records = 0;
  int truncations = 0;

  void Write(WriteRequest request) override {
    ++writes;
    if (request.records == 0) ++writes_without_records;
    records_largest = std::max(records_largest, static_cast<int>(request.records));
    if (fault.attempts == 0 || request.file->path().rfind(fault.directory, 0) != 0)
      return device_.Write(std::move(request));
    --fault.attempts;
    // The device takes the beginning of it, which no flush covers.
    const size_t alignment = request.file->alignment();
    WriteRequest part;
    part.file = request.file;
    part.offset = request.offset;
    part.buffer.Resize(std::min(fault.bytes, request.buffer.size()) / alignment * alignment);
    std::copy_n(request.buffer.data(), part.buffer.size(), part.buffer.data());
    part.durability = Durability::kOs;
    part.reply_on = request.reply_on;
    part.done = [whole = std::make_shared<WriteRequest>(std::move(request)), status = fault.status](
                    const absl::Status&, AlignedBuffer) {
      whole->done(status, std::move(whole->buffer));
    };
    device_.Write(std::move(part));
  }
  absl::StatusOr<std::shared_ptr<LogFile>> Open(const std::string& path, bool direct) override {
    return device_.Open(path, direct);
  }
  absl::Status FillWithZeros(LogFile& file, uint64_t from, uint64_t to) override {
    return device_.FillWithZeros(file, from, to);
  }
  absl::Status TruncateAndSync(LogFile& file, uint64_t size) override {
    ++truncations;
    return device_.TruncateAndSync(file, size);
  }
  absl::Status Sync(LogFile& file) override { return device_.Sync(file); }
  std::string method() const override { return device_.method(); }
  const LogDeviceStats& stats() const override { return device_.stats(); }

 private:
  LogDevice& device_;
};

class FaultyEnvironment : public Environment {
 public:
  FaultyEnvironment(Environment& env, uint64_t zeros_ahead_bytes_max)
      : device(env.log_device("/"), zeros_ahead_bytes_max), env_(env) {}
  const Clock& clock() const override { return env_.clock(); }
  FileSystem& files() override { return env_.files(); }
  Random& random() override { return env_.random(); }
  StrandPtr NewStrand(std::string_view name) override { return env_.NewStrand(name); }
  DiskPool& disk_pool(const std::string& path) override { return env_.disk_pool(path); }
  LogDevice& log_device(const std::string&) override { return device; }

  FaultyDevice device;

 private:
  Environment& env_;
};

// Several logs of one node behind one device that can fail. What happens is noted in `events`, in
// order: "3 ok", "4 no space", "5 lost", "waits", "goes on".
class Logs {
 public:
  explicit Logs(uint64_t zeros_ahead_bytes_max = kZerosAheadBytesMax)
      : zeros_ahead_bytes_max_(zeros_ahead_bytes_max) {
    Wrap();
  }

  absl::Status Open(int which, PrivateLogOptions options = TestLogOptions()) {
    options.directory = Directory(which);
    options.identity_path = absl::StrCat("/data/", which, "/.arion-log");
    options.on_no_space = [this](const absl::Status& why) {
      events.push_back(why.ok() ? "goes on" : "waits");
    };
    absl::Status status;
    replayed.clear();
    w.env().RunInPool([&] {
      auto opened = PrivateLog::Open(
          *env, w.strand(), options,
          [&](MutationPtr m) {
            replayed.push_back(m->decree.value());
            return absl::OkStatus();
          },
          nullptr);
      status = opened.status();
      if (opened.ok()) logs[which] = *std::move(opened);
    });
    return status;
  }
  static std::string Directory(int which) { return absl::StrCat("/data/", which, "/plog"); }

  void Append(int which, int64_t decree, size_t bytes) {
    w.env().RunOn(w.strand(), [&] { AppendHere(which, decree, bytes); });
  }
  void AppendHere(int which, int64_t decree, size_t bytes) {
    logs[which]->Append(MakeMutation(decree, bytes), [this, which, decree](absl::Status status) {
      events.push_back(absl::StrCat(decree, status.ok()                         ? " ok"
                                            : absl::IsResourceExhausted(status) ? " no space"
                                                                                : " lost"));
      if (status.ok()) durable[which].insert(decree);
    });
  }
  // One write of `count` mutations behind one that is under way.
  void AppendMany(int which, int64_t first, int count, size_t bytes) {
    w.env().RunOn(w.strand(), [&] {
      for (int i = 0; i < count; ++i) AppendHere(which, first + i, bytes);
    });
  }
  void Drain(int which) {
    w.env().RunOn(w.strand(), [&] { logs[which]->Drain([this] { events.push_back("drained"); }); });
  }
  void Crash(sim::CrashMode mode) {
    w.Crash(mode);
    logs.clear();
    Wrap();
  }

  LogWorld w;
  std::unique_ptr<FaultyEnvironment> env;
  std::map<int, std::unique_ptr<PrivateLog>> logs;
  std::map<int, std::set<int64_t>> durable;
  std::vector<std::string> events;
  std::vector<int64_t> replayed;

 private:
  void Wrap() {
    env = std::make_unique<FaultyEnvironment>(w.env(), zeros_ahead_bytes_max_);
    w.env().RunInPool([&] {
      for (int which : {1, 2, 3, 4})
        ASSERT_TRUE(w.files().CreateDirectories(absl::StrCat("/data/", which)).ok());
      ASSERT_TRUE(w.files().SyncDirectory("/data").ok());
    });
  }

  const uint64_t zeros_ahead_bytes_max_;
};

using Events = std::vector<std::string>;

Events Tail(const Events& events, size_t n) {
  return {events.end() - static_cast<ptrdiff_t>(std::min(n, events.size())), events.end()};
}

// Files of log 1 that have a log's name.
int64_t CountFiles(Logs& logs) {
  const std::vector<std::string> names = *logs.w.files().List(Logs::Directory(1));
  return std::count_if(names.begin(), names.end(), [](const std::string& name) {
    const auto parsed = ParseLogFileName(name);
    return parsed.ok() && parsed->has_value();
  });
}

// Fills the disk up behind decree 1 and appends until the log waits; the last decree appended.
int64_t AppendUntilItWaits(Logs& logs, size_t bytes) {
  logs.w.node().disk().SetFreeBytes(1000);
  int64_t d = 1;
  while (logs.events.back() != "waits" && d < 100) {
    logs.Append(1, ++d, bytes);
    logs.w.Settle(absl::Milliseconds(200));
  }
  EXPECT_EQ(logs.events.back(), "waits");
  return d;
}

TEST(LogWriterTest, G11_AFullDiskHoldsWhatWasAppendedUntilThereIsSpaceAgain) {
  for (const bool preallocate : {true, false}) {
    for (const uint64_t segment_bytes : {64 << 10, 8 << 20}) {
      SCOPED_TRACE(absl::StrCat(preallocate, " ", segment_bytes));
      Logs logs;
      PrivateLogOptions options = TestLogOptions();
      options.preallocate = preallocate;
      options.segment_bytes_max = segment_bytes;
      ASSERT_TRUE(logs.Open(1, options).ok());
      logs.Append(1, 1, 100);
      logs.w.Settle();
      const int64_t d = AppendUntilItWaits(logs, 60000);
      const size_t before = logs.events.size();
      logs.AppendMany(1, d + 1, 2, 60000);
      logs.w.Settle(absl::Seconds(10));
      EXPECT_EQ(logs.events.size(), before) << "told once, answered when it succeeded";
      bool busy = false;
      logs.w.env().RunOn(logs.w.strand(), [&] { busy = logs.logs[1]->IsBusy(); });
      EXPECT_TRUE(busy);

      logs.w.node().disk().SetFreeBytes(UINT64_MAX);
      logs.w.Settle();
      EXPECT_EQ(Tail(logs.events, 4),
                (Events{"goes on", absl::StrCat(d, " ok"), absl::StrCat(d + 1, " ok"),
                        absl::StrCat(d + 2, " ok")}));
      logs.Append(1, d + 3, 10);
      logs.w.Settle();
      EXPECT_EQ(logs.events.back(), absl::StrCat(d + 3, " ok"));
      logs.Crash(sim::CrashMode::kPowerNone);
      ASSERT_TRUE(logs.Open(1, options).ok());
      ASSERT_EQ(logs.replayed.size(), static_cast<size_t>(d + 3));
      for (int64_t i = 1; i <= d + 3; ++i) EXPECT_EQ(logs.replayed[static_cast<size_t>(i) - 1], i);
    }
  }
}

TEST(LogWriterTest, G11_SpaceFreedByItsOwnOldFilesLetsALogGoOn) {
  Logs logs;
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 64 << 10;
  ASSERT_TRUE(logs.Open(1, options).ok());
  for (int64_t d = -20; d < 0; ++d) logs.Append(1, d + 21, 20000);
  logs.w.Settle();
  // Whatever the log gives back by trimming is taken by others, until it has nothing more to give.
  int64_t d = 20;
  while (logs.events.back() != "waits" && d < 60) {
    logs.w.node().disk().SetFreeBytes(0);
    logs.Append(1, ++d, 20000);
    logs.w.Settle(absl::Seconds(1));
  }
  ASSERT_EQ(logs.events.back(), "waits");
  logs.w.node().disk().SetFreeBytes(0);
  logs.Append(1, ++d, 20000);
  const Events before = logs.events;
  logs.w.Settle(absl::Seconds(10));
  ASSERT_EQ(logs.events, before) << "nothing but its old files can help it";
  auto reported = static_cast<int64_t>(logs.durable[1].size());

  logs.w.env().RunOn(logs.w.strand(),
                     [&] { logs.logs[1]->DropUnneeded({.checkpoint = Decree(19)}); });
  logs.w.Settle();
  Events end{"waits", "goes on"};
  while (reported < d) end.push_back(absl::StrCat(++reported, " ok"));
  ASSERT_GE(end.size(), 3U);
  EXPECT_EQ(Tail(logs.events, end.size()), end);
}

// Nobody is told that a log waits before its own files have given back what they don't need.
TEST(LogWriterTest, G11_ZeroTailsOfFilesThatWereLeftAreSpace) {
  Logs logs;
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 64 << 10;
  ASSERT_TRUE(logs.Open(1, options).ok());
  Events expected;
  const auto append = [&](int64_t d) {
    logs.Append(1, d, 20000);
    logs.w.Settle(absl::Milliseconds(150));
    expected.push_back(absl::StrCat(d, " ok"));
  };
  int64_t d = 0;
  while (d < 40) append(++d);
  const auto size_of_first = [&] {
    return logs.w.files().Stat(absl::StrCat(Logs::Directory(1), "/log.1.0"))->size;
  };
  const uint64_t with_tail = size_of_first();
  logs.w.node().disk().SetFreeBytes(0);
  while (size_of_first() == with_tail && d < 50) append(++d);
  EXPECT_LT(size_of_first(), with_tail);
  EXPECT_EQ(logs.events, expected);
}

TEST(LogWriterTest, G11_ALogDrainedWhileItWaitsAnswersInOrderAndEnds) {
  Logs logs;
  ASSERT_TRUE(logs.Open(1).ok());
  logs.Append(1, 1, 100);
  logs.w.Settle();
  const int64_t d = AppendUntilItWaits(logs, 400000);
  logs.AppendMany(1, d + 1, 2, 10);
  logs.w.Settle(absl::Milliseconds(250));
  logs.Drain(1);
  logs.w.Settle(absl::Milliseconds(1));
  EXPECT_EQ(Tail(logs.events, 5),
            (Events{"waits", absl::StrCat(d, " no space"), absl::StrCat(d + 1, " no space"),
                    absl::StrCat(d + 2, " no space"), "drained"}));
  logs.Append(1, d + 3, 10);
  logs.w.node().disk().SetFreeBytes(UINT64_MAX);
  logs.w.Settle();
  EXPECT_EQ(logs.events.back(), absl::StrCat(d + 3, " no space"));
  absl::Status closed;
  logs.w.env().RunInPool([&] { closed = logs.logs[1]->Close(); });
  EXPECT_TRUE(absl::IsResourceExhausted(closed)) << closed;

  logs.logs.clear();
  ASSERT_TRUE(logs.Open(1).ok());
  EXPECT_GE(logs.replayed.size(), static_cast<size_t>(d - 1));
  for (size_t i = 0; i < logs.replayed.size(); ++i)
    EXPECT_EQ(logs.replayed[i], static_cast<int64_t>(i) + 1);
}

TEST(LogWriterTest, G11_ALogThatRunsOutOfSpaceWhileItDrainsEnds) {
  Logs logs;
  ASSERT_TRUE(logs.Open(1).ok());
  logs.Append(1, 1, 100);
  logs.w.Settle();
  logs.w.node().disk().SetFreeBytes(0);
  logs.w.env().RunOn(logs.w.strand(), [&] {
    logs.AppendHere(1, 2, 3 << 20);
    logs.logs[1]->Drain([&] { logs.events.push_back("drained"); });
  });
  logs.w.Settle();
  EXPECT_EQ(Tail(logs.events, 2), (Events{"2 no space", "drained"}));
}

TEST(LogWriterTest, G11_ALogDroppedWhileItWaitsIsACrash) {
  Logs logs;
  ASSERT_TRUE(logs.Open(1).ok());
  logs.Append(1, 1, 100);
  logs.w.Settle();
  const int64_t d = AppendUntilItWaits(logs, 400000);
  logs.w.env().RunOn(logs.w.strand(), [&] { logs.logs.clear(); });
  logs.w.node().disk().SetFreeBytes(UINT64_MAX);
  logs.w.Settle();
  EXPECT_EQ(logs.events.back(), "waits") << "nobody is answered";
  ASSERT_TRUE(logs.Open(1).ok());
  EXPECT_GE(logs.replayed.size(), static_cast<size_t>(d - 1));
}

// What a failed attempt left on the disk is never taken for a block, whatever the power cut keeps.
TEST(LogWriterTest, F18_AShortWriteIsWrittenAgainAtTheSamePlace) {
  for (const auto mode : {sim::CrashMode::kProcess, sim::CrashMode::kPowerNone,
                          sim::CrashMode::kPowerPrefix, sim::CrashMode::kPowerRandom}) {
    for (const size_t part : {size_t{0}, size_t{4096}, size_t{40960}, size_t{1} << 20}) {
      for (const bool heals : {true, false}) {
        SCOPED_TRACE(absl::StrCat(static_cast<int>(mode), " ", part, " ", heals));
        Logs logs;
        ASSERT_TRUE(logs.Open(1).ok());
        for (int64_t d = 1; d <= 3; ++d) logs.Append(1, d, 1500);
        logs.w.Settle();
        logs.env->device.fault = {Logs::Directory(1), heals ? 4 : 1000000, part,
                                  absl::ResourceExhaustedError("no space")};
        logs.AppendMany(1, 4, 4, 20000);
        logs.w.Settle(absl::Milliseconds(250));
        EXPECT_EQ(logs.events.back(), "waits");
        logs.w.Settle();
        if (heals) {
          EXPECT_EQ(logs.durable[1].size(), 7u);
        } else {
          EXPECT_EQ(logs.durable[1].size(), 3u);
        }
        logs.Crash(mode);
        ASSERT_TRUE(logs.Open(1).ok());
        // Nothing durable is missing; what else is there was appended, without a hole.
        EXPECT_GE(logs.replayed.size(), logs.durable[1].size());
        EXPECT_LE(logs.replayed.size(), 7u);
        for (size_t i = 0; i < logs.replayed.size(); ++i)
          EXPECT_EQ(logs.replayed[i], static_cast<int64_t>(i) + 1);
        logs.Append(1, static_cast<int64_t>(logs.replayed.size()) + 1, 10);
        logs.w.Settle();
        EXPECT_TRUE(logs.events.back().ends_with(" ok"));
      }
    }
  }
}

TEST(LogWriterTest, G10_AFailedWriteFencesItsOwnLogOnly) {
  Logs logs;
  for (int which : {1, 2}) {
    ASSERT_TRUE(logs.Open(which).ok());
    logs.Append(which, 1, 100);
  }
  logs.w.Settle();
  logs.env->device.fault = {Logs::Directory(1), 1, 0, absl::DataLossError("EIO")};
  logs.AppendMany(1, 2, 2, 100);
  logs.AppendMany(2, 2, 2, 100);
  logs.w.Settle();
  EXPECT_EQ(logs.durable[1], (std::set<int64_t>{1}));
  EXPECT_EQ(logs.durable[2], (std::set<int64_t>{1, 2, 3}));
  logs.events.clear();
  logs.Append(1, 4, 10);
  logs.Append(2, 4, 10);
  logs.w.Settle();
  EXPECT_EQ(std::set<std::string>(logs.events.begin(), logs.events.end()),
            (std::set<std::string>{"4 lost", "4 ok"}));
}

TEST(LogWriterTest, F17_AFailedFlushFencesExactlyTheLogsItCovered) {
  Logs logs;
  for (int which : {1, 2, 3, 4}) {
    ASSERT_TRUE(logs.Open(which).ok());
    logs.Append(which, 1, 100);
  }
  logs.w.Settle();
  // Log 1's write is flushed first; those of 2 and 3 complete meanwhile and share the next flush.
  logs.Append(1, 2, 100);
  const Counter& syncs = logs.env->device.stats().syncs;
  logs.w.Settle(absl::Microseconds(125));
  logs.Append(2, 2, 100);
  logs.Append(3, 2, 100);
  const int64_t before = syncs.value();
  ASSERT_TRUE(logs.w.world().RunUntil([&] { return syncs.value() > before; }, absl::Seconds(1)));
  logs.w.node().disk().FailSyncs(1);
  logs.w.Settle();
  EXPECT_EQ(logs.durable[1], (std::set<int64_t>{1, 2}));
  EXPECT_EQ(logs.durable[2], (std::set<int64_t>{1}));
  EXPECT_EQ(logs.durable[3], (std::set<int64_t>{1}));
  logs.events.clear();
  for (int which : {1, 4}) logs.Append(which, 3, 100);
  logs.w.Settle();
  EXPECT_EQ(logs.events, (Events{"3 ok", "3 ok"}));
  logs.events.clear();
  for (int which : {2, 3}) logs.Append(which, 3, 100);
  logs.w.Settle();
  EXPECT_EQ(logs.events, (Events{"3 lost", "3 lost"}));
}

TEST(LogWriterTest, WhatIsAppendedByTheAnsweredJoinsWhatQueuedUp) {
  Logs logs;
  ASSERT_TRUE(logs.Open(1).ok());
  logs.Append(1, 1, 10);
  logs.w.Settle();
  int64_t next = 2;
  std::function<void(const absl::Status&)> again = [&](const absl::Status& status) {
    ASSERT_TRUE(status.ok());
    if (next <= 640) logs.logs[1]->Append(MakeMutation(next++, 100), again);
  };
  logs.env->device.writes = 0;
  logs.w.env().RunOn(logs.w.strand(), [&] {
    while (next <= 65) logs.logs[1]->Append(MakeMutation(next++, 100), again);
  });
  logs.w.Settle();
  // One for the first record, 63 behind it; then all 64 together.
  EXPECT_EQ(logs.env->device.records_largest, 64);
  EXPECT_LE(logs.env->device.writes, 12);
}

TEST(LogWriterTest, ANextFileNamedBeforeTheLastBlockIsDurableIsRemovedWhenThatNeverCame) {
  for (const sim::CrashMode mode : {sim::CrashMode::kProcess, sim::CrashMode::kPowerNone,
                                    sim::CrashMode::kPowerRandom, sim::CrashMode::kPowerPrefix}) {
    for (const bool goes_on : {true, false}) {
      SCOPED_TRACE(absl::StrCat(static_cast<int>(mode), " ", goes_on));
      Logs logs;
      PrivateLogOptions options = TestLogOptions();
      options.segment_bytes_max = 64 << 10;
      ASSERT_TRUE(logs.Open(1, options).ok());
      logs.Append(1, 1, 20000);
      logs.w.Settle();
      // The second fills the file, but only a part of it gets to the disk.
      logs.env->device.fault = {Logs::Directory(1), goes_on ? 3 : 1000000, 8192,
                                absl::ResourceExhaustedError("no space")};
      logs.AppendMany(1, 2, 2, 40000);
      logs.w.Settle(absl::Milliseconds(150));
      EXPECT_EQ(CountFiles(logs), 2) << "the next file has its name already";
      logs.w.Settle();
      EXPECT_EQ(logs.durable[1].size(), goes_on ? 3u : 1u);
      logs.Crash(mode);
      ASSERT_TRUE(logs.Open(1, options).ok());
      ASSERT_EQ(logs.replayed.size(), goes_on ? 3u : 1u);
      logs.Append(1, static_cast<int64_t>(logs.replayed.size()) + 1, 10);
      logs.w.Settle();
      EXPECT_TRUE(logs.events.back().ends_with(" ok"));
    }
  }
}

// A first block alone would be one more flush, for which the records behind it wait.
TEST(LogWriterTest, AFilesFirstBlockIsWrittenWithItsFirstRecords) {
  Logs logs;
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 64 << 10;
  ASSERT_TRUE(logs.Open(1, options).ok());
  int64_t next = 1;
  std::function<void(const absl::Status&)> again = [&](const absl::Status& status) {
    ASSERT_TRUE(status.ok());
    if (next <= 400) logs.logs[1]->Append(MakeMutation(next++, 1000), again);
  };
  logs.w.env().RunOn(logs.w.strand(), [&] {
    while (next <= 10) logs.logs[1]->Append(MakeMutation(next++, 1000), again);
  });
  logs.w.Settle();
  EXPECT_GT(logs.logs[1]->stats().files, 5u);
  EXPECT_EQ(logs.env->device.writes_without_records, 0);
  logs.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(logs.Open(1, options).ok());
  EXPECT_EQ(logs.replayed.size(), 400u);
}

TEST(LogWriterTest, AFileNamedAheadWaitsForRecordsOrForTheEnd) {
  for (const bool drains : {false, true}) {
    SCOPED_TRACE(drains);
    Logs logs;
    PrivateLogOptions options = TestLogOptions();
    options.segment_bytes_max = 64 << 10;
    ASSERT_TRUE(logs.Open(1, options).ok());
    for (int64_t d = 1; d <= 3; ++d) {  // a fourth would not fit
      logs.Append(1, d, 18000);
      logs.w.Settle(absl::Milliseconds(100));
    }
    EXPECT_EQ(CountFiles(logs), 2) << "the next file has its name already";
    EXPECT_FALSE(logs.logs[1]->IsBusy());
    EXPECT_EQ(logs.env->device.writes_without_records, 0);
    if (drains) {
      logs.Drain(1);
      logs.w.Settle();
      EXPECT_EQ(logs.events.back(), "drained");
      EXPECT_EQ(logs.env->device.writes_without_records, 1);
      absl::Status closed;
      logs.w.env().RunInPool([&] { closed = logs.logs[1]->Close(); });
      ASSERT_TRUE(closed.ok()) << closed;
    }
    logs.Crash(sim::CrashMode::kPowerNone);
    ASSERT_TRUE(logs.Open(1, options).ok());
    EXPECT_EQ(logs.replayed, (std::vector<int64_t>{1, 2, 3}));
    logs.Append(1, 4, 10);
    logs.w.Settle();
    EXPECT_EQ(logs.events.back(), "4 ok");
  }
}

TEST(LogWriterTest, G11_AFileNamedAheadThatFindsNoSpaceIsNotWaitedForByTheEnd) {
  Logs logs;
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 64 << 10;
  ASSERT_TRUE(logs.Open(1, options).ok());
  for (int64_t d = 1; d <= 3; ++d) {  // a fourth would not fit
    logs.Append(1, d, 18000);
    logs.w.Settle(absl::Milliseconds(100));
    logs.w.node().disk().SetFreeBytes(0);
  }
  EXPECT_EQ(CountFiles(logs), 1) << "there is no space for the next";
  logs.Drain(1);
  logs.w.Settle();
  EXPECT_EQ(logs.events, (Events{"1 ok", "2 ok", "3 ok", "drained"}));
  logs.w.node().disk().SetFreeBytes(UINT64_MAX);
  absl::Status closed;
  logs.w.env().RunInPool([&] { closed = logs.logs[1]->Close(); });
  EXPECT_TRUE(closed.ok()) << closed << ": all that was appended is durable";
  logs.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(logs.Open(1, options).ok());
  EXPECT_EQ(logs.replayed, (std::vector<int64_t>{1, 2, 3}));
  logs.Append(1, 4, 10);
  logs.w.Settle();
  EXPECT_EQ(logs.events.back(), "4 ok");
}

// The engine is closed between the two, which takes its time: a step that began meanwhile would
// make Close refuse.
TEST(LogWriterTest, ALogThatIsDrainedBeginsNothingMore) {
  Logs logs;
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 64 << 10;
  ASSERT_TRUE(logs.Open(1, options).ok());
  for (int64_t d = 1; d <= 20; ++d) {
    logs.Append(1, d, 20000);
    logs.w.Settle(absl::Milliseconds(50));
  }
  logs.w.env().RunOn(logs.w.strand(),
                     [&] { logs.logs[1]->DropUnneeded({.checkpoint = Decree(10)}); });
  logs.Drain(1);
  logs.w.Settle(absl::Seconds(1));
  ASSERT_EQ(logs.events.back(), "drained");
  ASSERT_GT(CountFiles(logs), 2);
  EXPECT_EQ(logs.env->device.truncations, 0) << "files that were left are trimmed later";
  const std::vector<std::string> names = *logs.w.files().List(Logs::Directory(1));
  logs.w.Settle(absl::Minutes(11));
  EXPECT_EQ(logs.env->device.truncations, 0);
  EXPECT_EQ(*logs.w.files().List(Logs::Directory(1)), names) << "what was kept goes at Close";
  absl::Status closed;
  logs.w.env().RunInPool([&] { closed = logs.logs[1]->Close(); });
  EXPECT_TRUE(closed.ok()) << closed;
  EXPECT_GT(logs.env->device.truncations, 2);
}

TEST(LogWriterTest, ALoneRecordIsWrittenAtOnce) {
  Logs logs;
  ASSERT_TRUE(logs.Open(1).ok());
  logs.Append(1, 1, 10);
  logs.w.Settle();
  logs.env->device.writes = 0;
  logs.Append(1, 2, 10);
  EXPECT_EQ(logs.env->device.writes, 1) << "a lone record does not wait for others";
  logs.w.Settle();
  EXPECT_EQ(logs.env->device.writes, 1);
  EXPECT_EQ(logs.env->device.stats().queued.value(), 0);
  EXPECT_EQ(logs.env->device.stats().records_per_write.Read().max, 1u);
  EXPECT_GT(logs.env->device.stats().sync_nanos.Read().count, 0u);
}

TEST(LogWriterTest, DroppedFilesAreWrittenAgain) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 64 << 10;
  ASSERT_TRUE(w.Open(options).ok());
  std::set<uint64_t> inodes;
  std::set<std::string> names;
  for (int64_t d = 1; d <= 200; ++d) {
    w.Append(MakeMutation(d, 8000));
    w.Settle(absl::Milliseconds(50));
    if (d % 10 == 0) w.env().RunOn(w.strand(), [&] { w.log->DropThrough(Decree(d)); });
    for (const std::string& name : w.Names()) {
      if (IsSpareName(name)) continue;
      names.insert(name);
      inodes.insert(w.files().Stat(JoinPath(kLogDirectory, name))->inode);
    }
  }
  EXPECT_GT(names.size(), 20u);
  EXPECT_LT(inodes.size(), 6u);
  w.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_EQ(w.ReplayedDecrees().back(), 200);
}

// What is dropped loses its name with the sync that gives the next file its own, if others are kept
// to be written before it.
TEST(LogWriterTest, AFileThatFollowsADroppedOneCostsOneSyncOfTheFolder) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 64 << 10;
  ASSERT_TRUE(w.Open(options).ok());
  int64_t d = 0;
  const auto write_a_file = [&] {
    const int64_t files = w.log->stats().files;
    while (w.log->stats().files == files) {
      w.Append(MakeMutation(++d, 8000));
      w.Settle(absl::Milliseconds(50));
    }
  };
  const auto drop = [&] {
    w.env().RunOn(w.strand(), [&] { w.log->DropThrough(Decree(d)); });
    w.Settle(absl::Milliseconds(50));
  };
  for (int file = 0; file < 5; ++file) write_a_file();
  drop();
  const int64_t before = w.watched().directory_syncs;
  for (int file = 0; file < 10; ++file) {
    write_a_file();
    drop();
  }
  EXPECT_EQ(w.watched().directory_syncs - before, 10);
}

// A learner's log: the primary waits for its first append.
TEST(LogWriterTest, AFileThatWasPreparedCostsItsFirstAppendOneSyncOfTheFolder) {
  LogWorld w;
  ASSERT_TRUE(w.Open().ok());
  w.env().RunOn(w.strand(), [&] { w.log->PrepareNextFile(); });
  w.Settle();
  EXPECT_EQ(w.log->stats().files, 0);
  EXPECT_TRUE(IsSpareName(w.Names().front()));
  int syncs = 0;
  w.watched().on_sync_directory = [&](const std::string&) {
    ++syncs;
    return absl::OkStatus();
  };
  w.env().RunOn(w.strand(), [&] {
    w.log->PrepareNextFile();
    w.log->StartAnew(Decree(100));
    w.AppendHere(MakeMutation(101, 100));
  });
  w.Settle();
  EXPECT_TRUE(w.answers.back().second.ok());
  EXPECT_EQ(syncs, 1) << "its folder's, none of the identity file's";
  EXPECT_EQ(w.Names(), std::vector<std::string>{"log.1.0"});
  w.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(w.Open().ok());
  EXPECT_EQ(w.ReplayedDecrees(), std::vector<int64_t>{101});
}

TEST(LogWriterTest, APreparedFileIsGoneAfterACleanStopAndAfterACrash) {
  LogWorld w;
  for (const bool stops_clean : {true, false}) {
    ASSERT_TRUE(w.Open().ok());
    w.env().RunOn(w.strand(), [&] { w.log->PrepareNextFile(); });
    w.Settle();
    EXPECT_EQ(w.Names().size(), 1u);
    if (stops_clean)
      EXPECT_TRUE(w.Close().ok());
    else
      w.Crash(sim::CrashMode::kPowerNone);
    ASSERT_TRUE(w.Open().ok());
    EXPECT_EQ(w.Names().size(), 0u);
    ASSERT_TRUE(w.Close().ok());
  }
}

// Only a sync that was begun must not be repeated.
TEST(LogWriterTest, AFolderThatCouldNotBeOpenedForASyncOfARemovalIsTriedAgain) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 64 << 10;
  options.preallocate = false;  // what is dropped is removed
  ASSERT_TRUE(w.Open(options).ok());
  int64_t d = 0;
  const auto write_and_drop = [&] {
    for (int i = 0; i < 30; ++i) {
      w.Append(MakeMutation(++d, 8000));
      w.Settle(absl::Milliseconds(50));
    }
    w.env().RunOn(w.strand(), [&] { w.log->DropThrough(Decree(d)); });
    w.Settle(absl::Milliseconds(50));
  };
  int failures = 1;
  w.watched().on_sync_directory = [&](const std::string& path) {
    return path == kLogDirectory && d == 30 && failures-- > 0
               ? absl::InternalError("open directory: Too many open files")
               : absl::OkStatus();
  };
  write_and_drop();
  EXPECT_LT(failures, 1);
  write_and_drop();
  EXPECT_EQ(w.Names().size(), static_cast<size_t>(w.log->stats().files));
  for (const auto& [mutation, status] : w.answers) EXPECT_TRUE(status.ok()) << status;
  ASSERT_TRUE(w.Close().ok());
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_TRUE(w.summary.was_clean) << w.summary.lost << ": a file that was removed is not missed";
}

// What is not permitted, as where files were given to another user while the log runs, is no damage.
TEST(LogWriterTest, AFileThatMayNotBeMadeIsWaitedFor) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 64 << 10;
  Want want = Want::kSpace;
  options.on_no_space = [&want](const absl::Status& why) {
    if (!why.ok()) want = WantOf(why);
  };
  ASSERT_TRUE(w.Open(options).ok());
  w.node().disk().FailCalls("", sim::DiskTrouble::kNotPermitted, 100);
  for (int64_t d = 1; d <= 8; ++d) w.Append(MakeMutation(d, 18000));
  w.Settle(absl::Seconds(30));
  EXPECT_LT(w.answers.size(), 8u);
  EXPECT_EQ(want, Want::kPermission);
  w.node().disk().FailCalls("", sim::DiskTrouble::kNotPermitted, 0);
  w.Settle(absl::Seconds(5));
  EXPECT_EQ(w.answers.size(), 8u);
  for (const auto& [mutation, status] : w.answers) EXPECT_TRUE(status.ok()) << status;
  w.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_EQ(w.ReplayedDecrees().size(), 8u);
}

// A want of descriptors or memory says nothing of what is on the disk: the name waits until its sync
// can be tried.
TEST(LogWriterTest, AFolderThatCouldNotBeOpenedForTheSyncOfANameIsTriedAgain) {
  for (const bool preallocate : {true, false}) {
    SCOPED_TRACE(preallocate);
    LogWorld w;
    PrivateLogOptions options = TestLogOptions();
    options.segment_bytes_max = 64 << 10;
    options.preallocate = preallocate;
    std::vector<bool> waits;
    options.on_no_space = [&waits](const absl::Status& why) {
      waits.push_back(LacksOpenFiles(why));
    };
    ASSERT_TRUE(w.Open(options).ok());
    int tries = 0;
    bool is_short = false;
    w.watched().on_sync_directory = [&](const std::string& path) {
      if (path != kLogDirectory || !is_short) return absl::OkStatus();
      ++tries;
      return absl::ResourceExhaustedError("open directory: Too many open files");
    };
    for (int64_t d = 1; d <= 20; ++d) {  // the first file, and some that follow
      is_short = d % 5 == 1;
      w.Append(MakeMutation(d, 18000));
      w.Settle(absl::Seconds(1));
      is_short = false;
      w.Settle(absl::Seconds(1));
    }
    EXPECT_GT(tries, 10);
    EXPECT_EQ(w.answers.size(), 20u);
    for (const auto& [mutation, status] : w.answers) EXPECT_TRUE(status.ok()) << status;
    ASSERT_FALSE(waits.empty());
    EXPECT_FALSE(waits.back());
    w.Crash(sim::CrashMode::kPowerNone);
    ASSERT_TRUE(w.Open(options).ok());
    EXPECT_EQ(w.ReplayedDecrees().size(), 20u);
  }
}

TEST(LogWriterTest, AFileWhoseNameCouldNotBeSyncedIsGoneAfterACleanStop) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 64 << 10;
  ASSERT_TRUE(w.Open(options).ok());
  bool is_short = false;
  w.watched().on_sync_directory = [&](const std::string& path) {
    return path == kLogDirectory && is_short
               ? absl::ResourceExhaustedError("open directory: Too many open files")
               : absl::OkStatus();
  };
  for (int64_t d = 1; d <= 3; ++d) {  // a fourth would not fit
    w.Append(MakeMutation(d, 18000));
    w.Settle(absl::Milliseconds(100));
    is_short = true;
  }
  EXPECT_EQ(w.Names().size(), 2u) << "the next has its name";
  bool is_drained = false;
  w.env().RunOn(w.strand(), [&] { w.log->Drain([&] { is_drained = true; }); });
  w.Settle();
  EXPECT_TRUE(is_drained) << "it is not waited for";
  is_short = false;
  absl::Status closed;
  w.env().RunInPool([&] { closed = w.log->Close(); });
  EXPECT_TRUE(closed.ok()) << closed;
  EXPECT_EQ(w.Names().size(), 1u);
  w.log.reset();
  w.Crash(sim::CrashMode::kPowerNone);
  ASSERT_TRUE(w.Open(options).ok());
  EXPECT_TRUE(w.summary.was_clean) << w.summary.lost;
  EXPECT_EQ(w.ReplayedDecrees(), (std::vector<int64_t>{1, 2, 3}));
}

// A log that is not written any more does not keep them.
TEST(LogWriterTest, DroppedFilesThatNobodyWritesAgainGo) {
  LogWorld w;
  PrivateLogOptions options = TestLogOptions();
  options.segment_bytes_max = 64 << 10;
  ASSERT_TRUE(w.Open(options).ok());
  for (int64_t d = 1; d <= 40; ++d) w.Append(MakeMutation(d, 8000));
  w.Settle();
  w.env().RunOn(w.strand(), [&] { w.log->DropThrough(Decree(40)); });
  w.Settle();
  const auto count_spares = [&] {
    const std::vector<std::string> names = w.Names();
    return std::count_if(names.begin(), names.end(), IsSpareName);
  };
  EXPECT_GT(count_spares(), 2);
  w.Settle(absl::Minutes(11));
  EXPECT_LT(count_spares(), 2);
  w.Append(MakeMutation(41, 8000));
  w.Settle();
  EXPECT_TRUE(w.answers.back().second.ok());
}

TEST(LogWriterTest, TheZerosAheadOfADisksLogsAreBounded) {
  for (const uint64_t bytes_max : {uint64_t{0}, uint64_t{5} << 20, uint64_t{1} << 30}) {
    Logs logs(bytes_max);
    PrivateLogOptions options = TestLogOptions();
    options.segment_bytes_max = 6 << 20;
    const ZerosAhead& zeros = *logs.env->device.zeros_ahead();
    bool had_spare = false;
    uint64_t most = 0;
    for (int which : {1, 2, 3, 4}) ASSERT_TRUE(logs.Open(which, options).ok());
    for (int64_t d = 1; d <= 40; ++d) {
      for (int which : {1, 2, 3, 4}) logs.Append(which, d, 400000);
      logs.w.Settle(absl::Milliseconds(200));
      most = std::max(most, zeros.bytes());
      uint64_t on_disk = 0;
      for (int which : {1, 2, 3, 4}) {
        const std::vector<std::string> names = *logs.w.files().List(Logs::Directory(which));
        for (const std::string& name : names) {
          had_spare |= IsSpareName(name);
          on_disk += logs.w.files().Stat(JoinPath(Logs::Directory(which), name))->size;
        }
      }
      // Content, and beyond it: two small steps for each log, and what the disk allows.
      EXPECT_LE(on_disk, static_cast<uint64_t>(d) * 4 * 401000 + 4 * (2 << 20) + bytes_max);
    }
    for (int which : {1, 2, 3, 4}) EXPECT_EQ(logs.durable[which].size(), 40u);
    EXPECT_LE(most, bytes_max);
    if (bytes_max == 0) {
      EXPECT_FALSE(had_spare);
    } else if (bytes_max == 1 << 30) {
      EXPECT_TRUE(had_spare);
    }
    logs.logs.clear();
    EXPECT_EQ(zeros.bytes(), 0u);
  }
}

TEST(LogWriterDeathTest, TakesItsOwnReplicasMutationsAndTellsSomebody) {
  LogWorld w;
  ASSERT_TRUE(w.Open().ok());
  Mutation other = *MakeMutation(1, 10);
  other.pid = {2, 9};
  EXPECT_DEATH(w.Append(std::make_shared<const Mutation>(other)), "pid");
  const auto tells_nobody = [&] { w.log->Append(MakeMutation(1, 10), nullptr); };
  EXPECT_DEATH(w.env().RunOn(w.strand(), tells_nobody), "nobody would hear");
}

}  // namespace
}  // namespace arion
