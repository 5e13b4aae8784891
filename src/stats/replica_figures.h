// ReplicaFigures: what one replica is, and what it has done besides answering clients, for
// displays.
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

namespace arion {

struct LogGauges;
struct Watermarks;

// What is counted since the replica's directory was opened by this process.
enum class ReplicaCount : uint8_t {
  // Requests that a table's throttle delayed or rejected.
  kDelayedReads,
  kDelayedWrites,
  kDelayedBackups,
  kRejectedReads,
  kRejectedWrites,
  kRejectedBackups,
  // Records that reads met and left out, because they had expired or a filter did not pass them.
  kExpiredRecords,
  kFilteredRecords,
  kPreparesFailed,
  kGroupChecksFailed,
  kLearnings,
  kLearningsSucceeded,
  kLearningsFailed,
  kLearnRounds,
  // Rounds of learning, by where the primary took its answer from.
  kLearnedFromMemory,
  kLearnedFromLog,
  kLearnedFromFiles,
  // Its data were of a history that the group no longer has.
  kLearnResets,
  kCopiedFiles,
  kCopiedBytes,
  kCopiesFailed,
  // Requests that took as long as those that /slow keeps.
  kSlowReads,
  kSlowWrites,
  // Refused.
  kOversizedWrites,
  // Another cluster's writes that were done here later than its operator wants.
  kLateDuplicates,
  // Refused, because no correct server sends them.
  kOddMessages,
};
constexpr size_t kReplicaCounts = static_cast<size_t>(ReplicaCount::kOddMessages) + 1;

// One replica's. Counts only rise, as long as it lives: a new engine adds to what earlier ones
// counted.
//
//   figures.Count(ReplicaCount::kCopiedBytes, size);
class ReplicaFigures {
 public:
  using Counts = std::array<uint64_t, kReplicaCounts>;
  using EngineTotals = std::array<uint64_t, kEngineCounts>;

  // Adds to one counter.
  void Count(ReplicaCount what, uint64_t n = 1) {
    counts_[static_cast<size_t>(what)].fetch_add(n, std::memory_order_relaxed);
  }

  // ---- the strand ----
  // Where the replica lies. `log`: its log's gauges; may be null.
  void SetPlace(std::string disk_tag, std::shared_ptr<const LogGauges> log);
  // Whether its files may hold keys of other partitions since a split.
  void SetOthersThere(bool are_there) { others_there_.store(are_there, std::memory_order_relaxed); }
  // The engine whose figures count from now on. What earlier engines counted is kept.
  void SetEngine(std::shared_ptr<const EngineMeter> engine);
  // To be called after each step of the replica: it notices when the role or the watermarks change.
  void Note(const Watermarks& marks, Instant now);

  // What the replica is. The fields are of one moment each, not all of the same.
  struct Now {
    PartitionStatus role = PartitionStatus::kInactive;
    // How long it has had this role.
    absl::Duration in_role;
    // Mutations that are committed and not applied.
    int64_t unapplied = 0;
    // How long nothing more has been committed while something waits for it. 0: all is committed.
    absl::Duration uncommitted;
    // Its files may hold keys of other partitions since a split.
    bool others_there = false;
    std::string disk;
    int64_t log_files = 0;
    int64_t log_bytes = 0;
  };
  Now Read(Instant now) const;
  // By ReplicaCount.
  Counts ReadCounts() const;
  // The engines' counters, all engines of this replica added up. Never waits for the engine.
  EngineTotals ReadEngineCounts() const;
  // The same with the engine's gauges. It may wait a moment for the engine.
  EngineFigures ReadEngine() const;

 private:
  std::array<std::atomic<uint64_t>, kReplicaCounts> counts_{};
  std::atomic<PartitionStatus> role_{PartitionStatus::kInactive};
  // In nanoseconds; 0: never noted.
  std::atomic<int64_t> role_since_{0};
  // 0: all is committed.
  std::atomic<int64_t> uncommitted_since_{0};
  std::atomic<int64_t> committed_{0};
  std::atomic<int64_t> applied_{0};
  std::atomic<bool> others_there_{false};

  mutable Mutex mutex_;
  // Guarded by mutex_, as the rest. `log_` and `engine_` may be null.
  std::string disk_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const LogGauges> log_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const EngineMeter> engine_ ABSL_GUARDED_BY(mutex_);
  EngineTotals earlier_engines_ ABSL_GUARDED_BY(mutex_){};
};

}  // namespace arion
