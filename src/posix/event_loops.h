// EventLoops: a fixed set of threads, each with one event loop; strands and connections live on one
// loop each.
//
// Threads   Thread-safe, but for Stop and destruction: one thread that is no loop thread.
// Lifetime  Outlives everything that runs on it. After Stop nothing runs any more: what is queued
//           is dropped when the loops are destroyed, what is posted later at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "env/strand.h"

namespace asio {
class io_context;
}

namespace arion {

// The threads start in the constructor and end in Stop, or at last in the destructor. One for a
// process; a log device may have another (posix/posix_log_device.h).
//
//   EventLoops loops(2);
//   StrandPtr strand = loops.NewStrand("replica 2.1");
//   strand->Post([] { ... });                 // on a loop's thread
//   loops.Stop();                             // then destroy who used it, then `loops`
class EventLoops {
 public:
  // `name`: of the threads, with a number behind it.
  explicit EventLoops(int threads, std::string_view name = "loop");
  ~EventLoops();
  EventLoops(const EventLoops&) = delete;
  EventLoops& operator=(const EventLoops&) = delete;

  // Loops are numbered from 0 to size() - 1.
  int size() const;
  // For sockets and timers of that loop.
  asio::io_context& context(int loop);
  // Of the loop that the calling thread runs; nullptr: it runs none of these.
  asio::io_context* current_context() const;
  // A strand on the loop with the fewest living strands. `name` shows in diagnostics.
  StrandPtr NewStrand(std::string_view name);
  // Runs `work(loop)` on each loop's thread and waits for all. Once the loops are stopped it runs
  // on the calling thread.
  void RunOnEach(const std::function<void(int loop)>& work);
  // Lets the tasks under way end and joins the threads.
  void Stop();

 private:
  // A thread and its event loop. Strands hold it, so it may outlive this.
  struct Loop;
  std::vector<std::shared_ptr<Loop>> loops_;
};

}  // namespace arion
