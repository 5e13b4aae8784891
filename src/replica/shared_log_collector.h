// SharedLogCollector: removes the files of a shared log that was taken over, oldest first, as soon
// as no replica needs them, down to none (legacy/FORMAT.md 4).
//
// Shapes    A round each interval: ask all replicas, plan, have those that hold it back flush (a
//           bounded number), remove. Each removal is durable before the next, so no hole ever
//           appears. After the last one init_offset_in_shared_log becomes 0 everywhere.
//           Files of a damaged log that was passed over are renamed <file>.set-aside instead.
//           Replicas it names that are in no data directory hold it back until the meta server says
//           that nobody needs them here, or shared_log_missing_wait_max is over; while a disk is
//           missing only the latter counts (decision 11).
// Threads   Strand-bound to the server's strand; files in the pool of the log's disk.
// Lifetime  Held by shared_ptr. The host outlives it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "legacy/collection_planner.h"
#include "replica/replica_host.h"
#include "replica/replica_table.h"

namespace arion {

class SharedLogCollector : public std::enable_shared_from_this<SharedLogCollector> {
 public:
  enum class Disposal { kRemove, kSetAside };
  // What the data directories held when the server started.
  struct Found {
    CollectionInput::Disks disks = CollectionInput::Disks::kAllReadable;
    std::set<PartitionId> unloaded;   // a directory that can't be understood
    std::set<PartitionId> set_aside;  // .err, .gar
  };
  struct Missing {
    std::set<PartitionId> replicas;
    std::function<void(const std::vector<PartitionId>&)> on_unneeded;  // the meta server's answer
  };
  SharedLogCollector(std::shared_ptr<const ReplicaHost> host, StrandPtr strand,
                     std::shared_ptr<ReplicaTable> table, Found found, SharedLogCatalog catalog,
                     Disposal disposal, std::function<void(Missing)> ask_about_missing);

  // `max_of_newest`: what the take-over saw.
  void Start(const std::map<PartitionId, Decree>& max_of_newest);
  void Stop() { is_stopped_ = true; }

 private:
  void Schedule();
  void Round();
  void OnSnapshots(const std::vector<ReplicaSnapshot>& snapshots);
  CollectionInput InputOf(const std::vector<ReplicaSnapshot>& snapshots) const;
  void AddMissing(CollectionInput* input);
  bool IsForeign(const CollectionInput& input);
  void Say(const CollectionPlan& plan);
  void ForceFlushes(const CollectionPlan& plan);
  void Remove(size_t count);
  void OnRemoved(size_t removed, const absl::Status& status);
  void OnGone();

  const std::shared_ptr<const ReplicaHost> host_;
  const StrandPtr strand_;
  const std::shared_ptr<ReplicaTable> table_;
  const Found found_;
  SharedLogCatalog catalog_;  // what is left
  const Disposal disposal_;
  const std::function<void(Missing)> ask_about_missing_;
  const Instant began_;
  std::set<PartitionId> unneeded_;     // says the meta server
  std::vector<CollectionFile> files_;  // as catalog_.files
  FlushLimiter limiter_;
  bool is_foreign_said_ = false;
  std::string said_;
  bool is_stopped_ = false;
};

}  // namespace arion
