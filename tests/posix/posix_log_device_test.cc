// SPDX-License-Identifier: Apache-2.0
#include "posix/posix_log_device.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <future>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posix/event_loops.h"
#include "posix/posix_file_system.h"
#include "tests/posix/log_request.h"
#include "tests/support/temp_directory.h"

namespace arion {
namespace {

using Method = LogDeviceOptions::Method;

struct Kind {
  const char* name;
  Method method;
  bool shares_loop;
};

class PosixLogDeviceTest : public ::testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<LogDevice> NewDevice(unsigned ring_entries = 256) {
    return NewPosixLogDevice(directory_.path(),
                             {.method = GetParam().method, .ring_entries = ring_entries},
                             GetParam().shares_loop ? &loops_ : nullptr);
  }

  std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }

  std::future<absl::Status> Write(std::shared_ptr<LogFile> file, uint64_t offset,
                                  std::string_view bytes, Coverage coverage,
                                  Durability durability = Durability::kFsync) {
    return WriteBytes(*device_, strand_, std::move(file), offset, bytes, coverage, durability);
  }

  TempDirectory directory_;
  PosixFileSystem files_;
  EventLoops loops_{1};
  StrandPtr strand_ = loops_.NewStrand("test");
  std::unique_ptr<LogDevice> device_ = NewDevice();
};

TEST_P(PosixLogDeviceTest, NamesItsMethod) {
  if (GetParam().method == Method::kThreads) {
    EXPECT_EQ(device_->method(), "pwrite + fdatasync, bounded threads");
  } else {
    EXPECT_NE(device_->method(), "");
  }
}

TEST_P(PosixLogDeviceTest, PrewrittenDirectWritesLandInPlace) {
  auto file = *device_->Open(Path("log"), /*direct=*/true);
  ASSERT_TRUE(device_->FillWithZeros(*file, 0, 3 << 20).ok());
  const std::string page(4096, 'a');
  EXPECT_TRUE(Write(file, 8192, page, Coverage::kPrewritten).get().ok());
  const std::string content = *ReadFile(files_, Path("log"));
  ASSERT_EQ(content.size(), 3u << 20);
  EXPECT_EQ(content.substr(8192, 4096), page);
  EXPECT_EQ(content[8191], '\0');
  EXPECT_EQ(content[8192 + 4096], '\0');
}

TEST_P(PosixLogDeviceTest, GrowingWritesExtendTheFile) {
  auto file = *device_->Open(Path("log"), /*direct=*/false);
  EXPECT_EQ(file->alignment(), 1u);
  EXPECT_TRUE(Write(file, 0, "hello", Coverage::kGrowing).get().ok());
  EXPECT_TRUE(Write(file, 5, " you", Coverage::kGrowing, Durability::kOs).get().ok());
  EXPECT_EQ(*ReadFile(files_, Path("log")), "hello you");
  ASSERT_TRUE(device_->TruncateAndSync(*file, 5).ok());
  EXPECT_EQ(*ReadFile(files_, Path("log")), "hello");
}

TEST_P(PosixLogDeviceTest, ManyFilesAtOnceAreAllAnswered) {
  constexpr int kFiles = 64;  // more than the kernel hands out completions of at a time
  std::vector<std::shared_ptr<LogFile>> logs;
  for (int i = 0; i < kFiles; ++i) {
    logs.push_back(*device_->Open(Path(absl::StrCat("log", i)), true));
    ASSERT_TRUE(device_->FillWithZeros(*logs.back(), 0, 1 << 20).ok());
  }
  for (int round = 0; round < 20; ++round) {
    std::vector<std::future<absl::Status>> answers;
    const std::string page(8192, static_cast<char>('a' + round));
    for (const auto& log : logs)
      answers.push_back(Write(log, static_cast<uint64_t>(round) * 8192, page, Coverage::kPrewritten,
                              round % 2 == 0 ? Durability::kFsync : Durability::kOs));
    for (auto& answer : answers) ASSERT_TRUE(answer.get().ok());
  }
  for (int i = 0; i < kFiles; ++i) {
    const std::string content = *ReadFile(files_, Path(absl::StrCat("log", i)));
    for (size_t round = 0; round < 20; ++round)
      EXPECT_EQ(content.substr(round * 8192, 8192),
                std::string(8192, static_cast<char>('a' + round)));
  }
}

