// SPDX-License-Identifier: Apache-2.0
#include "posix/posix_log_device.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>
#include <linux/io_uring.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <initializer_list>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "posix/event_loops.h"
#include "posix/posix_file_system.h"
#include "posix/posix_log_file.h"
#include "tests/support/refused_calls.h"
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
    auto answer = std::make_shared<std::promise<absl::Status>>();
    LogDevice::WriteRequest request;
    request.file = std::move(file);
    request.offset = offset;
    request.buffer.Resize(bytes.size());
    std::memcpy(request.buffer.data(), bytes.data(), bytes.size());
    request.coverage = coverage;
    request.durability = durability;
    request.reply_on = strand_;
    request.done = [this, answer, size = bytes.size()](absl::Status status, AlignedBuffer buffer) {
      EXPECT_TRUE(strand_->IsCurrent());
      EXPECT_EQ(buffer.size(), size);
      answer->set_value(std::move(status));
    };
    device_->Write(std::move(request));
    return answer->get_future();
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

// 0 if a device that is made now says that io_uring is refused and why, and makes a write durable.
int ExitCodeOfARefusedDevice(std::string_view why) {
  const TempDirectory directory;
  EventLoops loops(1);
  std::unique_ptr<LogDevice> device = NewPosixLogDevice(directory.path(), {}, &loops);
  if (device->method().find("bounded threads; io_uring is refused: ") == std::string::npos)
    return 3;
  if (device->method().find(why) == std::string::npos) return 4;
  std::promise<absl::Status> answer;
  LogDevice::WriteRequest request;
  request.file = *device->Open(directory.path() + "/log", true);
  request.buffer.Resize(AlignedBuffer::kAlignment);
  request.reply_on = loops.NewStrand("test");
  request.done = [&answer](absl::Status status, AlignedBuffer) { answer.set_value(status); };
  device->Write(std::move(request));
  return answer.get_future().get().ok() ? 0 : 5;
}

int ExitCodeWithoutCalls(const std::vector<RefusedCall>& calls, int error) {
  return RefuseCalls(calls, error) ? ExitCodeOfARefusedDevice(std::strerror(error)) : 2;
}

bool IoUringIsRefused() {
  const TempDirectory directory;
  return NewPosixLogDevice(directory.path(), {})->method().find("refused") != std::string::npos;
}

class RefusedIoUringTest : public ::testing::TestWithParam<int> {};

TEST_P(RefusedIoUringTest, ThreadsWriteTheLogsWhicheverCallIsRefused) {
  if (IoUringIsRefused()) GTEST_SKIP() << "all of it is refused here";
  for (const auto& calls : std::initializer_list<std::vector<RefusedCall>>{
           {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register},
           {SYS_io_uring_setup},
           {SYS_io_uring_enter},
           {SYS_io_uring_register},
           {{SYS_io_uring_setup, 0, 256}},  // the device's ring, not the smaller one that is tried
           {{SYS_io_uring_register, 1, IORING_REGISTER_ENABLE_RINGS}},
           {{SYS_io_uring_register, 1, IORING_REGISTER_EVENTFD}}})
    EXPECT_EXIT(_exit(ExitCodeWithoutCalls(calls, GetParam())), ::testing::ExitedWithCode(0),
                "io_uring is refused");
}

INSTANTIATE_TEST_SUITE_P(Errors, RefusedIoUringTest,
                         ::testing::Values(EPERM, ENOSYS, ENOMEM, EINVAL));

// The kernel makes threads for flushes, and cancels these where that is refused.
int ExitCodeWithoutThreadsForAWhile() {
  const TempDirectory directory;
  EventLoops loops(1);
  std::unique_ptr<LogDevice> device = NewPosixLogDevice(directory.path(), {}, &loops);
  std::shared_ptr<LogFile> file = *device->Open(directory.path() + "/log", true);
  rlimit limit;
  if (getrlimit(RLIMIT_NPROC, &limit) != 0) return 2;
  const rlimit none{0, limit.rlim_max};
  if (setrlimit(RLIMIT_NPROC, &none) != 0 || setuid(54321) != 0) return 2;
  std::promise<absl::Status> answer;
  std::future<absl::Status> status = answer.get_future();
  LogDevice::WriteRequest request;
  request.file = file;
  request.buffer.Resize(AlignedBuffer::kAlignment);
  request.reply_on = loops.NewStrand("test");
  request.done = [&answer](absl::Status status, AlignedBuffer) { answer.set_value(status); };
  device->Write(std::move(request));
  if (status.wait_for(std::chrono::milliseconds(300)) == std::future_status::ready) return 3;
  if (setrlimit(RLIMIT_NPROC, &limit) != 0) return 4;
  return status.get().ok() ? 0 : 5;
}

