// PosixDiskPool: a fixed number of threads for the work that waits for one device.
//
// Threads   Thread-safe. Destruction runs what was submitted before, then joins; submit nothing
//           during it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "env/environment.h"

namespace arion {

class PosixDiskPool : public DiskPool {
 public:
  explicit PosixDiskPool(int threads);
  ~PosixDiskPool() override;

  void Submit(Task work) override;

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> queue_;  // guarded by mutex_
  bool stopping_ = false;   // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace arion
