// SPDX-License-Identifier: Apache-2.0
#include "posix/event_loops.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "env/loop_thread.h"
#include "posix/posix_clock.h"

namespace arion {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

template <class T>
T Await(std::future<T>& future) {
  EXPECT_EQ(future.wait_for(kPatience), std::future_status::ready);
  return future.get();
}

// Runs `work` on the strand and waits for it.
void RunOn(const StrandPtr& strand, std::function<void()> work) {
  std::promise<void> done;
  auto future = done.get_future();
  strand->Post([&] {
    work();
    done.set_value();
  });
  Await(future);
}

TEST(EventLoopsTest, TasksOfOneThreadRunInOrderAndOneAtATime) {
  EventLoops loops(2);
  StrandPtr strand = loops.NewStrand("s");
  std::atomic<int> running = 0;
  std::vector<int> order;
  for (int i = 0; i < 10000; ++i) {
    strand->Post([&, i] {
      EXPECT_EQ(running.fetch_add(1), 0);
      order.push_back(i);
      running.fetch_sub(1);
    });
  }
  RunOn(strand, [&] { ASSERT_EQ(order.size(), 10000u); });
  for (int i = 0; i < 10000; ++i) ASSERT_EQ(order[i], i);
}

TEST(EventLoopsTest, ATaskPostedFromItsStrandRunsAfterTheCurrentOne) {
  EventLoops loops(1);
  StrandPtr strand = loops.NewStrand("s");
  std::promise<bool> later;
  auto future = later.get_future();
  bool inside = false;
  strand->Post([&] {
    inside = true;
    strand->Post([&later, &inside] { later.set_value(inside); });
    inside = false;
  });
  EXPECT_FALSE(Await(future)) << "never inline";
}

TEST(EventLoopsTest, StrandsKnowThemselvesAndLoopThreads) {
  EventLoops loops(1);
  StrandPtr a = loops.NewStrand("a");
  StrandPtr b = loops.NewStrand("b");
  EXPECT_FALSE(a->IsCurrent());
  EXPECT_FALSE(OnLoopThread());
  RunOn(a, [&] {
    EXPECT_TRUE(a->IsCurrent());
    EXPECT_FALSE(b->IsCurrent());
    EXPECT_TRUE(OnLoopThread());
  });
}

TEST(EventLoopsTest, StrandsAreSpreadOverTheLoops) {
  EventLoops loops(2);
  std::vector<StrandPtr> strands;
  std::atomic<int> first = 0;
  for (int i = 0; i < 10; ++i) strands.push_back(loops.NewStrand("s"));
  std::thread::id thread;
  RunOn(strands[0], [&] { thread = std::this_thread::get_id(); });
  for (const StrandPtr& strand : strands) {
    RunOn(strand, [&] { first += std::this_thread::get_id() == thread ? 1 : 0; });
  }
  EXPECT_EQ(first, 5);
}

TEST(EventLoopsTest, TimersRunInTheOrderOfTheirTimesAndNotTooEarly) {
  EventLoops loops(1);
  StrandPtr strand = loops.NewStrand("s");
  PosixClock clock;
  Instant start = clock.Now();
  std::promise<void> done;
  auto future = done.get_future();
  std::vector<int> order;
  strand->PostAfter(absl::Milliseconds(30), [&] {
    EXPECT_GE(clock.Now() - start, absl::Milliseconds(30));
    EXPECT_TRUE(strand->IsCurrent());
    order.push_back(30);
    done.set_value();
  });
  strand->PostAfter(absl::Milliseconds(10), [&] { order.push_back(10); });
  strand->PostAfter(absl::Milliseconds(-5), [&] { order.push_back(0); });
  Await(future);
  EXPECT_EQ(order, std::vector<int>({0, 10, 30}));
}

TEST(EventLoopsTest, ACancelledTimerDoesNotRun) {
  EventLoops loops(1);
  StrandPtr strand = loops.NewStrand("s");
  std::promise<void> done;
  auto future = done.get_future();
  bool ran = false;
  RunOn(strand, [&] {
    TimerId timer = strand->PostAfter(absl::Milliseconds(0), [&] { ran = true; });
    PosixClock clock;  // let it become due before it is cancelled
    for (Instant start = clock.Now(); clock.Now() - start < absl::Milliseconds(5);) {
    }
    strand->Cancel(timer);
    strand->Cancel(timer);
    strand->Cancel(kNoTimer);
    strand->PostAfter(absl::Milliseconds(20), [&] { done.set_value(); });
  });
  Await(future);
  EXPECT_FALSE(ran);
}

TEST(EventLoopsTest, AfterStopTasksAreDropped) {
  auto token = std::make_shared<int>(0);
  std::weak_ptr<int> dropped = token;
  StrandPtr strand;
  {
    EventLoops loops(1);
    strand = loops.NewStrand("s");
    std::promise<void> entered, leave;
    auto may_leave = leave.get_future();
    strand->Post([&] {
      entered.set_value();
      may_leave.wait();
    });
    entered.get_future().wait();
    strand->Post([token] {});
    strand->PostAfter(absl::Milliseconds(1), [token] {});
    token.reset();
    std::thread stopper([&] { loops.Stop(); });
    leave.set_value();
    stopper.join();
    strand->Post([] { FAIL() << "posted after Stop"; });
  }
  strand.reset();
  EXPECT_TRUE(dropped.expired()) << "what a dropped task holds is released";
}

TEST(EventLoopsTest, RunOnEachVisitsEveryLoopEvenWhenStopped) {
  EventLoops loops(3);
  std::atomic<int> visits = 0;
  loops.RunOnEach([&](int) {
    EXPECT_TRUE(OnLoopThread());
    ++visits;
  });
  EXPECT_EQ(visits, 3);
  loops.Stop();
  loops.RunOnEach([&](int) { ++visits; });
  EXPECT_EQ(visits, 6);
}

}  // namespace
}  // namespace arion
