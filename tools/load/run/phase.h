// Phase: runs a driver to its end, second by second, and keeps what was measured.
//
// Shapes    Intervals are a second long, the last one of the warm-up and of the phase shorter.
//           Those within the warm-up are told but not counted. A phase ends when its operations
//           have; when it is told to stop; or when nothing has succeeded for `give_up` (the cluster
//           is gone): what is under way is waited for, and what was measured is kept.
// Threads   Call from one thread; `stop` may be set by another, or by a signal's handler.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "env/clock.h"
#include "tools/load/run/driver.h"
#include "tools/load/run/measurements.h"
#include "tools/load/run/server_stages.h"

namespace arion::load {

// One second of a phase.
struct Interval {
  // Since the phase's start.
  absl::Duration start;
  absl::Duration length;
  Tally tally;
  // Of an open loop: how late its next operation is.
  absl::Duration delay;
  // Operations, since the phase's start.
  int64_t started = 0;
  enum class Use { kWarmUp, kMeasured } use = Use::kMeasured;
};

// A second for plots.
struct SeriesPoint {
  // Its end.
  double at_seconds = 0;
  double operations_a_second = 0;
  uint64_t errors = 0;
  struct Latencies {
    bool has_any = false;
    int64_t p50 = 0;
    int64_t p99 = 0;
    int64_t p999 = 0;
    int64_t max = 0;
  };
  std::array<Latencies, kKinds> kinds;
};

enum class LoopKind { kClosed, kOpen };

// What a phase came to.
struct PhaseResult {
  // "load", "run", "check"
  std::string name;
  LoopKind loop = LoopKind::kClosed;
  Tally total;
  // Measured, without the warm-up.
  double seconds = 0;
  std::vector<SeriesPoint> series;
  int64_t started = 0;
  // Of an open loop: operations that were meant to start, but never did.
  int64_t not_started = 0;
  absl::Duration worst_delay;
  // Of an open loop's last operation, and when it was meant to start, since the phase's start.
  absl::Duration last_delay;
  absl::Duration last_meant;
  enum class End { kDone, kStopped, kGivenUp } end = End::kDone;
  // What ended in the last second in which operations were begun, and after it.
  struct Ending {
    uint64_t operations = 0;
    uint64_t errors = 0;
  } ending;
  // Of the phase's writes, warm-up included; empty: no server told.
  StageSums server_stages;

  double OperationsASecond() const {
    return seconds > 0 ? static_cast<double>(total.Operations()) / seconds : 0;
  }
  // Of an open loop: whether all was begun, and the last of it not too late (Pacing::SlackOf).
  // kUntold: within that, but by a tenth of the time it was meant to take: the phase was too short.
  enum class Rate { kReached, kMissed, kUntold };
  Rate RateOutcome() const;
  // Whether a tenth of its last operations failed, or more: what had failed had not healed again.
  bool HasEndedFailing() const {
    return ending.errors > 0 && 10 * ending.errors >= ending.operations;
  }
};

// What one phase is, and when it gives up.
struct PhaseRules {
  std::string name;
  LoopKind loop = LoopKind::kClosed;
  absl::Duration warm_up;
  absl::Duration give_up = absl::InfiniteDuration();
};

// What RunPhase needs of the process.
struct PhaseWorld {
  const Clock& clock;
  std::function<void(Instant)> sleep_until;
  std::function<void(const Interval&)> on_interval;
  const std::atomic<bool>& stop;
};

// Runs the driver to its end; returns when nothing is under way.
PhaseResult RunPhase(Driver& driver, Measurements& measurements, const PhaseRules& rules,
                     const PhaseWorld& world);

// What a phase's figures are about: intended latencies in an open loop, else service latencies.
const LatencyHistogram& Telling(const KindTally& tally, LoopKind loop);

}  // namespace arion::load
