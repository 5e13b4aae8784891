// ReplicaSampler: what every open replica's engine says of itself, and how much its clients had
// asked for, every five seconds, by a thread of its own. Some of an engine's figures take a lock of
// the engine's, and of 1,000 engines milliseconds: too much for a reading of /metrics. Two samples
// make rates.
//
// Threads   Thread-safe.
// Lifetime  The book outlives it. Its destructor waits for a sample under way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "base/instant.h"
#include "base/mutex.h"
#include "stats/request_stats.h"

namespace arion {

class Clock;

// One for a replica server. It begins with an empty sample and takes the next ones on its own
// thread.
class ReplicaSampler {
 public:
  // What one replica's engine, clients and figures came to since it was opened.
  struct Row {
    std::string table;
    PartitionId pid;
    // Another value where the replica was closed and opened again: then no rate can be made.
    const void* life = nullptr;
    EngineFigures engine;
    RequestStats::LoadByKind loads{};
    ReplicaFigures::Counts counts{};
  };
  // All open replicas at one moment.
  struct Sample {
    Instant at;
    // By partition.
    std::vector<Row> rows;
    // nullptr: the replica was not open.
    const Row* Find(PartitionId pid) const;
  };
  using SamplePtr = std::shared_ptr<const Sample>;

  ReplicaSampler(const RequestBook& book, const Clock& clock);
  ~ReplicaSampler();

  // Never null. At most about five seconds old, and empty before the first one is taken.
  SamplePtr Latest() const;
  // The sample that was taken ten seconds before the latest one, give or take a timer's delay;
  // before there is one, the oldest. Never null. It is the latest one itself where there is only
  // one.
  SamplePtr TenSecondsAgo() const;
  // What is cheap to ask, as it is now. The engines' figures are those of the latest sample; only
  // replicas opened since are asked.
  Sample Now() const;

 private:
  void Run();
  Sample Take(const Sample* engines) const;

  const RequestBook& book_;
  const Clock& clock_;
  mutable Mutex mutex_;
  // With mutex_.
  ConditionVariable ends_;
  // Guarded by mutex_, as the rest.
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<SamplePtr> samples_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace arion