TEST_P(PosixLogDeviceTest, MoreWritesThanTheRingHoldsAreAllAnswered) {
  device_ = NewDevice(/*ring_entries=*/4);
  std::vector<std::future<absl::Status>> answers;
  for (int i = 0; i < 100; ++i)
    answers.push_back(
        Write(*device_->Open(Path(absl::StrCat("log", i)), false), 0, "x", Coverage::kGrowing));
  for (auto& answer : answers) EXPECT_TRUE(answer.get().ok());
}

TEST_P(PosixLogDeviceTest, WhatWasSubmittedIsAnsweredBeforeTheDeviceGoes) {
  std::vector<std::future<absl::Status>> answers;
  for (int i = 0; i < 30; ++i)
    answers.push_back(
        Write(*device_->Open(Path(absl::StrCat("log", i)), false), 0, "x", Coverage::kGrowing));
  device_.reset();
  for (auto& answer : answers) EXPECT_TRUE(answer.get().ok());
}

TEST_P(PosixLogDeviceTest, LoopsMayEndBeforeTheirWritesDo) {
  for (int i = 0; i < 30; ++i)
    Write(*device_->Open(Path(absl::StrCat("log", i)), false), 0, "x", Coverage::kGrowing);
  loops_.Stop();
  Write(*device_->Open(Path("late"), false), 0, "x", Coverage::kGrowing);
  device_.reset();
}

TEST_P(PosixLogDeviceTest, AWriteOffItsAlignmentIsRefusedNotWritten) {
  auto file = *device_->Open(Path("log"), true);
  if (file->alignment() == 1) GTEST_SKIP() << "no direct I/O here";
  EXPECT_TRUE(
      absl::IsInvalidArgument(Write(file, 100, std::string(4096, 'a'), Coverage::kGrowing).get()));
  EXPECT_TRUE(absl::IsInvalidArgument(Write(file, 0, "abc", Coverage::kGrowing).get()));
  EXPECT_EQ(ReadFile(files_, Path("log"))->size(), 0u);
  EXPECT_TRUE(Write(file, 0, std::string(4096, 'a'), Coverage::kGrowing).get().ok());
}

TEST_P(PosixLogDeviceTest, AFailedWriteFailsTheFileForGood) {
  auto file = *device_->Open(Path("log"), false);
  // Beyond RLIMIT_FSIZE a write fails with EFBIG, which no space will heal.
  struct rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit tiny = {.rlim_cur = 4096, .rlim_max = old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tiny), 0);
  const absl::Status status = Write(file, 8192, "abc", Coverage::kGrowing).get();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_TRUE(absl::IsDataLoss(Write(file, 0, "abc", Coverage::kGrowing).get()));
  EXPECT_TRUE(absl::IsDataLoss(device_->Sync(*file)));
  auto other = *device_->Open(Path("other"), false);
  EXPECT_TRUE(Write(other, 0, "abc", Coverage::kGrowing).get().ok()) << "its neighbours live";
}

TEST_P(PosixLogDeviceTest, FullDevicesRefuseAndHeal) {
  // /dev/full refuses every write with ENOSPC.
  auto file = *device_->Open("/dev/full", false);
  EXPECT_TRUE(absl::IsResourceExhausted(Write(file, 0, "abc", Coverage::kGrowing).get()));
  EXPECT_TRUE(absl::IsResourceExhausted(Write(file, 0, "abc", Coverage::kGrowing).get()))
      << "not failed for good";
}

TEST_P(PosixLogDeviceTest, DoesNotFollowALinkInALogsPlace) {
  ASSERT_TRUE(WriteFileDurably(files_, Path("target"), "x").ok());
  ASSERT_EQ(::symlink(Path("target").c_str(), Path("log").c_str()), 0);
  EXPECT_FALSE(device_->Open(Path("log"), true).ok());
  EXPECT_FALSE(device_->Open(Path("log"), false).ok());
}

