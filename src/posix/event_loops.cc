// SPDX-License-Identifier: Apache-2.0
#include "posix/event_loops.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <latch>
#include <map>
#include <thread>
#include <utility>

#include "env/loop_thread.h"

namespace arion {

namespace {

thread_local const Strand* current_strand = nullptr;
thread_local const void* current_loop = nullptr;
thread_local const EventLoops* current_loops = nullptr;
thread_local asio::io_context* current_context_of_thread = nullptr;

// A task on its way from another thread.
struct Posted {
  Posted* next = nullptr;
  std::atomic<uint32_t> next_free{0};  // of PostedNodes
  StrandPtr strand;
  Task task;
};

// Nodes for what other threads post: those of a loop in its steady state are made with it, a
// burst's come from the heap. Any thread takes one at a time and whichever node was given back, so
// no thread hoards what the others lack. A tag that rises with each change of the list's head tells
// a thread that took long that the head it saw is another by now.
class PostedNodes {
 public:
  PostedNodes() : nodes_(std::make_unique<Posted[]>(kNodes)) {
    for (uint32_t i = 0; i < kNodes; ++i) nodes_[i].next_free = i + 1;
  }

  Posted* Take() {
    uint64_t head = head_.load(std::memory_order_acquire);
    // A node that another thread took meanwhile may be read here: its memory stays, and the tag
    // makes the exchange fail.
    while (PlaceOf(head) < kNodes) {
      Posted& node = nodes_[PlaceOf(head)];
      const uint64_t next = After(head, node.next_free.load(std::memory_order_relaxed));
      if (head_.compare_exchange_weak(head, next, std::memory_order_acq_rel,
                                      std::memory_order_acquire))
        return &node;
    }
    return new Posted;
  }

  // These, linked by `next`, were run.
  void GiveBack(Posted* posted) {
    Posted* last = nullptr;
    uint32_t first = kNodes;
    while (posted != nullptr) {
      Posted* const node = std::exchange(posted, posted->next);
      if (!IsOwn(node)) {
        delete node;
        continue;
      }
      node->next_free.store(first, std::memory_order_relaxed);
      first = static_cast<uint32_t>(node - nodes_.get());
      if (last == nullptr) last = node;
    }
    if (last == nullptr) return;
    uint64_t head = head_.load(std::memory_order_relaxed);
    do {
      last->next_free.store(PlaceOf(head), std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(head, After(head, first), std::memory_order_release,
                                          std::memory_order_relaxed));
  }

 private:
  static constexpr uint32_t kNodes = 1024;
  // A place in nodes_ (kNodes: the end) below a tag.
  static uint32_t PlaceOf(uint64_t head) { return static_cast<uint32_t>(head); }
  static uint64_t After(uint64_t head, uint32_t place) {
    return (((head >> 32) + 1) << 32) | place;
  }
  bool IsOwn(const Posted* node) const {
    const std::less<> before;
    return !before(node, nodes_.get()) && before(node, nodes_.get() + kNodes);
  }

  const std::unique_ptr<Posted[]> nodes_;
  std::atomic<uint64_t> head_{0};
};

void RunAs(const Strand* strand, Task& task) {
  current_strand = strand;
  task();
  task = nullptr;  // what the task holds is released as part of it
  current_strand = nullptr;
}

}  // namespace

// What other threads post lies in a list; whoever finds it empty wakes the loop, which then runs
// all that is there. So a hundred writes that one flush made durable cost one wake-up, and no
// memory. An eventfd wakes it and not asio::post, which interrupts the loop with the loop's mutex
// in its hand: the loop would wake only to wait for the thread that woke it, for milliseconds where
// that one runs in a lower rank and was stopped for the loop.
struct EventLoops::Loop {
  // The hint says that one thread runs it: what that thread posts goes into a queue of its own,
  // without a wake-up.
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::atomic<int> strands = 0;
  std::atomic<bool> stopped = false;
  std::thread thread;

  Loop() { AwaitWakeUp(); }
  ~Loop() { nodes_.GiveBack(incoming_.load()); }

  void Post(StrandPtr strand, Task task) {
    // What is posted after Stop is dropped here, with all it holds.
    if (stopped.load(std::memory_order_acquire)) return;
    // The loop is awake: its own queue needs neither the list nor a wake-up.
    if (current_loop == this) {
      asio::post(context, [this, strand = std::move(strand), task = std::move(task)]() mutable {
        if (!stopped.load(std::memory_order_relaxed)) RunAs(strand.get(), task);
      });
      return;
    }
    Posted* const posted = nodes_.Take();
    posted->strand = std::move(strand);
    posted->task = std::move(task);
    // Once it is in the list the loop may have run it and given it back: it is not looked at again.
    Posted* before = incoming_.load(std::memory_order_relaxed);
    do {
      posted->next = before;
    } while (!incoming_.compare_exchange_weak(before, posted, std::memory_order_acq_rel,
                                              std::memory_order_relaxed));
    // Whoever finds the list not empty knows that a wake-up is on its way.
    if (before == nullptr) WakeUp();
  }

  // On the loop's thread, or when it has none any more.
  void RunIncoming() {
    // All at once: what is posted from now on finds the list empty and wakes the loop again.
    Posted* newest_first = incoming_.exchange(nullptr, std::memory_order_acq_rel);
    Posted* in_order = nullptr;
    while (newest_first != nullptr)
      in_order = std::exchange(newest_first, std::exchange(newest_first->next, in_order));
    for (Posted* posted = in_order; posted != nullptr; posted = posted->next) {
      if (!stopped.load(std::memory_order_relaxed)) RunAs(posted->strand.get(), posted->task);
      // Here and not with the node, which may lie unused for long: a task may hold the last
      // reference to a replica.
      posted->task = nullptr;
      posted->strand.reset();
    }
    nodes_.GiveBack(in_order);
  }

