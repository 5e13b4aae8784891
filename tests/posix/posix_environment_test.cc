// SPDX-License-Identifier: Apache-2.0
#include "posix/posix_environment.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <set>

#include "env/loop_thread.h"

namespace arion {
namespace {

TEST(PosixEnvironmentTest, DirectoriesOfOneDeviceShareItsPoolAndLogDevice) {
  std::filesystem::path root =
      std::filesystem::path(::testing::TempDir()) / "arion_posix_environment_test";
  std::filesystem::create_directories(root / "a");
  std::filesystem::create_directories(root / "b");
  PosixEnvironment env({.event_loop_threads = 1, .disk_threads_per_device = 1});
  EXPECT_EQ(&env.disk_pool(root / "a"), &env.disk_pool(root / "b"));
  EXPECT_EQ(&env.log_device(root / "a"), &env.log_device(root / "b"));
  if (*env.files().DeviceOf("/dev/shm") != *env.files().DeviceOf(root)) {
    EXPECT_NE(&env.disk_pool(root), &env.disk_pool("/dev/shm"));
  }
  std::filesystem::remove_all(root);
}

TEST(PosixEnvironmentTest, DiskWorkRunsOffTheLoopsAndComesBackByPost) {
  PosixEnvironment env({.event_loop_threads = 1, .disk_threads_per_device = 2});
  StrandPtr strand = env.NewStrand("s");
  std::promise<bool> done;
  auto back_on_strand = done.get_future();
  env.disk_pool("/tmp").Submit([&] {
    EXPECT_FALSE(OnLoopThread());
    strand->Post([&] { done.set_value(strand->IsCurrent()); });
  });
  ASSERT_EQ(back_on_strand.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_TRUE(back_on_strand.get());
}

TEST(PosixEnvironmentTest, RandomNumbersDiffer) {
  PosixEnvironment env({.event_loop_threads = 1});
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(env.random().Next());
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(PosixClockTest, MonotonicTimeDoesNotFallAndWallTimeIsOfThisCentury) {
  PosixClock clock;
  Instant before = clock.Now();
  EXPECT_LE(before, clock.Now());
  EXPECT_GT(clock.WallMicros() / 1000000, kExpiryEpochUnixSeconds);
}

// In a time namespace whose machine slept for an hour.
TEST(PosixClockTest, ALeaseHoldersClockCountsTheMachinesSleep) {
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWTIME) != 0) _exit(2);
    std::ofstream offsets("/proc/self/timens_offsets");
    if (!(offsets << "boottime 3600 0" << std::flush)) _exit(2);
    const pid_t slept = fork();  // the namespace holds for children
    if (slept == 0) {
      const PosixEnvironment holder({.event_loop_threads = 1, .clock = CLOCK_BOOTTIME});
      const PosixEnvironment granter({.event_loop_threads = 1});
      const absl::Duration sleep = holder.clock().Now() - granter.clock().Now();
      _exit(sleep >= absl::Hours(1) && sleep < absl::Hours(2) ? 0 : 1);
    }
    int status = 0;
    waitpid(slept, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "time namespaces need root";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace arion
