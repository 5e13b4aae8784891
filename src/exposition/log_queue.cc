// SPDX-License-Identifier: Apache-2.0
#include "exposition/log_queue.h"

#include <absl/time/clock.h>

#include <chrono>
#include <utility>

namespace arion {

LogQueue::LogQueue(size_t bytes_max, std::function<bool(const LogText&)> write,
                   std::function<void(int64_t)> on_dropped)
    : bytes_max_(bytes_max), write_(std::move(write)), on_dropped_(std::move(on_dropped)) {
  std::thread thread([this] { Run(); });
  thread.detach();
}

void LogQueue::Push(LogText line) {
  const std::lock_guard lock(mutex_);
  if (bytes_ + line.text.size() > bytes_max_) return dropped_.Add();
  bytes_ += line.text.size();
  lines_.push_back(std::move(line));
  if (lines_.size() == 1) changed_.notify_all();
}

void LogQueue::Flush(absl::Duration at_most) {
  std::unique_lock lock(mutex_);
  if (thread_ == std::this_thread::get_id()) return;
  changed_.wait_for(lock, absl::ToChronoNanoseconds(at_most),
                    [this] { return lines_.empty() && is_idle_; });
}

void LogQueue::Run() {
  int64_t dropped_said = 0;
  std::unique_lock lock(mutex_);
  thread_ = std::this_thread::get_id();
  for (;;) {
    changed_.wait(lock, [this] { return !lines_.empty(); });
    is_idle_ = false;
    bool flows = true;
    while (!lines_.empty()) {
      const LogText line = std::move(lines_.front());
      lines_.pop_front();
      lock.unlock();
      if (!write_(line)) {
        dropped_.Add();
        flows = false;
      }
      lock.lock();
      bytes_ -= line.text.size();
    }
    is_idle_ = true;
    changed_.notify_all();
    if (!flows) continue;  // what was said of it would be dropped, and so on for ever
    const int64_t dropped = dropped_.value() - std::exchange(dropped_said, dropped_.value());
    if (dropped == 0) continue;
    lock.unlock();
    on_dropped_(dropped);
    lock.lock();
  }
}

}  // namespace arion
