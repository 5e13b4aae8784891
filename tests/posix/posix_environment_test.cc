// SPDX-License-Identifier: Apache-2.0
#include "posix/posix_environment.h"

#include <gtest/gtest.h>

#include <filesystem>
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

}  // namespace
}  // namespace arion
