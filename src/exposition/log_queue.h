// LogQueue: lines of the log on their way to a file or to standard error. Whoever logs puts a line
// into a bounded buffer and goes on; a thread of its own writes. What a full buffer does not take
// is dropped and counted, and the log says how much it was once it flows again: a disk or a reader
// that stalls never holds a thread that serves.
//
// Promises  log_queue/L1  Lines of one target keep their order.
//           log_queue/L2  Push waits for nothing but a lock that nobody holds while it writes.
// Threads   Thread-safe. `write` runs on the queue's thread.
// Lifetime  The queue's thread may stand in `write` for good: a queue lives as long as its process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <ctime>
#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "base/counter.h"
#include "base/mutex.h"

namespace arion {

struct LogText {
  int target = 0;
  time_t time = 0;
  std::string text;
};

class LogQueue {
 public:
  // `write`: whether the line was taken. `on_dropped`: so many were not, and all else has been
  // written, and taken. Both on the queue's thread.
  LogQueue(size_t bytes_max, std::function<bool(const LogText&)> write,
           std::function<void(int64_t)> on_dropped);
  LogQueue(const LogQueue&) = delete;

  void Push(LogText line);
  // Waits until what was pushed is written, at most so long; not on the queue's own thread.
  void Flush(absl::Duration at_most);
  const Counter& dropped() const { return dropped_; }

 private:
  void Run();

  const size_t bytes_max_;
  const std::function<bool(const LogText&)> write_;
  const std::function<void(int64_t)> on_dropped_;
  Counter dropped_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<LogText> lines_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;     // of lines_ and of what is being written
  bool is_idle_ ABSL_GUARDED_BY(mutex_) = true;  // nothing is being written
  std::thread::id thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
