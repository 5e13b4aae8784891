// The machine's clocks: one that never falls, one that counts its sleep. SPDX-License-Identifier: Apache-2.0
#include "posix/posix_clock.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "posix/posix_environment.h"

namespace arion {
namespace {

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
