// SPDX-License-Identifier: Apache-2.0
#include "engine/rocksdb_threads.h"

#include <gtest/gtest.h>
#include <rocksdb/file_system.h>
#include <sys/resource.h>
#include <unistd.h>

#include <latch>
#include <utility>

#include "env/file_system.h"

namespace arion {
namespace {

using Priority = rocksdb::Env::Priority;

std::unique_ptr<rocksdb::Env> Below() {
  return rocksdb::NewCompositeEnv(rocksdb::FileSystem::Default());
}
void CountDown(void* latch) { static_cast<std::latch*>(latch)->count_down(); }
void Wait(void* latch) { static_cast<std::latch*>(latch)->wait(); }

TEST(DiskThreads, WorkThatHangsOnOneDiskHoldsUpNoOthers) {
  DiskThreads hung(Below()), other(Below());
  hung.IncBackgroundThreadsIfNeeded(1, Priority::HIGH);
  other.IncBackgroundThreadsIfNeeded(1, Priority::HIGH);
  std::latch goes_on(1), done(1);
  hung.Schedule(Wait, &goes_on, Priority::HIGH, nullptr, nullptr);
  other.Schedule(CountDown, &done, Priority::HIGH, nullptr, nullptr);
  done.wait();
  goes_on.count_down();
}

TEST(DiskThreads, WhatWaitsIsDroppedByItsTagAndItsOwnerIsTold) {
  DiskThreads threads(Below());
  threads.SetBackgroundThreads(1, Priority::LOW);
  EXPECT_EQ(threads.GetBackgroundThreads(Priority::LOW), 1);
  std::latch runs(1), goes_on(1), ran(1), told(1);
  std::pair<std::latch*, std::latch*> first{&runs, &goes_on};
  const auto begin = [](void* both) {
    const auto* pair = static_cast<std::pair<std::latch*, std::latch*>*>(both);
    pair->first->count_down();
    pair->second->wait();
  };
  threads.Schedule(begin, &first, Priority::LOW, nullptr, nullptr);
  runs.wait();
  int tag = 0;
  threads.Schedule(CountDown, &told, Priority::LOW, &tag, CountDown);
  threads.Schedule(CountDown, &ran, Priority::LOW, nullptr, nullptr);
  EXPECT_EQ(threads.GetThreadPoolQueueLen(Priority::LOW), 2u);
  EXPECT_EQ(threads.UnSchedule(&tag, Priority::LOW), 1);
  EXPECT_TRUE(told.try_wait());
  goes_on.count_down();
  ran.wait();
}

// A flush or a compaction under way is stopped for whoever is woken.
TEST(DiskThreads, AllComeLast) {
  DiskThreads threads(Below());
  for (const Priority priority : {Priority::HIGH, Priority::LOW}) {
    threads.SetBackgroundThreads(1, priority);
    struct Seen {
      int nice = 0;
      std::latch done{1};
    } seen;
    const auto look = [](void* to) {
      auto* seen = static_cast<Seen*>(to);
      seen->nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
      seen->done.count_down();
    };
    threads.Schedule(look, &seen, priority, nullptr, nullptr);
    seen.done.wait();
    EXPECT_GT(seen.nice, ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid())));
  }
}

TEST(DiskThreads, CompactionsWaitWhileADatabaseIsOpenedAndFlushesDoNot) {
  DiskThreads threads(Below());
  threads.SetBackgroundThreads(1, Priority::LOW);
  threads.SetBackgroundThreads(1, Priority::HIGH);
  std::latch compacted(1);
  {
    const DiskThreads::Opening opening(threads);
    threads.Schedule(CountDown, &compacted, Priority::LOW, nullptr, nullptr);
    for (int i = 0; i < 100; ++i) {
      std::latch flushed(1);
      threads.Schedule(CountDown, &flushed, Priority::HIGH, nullptr, nullptr);
      flushed.wait();
    }
    EXPECT_FALSE(compacted.try_wait());
    EXPECT_EQ(threads.GetThreadPoolQueueLen(Priority::LOW), 1u);
  }
  compacted.wait();
}

// 0 if what is done without more threads is done by those there are.
int ExitCodeWithoutMoreThreads() {
  DiskThreads threads(Below()), late(Below());
  if (!threads.Start().ok()) return 2;
  const rlimit none{0, 0};
  if (setrlimit(RLIMIT_NPROC, &none) != 0 || setuid(54322) != 0) return 3;
  const absl::Status refused = late.Start();
  if (!absl::IsResourceExhausted(refused) || WantOf(refused) != Want::kMemory) return 4;
  for (const Priority priority : {Priority::HIGH, Priority::LOW}) {
    threads.IncBackgroundThreadsIfNeeded(3, priority);
    std::latch done(1);
    threads.Schedule(CountDown, &done, priority, nullptr, nullptr);
    done.wait();
  }
  return 0;
}

TEST(DiskThreads, WhereTheSystemMakesNoMoreThoseThereAreDoAll) {
  if (::geteuid() != 0) GTEST_SKIP() << "becomes another user";
  EXPECT_EXIT(_exit(ExitCodeWithoutMoreThreads()), testing::ExitedWithCode(0),
              "no thread can be made");
}

}  // namespace
}  // namespace arion
