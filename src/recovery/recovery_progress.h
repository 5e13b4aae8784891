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

// What is being done with a replica. Steps come in this order; kReplay and kCheckpoint may be left
// out.
enum class RecoveryStep : uint8_t {
  // It waits for its turn.
  kWaiting,
  // Its engine is opened.
  kEngine,
  // Its log is read, checked and applied.
  kReplay,
  // What was applied is written, and .init-info.
  kCheckpoint,
  // It is open. From here on it answers as its role allows.
  kServing,
  kFailed,
};
constexpr size_t kRecoverySteps = 6;

// Where the opening of one replica writes down how far it is.
class RecoveryTicket {
 public:
  // The step begins now; the one before has ended.
  void Enter(RecoveryStep step, Instant now);
  // Of its log, so far.
  void SetBytesRead(uint64_t bytes) { bytes_read_.store(bytes, std::memory_order_relaxed); }

 private:
  friend class RecoveryProgress;
  // Relaxed access is enough: displays read them, and each stands for itself.
  std::atomic<RecoveryStep> step_{RecoveryStep::kWaiting};
  std::atomic<int64_t> since_nanos_{0};
  // Spent in each step that has ended.
  std::array<std::atomic<int64_t>, kRecoverySteps> nanos_{};
  std::atomic<uint64_t> bytes_read_{0};
};

// What the recovery looks like at one moment.
struct RecoveryReport {
  // kListing: logs are being measured and nothing has begun yet.
  enum class Phase : uint8_t { kNotStarted, kListing, kRecovering, kDone } phase;
  // Replicas by state, and bytes of their logs. `done` are those that serve.
  struct Totals {
    size_t replicas = 0, done = 0, failed = 0, under_way = 0;
    uint64_t bytes = 0, bytes_done = 0;
  };
  // The same of one data directory.
  struct Disk : Totals {
    std::string tag;
    bool is_listed = false;
    // Since the beginning; 0: not yet.
    absl::Duration ended_after;
  };
  // One replica.
  struct Replica {
    PartitionId pid;
    std::string disk;
    RecoveryStep step = RecoveryStep::kWaiting;
    // How long it has been in its present step.
    absl::Duration step_for;
    uint64_t bytes = 0, bytes_done = 0;
    // Time in steps that have ended.
    absl::Duration in_engine, in_replay, in_checkpoint;
    // Since the beginning; 0: not yet.
    absl::Duration ended_after;
    // Without the present step.
    absl::Duration took() const { return in_engine + in_replay + in_checkpoint; }
  };
  // Of the server.
  Totals all;
  // Since the beginning, until now or until the last replica ended.
  absl::Duration elapsed;
  double bytes_per_second = 0;
  // By the rate so far; nullopt: it can't be told yet.
  std::optional<absl::Duration> remaining;
  // Since the beginning; 0: none serves yet.
  absl::Duration first_served_after;
  // Sums over all replicas.
  absl::Duration in_engine, in_replay, in_checkpoint;
  std::vector<Disk> disks;
  // Those that have been under way for longest come first.
  std::vector<Replica> under_way;
  // The one that has been under way for longest; if none is under way, the one that ended last.
  std::optional<Replica> slowest;
};

// One start of one server.
class RecoveryProgress {
 public:
  // Calls come in this order: Begin; Expect for each replica; Listed for each disk; End for each
  // replica. Disks are named by position in `disk_tags`.
  void Begin(std::vector<std::string> disk_tags, Instant now);
  void Expect(PartitionId pid, size_t disk);
  // The disk's logs were measured: their sizes by replica.
  void Listed(size_t disk, const std::map<PartitionId, uint64_t>& log_bytes, Instant now);
  // `step`: kServing or kFailed. Only the first End of a replica counts.
  void End(PartitionId pid, RecoveryStep step, Instant now);

  // Where to write a replica's steps. Of one that was not expected, or has ended: a ticket nobody
  // reads.
  std::shared_ptr<RecoveryTicket> TicketOf(PartitionId pid) const;
  // What it looks like now. Holds the lock for as long as it takes to read all tickets.
  RecoveryReport Report(Instant now) const;

 private:
  // What is known of a replica besides its ticket.
  struct Replica {
    size_t disk = 0;
    uint64_t bytes = 0;
    std::shared_ptr<RecoveryTicket> ticket;
    std::optional<Instant> ended;
  };
  // `ended`: when its last replica ended.
  struct Disk {
    std::string tag;
    bool is_listed = false;
    std::optional<Instant> ended;
  };
  RecoveryReport::Replica Describe(PartitionId pid, const Replica& replica, Instant now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  // Guarded by mutex_, as the rest.
  bool has_begun_ ABSL_GUARDED_BY(mutex_) = false;
  Instant begun_ ABSL_GUARDED_BY(mutex_);
  std::optional<Instant> first_served_ ABSL_GUARDED_BY(mutex_);
  std::vector<Disk> disks_ ABSL_GUARDED_BY(mutex_);
  std::map<PartitionId, Replica> replicas_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
