// Measurements: latencies and outcomes of operations, gathered on the clients' threads, taken away
// once a second.
//
// Units     Nanoseconds. Service latency counts from the moment an operation was started; intended
//           latency from the moment it was meant to start, so a stall counts for everything it
//           delayed. Only what succeeded, "not found" included, has a latency; errors are counted
//           by code.
// Threads   Record: thread-safe, cheapest where each thread has its own slot.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/mutex.h"
#include "tools/load/run/latency_histogram.h"
#include "tools/load/workload/workload.h"

namespace arion::load {

// What became of one kind of operation.
struct KindTally {
  LatencyHistogram service;
  LatencyHistogram intended;
  // Of those in the histograms.
  uint64_t not_found = 0;
  std::map<absl::StatusCode, uint64_t> errors;
  // The text of the first one.
  std::map<absl::StatusCode, std::string> first_error;

  uint64_t Errors() const;
  uint64_t Operations() const { return service.count() + Errors(); }
};

// All kinds.
struct Tally {
  std::array<KindTally, kKinds> kinds;

  void Add(const Tally& other);
  uint64_t Operations() const;
  uint64_t Succeeded() const;
  uint64_t Errors() const { return Operations() - Succeeded(); }
};

// One phase's. Session makes it, the driver's callbacks record, RunPhase takes once a second.
//
//   measurements.Record(lane, {.kind = kind, .started = then, .ended = now}, status);
//   const Tally of_this_second = measurements.Take();
class Measurements {
 public:
  explicit Measurements(size_t slots);

  // The times of one operation.
  struct Sample {
    Kind kind = Kind::kRead;
    Instant intended;
    Instant started;
    Instant ended;
  };
  // `status`: NotFound is an outcome like success.
  void Record(size_t slot, const Sample& sample, const absl::Status& status);
  // What was recorded since the last time.
  Tally Take();

 private:
  struct Slot {
    Mutex mutex;
    // Guarded by mutex.
    Tally tally ABSL_GUARDED_BY(mutex);
  };
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace arion::load
