// No allocation per record in steady state: Append, the device's write and flush, the callback.
//
// Counted is every malloc of the process, whichever thread it comes from: operator new, vectors,
// aligned buffers, asio's handlers. Not counted, because it is the caller's: the mutation (made
// before) and what a callback captures beyond two pointers. What a log does per file or per step
// (making, growing, the index's growth) allocates, so one window of many records without any is
// asked for, and few in all.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <iostream>
#include <string>
#include <vector>

#include "posix/posix_environment.h"
#include "tests/support/temp_directory.h"
#include "wal/private_log.h"

namespace {

std::atomic<int64_t> allocations{0};

}  // namespace

#if !defined(__SANITIZE_ADDRESS__)
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(old, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, bytes);
}
}
#endif

namespace arion {
namespace {

constexpr int64_t kWindow = 2000;
constexpr int kWindows = 40;  // others at work on the machine disturb some
constexpr int kLogs = 3;
constexpr int kOutstanding = 8;  // of each log

MutationPtr Record() {
  Mutation m;
  m.pid = {2, 1};
  m.ballot = Ballot(1);
  m.decree = Decree(1);
  m.updates.push_back({.code = WriteCode::kPut, .serialization = 1, .data = std::string(500, 'x')});
  return std::make_shared<Mutation>(std::move(m));
}

class ClosedLoop {
 public:
  explicit ClosedLoop(LogDeviceOptions::Method method) : env_({.log_device = {.method = method}}) {
    for (int i = 0; i < kLogs; ++i) {
      One& one = logs_[i];
      one.loop = this;
      one.strand = env_.NewStrand("log");
      PrivateLogOptions options;
      options.directory = absl::StrCat(directory_.path(), "/", i, "/plog");
      options.identity_path = absl::StrCat(directory_.path(), "/", i, "/.arion-log");
      options.pid = {2, 1};
      auto log = PrivateLog::Open(
          env_, one.strand, options, [](MutationPtr) { return absl::OkStatus(); }, nullptr);
      EXPECT_TRUE(log.ok()) << log.status();
      one.log = *std::move(log);
    }
  }
  ~ClosedLoop() { env_.StopLoops(); }

  void Run() {
    for (One& one : logs_)
      one.strand->Post([&one] {
        for (int i = 0; i < kOutstanding; ++i) one.Append();
      });
    done_.get_future().get();
  }
  // Allocations of each window of kWindow records.
  std::vector<int64_t> Windows() const {
    std::vector<int64_t> counts;
    for (int i = 1; i < kWindows; ++i) counts.push_back(seen_[i] - seen_[i - 1]);
    return counts;
  }
  std::string method() { return logs_[0].log->stats().method; }

 private:
  struct One {
    void Append() {
      log->Append(loop->record_, [this](const absl::Status& status) {
        CHECK(status.ok()) << status;
        if (loop->OnDurable()) Append();
      });
    }
    ClosedLoop* loop = nullptr;
    StrandPtr strand;
    std::unique_ptr<PrivateLog> log;
  };

  bool OnDurable() {
    const int64_t n = durable_.fetch_add(1) + 1;
    if (n % kWindow == 0 && n / kWindow <= kWindows)
      seen_[n / kWindow - 1] = allocations.load(std::memory_order_relaxed);
    if (n == kWindow * kWindows) done_.set_value();
    return n < kWindow * kWindows;
  }

  TempDirectory directory_;
  PosixEnvironment env_;
  const MutationPtr record_ = Record();
  One logs_[kLogs];
  std::atomic<int64_t> durable_{0};
  int64_t seen_[kWindows] = {};
  std::promise<void> done_;
};

void ExpectNoneForARecord(LogDeviceOptions::Method method) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer's malloc can't be counted";
#endif
  ClosedLoop loop(method);
  const int64_t before = allocations.load();
  loop.Run();
  const std::vector<int64_t> windows = loop.Windows();
  int64_t all = 0;
  for (const int64_t n : windows) all += n;
  const int64_t fewest = *std::min_element(windows.begin(), windows.end());
  std::cout << loop.method() << ": allocations in windows of " << kWindow << " records:";
  for (const int64_t n : windows) std::cout << " " << n;
  std::cout << std::endl;
  EXPECT_GT(allocations.load(), before) << "nothing was counted at all";
  EXPECT_EQ(fewest, 0);
  EXPECT_LT(all, kWindow * kWindows / 20);
}

TEST(LogAllocationsTest, NoneForARecordInSteadyState) {
  ExpectNoneForARecord(LogDeviceOptions::Method::kBest);
}
TEST(LogAllocationsTest, NoneForARecordByTheThreadsOfTheFallback) {
  ExpectNoneForARecord(LogDeviceOptions::Method::kThreads);
}

}  // namespace
}  // namespace arion
