// One thread a job, detached: a thread that hangs in the kernel can't be ended, and must not be
// waited for either. What it needs to report is shared, not on the caller's stack.
// SPDX-License-Identifier: Apache-2.0
#include "posix/posix_patience.h"

#include <memory>
#include <thread>
#include <utility>

#include "base/mutex.h"

namespace arion {

std::vector<bool> RunWithPatience(std::vector<std::function<void()>> jobs,
                                  absl::Duration patience) {
  struct Shared {
    Mutex mutex;
    ConditionVariable changed;
    std::vector<bool> done ABSL_GUARDED_BY(mutex);
    size_t missing ABSL_GUARDED_BY(mutex) = 0;
  };
  const auto shared = std::make_shared<Shared>();
  {
    const MutexLock lock(shared->mutex);
    shared->done.resize(jobs.size());
    shared->missing = jobs.size();
  }
  for (size_t i = 0; i < jobs.size(); ++i)
    std::thread([shared, i, job = std::move(jobs[i])]() mutable {
      job();
      job = nullptr;
      const MutexLock lock(shared->mutex);
      shared->done[i] = true;
      --shared->missing;
      shared->changed.NotifyAll();
    }).detach();
  MutexLock lock(shared->mutex);
  shared->changed.WaitFor(
      shared->mutex, absl::ToChronoNanoseconds(patience),
      [&shared]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared->mutex) { return shared->missing == 0; });
  return shared->done;
}

}  // namespace arion
