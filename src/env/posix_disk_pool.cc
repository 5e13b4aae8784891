// SPDX-License-Identifier: Apache-2.0
#include "env/posix_disk_pool.h"

#include <pthread.h>

#include <utility>

namespace arion {

PosixDiskPool::PosixDiskPool(int threads) {
  CHECK_GE(threads, 1);
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Run(); });
    pthread_setname_np(threads_.back().native_handle(), "disk_pool");
  }
}

PosixDiskPool::~PosixDiskPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void PosixDiskPool::Submit(Task work) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  wake_.notify_one();
}

void PosixDiskPool::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Task work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // what it holds may be the last reference: not under the lock
    lock.lock();
  }
}

}  // namespace arion
