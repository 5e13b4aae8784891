// SPDX-License-Identifier: Apache-2.0
#include "exposition/log_queue.h"

#include <absl/time/clock.h>

#include <chrono>
#include <utility>

namespace arion {

LogQueue::LogQueue(size_t bytes_max, std::function<bool(const LogText&)> write,
                   std::function<void(int64_t)> on_dropped)
    : bytes_max_(bytes_max), write_(std::move(write)), on_dropped_(std::move(on_dropped)) {
  // Detached: the thread never ends, and the queue lives as long as the process.
  std::thread thread([this] { Run(); });
  thread.detach();
}

void LogQueue::Push(LogText line) {
  const MutexLock lock(mutex_);
  // The line is dropped whole: half a line would hide the loss.
  if (bytes_ + line.text.size() > bytes_max_) return dropped_.Add();
  bytes_ += line.text.size();
  lines_.push_back(std::move(line));
  // Only the first line wakes the thread; for others it is awake.
  if (lines_.size() == 1) changed_.NotifyAll();
}

void LogQueue::Flush(absl::Duration at_most) {
  MutexLock lock(mutex_);
  // The queue's own thread would wait for itself.
  if (thread_ == std::this_thread::get_id()) return;
  changed_.WaitFor(
      mutex_, absl::ToChronoNanoseconds(at_most),
      [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return lines_.empty() && is_idle_; });
}

void LogQueue::Run() {
  int64_t dropped_said = 0;
  MutexLock lock(mutex_);
  thread_ = std::this_thread::get_id();
  for (;;) {
    changed_.Wait(mutex_,
                  [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !lines_.empty(); });
    is_idle_ = false;
    // Whether the target takes lines at all.
    bool flows = true;
    while (!lines_.empty()) {
      const LogText line = std::move(lines_.front());
      lines_.pop_front();
      lock.Unlock();
      // Without the lock: a write may take for ever.
      if (!write_(line)) {
        dropped_.Add();
        flows = false;
      }
      lock.Lock();
      // Only now, so that the bound covers the line that is being written.
      bytes_ -= line.text.size();
    }
    is_idle_ = true;
    changed_.NotifyAll();
    // A message about the loss would be lost as well, be counted, and so on for ever.
    if (!flows) continue;
    // Lines that were dropped since the last message.
    // Both readings are the same: Push counts under the lock, which is held, and Run on this
    // thread.
    const int64_t dropped = dropped_.value() - std::exchange(dropped_said, dropped_.value());
    if (dropped == 0) continue;
    lock.Unlock();
    // It logs, and so calls Push, which takes the lock.
    on_dropped_(dropped);
    lock.Lock();
  }
}

}  // namespace arion
