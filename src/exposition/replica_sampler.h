// ReplicaSampler: what every open replica's engine says of itself, and how much its clients had asked
// for, every five seconds, by a thread of its own. Some of an engine's figures take a lock of the
// engine's, and of 1,000 engines milliseconds: too much for a reading of /metrics. Two samples make
// rates.
//
// Threads   Thread-safe.
// Lifetime  The book outlives it. Its end waits for a sample under way.
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
#include "env/clock.h"
#include "stats/request_stats.h"

namespace arion {

class ReplicaSampler {
 public:
  struct Row {
    std::string table;
    PartitionId pid;
    const void* life = nullptr;  // another where the replica was closed and opened again
    EngineFigures engine;
    RequestStats::LoadByKind loads{};
    ReplicaFigures::Counts counts{};
  };
  struct Sample {
    Instant at;
    std::vector<Row> rows;  // by partition
    const Row* Find(PartitionId pid) const;
  };
  using SamplePtr = std::shared_ptr<const Sample>;

  ReplicaSampler(const RequestBook& book, const Clock& clock);
  ~ReplicaSampler();

  SamplePtr Latest() const;  // never null
  // The latest that is ten seconds old; before there is one, the oldest.
  SamplePtr TenSecondsAgo() const;
  // What is cheap to ask, as it is now; the engines' figures are those of the latest sample, but of
  // replicas opened since, which are asked.
  Sample Now() const;

 private:
  void Run();
  Sample Take(const Sample* engines) const;

  const RequestBook& book_;
  const Clock& clock_;
  mutable Mutex mutex_;
  ConditionVariable ends_;  // with mutex_
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<SamplePtr> samples_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace arion
