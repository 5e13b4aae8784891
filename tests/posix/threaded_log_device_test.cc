// What the device of threads does of its own; what both devices do: posix_log_device_test.cc.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "posix/event_loops.h"
#include "posix/posix_file_system.h"
#include "posix/posix_log_file.h"
#include "tests/posix/log_request.h"
#include "tests/support/temp_directory.h"

namespace arion {
namespace {

class ThreadedLogDeviceTest : public ::testing::Test {
 protected:
  std::shared_ptr<LogFile> Open(const std::string& name, bool direct = false) {
    auto file = device_->Open(directory_.path() + "/" + name, direct);
    EXPECT_TRUE(file.ok()) << file.status();
    return *file;
  }
  std::future<absl::Status> Write(std::shared_ptr<LogFile> file, uint64_t offset,
                                  const std::string& bytes, Coverage coverage,
                                  Durability durability = Durability::kFsync) {
    return WriteBytes(*device_, strand_, std::move(file), offset, bytes, coverage, durability);
  }
  std::string Content(const std::string& name) {
    return ReadFile(files_, directory_.path() + "/" + name).value_or("unread");
  }

  const TempDirectory directory_;
  PosixFileSystem files_;
  EventLoops loops_{1};
  StrandPtr strand_ = loops_.NewStrand("test");
  std::unique_ptr<LogDevice> device_ = NewThreadedLogDevice(directory_.path(), {.threads = 2});
};

TEST_F(ThreadedLogDeviceTest, ItsMethodSaysWhyThereIsNothingBetter) {
  EXPECT_EQ(device_->method(), "pwrite + fdatasync, bounded threads");
  EXPECT_EQ(NewThreadedLogDevice(directory_.path(), {}, "io_uring is refused")->method(),
            "pwrite + fdatasync, bounded threads; io_uring is refused");
}

TEST_F(ThreadedLogDeviceTest, EachGrowingWriteHasASyncOfItsOwn) {
  const auto file = Open("log");
  ASSERT_TRUE(Write(file, 0, "abc", Coverage::kGrowing).get().ok());
  ASSERT_TRUE(Write(file, 3, "def", Coverage::kGrowing).get().ok());
  EXPECT_EQ(Content("log"), "abcdef");
  EXPECT_EQ(device_->stats().syncs.value(), 2);
  EXPECT_EQ(device_->stats().failures.value(), 0);
}

TEST_F(ThreadedLogDeviceTest, WhereThePageCacheIsEnoughNothingIsSynced) {
  ASSERT_TRUE(Write(Open("log"), 0, "abc", Coverage::kGrowing, Durability::kOs).get().ok());
  EXPECT_EQ(Content("log"), "abc");
  EXPECT_EQ(device_->stats().syncs.value(), 0);
  EXPECT_EQ(device_->stats().writes.value(), 1);
}

// As there is no ring whose writes could share one.
TEST_F(ThreadedLogDeviceTest, ADirectOverwriteCarriesItsFlushAndCountsAsOne) {
  const auto file = Open("log", /*direct=*/true);
  const std::string page(AlignedBuffer::kAlignment, 'p');
  if (file->alignment() == 1) GTEST_SKIP() << "no direct I/O on this file system";
  ASSERT_TRUE(device_->FillWithZeros(*file, 0, 2 * page.size()).ok());
  const int64_t before = device_->stats().syncs.value();
  ASSERT_TRUE(Write(file, page.size(), page, Coverage::kPrewritten).get().ok());
  EXPECT_EQ(device_->stats().syncs.value() - before, 1);
  EXPECT_EQ(Content("log"), std::string(page.size(), '\0') + page);
}

TEST_F(ThreadedLogDeviceTest, AFileThatFailedAWriteTakesNoneAnyMore) {
  const auto file = Open("log");
  // From now on its descriptor can only be read.
  const int read_only = ::open((directory_.path() + "/log").c_str(), O_RDONLY);
  ASSERT_GE(read_only, 0);
  ASSERT_GE(::dup2(read_only, static_cast<PosixLogFile&>(*file).fd()), 0);
  ::close(read_only);
  EXPECT_TRUE(absl::IsDataLoss(Write(file, 0, "abc", Coverage::kGrowing).get()));
  EXPECT_TRUE(absl::IsDataLoss(Write(file, 0, "abc", Coverage::kGrowing).get()));
  EXPECT_GE(device_->stats().failures.value(), 1);
  EXPECT_TRUE(Write(Open("other"), 0, "abc", Coverage::kGrowing).get().ok())
      << "another file is none the worse";
}

}  // namespace
}  // namespace arion
