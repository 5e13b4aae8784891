// Driver carries a phase's operations out: as many under way as there are "threads", each begun in
// the callback of the last (closed loop) or when it is meant to start (open loop).
//
// Shapes    One lane a table object (each a client of its own, with its own thread); the threads
//           are shared out among the lanes. In an open loop an operation that finds all threads
//           busy waits, and its intended latency counts from when it was meant to start.
// Threads   Thread-safe. Callbacks run on the clients' threads.
// Lifetime  Outlives what is under way: destroy it when IsIdle(). Tables, clock, keys, measurements
//           and ledger outlive it.
// Promises  After Stop, or the last operation, nothing is begun; IsIdle() once all have ended.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/time/time.h>
#include <arion/async_table.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "env/clock.h"
#include "tools/load/run/measurements.h"
#include "tools/load/run/pacing.h"
#include "tools/load/workload/history.h"
#include "tools/load/workload/ledger.h"
#include "tools/load/workload/operations.h"

namespace arion::load {

// What one phase is to do.
struct DriverOptions {
  // At least one a lane.
  int64_t threads = 1;
  // No value: a closed loop.
  std::optional<Pacing> pacing = {};
  // To start.
  int64_t operations_max = INT64_MAX;
  // No operation is begun later than this.
  absl::Duration start_within = absl::InfiniteDuration();
  // Stamp::run
  uint64_t run = 0;
  // Stamp::sequence of the first operation.
  int64_t first_sequence = 0;
  ReadTime read_time = ReadTime::kDuringRun;
};

// One phase: Begin, Launch when something is due (RunPhase does it), then wait for IsIdle. Session
// makes one for each phase.
//
//   Driver driver(world, next, {.threads = 50});
//   PhaseResult result = RunPhase(driver, measurements, rules, phase_world);
class Driver {
 public:
  // Gives the next operation; no value: that was the last.
  using Next = std::function<std::optional<Operation>()>;
  // `ledger`: none: reads are not judged.
  // What the operations are made with and reported to.
  struct World {
    const Clock& clock;
    std::vector<AsyncTable*> lanes;
    const KeyNames& keys;
    Measurements& measurements;
    // nullptr: reads are not judged.
    Ledger* ledger = nullptr;
    // nullptr: none is written.
    History* history = nullptr;
  };
  Driver(World world, Next next, DriverOptions options);

  // The phase begins now.
  void Begin();
  // Starts what is due. To be called at NextStart(); callbacks call it too.
  void Launch();
  // When something is due that no callback will start; InfiniteFuture: nothing for now.
  Instant NextStart();
  // Begins no more operations.
  void Stop();

  // Nothing is under way, and nothing is left to begin.
  bool IsIdle();
  // Since when nothing is begun any more; no value: it goes on.
  std::optional<Instant> ended_at();
  int64_t started();
  // Of an open loop: how late the next operation is, and how many are late.
  absl::Duration Delay();
  int64_t Behind();
  // How late operations of an open loop began.
  struct Lateness {
    absl::Duration worst;
    // Of the last one.
    absl::Duration last;
    // When that was meant to start, since the phase's start.
    absl::Duration last_meant;
  };
  Lateness lateness();

 private:
  struct UnderWay;
  using UnderWayPtr = std::shared_ptr<UnderWay>;

  void LaunchOn(size_t lane);
  UnderWayPtr TakeNext(size_t lane);
  bool HasEnded(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndAt(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Start(const UnderWayPtr& work);
  void StartRead(const UnderWayPtr& work);
  void StartPut(const UnderWayPtr& work);
  void StartRemove(const UnderWayPtr& work);
  void StartScan(const UnderWayPtr& work);
  void ContinueScan(const UnderWayPtr& work);
  void StartMultiGet(const UnderWayPtr& work);
  void StartMultiPut(const UnderWayPtr& work);
  void End(const UnderWayPtr& work, const absl::Status& status);
  // Verification, where there is a ledger.
  void NoteWriteBegins(UnderWay& work, Ledger::Write::Means means);
  void NoteWriteEnds(const UnderWay& work, const absl::Status& status);
  void NoteReadBegins(const UnderWay& work, int64_t count);
  void NoteRowsRead(const UnderWay& work, int64_t count, const std::vector<Row>& rows,
                    int64_t complete_before);
  void NoteRead(const UnderWay& work, int64_t record, std::optional<std::string_view> value);
  void NoteReadFailed(const UnderWay& work, int64_t count);
  PutOptions PutOptionsOf(const Operation& operation) const;
  int64_t CountWithinHashKey(const Operation& operation) const;

  const World world_;
  const Next next_;
  const DriverOptions options_;

  std::atomic<size_t> next_lane_ = 0;
  // Guards all below.
  Mutex mutex_;
  Instant begin_ ABSL_GUARDED_BY(mutex_);
  int64_t started_ ABSL_GUARDED_BY(mutex_) = 0;
  Lateness lateness_ ABSL_GUARDED_BY(mutex_);
  std::optional<Instant> ended_at_ ABSL_GUARDED_BY(mutex_);
  // By lane: threads that are free.
  std::vector<int64_t> room_ ABSL_GUARDED_BY(mutex_);
  int64_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace arion::load
