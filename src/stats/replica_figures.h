// ReplicaFigures: what one replica is, and what it has done besides answering clients, for displays.
//
// Threads   Count, and all that is const: any thread. The rest: the replica's strand. Nothing here
//           waits for a strand, and no strand for what reads here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/instant.h"
#include "base/mutex.h"
#include "engine/engine_figures.h"
#include "messages/configuration.h"
#include "pacifica/invariants.h"
#include "wal/log_gauges.h"

namespace arion {

enum class ReplicaCount : uint8_t {
  kDelayedReads,  // by a table's throttle
  kDelayedWrites,
  kDelayedBackups,
  kRejectedReads,
  kRejectedWrites,
  kRejectedBackups,
  kExpiredRecords,   // that reads met and left out
  kFilteredRecords,  // likewise
  kPreparesFailed,
  kGroupChecksFailed,
  kLearnings,
  kLearningsSucceeded,
  kLearningsFailed,
  kLearnRounds,
  kLearnedFromMemory,  // rounds, by where the primary took its answer from
  kLearnedFromLog,
  kLearnedFromFiles,
  kLearnResets,  // its data were of a history that the group no longer has
  kCopiedFiles,
  kCopiedBytes,
  kCopiesFailed,
  kSlowReads,  // that took as long as those that /slow keeps
  kSlowWrites,
  kOversizedWrites,  // refused
  kOddMessages,      // refused: no correct server sends them
};
constexpr size_t kReplicaCounts = static_cast<size_t>(ReplicaCount::kOddMessages) + 1;

class ReplicaFigures {
 public:
  using Counts = std::array<uint64_t, kReplicaCounts>;
  using EngineTotals = std::array<uint64_t, kEngineCounts>;

  void Count(ReplicaCount what, uint64_t n = 1) {
    counts_[static_cast<size_t>(what)].fetch_add(n, std::memory_order_relaxed);
  }

  // ---- the strand ----
  void SetPlace(std::string disk_tag, std::shared_ptr<const LogGauges> log);
  // What its earlier engines counted is kept.
  void SetEngine(std::shared_ptr<const EngineMeter> engine);
  // After each step.
  void Note(const Watermarks& marks, Instant now);

  // ---- any thread ----
  // Of one moment each, not all of the same.
  struct Now {
    PartitionStatus role = PartitionStatus::kInactive;
    absl::Duration in_role;
    int64_t unapplied = 0;       // mutations committed and not applied
    absl::Duration uncommitted;  // for so long no more was committed, while something waits for it
    std::string disk;
    int64_t log_files = 0;
    int64_t log_bytes = 0;
  };
  Now Read(Instant now) const;
  Counts ReadCounts() const;
  EngineTotals ReadEngineCounts() const;
  EngineFigures ReadEngine() const;  // may wait a moment for the engine

 private:
  std::array<std::atomic<uint64_t>, kReplicaCounts> counts_{};
  std::atomic<PartitionStatus> role_{PartitionStatus::kInactive};
  std::atomic<int64_t> role_since_{0};         // nanoseconds; 0: never noted
  std::atomic<int64_t> uncommitted_since_{0};  // 0: all is committed
  std::atomic<int64_t> committed_{0};
  std::atomic<int64_t> applied_{0};

  mutable Mutex mutex_;
  std::string disk_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const LogGauges> log_ ABSL_GUARDED_BY(mutex_);       // may be null
  std::shared_ptr<const EngineMeter> engine_ ABSL_GUARDED_BY(mutex_);  // may be null
  EngineTotals earlier_engines_ ABSL_GUARDED_BY(mutex_){};
};

}  // namespace arion
