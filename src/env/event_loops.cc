// SPDX-License-Identifier: Apache-2.0
#include "env/event_loops.h"

#include <pthread.h>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <atomic>
#include <chrono>
#include <latch>
#include <map>
#include <thread>

#include "env/loop_thread.h"

namespace arion {

struct EventLoops::Loop {
  // The hint says that one thread runs it: what that thread posts goes into a queue of its own,
  // without a wake-up.
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::atomic<int> strands = 0;
  std::atomic<bool> stopped = false;
  std::thread thread;

  template <class LoopPtr, class F>
  static void Post(const LoopPtr& loop, F work) {
    if (loop->stopped.load(std::memory_order_acquire)) return;
    asio::post(loop->context, [loop, work = std::move(work)]() mutable {
      if (!loop->stopped.load(std::memory_order_relaxed)) work();
    });
  }
};

namespace {

thread_local const Strand* current_strand = nullptr;

std::chrono::nanoseconds AtLeastZero(absl::Duration delay) {
  return std::chrono::nanoseconds(std::max<int64_t>(0, absl::ToInt64Nanoseconds(delay)));
}

template <class Loop>
class AsioStrand : public Strand, public std::enable_shared_from_this<AsioStrand<Loop>> {
 public:
  AsioStrand(std::shared_ptr<Loop> loop, std::string_view name)
      : loop_(std::move(loop)), name_(name) {
    loop_->strands.fetch_add(1);
  }
  ~AsioStrand() override { loop_->strands.fetch_sub(1); }

  void Post(Task task) override {
    Loop::Post(loop_, [self = this->shared_from_this(), task = std::move(task)]() mutable {
      self->Run(task);
    });
  }

  TimerId PostAfter(absl::Duration delay, Task task) override {
    TimerId id = next_timer_.fetch_add(1);
    auto start = [weak = this->weak_from_this(), id,
                  due = std::chrono::steady_clock::now() + AtLeastZero(delay),
                  task = std::move(task)]() mutable {
      if (auto self = weak.lock()) self->StartTimer(id, due, std::move(task));
    };
    if (IsCurrent()) {
      start();
    } else {
      Loop::Post(loop_, std::move(start));
    }
    return id;
  }

  void Cancel(TimerId timer) override {
    DCHECK(IsCurrent()) << name_;
    timers_.erase(timer);
  }

  bool IsCurrent() const override { return current_strand == this; }

 private:
  struct Timer {
    Timer(asio::io_context& context, Task t) : timer(context), task(std::move(t)) {}
    asio::steady_timer timer;
    Task task;
  };

  void Run(Task& task) {
    current_strand = this;
    task();
    task = nullptr;  // what the task holds is released as part of it
    current_strand = nullptr;
  }

  void StartTimer(TimerId id, std::chrono::steady_clock::time_point due, Task task) {
    auto [at, inserted] =
        timers_.emplace(id, std::make_unique<Timer>(loop_->context, std::move(task)));
    at->second->timer.expires_at(due);
    at->second->timer.async_wait([weak = this->weak_from_this(), id](const std::error_code& error) {
      auto self = weak.lock();
      if (error || !self || self->loop_->stopped.load(std::memory_order_relaxed)) return;
      auto node = self->timers_.extract(id);
      if (!node.empty()) self->Run(node.mapped()->task);
    });
  }

  const std::shared_ptr<Loop> loop_;
  const std::string name_;
  std::atomic<TimerId> next_timer_ = 1;
  std::map<TimerId, std::unique_ptr<Timer>> timers_;  // on the loop's thread
};

}  // namespace

EventLoops::EventLoops(int threads) {
  CHECK_GT(threads, 0);
  for (int i = 0; i < threads; ++i) {
    auto loop = std::make_shared<Loop>();
    loop->thread = std::thread([raw = loop.get(), i] {
      pthread_setname_np(pthread_self(), ("loop-" + std::to_string(i)).c_str());
      LoopThreadMark mark;
      raw->context.run();
    });
    loops_.push_back(std::move(loop));
  }
}

EventLoops::~EventLoops() { Stop(); }

int EventLoops::size() const { return static_cast<int>(loops_.size()); }

asio::io_context& EventLoops::context(int loop) { return loops_[loop]->context; }

StrandPtr EventLoops::NewStrand(std::string_view name) {
  const std::shared_ptr<Loop>* fewest = &loops_[0];
  for (const auto& loop : loops_) {
    if (loop->strands.load() < (*fewest)->strands.load()) fewest = &loop;
  }
  return std::make_shared<AsioStrand<Loop>>(*fewest, name);
}

void EventLoops::RunOnEach(const std::function<void(int loop)>& work) {
  CHECK(!OnLoopThread()) << "a loop thread must not wait for its like";
  if (loops_[0]->stopped.load()) {
    for (int i = 0; i < size(); ++i) work(i);
    return;
  }
  std::latch done(size());
  for (int i = 0; i < size(); ++i) {
    asio::post(loops_[i]->context, [&work, &done, i] {
      work(i);
      done.count_down();
    });
  }
  done.wait();
}

void EventLoops::Stop() {
  CHECK(!OnLoopThread()) << "a loop thread can't stop itself";
  for (const auto& loop : loops_) loop->stopped.store(true, std::memory_order_release);
  for (const auto& loop : loops_) {
    loop->work.reset();
    loop->context.stop();
  }
  for (const auto& loop : loops_) {
    if (loop->thread.joinable()) loop->thread.join();
  }
  // What is queued holds its strand, which holds the loop: emptying the queue breaks the circle.
  for (const auto& loop : loops_) {
    loop->context.restart();
    loop->context.poll();
    loop->context.stop();
  }
}

}  // namespace arion
