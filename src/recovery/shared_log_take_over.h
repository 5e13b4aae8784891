// SharedLogTakeOver: while replicas open on an older version's data, hands each of them what only
// the shared log has (legacy/FORMAT.md 3).
//
// Shapes    A pass begins when every replica that was expected has joined or failed to open. The
//           log is read once, in the pool of its disk, a piece ahead of what is handled. Each
//           replica gets its records in its own disk's pool, appends what it lacks to its private
//           log, and is done when that is durable and the log was read to its end, whatever the
//           others do. Replicas that come later (their disk was full, or slow) share another pass.
// Errors    A log that is damaged or can't be read refuses the start (on_refused) and changes
//           nothing. With DamagedSharedLog::kSetAside what can be read counts, and the replicas
//           concerned come back as after an unclean stop. A log that contradicts a replica's
//           private log refuses the start as well. A replica's own errors are its own.
// Threads   Strand-bound to the server's strand. `done` comes there.
// Lifetime  Held by shared_ptr. The host outlives it.
// Promises  shared_log_take_over/O3  A replica is done only when all it takes from the shared log
//               is durable in its private log. Killed anywhere, the next start ends the same.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "legacy/shared_log_options.h"
#include "legacy/shared_log_reader.h"
#include "legacy/shared_log_stats.h"
#include "recovery/replica_opener.h"

namespace arion {

// One start of one server. Start, then Join or GiveUp for each replica; passes follow by
// themselves.
class SharedLogTakeOver : public std::enable_shared_from_this<SharedLogTakeOver> {
 public:
  // The opened replica, or why it could not be opened.
  using Done = absl::AnyInvocable<void(absl::StatusOr<OpenedReplica>)>;
  // Both are called on the strand.
  struct Events {
    // The server must not start; nothing was changed.
    std::function<void(const absl::Status&)> on_refused;
    // The first pass reached the end of the log.
    std::function<void()> on_read;
  };
  SharedLogTakeOver(std::shared_ptr<const OpeningHost> host, StrandPtr strand,
                    SharedLogCatalog catalog, std::shared_ptr<SharedLogStats> stats,
                    DamagedSharedLog damaged, Events events);

  // `expected`: the replicas that the first pass waits for. Each of them joins or is given up.
  void Start(std::set<PartitionId> expected);
  // True until this replica was done once.
  bool Needs(PartitionId pid) const { return !done_.contains(pid); }
  // The replica is open and takes part in the next pass. `done` comes on the strand.
  void Join(std::unique_ptr<ReplicaOpening> opening, Done done);
  // The replica could not be opened; nobody waits for it any more.
  void GiveUp(PartitionId pid);
  // Nothing more is read. A replica that waits is done with Aborted once its log is quiet.
  void Stop();

  const SharedLogCatalog& catalog() const { return catalog_; }
  // By replica, the largest decree in the newest log file or, by that file's header, in earlier
  // ones. Known after on_read.
  const std::map<PartitionId, Decree>& max_of_newest() const { return max_of_newest_; }
  // Places where the log was damaged and what followed was left out (DamagedSharedLog::kSetAside).
  const std::vector<SharedLogReader::Damage>& damages() const { return damages_; }

 private:
  // One replica in a pass. The strand owns it; its ReplicaOpening is used in the pool while
  // is_working.
  struct Taker {
    std::shared_ptr<ReplicaOpening> opening;
    Done done;
    std::deque<std::vector<MutationPtr>> batches;
    // A batch of it is in the pool.
    bool is_working = false;
    // Batches whose appends are not durable yet.
    int64_t appends = 0;
    // Its own failure.
    absl::Status status;
    bool is_incomplete = false;
  };
  struct Pass;

  void BeginPass();
  void ReadOn();
  void ReadPiece(int polls_left);
  void OnPiece(absl::StatusOr<bool> more);
  void OnDamage(const absl::Status& status);
  void EndReading();
  void Work(PartitionId pid, const std::shared_ptr<Taker>& taker);
  void Append(PartitionId pid, const std::shared_ptr<Taker>& taker,
              std::vector<MutationPtr> records, uint64_t bytes);
  void OnBatchDone(PartitionId pid, uint64_t bytes);
  void FinishIfIdle(PartitionId pid);
  void Finish(PartitionId pid, std::shared_ptr<Taker> taker);
  void Refuse(const absl::Status& status);
  bool IsReading() const { return pass_ != nullptr; }

  const std::shared_ptr<const OpeningHost> host_;
  const StrandPtr strand_;
  const std::shared_ptr<SharedLogStats> stats_;
  const DamagedSharedLog damaged_;
  const SharedLogCatalog catalog_;
  Events events_;
  std::set<PartitionId> expected_;
  std::set<PartitionId> done_;
  // For the next pass.
  std::map<PartitionId, std::shared_ptr<Taker>> waiting_;
  // Of this pass.
  std::map<PartitionId, std::shared_ptr<Taker>> takers_;
  // They failed; their logs come to rest.
  std::set<std::shared_ptr<Taker>> ending_;
  // While it reads.
  std::shared_ptr<Pass> pass_;
  bool was_read_ = false;
  bool is_stopped_ = false;
  // Bytes of records that were read and are not durable in private logs yet.
  uint64_t bytes_in_flight_ = 0;
  // A piece is being read in the pool, or waits for engines to flush.
  bool is_piece_under_way_ = false;
  std::map<PartitionId, Decree> max_of_newest_;
  std::vector<SharedLogReader::Damage> damages_;
};

}  // namespace arion
