// SPDX-License-Identifier: Apache-2.0
#include "posix/posix_patience.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace arion {

std::vector<bool> RunWithPatience(std::vector<std::function<void()>> jobs,
                                  absl::Duration patience) {
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<bool> done;  // guarded by mutex, as `missing`
    size_t missing = 0;
  };
  const auto shared = std::make_shared<Shared>();
  shared->done.resize(jobs.size());
  shared->missing = jobs.size();
  for (size_t i = 0; i < jobs.size(); ++i)
    std::thread([shared, i, job = std::move(jobs[i])]() mutable {
      job();
      job = nullptr;
      const std::lock_guard lock(shared->mutex);
      shared->done[i] = true;
      --shared->missing;
      shared->changed.notify_all();
    }).detach();
  std::unique_lock lock(shared->mutex);
  shared->changed.wait_for(lock, absl::ToChronoNanoseconds(patience),
                           [&] { return shared->missing == 0; });
  return shared->done;
}

}  // namespace arion
