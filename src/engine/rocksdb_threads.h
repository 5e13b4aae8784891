// DiskThreads: RocksDB's environment with flush and compaction threads of its own, one set a disk,
// so that work which hangs on one disk holds up no other's. (RocksDB's own threads are one set a
// process.)
//
// Shapes    Compactions give way while databases are opened, since somebody waits for that, and for
//           a tenth of a second longer. None waits for more than ten seconds. All threads have the
//           lowest claim to the processor (posix/background_thread.h).
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

// One for a disk; RocksdbEngineFactory::Shared owns it. Flushes run at Priority::HIGH, compactions
// at Priority::LOW. The overrides mean what RocksDB's Env says.
class DiskThreads : public rocksdb::EnvWrapper {
  struct Pool;

 public:
  explicit DiskThreads(std::unique_ptr<rocksdb::Env> below) : EnvWrapper(std::move(below)) {}
  ~DiskThreads() override;

  // Marks, as long as it lives, that a database is being opened on this disk.
  class Opening {
   public:
    // From here on compactions of that disk give way.
    explicit Opening(DiskThreads& threads);
    ~Opening();
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;

   private:
    Pool& compactions_;
  };

  // Starts one thread for flushes and one for compactions; to be called before work is scheduled.
  // They make do with these where the system refuses more. ResourceExhausted: it refuses these; to
  // be called again.
  absl::Status Start();

  const char* Name() const override { return "arion disk threads"; }

  // `unscheduled` gets the argument of work that is dropped by its tag before it ran.
  void Schedule(void (*work)(void*), void* argument, Priority priority, void* tag,
                void (*unscheduled)(void*)) override;
  // Drops jobs with that tag that have not begun; returns how many.
  int UnSchedule(void* tag, Priority priority) override;
  // Jobs that have not begun.
  unsigned int GetThreadPoolQueueLen(Priority priority) const override;
  // RocksDB asks for as many threads as its options say. A pool grows to the largest number it was
  // asked for.
  void SetBackgroundThreads(int count, Priority priority) override;
  int GetBackgroundThreads(Priority priority) override;
  void IncBackgroundThreadsIfNeeded(int count, Priority priority) override;
  // For subcompactions, which are not used.
  int ReserveThreads(int, Priority) override { return 0; }
  int ReleaseThreads(int, Priority) override { return 0; }
  void LowerThreadPoolIOPriority(Priority) override {}
  void LowerThreadPoolCPUPriority(Priority) override {}
  rocksdb::Status LowerThreadPoolCPUPriority(Priority, rocksdb::CpuPriority) override {
    return rocksdb::Status::OK();
  }

 private:
  using Clock = std::chrono::steady_clock;
  // Work that waits for a thread, as RocksDB handed it in. `tag` names whose it is.
  struct Job {
    void (*work)(void*);
    void* argument;
    void* tag;
    void (*unscheduled)(void*);
    Clock::time_point scheduled;
  };
  // The threads of one priority.
  struct Pool {
    mutable Mutex mutex;
    ConditionVariable changed;
    // Guarded by mutex, as the rest.
    std::deque<Job> jobs ABSL_GUARDED_BY(mutex);
    // Never fewer than there were.
    std::vector<std::thread> threads ABSL_GUARDED_BY(mutex);
    size_t limit ABSL_GUARDED_BY(mutex) = 0;
    bool ends ABSL_GUARDED_BY(mutex) = false;
    // Openings under way, for which work waits.
    size_t openings ABSL_GUARDED_BY(mutex) = 0;
    // When the last of them ended.
    Clock::time_point opened_at ABSL_GUARDED_BY(mutex){};

    // Whether jobs wait now, because a database is being opened.
    bool GivesWay() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  };
  static void Run(Pool& pool, const char* name);
  absl::Status StartOne(Pool& pool) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pool.mutex);
  // As many threads as the limit allows; fewer where the system refuses them.
  void StartMore(Pool& pool) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pool.mutex);

  std::array<Pool, Priority::TOTAL> pools_;
};

}  // namespace arion
