// SPDX-License-Identifier: Apache-2.0
#include "disks/flush_watch.h"

#include <gtest/gtest.h>

#include "env/log_device.h"
#include "sim/sim_environment.h"

namespace arion {
namespace {

class FakeFile : public LogFile {
 public:
  explicit FakeFile(std::string path) : path_(std::move(path)) {}
  size_t alignment() const override { return AlignedBuffer::kAlignment; }
  const std::string& path() const override { return path_; }

 private:
  const std::string path_;
};

// Answers when a test says so.
class FakeDevice : public LogDevice {
 public:
  absl::StatusOr<std::shared_ptr<LogFile>> Open(const std::string& path, bool) override {
    ++opened;
    if (!made.ok()) return made;
    return std::make_shared<FakeFile>(path);
  }
  absl::Status FillWithZeros(LogFile&, uint64_t, uint64_t) override { return made; }
  absl::Status TruncateAndSync(LogFile&, uint64_t) override { return absl::OkStatus(); }
  absl::Status Sync(LogFile&) override { return absl::OkStatus(); }
  std::string method() const override { return "by hand"; }
  const LogDeviceStats& stats() const override { return stats_; }

  void Write(WriteRequest request) override {
    stats_.queued.Add(1);
    under_way.push_back(std::move(request));
  }
  void AnswerProbe(absl::Duration took, absl::Status status = absl::OkStatus()) {
    WriteRequest request = std::move(under_way.front());
    under_way.clear();
    stats_.queued.Add(-1);
    CountFlush(took);
    CountWrite(took);
    request.reply_on->Post([request = std::move(request), status]() mutable {
      request.done(status, std::move(request.buffer));
    });
  }
  void CountFlush(absl::Duration took) { stats_.sync_nanos.Record(Nanos(took)); }
  void CountWrite(absl::Duration took) { stats_.append_nanos.Record(Nanos(took)); }

  absl::Status made;  // of files
  int opened = 0;
  std::vector<WriteRequest> under_way;

 private:
  static uint64_t Nanos(absl::Duration took) {
    return static_cast<uint64_t>(absl::ToInt64Nanoseconds(took));
  }
  LogDeviceStats stats_;
};

class FlushWatchTest : public testing::Test {
 protected:
  void EndSecond() {
    env_.RunOn(strand_, [this] { watch_->OnSecond(); });
    world_.RunFor(absl::Milliseconds(500));  // its file may be made
  }
  bool IsProbing() const { return !device_.under_way.empty(); }
  absl::Duration P99() const { return absl::Nanoseconds(watch_->answers().Quantile(0.99)); }

  sim::SimWorld world_{3};
  sim::SimNode& node_ = world_.AddNode("n");
  sim::SimEnvironment& env_ = node_.Start();
  StrandPtr strand_ = env_.NewStrand("server");
  FakeDevice device_;
  std::shared_ptr<FlushWatch> watch_ =
      std::make_shared<FlushWatch>(device_, env_.disk_pool("/a"), strand_, "/a");
};

TEST_F(FlushWatchTest, ASecondWithoutAFlushIsFollowedByADurableProbe) {
  EndSecond();
  EXPECT_FALSE(IsProbing()) << "its file was made";
  EndSecond();
  ASSERT_EQ(device_.under_way.size(), 1u);
  const LogDevice::WriteRequest& probe = device_.under_way[0];
  EXPECT_EQ(probe.file->path(), "/a/.arion-flush-probe");
  EXPECT_EQ(probe.durability, Durability::kFsync);
  EXPECT_EQ(probe.offset, 0u);
  EXPECT_EQ(probe.buffer.size(), 4096u);
  device_.AnswerProbe(absl::Milliseconds(3));
  EndSecond();
  EXPECT_EQ(watch_->answers().count, 1u);
  EXPECT_NEAR(absl::ToDoubleMilliseconds(P99()), 3, 0.2);
  EXPECT_TRUE(IsProbing()) << "a probe's flush is no log's";
}

TEST_F(FlushWatchTest, ProbesAreNobodysWaitAndLogsThatAreFlushedNeedNone) {
  EndSecond();
  EndSecond();
  device_.AnswerProbe(absl::Milliseconds(700));
  EndSecond();
  EXPECT_EQ(watch_->LogWait(), absl::ZeroDuration());
  device_.AnswerProbe(absl::Milliseconds(7));
  device_.CountFlush(absl::Milliseconds(7));
  device_.CountWrite(absl::Milliseconds(8));
  EndSecond();
  EXPECT_NEAR(absl::ToDoubleMilliseconds(watch_->LogWait()), 7, 0.5);
  EXPECT_FALSE(IsProbing());
}

TEST_F(FlushWatchTest, AProbeThatIsNotBackIsQueuedAndNoOtherIsSent) {
  EndSecond();
  for (int i = 0; i < 5; ++i) EndSecond();
  EXPECT_EQ(device_.under_way.size(), 1u);
  EXPECT_EQ(watch_->answers().count, 0u);
  EXPECT_EQ(watch_->queued(), 1);
}

// Durability os.
TEST_F(FlushWatchTest, WhereNoLogIsFlushedItsWritesTellUntilAProbeIsLate) {
  EndSecond();
  for (int i = 0; i < 200; ++i) device_.CountWrite(absl::Milliseconds(2));
  EndSecond();
  EXPECT_EQ(watch_->answers().count, 200u);
  EXPECT_NEAR(absl::ToDoubleMilliseconds(watch_->LogWait()), 2, 0.1);

  ASSERT_TRUE(IsProbing());
  device_.AnswerProbe(absl::Milliseconds(900));  // behind what the kernel writes
  for (int i = 0; i < 200; ++i) device_.CountWrite(absl::Milliseconds(2));
  EndSecond();
  EXPECT_NEAR(absl::ToDoubleMilliseconds(P99()), 2, 0.1);

  ASSERT_TRUE(IsProbing());
  for (int i = 0; i < 200; ++i) device_.CountWrite(absl::Milliseconds(2));
  EndSecond();
  EXPECT_EQ(watch_->answers().count, 0u) << "the page cache answers, the disk does not";
  EXPECT_EQ(watch_->queued(), 1);
}

TEST_F(FlushWatchTest, AFileThatFailedOrFoundNoSpaceIsMadeAnew) {
  device_.made = absl::ResourceExhaustedError("no space");
  for (int i = 0; i < 3; ++i) EndSecond();
  EXPECT_FALSE(IsProbing());
  EXPECT_EQ(device_.opened, 3);
  device_.made = absl::OkStatus();
  EndSecond();
  EndSecond();
  ASSERT_TRUE(IsProbing());
  device_.AnswerProbe(absl::Milliseconds(1), absl::DataLossError("sync"));
  EndSecond();
  EXPECT_EQ(device_.opened, 5);
  EndSecond();
  EXPECT_TRUE(IsProbing());
}

}  // namespace
}  // namespace arion
