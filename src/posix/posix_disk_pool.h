// PosixDiskPool: a fixed number of threads for the work that waits for one device.
//
// Shapes    Its threads wait at a POSIX semaphore: glibc's condition variables make the signalling
//           thread wait for threads that were woken before, which in a low rank takes milliseconds.
// Threads   Thread-safe.
// Lifetime  Destruction runs what was submitted before, then joins; submit nothing during it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <semaphore.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "base/counter.h"
#include "base/histogram.h"
#include "base/mutex.h"
#include "env/blocking_call.h"
#include "env/clock.h"
#include "env/environment.h"

namespace arion {

struct StuckWork;

// Figures of one pool, since its start; the pool owns them. Thread-safe.
struct PoolStats {
  // Submitted, not begun.
  Gauge queued;
  // Threads that work.
  Gauge busy;
  // From Submit to the beginning of the work.
  Histogram wait_nanos;
  // From there to its end.
  Histogram service_nanos;
};

// Work of one pool begins in the order it was submitted; with several threads it ends in any order.
class PosixDiskPool : public DiskPool {
 public:
  // kLow: its threads give way to all others where the processor is short.
  enum class Priority { kNormal, kLow };
  // `threads` >= 1, started at once.
  explicit PosixDiskPool(int threads, Priority priority = Priority::kNormal);
  ~PosixDiskPool() override;

  void Submit(Task work) override;

  int threads() const { return static_cast<int>(workers_.size()); }
  const PoolStats& stats() const { return stats_; }
  // Work that for longer than `limit` neither ended nor began or ended a call. `name` is this
  // pool's, for the texts. Any thread; waits for no work.
  std::vector<StuckWork> Stuck(absl::Duration limit, const std::string& name) const;

 private:
  using Clock = std::chrono::steady_clock;
  // A task and when it was submitted.
  struct Waiting {
    Task work;
    Clock::time_point since;
  };
  // One thread of the pool, and what a watchdog may know of it.
  struct Worker {
    std::thread thread;
    CallRecord call;
    // 0: idle.
    std::atomic<int64_t> busy_since_nanos{0};
  };
  void Run(Worker& self, Priority priority);
  // With mutex_ held, and while something waits.
  Waiting TakeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // One for each task that waits; at the end one for each thread.
  ::sem_t available_;
  Mutex mutex_;
  // Guarded by mutex_. The queue keeps its memory: a task that waits allocates nothing.
  std::vector<Waiting> queue_ ABSL_GUARDED_BY(mutex_);
  // Of queue_; what lies before it was taken.
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  PoolStats stats_;
  // Each stays where it is.
  std::deque<Worker> workers_;
};

}  // namespace arion