// A flush serves every write that completed before it; each such write waits for one.
class FlushCount {
 public:
  explicit FlushCount(const std::string& path) {
    struct stat s;
    if (::stat(path.c_str(), &s) == 0)
      path_ = absl::StrCat("/sys/dev/block/", major(s.st_dev), ":", minor(s.st_dev));
  }
  // Flush requests completed so far; -1: the device does not tell.
  int64_t Read() const {
    std::ifstream in(path_ + "/stat");
    int64_t field = 0;
    for (int i = 0; i < 16; ++i)
      if (!(in >> field)) return -1;
    return field;
  }
  // Else a flush asks nothing of the disk, and is not counted.
  bool HasVolatileCache() const {
    for (const char* queue : {"/queue", "/../queue"}) {  // a partition's is its disk's
      std::ifstream in(absl::StrCat(path_, queue, "/write_cache"));
      std::string cache;
      if (std::getline(in, cache)) return cache == "write back";
    }
    return false;
  }

 private:
  std::string path_;
};

TEST_P(PosixLogDeviceTest, DurableWritesReachTheDiskWithFlushes) {
  const FlushCount flushes(directory_.path());
  if (flushes.Read() < 0) GTEST_SKIP() << "the device counts no flushes";
  auto file = *device_->Open(Path("log"), true);
  ASSERT_TRUE(device_->FillWithZeros(*file, 0, 1 << 20).ok());
  const int64_t before = flushes.Read();
  for (uint64_t i = 0; i < 20; ++i)
    ASSERT_TRUE(Write(file, i * 4096, std::string(4096, 'a'), Coverage::kPrewritten).get().ok());
  const int64_t after = flushes.Read();
  if (after == before) GTEST_SKIP() << "the device has no volatile cache";
  EXPECT_GE(after - before, 20);  // others may flush this disk, too
}

TEST_P(PosixLogDeviceTest, WritesOfManyFilesShareAFlush) {
  if (device_->method().find("one flush per disk") == std::string::npos)
    GTEST_SKIP() << device_->method();
  const FlushCount flushes(directory_.path());
  if (flushes.Read() < 0) GTEST_SKIP() << "the device counts no flushes";
  constexpr int kFiles = 64, kRounds = 20;
  std::vector<std::shared_ptr<LogFile>> files;
  for (int i = 0; i < kFiles; ++i) {
    files.push_back(*device_->Open(Path(absl::StrCat("log", i)), true));
    ASSERT_TRUE(device_->FillWithZeros(*files.back(), 0, 4096).ok());
  }
  // Of a round: others flush this disk, too, or keep the writer from its processor; not all the time.
  int64_t fewest = INT64_MAX, fewest_syncs = INT64_MAX;
  for (int round = 0; round < kRounds; ++round) {
    const int64_t before = flushes.Read();
    const int64_t syncs_before = device_->stats().syncs.value();
    std::vector<std::future<absl::Status>> answers;
    std::promise<void> written;
    strand_->Post([&] {  // as replicas do
      for (const auto& file : files)
        answers.push_back(Write(file, 0, std::string(4096, 'a'), Coverage::kPrewritten));
      written.set_value();
    });
    written.get_future().get();
    for (auto& answer : answers) ASSERT_TRUE(answer.get().ok());
    fewest = std::min(fewest, flushes.Read() - before);
    fewest_syncs = std::min(fewest_syncs, device_->stats().syncs.value() - syncs_before);
  }
  std::cout << kFiles << " files: " << fewest << " flushes of the disk, " << fewest_syncs
            << " syncs asked for in a round" << std::endl;
  if (flushes.HasVolatileCache()) {
    EXPECT_GE(fewest, 1) << "what was answered is lost at a power cut";
  }
  EXPECT_LE(fewest, kFiles / 4);
  EXPECT_LE(fewest_syncs, kFiles / 4);
  EXPECT_EQ(device_->stats().writes.value(), kFiles * kRounds);
  EXPECT_EQ(device_->stats().queued.value(), 0);
}

INSTANTIATE_TEST_SUITE_P(Methods, PosixLogDeviceTest,
                         ::testing::Values(Kind{"LoopOfItsOwn", Method::kBest, false},
                                           Kind{"SharedLoop", Method::kBest, true},
                                           Kind{"Threads", Method::kThreads, false}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace arion
