// SPDX-License-Identifier: Apache-2.0
#include "posix/posix_disk_pool.h"

#include <absl/strings/str_cat.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "env/stuck_work.h"
#include "posix/background_thread.h"

namespace arion {
namespace {

constexpr size_t kUsualQueue = 128;  // more make it grow

int64_t NanosOf(std::chrono::steady_clock::duration time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

}  // namespace

PosixDiskPool::PosixDiskPool(int threads, Priority priority) {
  CHECK_GE(threads, 1);
  PCHECK(::sem_init(&available_, 0, 0) == 0) << "sem_init";
  queue_.reserve(kUsualQueue);
  for (int i = 0; i < threads; ++i) {
    Worker& worker = workers_.emplace_back();
    worker.thread = std::thread([this, &worker, priority] { Run(worker, priority); });
  }
}

PosixDiskPool::~PosixDiskPool() {
  // Behind all that was submitted: each thread that finds the queue empty ends.
  for (size_t i = 0; i < workers_.size(); ++i) ::sem_post(&available_);
  for (Worker& worker : workers_) worker.thread.join();
  ::sem_destroy(&available_);
}

void PosixDiskPool::Submit(Task work) {
  // Before the work can begin, so that the gauge never falls below zero.
  stats_.queued.Add(1);
  {
    const MutexLock lock(mutex_);
    queue_.push_back({std::move(work), Clock::now()});
  }
  ::sem_post(&available_);
}

PosixDiskPool::Waiting PosixDiskPool::TakeNext() {
  // A vector and an index rather than a deque, which allocates as it moves on.
  constexpr size_t kTakenMax = 64;
  Waiting taken = std::move(queue_[next_++]);
  // Also where the queue is never empty what was taken must not pile up.
  if (next_ == queue_.size() || (next_ >= kTakenMax && next_ * 2 >= queue_.size())) {
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<ptrdiff_t>(next_));
    next_ = 0;
  }
  return taken;
}

void PosixDiskPool::Run(Worker& self, Priority priority) {
  if (priority == Priority::kLow)
    ComeLast("disk_bulk");
  else
    ::pthread_setname_np(::pthread_self(), "disk_pool");
  const CallRecordMark mark(&self.call);
  while (true) {
    while (::sem_wait(&available_) != 0) CHECK_EQ(errno, EINTR);
    MutexLock lock(mutex_);
    if (next_ == queue_.size()) return;  // the pool is being destroyed
    Waiting next = TakeNext();
    lock.Unlock();
    const Clock::time_point begun = Clock::now();
    stats_.queued.Add(-1);
    stats_.busy.Add(1);
    stats_.wait_nanos.Record(NanosOf(begun - next.since));
    self.busy_since_nanos.store(NanosOf(begun.time_since_epoch()), std::memory_order_relaxed);
    next.work();
    next.work = nullptr;  // what it holds may be the last reference: not under the lock
    self.busy_since_nanos.store(0, std::memory_order_relaxed);
    stats_.busy.Add(-1);
    stats_.service_nanos.Record(NanosOf(Clock::now() - begun));
  }
}

std::vector<StuckWork> PosixDiskPool::Stuck(absl::Duration limit, const std::string& name) const {
  std::vector<StuckWork> stuck;
  const int64_t now = NanosOf(Clock::now().time_since_epoch());
  int number = 0;
  for (const Worker& worker : workers_) {
    ++number;
    const int64_t begun = worker.busy_since_nanos.load(std::memory_order_relaxed);
    // A long job of many calls moves on with each of them: only one call, or work between two, can
    // be stuck.
    const int64_t since = std::max(begun, worker.call.changed_nanos());
    if (begun == 0 || absl::Nanoseconds(now - since) <= limit) continue;
    const std::string call = worker.call.Now();
    stuck.push_back({.where = absl::StrCat("pool of ", name, ", thread ", number),
                     .what = call.empty() ? "in no file call" : call,
                     .age = absl::Nanoseconds(now - since)});
  }
  return stuck;
}

}  // namespace arion
