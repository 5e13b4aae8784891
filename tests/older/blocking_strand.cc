// SPDX-License-Identifier: Apache-2.0
#include "tests/older/blocking_strand.h"

#include <absl/time/clock.h>

#include <algorithm>

namespace arion {

BlockingStrand::BlockingStrand() : thread_([this] { Work(); }) {}

TimerId BlockingStrand::PostAfter(absl::Duration delay, Task task) {
  const MutexLock lock(mutex_);
  if (is_over_) return kNoTimer;
  absl::Time due = absl::Now() + delay;
  // A wall clock that is set back changes no order.
  if (delay <= absl::ZeroDuration()) due = last_posted_ = std::max(last_posted_, due);
  queue_.emplace(Key(due, ++last_), std::move(task));
  due_.emplace(last_, due);
  changed_.NotifyOne();
  return last_;
}

void BlockingStrand::Cancel(TimerId timer) {
  Task dropped;  // what it holds goes without the lock
  const MutexLock lock(mutex_);
  const auto due = due_.find(timer);
  if (due == due_.end()) return;
  const auto task = queue_.find({due->second, timer});
  dropped = std::move(task->second);
  queue_.erase(task);
  due_.erase(due);
}

void BlockingStrand::Run(absl::AnyInvocable<void()> work) {
  Mutex mutex;
  ConditionVariable changed;
  bool is_done = false;
  Post([&] {
    work();
    const MutexLock lock(mutex);
    is_done = true;
    changed.NotifyOne();
  });
  const MutexLock lock(mutex);
  changed.Wait(mutex, [&is_done] { return is_done; });
}

void BlockingStrand::Stop() {
  {
    const MutexLock lock(mutex_);
    is_over_ = true;
    changed_.NotifyOne();
  }
  if (thread_.joinable()) thread_.join();
  std::map<Key, Task> dropped;
  const MutexLock lock(mutex_);
  dropped.swap(queue_);
}

void BlockingStrand::Work() {
  for (;;) {
    Task task;
    {
      const MutexLock lock(mutex_);
      while (!is_over_ && (queue_.empty() || queue_.begin()->first.first > absl::Now()))
        changed_.WaitOnceFor(
            mutex_,
            absl::ToChronoNanoseconds(queue_.empty() ? absl::Hours(1)
                                                     : queue_.begin()->first.first - absl::Now()));
      if (is_over_) return;
      due_.erase(queue_.begin()->first.second);
      task = std::move(queue_.begin()->second);
      queue_.erase(queue_.begin());
    }
    task();
  }
}

}  // namespace arion
