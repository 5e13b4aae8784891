// SPDX-License-Identifier: Apache-2.0
#include "posix/posix_watchdog.h"
#include "posix/posix_environment.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <future>
#include <latch>

#include "env/blocking_call.h"
#include "posix/posix_log_file.h"

namespace arion {
namespace {

using testing::HasSubstr;

constexpr absl::Duration kLimit = absl::Milliseconds(40);

// Looks until the watchdog says what is wanted, for ten seconds at most.
StuckWork WaitFor(const PosixWatchdog& watchdog, const std::function<bool(const StuckWork&)>& is) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < end)
    for (StuckWork& work : watchdog.Stuck())
      if (is(work)) return std::move(work);
  return {};
}

TEST(PosixWatchdogTest, ALoopThatDoesNotTurnIsNamedWithItsStack) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer holds back the signal that asks for the stack";
#endif
  PosixEnvironment env({.event_loop_threads = 1});
  PosixWatchdog watchdog(env, kLimit);
  std::latch turned(1), released(1);
  const StrandPtr strand = env.NewStrand("stuck");
  strand->Post([&] { turned.count_down(); });
  turned.wait();
  strand->Post([&] { released.wait(); });
  const StuckWork stuck =
      WaitFor(watchdog, [](const StuckWork& work) { return !work.stack.empty(); });
  released.count_down();
  EXPECT_EQ(stuck.where, "loop 0");
  EXPECT_GT(stuck.age, kLimit);
  EXPECT_GE(watchdog.stats().stuck.value(), 1);
}

TEST(PosixWatchdogTest, WorkThatHangsInAPoolIsNamedWithItsCallAndPath) {
  PosixEnvironment env({.event_loop_threads = 1});
  PosixWatchdog watchdog(env, kLimit);
  std::latch released(1);
  env.disk_pool("/tmp").Submit([&] {
    const BlockingCall call("read", "/tmp/some/file");
    released.wait();
  });
  const StuckWork stuck =
      WaitFor(watchdog, [](const StuckWork& work) { return work.where.starts_with("pool of"); });
  released.count_down();
  EXPECT_THAT(stuck.where, HasSubstr("/tmp, thread "));
  EXPECT_EQ(stuck.what, "read /tmp/some/file");
}

TEST(PosixWatchdogTest, ALogsWriteThatHangsInAThreadOfItsDeviceIsNamed) {
  PosixEnvironment env(
      {.event_loop_threads = 1, .log_device = {.method = LogDeviceOptions::Method::kThreads}});
  PosixWatchdog watchdog(env, kLimit);
  // A full pipe, which takes no offset but the one that means none.
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::string bytes(static_cast<size_t>(::fcntl(ends[1], F_GETPIPE_SZ)), 'x');
  ASSERT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  AlignedBuffer one;
  one.Resize(1);
  std::promise<void> answered;
  env.log_device("/tmp").Write(
      {.file = std::make_shared<PosixLogFile>(ends[1], "/tmp/log.1", 1),
       .offset = UINT64_MAX,
       .buffer = std::move(one),
       .durability = Durability::kOs,
       .reply_on = env.NewStrand("log"),
       .done = [&](const absl::Status&, AlignedBuffer) { answered.set_value(); }});
  const StuckWork stuck =
      WaitFor(watchdog, [](const StuckWork& work) { return work.where.starts_with("pool of"); });
  EXPECT_EQ(stuck.what, "write /tmp/log.1");
  EXPECT_GT(::read(ends[0], bytes.data(), bytes.size()), 0);
  answered.get_future().wait();
  ::close(ends[0]);
}

TEST(PosixWatchdogTest, WhereNothingIsStuckLagIsMeasuredAndNothingTold) {
  PosixEnvironment env({.event_loop_threads = 2});
  PosixWatchdog watchdog(env, absl::Seconds(60));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (watchdog.stats().loop_lag_nanos.Read().count < 2 &&
         std::chrono::steady_clock::now() < end) {
  }
  EXPECT_GE(watchdog.stats().loop_lag_nanos.Read().count, 2u);
  EXPECT_TRUE(watchdog.Stuck().empty());
  EXPECT_EQ(watchdog.stats().stuck.value(), 0);
}

}  // namespace
}  // namespace arion
