// Recovery: opens the replicas that a starting server found, as RecoveryPlan orders them, and tells
// how far it is.
//
// Threads   Strand-bound to the server's strand. Each disk's logs are measured in that disk's pool.
// Lifetime  Held by shared_ptr.
// Promises  No disk waits for another (RecoveryMode::kParallel). At most lanes_per_disk openings of
//           a disk, each until the flush behind it ends, are in its pools, so that those which
//           serve already find a thread there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <map>
#include <memory>
#include <vector>

#include "disks/disk_layout.h"
#include "disks/replica_directory.h"
#include "env/clock.h"
#include "env/environment.h"
#include "recovery/recovery_plan.h"
#include "recovery/recovery_progress.h"

namespace arion {

// One start of one server. Of each replica: `open` is called; when it is open, MayKeepUnflushed;
// when its work has left the pools, LeftPool; when it serves or has failed, Ended. The last Ended
// is logged with a summary.
class Recovery : public std::enable_shared_from_this<Recovery> {
 public:
  // Opens one of `found`. It returns at once, and sees to it that LeftPool and Ended are called.
  using Open = absl::AnyInvocable<void(PartitionId)>;
  Recovery(std::shared_ptr<const ServerDisks> disks, StrandPtr strand,
           const RecoveryOptions& options, std::shared_ptr<RecoveryProgress> progress,
           const std::vector<FoundReplica>& found, Open open);

  // Measures the logs, then begins to open. Logs every 5 s how far it is.
  void Start();
  // Nothing more is begun.
  void Stop();
  // What the meta server says of a replica; it changes the order as long as the replica waits.
  void SetRole(PartitionId pid, LastRole role) { plan_.SetRole(pid, role); }
  // Of a replica that is open and has not left the pool: whether what it replayed may stay
  // unflushed. If not, it is to be flushed before LeftPool, and others may begin now.
  bool MayKeepUnflushed(PartitionId pid);
  // The opening, and the flush behind it, left the disk's pools: the next may come.
  void LeftPool(PartitionId pid);
  // `step`: kServing, or kFailed: it could not be opened.
  void Ended(PartitionId pid, RecoveryStep step);

 private:
  // Sums up the sizes of the disk's logs, in its pool.
  void Measure(size_t disk);
  void OnMeasured(size_t disk, const std::map<PartitionId, uint64_t>& log_bytes);
  // Opens what the plan allows now, and tells when all have ended.
  void BeginMore();
  // Logs how far it is, again and again until the end.
  void Tell();
  Instant Now() const { return disks_->env.clock().Now(); }

  const std::shared_ptr<const ServerDisks> disks_;
  const StrandPtr strand_;
  const RecoveryMode mode_;
  const std::shared_ptr<RecoveryProgress> progress_;
  // By data directory.
  std::vector<std::vector<FoundReplica>> found_;
  // Of each data directory: the first one that has the same pool. Disks of the plan are numbered
  // so.
  std::vector<size_t> device_;
  Open open_;
  RecoveryPlan plan_;
  // Data directories whose logs are not measured yet.
  size_t unmeasured_ = 0;
  bool is_stopped_ = false;
  bool is_done_ = false;
};

}  // namespace arion