 private:
  static int NewEventFd() {
    const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    PCHECK(fd >= 0) << "eventfd";
    return fd;
  }
  void WakeUp() {
    const uint64_t once = 1;
    // Full only after 2^64 - 2 wake-ups that nobody read: it wakes then, too.
    (void)!::write(wake_up_.native_handle(), &once, sizeof(once));
  }
  void AwaitWakeUp() {
    wake_up_.async_read_some(asio::buffer(&wake_ups_, sizeof(wake_ups_)),
                             [this](const std::error_code& error, size_t) {
                               if (error == asio::error::operation_aborted) return;
                               RunIncoming();
                               AwaitWakeUp();
                             });
  }

  asio::posix::stream_descriptor wake_up_{context, NewEventFd()};
  uint64_t wake_ups_ = 0;                   // what was read of it; of no interest
  std::atomic<Posted*> incoming_{nullptr};  // newest first
  PostedNodes nodes_;
};

namespace {

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

  void Post(Task task) override { loop_->Post(this->shared_from_this(), std::move(task)); }

  TimerId PostAfter(absl::Duration delay, Task task) override {
    TimerId id = next_timer_.fetch_add(1);
    // Timers belong to the loop's thread. The due time is taken now, so the way there does not
    // delay it.
    auto start = [weak = this->weak_from_this(), id,
                  due = std::chrono::steady_clock::now() + AtLeastZero(delay),
                  task = std::move(task)]() mutable {
      if (auto self = weak.lock()) self->StartTimer(id, due, std::move(task));
    };
    if (IsCurrent()) {
      start();
    } else {
      loop_->Post(this->shared_from_this(), std::move(start));
    }
    return id;
  }

  void Cancel(TimerId timer) override {
    DCHECK(IsCurrent()) << name_;
    // Destroying the timer cancels its wait. A handler that is queued already finds no entry
    // (strand/S2).
    timers_.erase(timer);
  }

  bool IsCurrent() const override { return current_strand == this; }

 private:
  struct Timer {
    Timer(asio::io_context& context, Task t) : timer(context), task(std::move(t)) {}
    asio::steady_timer timer;
    Task task;
  };

  void StartTimer(TimerId id, std::chrono::steady_clock::time_point due, Task task) {
    auto [at, inserted] =
        timers_.emplace(id, std::make_unique<Timer>(loop_->context, std::move(task)));
    at->second->timer.expires_at(due);
    at->second->timer.async_wait([weak = this->weak_from_this(), id](const std::error_code& error) {
      // `self` also keeps the strand while the task runs, which may drop the last other reference.
      auto self = weak.lock();
      if (error || !self || self->loop_->stopped.load(std::memory_order_relaxed)) return;
      auto node = self->timers_.extract(id);
      if (!node.empty()) RunAs(self.get(), node.mapped()->task);
    });
  }

  const std::shared_ptr<Loop> loop_;
  const std::string name_;
  std::atomic<TimerId> next_timer_ = 1;
  std::map<TimerId, std::unique_ptr<Timer>> timers_;  // on the loop's thread
};

}  // namespace

EventLoops::EventLoops(int threads, std::string_view name) {
  CHECK_GT(threads, 0);
  for (int i = 0; i < threads; ++i) {
    auto loop = std::make_shared<Loop>();
    loop->thread =
        std::thread([this, raw = loop.get(), name = std::string(name) + "-" + std::to_string(i)] {
          pthread_setname_np(pthread_self(), name.c_str());
          LoopThreadMark mark;
          current_loop = raw;
          current_loops = this;
          current_context_of_thread = &raw->context;
          raw->context.run();
        });
    loops_.push_back(std::move(loop));
  }
}

EventLoops::~EventLoops() { Stop(); }

int EventLoops::size() const { return static_cast<int>(loops_.size()); }

asio::io_context& EventLoops::context(int loop) { return loops_[loop]->context; }

asio::io_context* EventLoops::current_context() const {
  return current_loops == this ? current_context_of_thread : nullptr;
}

StrandPtr EventLoops::NewStrand(std::string_view name) {
  // By strands rather than by load: replicas are many and alike. Two that ask at the same time may
  // get the same loop, which does no harm.
  const std::shared_ptr<Loop>* fewest = &loops_[0];
  for (const auto& loop : loops_) {
    if (loop->strands.load() < (*fewest)->strands.load()) fewest = &loop;
  }
  return std::make_shared<AsioStrand<Loop>>(*fewest, name);
}

void EventLoops::RunOnEach(const std::function<void(int loop)>& work) {
  CHECK(!OnLoopThread()) << "a loop thread must not wait for its like";
  // Nobody else runs on the loops any more, so this thread may.
  if (loops_[0]->stopped.load()) {
    for (int i = 0; i < size(); ++i) work(i);
    return;
  }
  std::latch done(size());
  for (int i = 0; i < size(); ++i) {
    asio::post(loops_[i]->context, [loop = loops_[i].get(), &work, &done, i] {
      loop->RunIncoming();  // what this thread posted before comes first
      work(i);
      done.count_down();
    });
  }
  done.wait();
}

void EventLoops::Stop() {
  CHECK(!OnLoopThread()) << "a loop thread can't stop itself";
  // All are marked before any is joined: a task that still runs can then start nothing on another
  // loop.
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
    loop->RunIncoming();
    loop->context.stop();
  }
}

}  // namespace arion
