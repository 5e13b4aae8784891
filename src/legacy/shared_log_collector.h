// SharedLogCollector: removes the files of a shared log that was taken over, oldest first, as soon
// as no replica needs them, down to none (legacy/FORMAT.md 4).
//
// Shapes    A round each interval: ask the replicas, plan, have those that hold it back flush (a
//           bounded number), remove. Each removal is durable before the next, so no hole ever
//           appears. After the last one init_offset_in_shared_log becomes 0 everywhere. Files of a
//           damaged log that was passed over are renamed <file>.set-aside instead. Replicas that
//           the log names and that are in no data directory hold it back until the meta server says
//           that nobody needs them here, or missing_wait_max is over. While a disk is missing only
//           the latter counts (decision 11).
// Threads   Strand-bound to the server's strand; files in the pool of the log's disk.
// Lifetime  Held by shared_ptr. The environment outlives it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/instant.h"
#include "env/environment.h"
#include "legacy/collection_planner.h"
#include "legacy/shared_log_catalog.h"
#include "legacy/shared_log_options.h"

namespace arion {

struct SharedLogStats;

// One log's; the replica server makes it. Start after the take-over has read it; on_gone comes at
// the end, once.
class SharedLogCollector : public std::enable_shared_from_this<SharedLogCollector> {
 public:
  // What becomes of a file that nobody needs.
  enum class Disposal { kRemove, kSetAside };
  // A question for the meta server.
  struct Missing {
    std::set<PartitionId> replicas;
    // The answer: those of the replicas that nobody needs here.
    std::function<void(const std::vector<PartitionId>&)> on_unneeded;
  };
  // What the replicas of this server say of themselves.
  struct Replicas {
    std::map<PartitionId, CollectionInput::Loaded> loaded;
    // Here, but not open, or they failed to open.
    std::set<PartitionId> unopened;
  };
  // What the server does for it; each is called on the strand.
  struct Server {
    // Asks all replicas; the answer comes on the strand.
    std::function<void(std::function<void(Replicas)>)> ask_replicas;
    // Makes a replica flush, after that delay.
    std::function<void(PartitionId, absl::Duration after)> flush;
    std::function<void(Missing)> ask_about_missing;
    // No file is left.
    std::function<void()> on_gone;
  };
  // `found`: what was not loaded at the start. `catalog`: all files there are.
  SharedLogCollector(Environment& env, StrandPtr strand, const SharedLogOptions& options,
                     Server server, NotLoadedReplicas found, SharedLogCatalog catalog,
                     Disposal disposal, std::shared_ptr<SharedLogStats> stats);

  // `max_of_newest`: what the take-over saw.
  void Start(const std::map<PartitionId, Decree>& max_of_newest);
  // No round begins after this.
  void Stop() { is_stopped_ = true; }

 private:
  void Schedule();
  void Round();
  void OnReplicas(Replicas replicas);
  CollectionInput InputOf(Replicas replicas) const;
  void AddMissing(CollectionInput* input);
  bool IsForeign(const CollectionInput& input);
  void Say(const CollectionPlan& plan);
  void ForceFlushes(const CollectionPlan& plan);
  void Remove(size_t count);
  void OnRemoved(size_t removed, const absl::Status& status);
  void OnGone();

  Environment& env_;
  const StrandPtr strand_;
  const SharedLogOptions options_;
  const Server server_;
  const NotLoadedReplicas found_;
  // What is left.
  SharedLogCatalog catalog_;
  const Disposal disposal_;
  const std::shared_ptr<SharedLogStats> stats_;
  const Instant began_;
  // As the meta server said.
  std::set<PartitionId> unneeded_;
  // In the order of catalog_.files.
  std::vector<CollectionFile> files_;
  FlushLimiter limiter_;
  bool is_foreign_said_ = false;
  std::string said_;
  bool is_stopped_ = false;
};

}  // namespace arion
