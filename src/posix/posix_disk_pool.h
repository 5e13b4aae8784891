// PosixDiskPool: a fixed number of threads for the work that waits for one device.
//
// Shapes    Its threads wait at a POSIX semaphore: glibc's condition variables make who signals wait
//           for threads that were woken before, which in a low rank takes milliseconds.
// Threads   Thread-safe. Destruction runs what was submitted before, then joins; submit nothing
//           during it.
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
#include "env/environment.h"
#include "env/stuck_work.h"

namespace arion {

struct PoolStats {
  Gauge queued;             // submitted, not begun
  Gauge busy;               // threads that work
  Histogram wait_nanos;     // from Submit to the beginning
  Histogram service_nanos;  // from there to the end
};

class PosixDiskPool : public DiskPool {
 public:
  // kLow: its threads give way to all others where the processor is short.
  enum class Priority { kNormal, kLow };
  explicit PosixDiskPool(int threads, Priority priority = Priority::kNormal);
  ~PosixDiskPool() override;

  void Submit(Task work) override;

  int threads() const { return static_cast<int>(workers_.size()); }
  const PoolStats& stats() const { return stats_; }
  // Work that for longer than `limit` neither ended nor began or ended a call; `name` is this
  // pool's.
  std::vector<StuckWork> Stuck(absl::Duration limit, const std::string& name) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Task work;
    Clock::time_point since;
  };
  struct Worker {
    std::thread thread;
    CallRecord call;
    std::atomic<int64_t> busy_since_nanos{0};  // 0: idle
  };
  void Run(Worker& self, Priority priority);
  // Not all may be taken.
  Waiting TakeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ::sem_t available_;  // one for each task that waits; at the end one for each thread
  Mutex mutex_;
  // The queue keeps its memory: a task that waits allocates nothing.
  std::vector<Waiting> queue_ ABSL_GUARDED_BY(mutex_);
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;  // of queue_; what lies before it was taken
  PoolStats stats_;
  std::deque<Worker> workers_;  // each stays where it is
};

}  // namespace arion
