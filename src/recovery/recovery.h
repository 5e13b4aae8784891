// Recovery: opens the replicas that a starting server found, as RecoveryPlan orders them, and tells
// how far it is.
//
// Threads   Strand-bound to the server's strand. Each disk's logs are measured in that disk's pool.
// Lifetime  Held by shared_ptr.
// Promises  No disk waits for another (RecoveryMode::kParallel). At most lanes_per_disk openings of
//           a disk, each until the flush behind it ends, are in its pools, so that those which serve
//           already find a thread there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <map>
#include <memory>
#include <vector>

#include "disks/disk_layout.h"
#include "disks/replica_directory.h"
#include "recovery/recovery_plan.h"
#include "recovery/recovery_progress.h"

namespace arion {

class Recovery : public std::enable_shared_from_this<Recovery> {
 public:
  // `open` is to open one of `found` and have Ended called.
  using Open = absl::AnyInvocable<void(PartitionId)>;
  Recovery(std::shared_ptr<const ServerDisks> disks, StrandPtr strand,
           const RecoveryOptions& options, std::shared_ptr<RecoveryProgress> progress,
           const std::vector<FoundReplica>& found, Open open);

  void Start();
  // Nothing more is begun.
  void Stop();
  // Of one that waits; what the meta server says.
  void SetRole(PartitionId pid, LastRole role) { plan_.SetRole(pid, role); }
  // Of one that is open and has not left the pool: may what it replayed stay unflushed?
  bool MayKeepUnflushed(PartitionId pid);
  // The opening, and the flush behind it, left the disk's pools: the next may come.
  void LeftPool(PartitionId pid);
  // It serves, or could not be opened.
  void Ended(PartitionId pid, RecoveryStep step);

 private:
  void Measure(size_t disk);
  void OnMeasured(size_t disk, const std::map<PartitionId, uint64_t>& log_bytes);
  void BeginMore();
  void Tell();
  Instant Now() const { return disks_->env.clock().Now(); }

  const std::shared_ptr<const ServerDisks> disks_;
  const StrandPtr strand_;
  const RecoveryMode mode_;
  const std::shared_ptr<RecoveryProgress> progress_;
  std::vector<std::vector<FoundReplica>> found_;  // by data directory
  std::vector<size_t> device_;                    // of each data directory: the first on its pool
  Open open_;
  RecoveryPlan plan_;
  size_t unmeasured_ = 0;  // data directories
  bool is_stopped_ = false;
  bool is_done_ = false;
};

}  // namespace arion
