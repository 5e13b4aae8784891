// RecoveryProgress: how far the opening of a starting server's replicas is, for the log, a page, a
// command and metrics.
//
// Units     Bytes are of log files: what there is to read at most, and what was read.
// Threads   Thread-safe. A ticket is written by whoever opens its replica; nothing waits for it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/instant.h"
#include "base/mutex.h"

namespace arion {

enum class RecoveryStep : uint8_t {
  kWaiting,     // for its turn
  kEngine,      // the engine is opened
  kReplay,      // its log is read, checked and applied
  kCheckpoint,  // what was applied is written, and .init-info
  kServing,     // open; from here on it answers as its role allows
  kFailed,
};
constexpr size_t kRecoverySteps = 6;

// One replica's.
class RecoveryTicket {
 public:
  void Enter(RecoveryStep step, Instant now);
  void SetBytesRead(uint64_t bytes) { bytes_read_.store(bytes, std::memory_order_relaxed); }

 private:
  friend class RecoveryProgress;
  std::atomic<RecoveryStep> step_{RecoveryStep::kWaiting};
  std::atomic<int64_t> since_nanos_{0};
  std::array<std::atomic<int64_t>, kRecoverySteps> nanos_{};  // spent in each step
  std::atomic<uint64_t> bytes_read_{0};
};

// What a moment of it looks like.
struct RecoveryReport {
  enum class Phase : uint8_t { kNotStarted, kListing, kRecovering, kDone } phase;
  struct Totals {
    size_t replicas = 0, done = 0, failed = 0, under_way = 0;
    uint64_t bytes = 0, bytes_done = 0;
  };
  struct Disk : Totals {
    std::string tag;
    bool is_listed = false;
    absl::Duration ended_after;  // 0: not yet
  };
  struct Replica {
    PartitionId pid;
    std::string disk;
    RecoveryStep step = RecoveryStep::kWaiting;
    absl::Duration step_for;
    uint64_t bytes = 0, bytes_done = 0;
    absl::Duration in_engine, in_replay, in_checkpoint;  // ended steps
    absl::Duration ended_after;                          // 0: not yet
    absl::Duration took() const { return in_engine + in_replay + in_checkpoint; }
  };
  Totals all;
  absl::Duration elapsed;
  double bytes_per_second = 0;
  std::optional<absl::Duration> remaining;  // by the rate so far
  absl::Duration first_served_after;        // 0: none yet
  absl::Duration in_engine, in_replay, in_checkpoint;
  std::vector<Disk> disks;
  std::vector<Replica> under_way;  // the longest first
  std::optional<Replica> slowest;  // of those under way by time, else the one that ended last
};

class RecoveryProgress {
 public:
  // In the order of calls: Begin, then for each disk Listed, then Enter of each replica.
  void Begin(std::vector<std::string> disk_tags, Instant now);
  void Expect(PartitionId pid, size_t disk);
  void Listed(size_t disk, const std::map<PartitionId, uint64_t>& log_bytes, Instant now);
  void End(PartitionId pid, RecoveryStep step, Instant now);

  // Of a replica that was not expected: a ticket nobody reads.
  std::shared_ptr<RecoveryTicket> TicketOf(PartitionId pid) const;
  RecoveryReport Report(Instant now) const;

 private:
  struct Replica {
    size_t disk = 0;
    uint64_t bytes = 0;
    std::shared_ptr<RecoveryTicket> ticket;
    std::optional<Instant> ended;
  };
  struct Disk {
    std::string tag;
    bool is_listed = false;
    std::optional<Instant> ended;
  };
  RecoveryReport::Replica Describe(PartitionId pid, const Replica& replica, Instant now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  bool has_begun_ ABSL_GUARDED_BY(mutex_) = false;
  Instant begun_ ABSL_GUARDED_BY(mutex_);
  std::optional<Instant> first_served_ ABSL_GUARDED_BY(mutex_);
  std::vector<Disk> disks_ ABSL_GUARDED_BY(mutex_);
  std::map<PartitionId, Replica> replicas_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
