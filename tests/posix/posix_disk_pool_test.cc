// SPDX-License-Identifier: Apache-2.0
#include "posix/posix_disk_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <vector>

namespace arion {
namespace {

TEST(PosixDiskPoolTest, OneThreadKeepsTheOrder) {
  std::vector<int> seen;
  {
    PosixDiskPool pool(1);
    for (int i = 0; i < 1000; ++i) pool.Submit([&seen, i] { seen.push_back(i); });
  }
  ASSERT_EQ(seen.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
}

TEST(PosixDiskPoolTest, ThreadsWorkBesideEachOther) {
  std::latch all(3);
  PosixDiskPool pool(3);
  for (int i = 0; i < 2; ++i) pool.Submit([&] { all.arrive_and_wait(); });
  all.arrive_and_wait();
}

TEST(PosixDiskPoolTest, WorkMaySubmitWork) {
  std::atomic<int> runs{0};
  std::latch done(1);
  PosixDiskPool pool(2);
  pool.Submit([&] {
    ++runs;
    pool.Submit([&] {
      ++runs;
      done.count_down();
    });
  });
  done.wait();
  EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace arion
