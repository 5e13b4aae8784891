// SPDX-License-Identifier: Apache-2.0
#include "stats/replica_figures.h"

#include <algorithm>

#include "pacifica/invariants.h"
#include "wal/log_gauges.h"

namespace arion {
namespace {

// Adds up element by element.
template <size_t N>
void AddTo(const std::array<uint64_t, N>& more, std::array<uint64_t, N>* sums) {
  for (size_t i = 0; i < N; ++i) (*sums)[i] += more[i];
}

}  // namespace

void ReplicaFigures::SetPlace(std::string disk_tag, std::shared_ptr<const LogGauges> log) {
  const MutexLock lock(mutex_);
  disk_ = std::move(disk_tag);
  log_ = std::move(log);
}

// The replica may name the same engine again, which must not count twice.
void ReplicaFigures::SetEngine(std::shared_ptr<const EngineMeter> engine) {
  const MutexLock lock(mutex_);
  if (engine == engine_) return;
  // Counters must not fall when a learner installs another content.
  if (engine_ != nullptr) AddTo(engine_->Counts(), &earlier_engines_);
  engine_ = std::move(engine);
}

void ReplicaFigures::Note(const Watermarks& marks, Instant now) {
  // Relaxed everywhere: the fields are shown beside each other and never decide anything.
  constexpr auto kRelaxed = std::memory_order_relaxed;
  if (role_since_.load(kRelaxed) == 0 || marks.role != role_.load(kRelaxed)) {
    role_.store(marks.role, kRelaxed);
    role_since_.store(now.nanos(), kRelaxed);
  }
  const int64_t committed = marks.last_committed.value();
  // The clock restarts with each commit: what counts is how long nothing moved, not how old the
  // oldest mutation is.
  if (marks.last_prepared.value() <= committed)
    uncommitted_since_.store(0, kRelaxed);
  else if (uncommitted_since_.load(kRelaxed) == 0 || committed != committed_.load(kRelaxed))
    uncommitted_since_.store(now.nanos(), kRelaxed);
  committed_.store(committed, kRelaxed);
  applied_.store(marks.last_applied.value(), kRelaxed);
}

ReplicaFigures::Now ReplicaFigures::Read(Instant now) const {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const auto since = [now](int64_t nanos) {
    return nanos == 0 ? absl::ZeroDuration() : std::max(now - Instant(nanos), absl::ZeroDuration());
  };
  Now read;
  read.role = role_.load(kRelaxed);
  read.in_role = since(role_since_.load(kRelaxed));
  read.uncommitted = since(uncommitted_since_.load(kRelaxed));
  // Committed is stored first and read last, so the difference is rather too large than too small.
  // Relaxed accesses give no order, though: hence the bound at 0.
  const int64_t applied = applied_.load(kRelaxed);
  read.unapplied = std::max<int64_t>(0, committed_.load(kRelaxed) - applied);
  read.others_there = others_there_.load(kRelaxed);
  const MutexLock lock(mutex_);
  read.disk = disk_;
  if (log_ != nullptr) {
    read.log_files = log_->files.value();
    read.log_bytes = log_->bytes.value();
  }
  return read;
}

ReplicaFigures::Counts ReplicaFigures::ReadCounts() const {
  Counts counts;
  for (size_t i = 0; i < kReplicaCounts; ++i)
    counts[i] = counts_[i].load(std::memory_order_relaxed);
  return counts;
}

ReplicaFigures::EngineTotals ReplicaFigures::ReadEngineCounts() const {
  const MutexLock lock(mutex_);
  EngineTotals totals = earlier_engines_;
  if (engine_ != nullptr) AddTo(engine_->Counts(), &totals);
  return totals;
}

EngineFigures ReplicaFigures::ReadEngine() const {
  std::shared_ptr<const EngineMeter> engine;
  EngineTotals earlier;
  {
    const MutexLock lock(mutex_);
    engine = engine_;
    earlier = earlier_engines_;
  }
  // Without the lock: it may wait for the engine, and strands take the lock.
  EngineFigures figures = engine == nullptr ? EngineFigures{} : engine->Read();
  AddTo(earlier, &figures.counts);
  return figures;
}

}  // namespace arion
