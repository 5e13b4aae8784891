// PosixWatchdog: looks at each quarter of its limit, at least once a second, whether each event
// loop still turns and each pool's work ends. It logs what is stuck and measures how late loops
// are.
//
// Threads   Its own, which waits for nothing but the clock. Stuck and stats: any thread.
// Lifetime  The Environment outlives it; destroy it after the loops were stopped or while they run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/counter.h"
#include "base/histogram.h"
#include "base/mutex.h"

namespace arion {

class PosixEnvironment;
struct StuckWork;

// Figures since the start, shared with questions that are still on their way. Thread-safe.
struct WatchdogStats {
  // From asking a loop for a turn to that turn.
  Histogram loop_lag_nanos;
  // Loops and works found stuck, each once.
  Counter stuck;
  // As of the last look.
  Gauge stuck_now;
};

// One for a process; main/ makes it beside the Environment. Its thread starts in the constructor
// and ends in the destructor.
class PosixWatchdog {
 public:
  // What takes longer than `limit` is stuck.
  PosixWatchdog(PosixEnvironment& environment, absl::Duration limit);
  ~PosixWatchdog();

  // As of the last look.
  std::vector<StuckWork> Stuck() const;
  const WatchdogStats& stats() const { return *stats_; }

 private:
  // What is known of one event loop.
  struct Loop;

  void Run();
  // One look: how late each loop is, what is stuck, and what of it is new.
  void Look();
  // Asks each loop for a turn, unless one is asked for already.
  void AskLoops();
  std::vector<StuckWork> StuckLoops() const;
  void Tell(const std::vector<StuckWork>& stuck);

  PosixEnvironment& environment_;
  const absl::Duration limit_;
  const std::shared_ptr<WatchdogStats> stats_ = std::make_shared<WatchdogStats>();
  std::vector<std::shared_ptr<Loop>> loops_;
  // `where` of those that were logged and are still stuck.
  std::set<std::string> told_;
  mutable Mutex mutex_;
  ConditionVariable wake_;
  // Guarded by mutex_, as stuck_.
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<StuckWork> stuck_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace arion
