// A kernel that refuses io_uring, a part of it, or its threads. SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>
#include <linux/io_uring.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "env/log_device.h"
#include "posix/event_loops.h"
#include "posix/posix_log_device.h"
#include "tests/support/refused_calls.h"
#include "tests/support/temp_directory.h"

namespace arion {
namespace {

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

}  // namespace
}  // namespace arion
