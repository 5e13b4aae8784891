// DiskThreads: RocksDB's environment with flush and compaction threads of its own, one a disk, so
// that work which hangs on one disk holds up no other's. RocksDB's own are one set a process.
// Compactions give way while databases are opened, which somebody waits for: a tenth of a second
// longer, and ten seconds at most. All of them come last (posix/background_thread.h).
//
// Threads   Thread-safe. Destruction waits for what runs.
// Lifetime  Outlives the databases that use it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <rocksdb/env.h>

#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace arion {

class DiskThreads : public rocksdb::EnvWrapper {
  struct Pool;

 public:
  explicit DiskThreads(std::unique_ptr<rocksdb::Env> below) : EnvWrapper(std::move(below)) {}
  ~DiskThreads() override;

  // A database that is being opened on this disk.
  class Opening {
   public:
    explicit Opening(DiskThreads& threads);
    ~Opening();
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;

   private:
    Pool& compactions_;
  };

  // Before work is scheduled: one thread each for flushes and compactions, which make do with that
  // where the system refuses more. ResourceExhausted: it refuses these; to be asked again.
  absl::Status Start();

  const char* Name() const override { return "arion disk threads"; }

  // `unscheduled` gets the argument of work that is dropped by its tag before it ran.
  void Schedule(void (*work)(void*), void* argument, Priority priority, void* tag,
                void (*unscheduled)(void*)) override;
  int UnSchedule(void* tag, Priority priority) override;
  unsigned int GetThreadPoolQueueLen(Priority priority) const override;
  void SetBackgroundThreads(int count, Priority priority) override;
  int GetBackgroundThreads(Priority priority) override;
  void IncBackgroundThreadsIfNeeded(int count, Priority priority) override;
  // For subcompactions, which are not asked for.
  int ReserveThreads(int, Priority) override { return 0; }
  int ReleaseThreads(int, Priority) override { return 0; }
  void LowerThreadPoolIOPriority(Priority) override {}
  void LowerThreadPoolCPUPriority(Priority) override {}
  rocksdb::Status LowerThreadPoolCPUPriority(Priority, rocksdb::CpuPriority) override {
    return rocksdb::Status::OK();
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    void (*work)(void*);
    void* argument;
    void* tag;
    void (*unscheduled)(void*);
    Clock::time_point scheduled;
  };
  struct Pool {
    mutable Mutex mutex;
    ConditionVariable changed;
    std::deque<Job> jobs ABSL_GUARDED_BY(mutex);
    std::vector<std::thread> threads ABSL_GUARDED_BY(mutex);  // never fewer than there were
    size_t limit ABSL_GUARDED_BY(mutex) = 0;
    bool ends ABSL_GUARDED_BY(mutex) = false;
    size_t openings ABSL_GUARDED_BY(mutex) = 0;            // work waits for these
    Clock::time_point opened_at ABSL_GUARDED_BY(mutex){};  // when the last of them ended

    bool GivesWay() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  };
  static void Run(Pool& pool, const char* name);
  absl::Status StartOne(Pool& pool) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pool.mutex);
  void StartMore(Pool& pool) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pool.mutex);

  std::array<Pool, Priority::TOTAL> pools_;
};

}  // namespace arion