TEST(RefusedThreadsTest, AWriteWaitsForThem) {
  if (geteuid() != 0) GTEST_SKIP() << "becomes another user";
  if (IoUringIsRefused()) GTEST_SKIP() << "all of it is refused here";
  EXPECT_EXIT(_exit(ExitCodeWithoutThreadsForAWhile()), ::testing::ExitedWithCode(0),
              "the kernel can make no thread");
}

struct LackedOperation {
  const char* name;
  int operation;
};

class LackedOperationTest : public ::testing::TestWithParam<LackedOperation> {
 protected:
  // For the process in which a death test runs.
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    setenv("LD_PRELOAD", (here / "liblacking_io_uring.so").c_str(), 1);
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 0);
    setenv("ARION_LACKS", std::to_string(GetParam().operation).c_str(), 1);
  }
  void TearDown() override {
    unsetenv("LD_PRELOAD");
    unsetenv("ARION_LACKS");
  }
};

TEST_P(LackedOperationTest, ThreadsWriteTheLogs) {
  if (IoUringIsRefused()) GTEST_SKIP() << "all of it is refused here";
  EXPECT_EXIT(
      _exit(ExitCodeOfARefusedDevice(absl::StrCat("io_uring is refused: ", GetParam().name))),
      ::testing::ExitedWithCode(0), "io_uring is refused");
}

INSTANTIATE_TEST_SUITE_P(Operations, LackedOperationTest,
                         ::testing::Values(LackedOperation{"write", IORING_OP_WRITE},
                                           LackedOperation{"fsync", IORING_OP_FSYNC},
                                           LackedOperation{"timeout", IORING_OP_TIMEOUT}),
                         [](const auto& info) { return info.param.name; });

// The log writes the same bytes again, so it does not matter whether the write or the flush that it
// carried found no space.
TEST(PosixLogDeviceErrorsTest, AWriteThatCarriesItsFlushMayLackSpaceOrMemoryToo) {
  class Device : public PosixLogDevice {
   public:
    using PosixLogDevice::PosixLogDevice;
    using PosixLogDevice::WriteFailed;
    void Write(WriteRequest) override {}
    std::string method() const override { return ""; }
  };
  TempDirectory directory;
  Device device(directory.path(), {});
  PendingWrite write;
  write.request.file = *device.Open(directory.path() + "/log", /*direct=*/true);
  write.carries_flush = true;
  auto& file = static_cast<PosixLogFile&>(*write.request.file);
  EXPECT_TRUE(absl::IsResourceExhausted(Device::WriteFailed(write, ENOSPC)));
  EXPECT_EQ(WantOf(Device::WriteFailed(write, ENOMEM)), Want::kMemory);
  EXPECT_FALSE(file.has_failed());
  EXPECT_TRUE(absl::IsDataLoss(Device::WriteFailed(write, EIO)));
  EXPECT_TRUE(file.has_failed());
}

// On every other file system each write carries its own flush.
TEST(OneFlushCoversAllTest, OnExt4ThatWritesInPlaceAndHasBarriersOnly) {
  const auto covers = [](const std::string& type_and_options) {
    std::istringstream mounts(
        "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
        "27 1 8:1 / / rw,relatime shared:1 master:2 - " +
        type_and_options + "\n28 27 8:17 / /data rw - ext4 /dev/sdb1 rw,nobarrier\n");
    return OneFlushCoversAll(mounts, "8:1");
  };
  EXPECT_TRUE(covers("ext4 /dev/sda1 rw"));
  EXPECT_TRUE(covers("ext4 /dev/sda1 rw,discard,errors=remount-ro,data=ordered"));
  EXPECT_FALSE(covers("ext4 /dev/sda1 rw,nobarrier"));
  EXPECT_FALSE(covers("ext4 /dev/sda1 rw,barrier=0"));
  EXPECT_FALSE(covers("ext4 /dev/sda1 rw,nodelalloc,data=journal"));
  for (const char* type : {"xfs", "btrfs", "ext3", "ext2", "f2fs", "overlay", "tmpfs", "fuse"})
    EXPECT_FALSE(covers(absl::StrCat(type, " /dev/sda1 rw"))) << type;
  std::istringstream nothing;
  EXPECT_FALSE(OneFlushCoversAll(nothing, "8:1"));
}

}  // namespace
}  // namespace arion
