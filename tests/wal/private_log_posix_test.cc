// The private log on this machine's disk, through the real environment.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <future>

#include "posix/posix_environment.h"
#include "tests/support/no_descriptor_left.h"
#include "tests/support/temp_directory.h"
#include "tests/wal/log_world.h"
#include "wal/log_recovery.h"
#include "wal/private_log.h"

namespace arion {
namespace {

struct Setting {
  const char* name;
  LogDeviceOptions::Method method;
  Durability durability;
  bool preallocate;
};

class PrivateLogPosixTest : public ::testing::TestWithParam<Setting> {
 protected:
  PrivateLogPosixTest() {
    options_ = TestLogOptions();
    options_.directory = directory_.path() + "/2.1.pegasus/plog";
    options_.identity_path = directory_.path() + "/2.1.pegasus/.arion-log";
    options_.durability = GetParam().durability;
    options_.preallocate = GetParam().preallocate;
    options_.segment_bytes_max = 4 << 20;
    EXPECT_TRUE(env_.files().CreateDirectories(directory_.path() + "/2.1.pegasus").ok());
  }

  absl::Status Open() {
    replayed_.clear();
    auto opened = PrivateLog::Open(
        env_, strand_, options_,
        [&](MutationPtr m) {
          replayed_.push_back(std::move(m));
          return absl::OkStatus();
        },
        &summary_);
    if (opened.ok()) log_ = *std::move(opened);
    return opened.status();
  }
  void OnStrand(std::function<void()> task) {
    std::promise<void> done;
    strand_->Post([&] {
      task();
      done.set_value();
    });
    done.get_future().get();
  }
  void DrainLog() {
    std::promise<void> drained;
    strand_->Post([&] { log_->Drain([&] { drained.set_value(); }); });
    drained.get_future().get();
  }
  // Appends decrees [first, last] as fast as `outstanding` allows and waits for all answers.
  void AppendAll(int64_t first, int64_t last, size_t bytes, int outstanding) {
    std::promise<void> done;
    int64_t next = first, answered = first - 1;
    std::function<void()> feed = [&] {
      for (; next <= last && next - answered <= outstanding; ++next) {
        log_->Append(MakeMutation(next, bytes), [&, decree = next](const absl::Status& status) {
          EXPECT_TRUE(status.ok()) << status;
          EXPECT_EQ(decree, answered + 1);
          answered = decree;
          if (answered == last) return done.set_value();
          feed();
        });
      }
    };
    strand_->Post([&] { feed(); });
    done.get_future().get();
  }

  TempDirectory directory_;
  PosixEnvironment env_{{.log_device = {.method = GetParam().method}, .descriptors_held = 2}};
  StrandPtr strand_ = env_.NewStrand("log");
  PrivateLogOptions options_;
  std::unique_ptr<PrivateLog> log_;
  std::vector<MutationPtr> replayed_;
  ReplaySummary summary_;
};

// It goes on in its next files, without a spare; nobody waits.
TEST_P(PrivateLogPosixTest, NoDescriptorLeftStopsNoLog) {
  int waits = 0;
  options_.on_no_space = [&waits](const absl::Status&) { ++waits; };
  ASSERT_TRUE(Open().ok());
  AppendAll(1, 100, 1000, 32);
  {
    NoDescriptorLeft none;
    AppendAll(101, 3000, 5000, 32);  // three times a file's bytes
  }
  DrainLog();
  OnStrand([&] {
    EXPECT_GT(log_->stats().files, 2);
    EXPECT_EQ(waits, 0);
  });
  ASSERT_TRUE(log_->Close().ok());
  OnStrand([&] { log_.reset(); });
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(replayed_.size(), 3000u);
  DrainLog();
}

TEST_P(PrivateLogPosixTest, ReplaysWhatItWroteCleanOrNot) {
  ASSERT_TRUE(Open().ok());
  AppendAll(1, 3000, 1000, 32);
  AppendAll(3001, 3010, 700000, 4);
  OnStrand([&] {
    EXPECT_GT(log_->stats().files, 1);
    EXPECT_FALSE(log_->stats().method.empty());
  });
  const auto read = log_->ReadFrom(Decree(2990), 1 << 20);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->mutations.front()->decree, Decree(2990));
  // As after a crash of the process: nothing was trimmed.
  DrainLog();
  OnStrand([&] { log_.reset(); });
  ASSERT_TRUE(Open().ok());
  ASSERT_EQ(replayed_.size(), 3010u);
  for (size_t i = 0; i < replayed_.size(); ++i)
    ASSERT_TRUE(SameMutation(*replayed_[i],
                             *MakeMutation(static_cast<int64_t>(i) + 1, i < 3000 ? 1000 : 700000)));
  EXPECT_FALSE(summary_.was_clean);

  AppendAll(3011, 3100, 100, 8);
  DrainLog();
  ASSERT_TRUE(log_->Close().ok());
  OnStrand([&] { log_.reset(); });
  ASSERT_TRUE(Open().ok());
  EXPECT_TRUE(summary_.was_clean);
  EXPECT_FALSE(summary_.cut_tail);
  EXPECT_EQ(replayed_.back()->decree, Decree(3100));
  OnStrand([&] { log_->DropThrough(Decree(3100)); });
  DrainLog();
  // One file of the log; dropped ones may be kept to be written again.
  auto names = *env_.files().List(options_.directory);
  std::erase_if(names, IsSpareName);
  EXPECT_EQ(names.size(), 1u) << names.front();
  OnStrand([&] { log_.reset(); });
}

INSTANTIATE_TEST_SUITE_P(
    Settings, PrivateLogPosixTest,
    ::testing::Values(
        Setting{"Uring", LogDeviceOptions::Method::kBest, Durability::kFsync, true},
        Setting{"Threads", LogDeviceOptions::Method::kThreads, Durability::kFsync, true},
        Setting{"Appending", LogDeviceOptions::Method::kBest, Durability::kFsync, false},
        Setting{"PageCache", LogDeviceOptions::Method::kBest, Durability::kOs, true},
        Setting{"PageCacheThreads", LogDeviceOptions::Method::kThreads, Durability::kOs, true}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace arion
