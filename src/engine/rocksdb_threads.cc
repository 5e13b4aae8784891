// Each disk has a pool of its own for each priority. A thread takes the oldest job, unless the pool
// gives way to an opening; a job that has waited for long runs in any case.
// SPDX-License-Identifier: Apache-2.0
#include "engine/rocksdb_threads.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "posix/background_thread.h"
#include "posix/thread_limit.h"

namespace arion {
namespace {

// Replicas that are recovered in turn open one database after the other, with replays between.
constexpr std::chrono::milliseconds kCalmAfterOpening(100);
// Writes are held up in the end where nothing is compacted.
constexpr std::chrono::seconds kGivesWayMax(10);

}  // namespace

DiskThreads::Opening::Opening(DiskThreads& threads) : compactions_(threads.pools_[Priority::LOW]) {
  const MutexLock lock(compactions_.mutex);
  ++compactions_.openings;
}

DiskThreads::Opening::~Opening() {
  const MutexLock lock(compactions_.mutex);
  --compactions_.openings;
  compactions_.opened_at = Clock::now();
}

DiskThreads::~DiskThreads() {
  for (Pool& pool : pools_) {
    {
      const MutexLock lock(pool.mutex);
      pool.ends = true;
      pool.changed.NotifyAll();
    }
    for (std::thread& thread : pool.threads) thread.join();
  }
}

bool DiskThreads::Pool::GivesWay() const {
  const Clock::time_point now = Clock::now();
  if (now - jobs.front().scheduled >= kGivesWayMax) return false;
  return openings > 0 || now - opened_at < kCalmAfterOpening;
}

void DiskThreads::Run(Pool& pool, const char* name) {
  ComeLast(name);
  MutexLock lock(pool.mutex);
  while (true) {
    pool.changed.Wait(pool.mutex, [&pool]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(pool.mutex) {
      return pool.ends || !pool.jobs.empty();
    });
    // What still waits is dropped: databases end before their threads, so there is nothing.
    if (pool.ends) return;
    if (pool.GivesWay()) {
      // Looked at again after a while: nobody is woken when an opening ends.
      pool.changed.WaitOnceFor(pool.mutex, kCalmAfterOpening);
      continue;
    }
    // The oldest first: by its waiting time GivesWay decides.
    const Job job = pool.jobs.front();
    pool.jobs.pop_front();
    lock.Unlock();
    job.work(job.argument);
    lock.Lock();
  }
}

absl::Status DiskThreads::Start() {
  for (const Priority priority : {Priority::HIGH, Priority::LOW}) {
    Pool& pool = pools_[priority];
    const MutexLock lock(pool.mutex);
    if (pool.threads.empty()) RETURN_IF_ERROR(StartOne(pool));
  }
  return absl::OkStatus();
}

absl::Status DiskThreads::StartOne(Pool& pool) {
  // The name of the thread in a debugger and in top.
  const char* name = &pool == &pools_[Priority::HIGH] ? "rocksdb_flush" : "rocksdb_compact";
  try {
    pool.threads.emplace_back([&pool, name] { Run(pool, name); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return ThreadRefused(error);
  }
}

void DiskThreads::StartMore(Pool& pool) {
  while (pool.threads.size() < pool.limit) {
    const absl::Status started = StartOne(pool);
    if (started.ok()) continue;
    CHECK(!pool.threads.empty()) << started;  // Start was not called
    LOG_EVERY_T(WARNING, 10) << "a disk's " << pool.threads.size() << " threads of " << pool.limit
                             << " flush or compact alone: " << started.message();
    return;
  }
}

void DiskThreads::Schedule(void (*work)(void*), void* argument, Priority priority, void* tag,
                           void (*unscheduled)(void*)) {
  Pool& pool = pools_[priority];
  const MutexLock lock(pool.mutex);
  pool.jobs.push_back({work, argument, tag, unscheduled, Clock::now()});
  StartMore(pool);
  pool.changed.NotifyOne();
}

int DiskThreads::UnSchedule(void* tag, Priority priority) {
  Pool& pool = pools_[priority];
  std::vector<Job> dropped;
  {
    const MutexLock lock(pool.mutex);
    std::deque<Job> kept;
    for (const Job& job : pool.jobs) {
      if (job.tag == tag)
        dropped.push_back(job);
      else
        kept.push_back(job);
    }
    pool.jobs = std::move(kept);
  }
  // Outside the lock: RocksDB's function may schedule again.
  for (const Job& job : dropped)
    if (job.unscheduled != nullptr) job.unscheduled(job.argument);
  return static_cast<int>(dropped.size());
}

unsigned int DiskThreads::GetThreadPoolQueueLen(Priority priority) const {
  const Pool& pool = pools_[priority];
  const MutexLock lock(pool.mutex);
  return static_cast<unsigned int>(pool.jobs.size());
}

void DiskThreads::SetBackgroundThreads(int count, Priority priority) {
  IncBackgroundThreadsIfNeeded(count, priority);
}

int DiskThreads::GetBackgroundThreads(Priority priority) {
  Pool& pool = pools_[priority];
  const MutexLock lock(pool.mutex);
  return static_cast<int>(pool.limit);
}

void DiskThreads::IncBackgroundThreadsIfNeeded(int count, Priority priority) {
  Pool& pool = pools_[priority];
  const MutexLock lock(pool.mutex);
  // Several databases share the pool: the one that asks for fewest must not shrink it.
  pool.limit = std::max(pool.limit, static_cast<size_t>(std::max(count, 0)));
  if (!pool.jobs.empty()) StartMore(pool);
}

}  // namespace arion
