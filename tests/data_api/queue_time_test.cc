// SPDX-License-Identifier: Apache-2.0
#include "data_api/queue_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace arion {
namespace {

Instant At(int64_t ms) { return Instant(0) + absl::Milliseconds(ms); }

TEST(QueueTimeTest, AnEmptyQueueHasNoWait) {
  QueueTime queue;
  EXPECT_EQ(queue.WaitAt(At(1000)), absl::ZeroDuration());
  queue.Arrived(At(1000));
  queue.Began(At(1000));
  EXPECT_EQ(queue.WaitAt(At(9000)), absl::ZeroDuration());
}

TEST(QueueTimeTest, WhereNothingMovesTheWaitGrows) {
  QueueTime queue;
  queue.Arrived(At(1000));
  queue.Arrived(At(1500));
  EXPECT_EQ(queue.WaitAt(At(3000)), absl::Seconds(2)) << "of the first";
}

TEST(QueueTimeTest, WhereItMovesTheWaitIsThatOfTheHead) {
  QueueTime queue;
  for (int64_t ms = 0; ms < 100; ++ms) queue.Arrived(At(ms));
  for (int64_t ms = 0; ms < 50; ++ms) queue.Began(At(ms));
  EXPECT_EQ(queue.WaitAt(At(100)), absl::Milliseconds(51));
  for (int64_t ms = 50; ms < 100; ++ms) queue.Began(At(ms));
  EXPECT_EQ(queue.WaitAt(At(200)), absl::ZeroDuration());
}

// A queue that was idle for an hour is not taken for one whose head waited that long.
TEST(QueueTimeTest, WhoseTimeIsNewIsNotMistakenForTheOneBefore) {
  QueueTime queue;
  std::atomic<int64_t> hour{0};
  std::atomic<bool> ended{false};
  std::thread other([&] {
    for (int64_t n = 1; n <= 200'000; ++n) {
      hour.store(n, std::memory_order_release);
      queue.Arrived(At(n * 3'600'000));
      queue.Began(At(n * 3'600'000));
    }
    ended = true;
  });
  absl::Duration longest;
  while (!ended) {
    const Instant now = At(hour.load(std::memory_order_acquire) * 3'600'000);
    longest = std::max(longest, queue.WaitAt(now));
  }
  other.join();
  EXPECT_EQ(longest, absl::ZeroDuration());
}

}  // namespace
}  // namespace arion
