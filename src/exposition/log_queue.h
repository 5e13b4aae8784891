// LogQueue: lines of the log on their way to a file or to standard error. Whoever logs puts a line
// into a bounded buffer and goes on; a thread of its own writes. What a full buffer does not take
// is dropped and counted, and the log says how much it was once it flows again. So a disk or a
// reader that stalls never holds up a thread that serves.
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

// One line. `target` is a number that only `write` understands.
struct LogText {
  int target = 0;
  time_t time = 0;
  std::string text;
};

// Its thread starts in the constructor and never ends.
class LogQueue {
 public:
  // `write` says whether the line was taken. `on_dropped` is told how many lines were not, once all
  // else has been written, and taken. Both run on the queue's thread.
  LogQueue(size_t bytes_max, std::function<bool(const LogText&)> write,
           std::function<void(int64_t)> on_dropped);
  LogQueue(const LogQueue&) = delete;

  // Takes the line, or drops it where the buffer has bytes_max.
  void Push(LogText line);
  // Waits until what was pushed is written, but not longer than given; not on the queue's own
  // thread.
  void Flush(absl::Duration at_most);
  // Lines dropped since the start.
  const Counter& dropped() const { return dropped_; }

 private:
  void Run();

  const size_t bytes_max_;
  const std::function<bool(const LogText&)> write_;
  const std::function<void(int64_t)> on_dropped_;
  Counter dropped_;
  Mutex mutex_;
  ConditionVariable changed_;
  // Guarded by mutex_, as all below.
  std::deque<LogText> lines_ ABSL_GUARDED_BY(mutex_);
  // Of lines_ and of what is being written.
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Nothing is being written.
  bool is_idle_ ABSL_GUARDED_BY(mutex_) = true;
  std::thread::id thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
