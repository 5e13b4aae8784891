// ReplicaRoutes: which replicas of a server are here and may be asked, for whoever asks.
//
// Threads   Thread-safe.
// Promises  replica_routes/R1  A replica is found only while it is kOpen.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/base/thread_annotations.h>

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"

namespace arion {

class Replica;

// The ReplicaTable writes it; requests read it on the event loops.
class ReplicaRoutes {
 public:
  // Where a replica is in its life on this server. kLoading: it is being opened, or waits to be
  // opened again after a failure. kOpen: it takes requests. kClosing: it finishes what is under way
  // and takes nothing new. kClosed: only its directory is left, so for other servers it is not
  // here.
  enum class Phase { kLoading, kOpen, kClosing, kClosed };
  struct Route {
    Phase phase = Phase::kLoading;
    // While kOpen.
    std::shared_ptr<Replica> replica;
  };

  // nullopt: not here.
  std::optional<Route> Find(PartitionId pid) const {
    const ReaderLock lock(mutex_);
    const auto it = routes_.find(pid);
    if (it == routes_.end()) return std::nullopt;
    return it->second;
  }
  // The open ones of a table.
  std::vector<std::shared_ptr<Replica>> OpenOf(int32_t app_id) const {
    const ReaderLock lock(mutex_);
    std::vector<std::shared_ptr<Replica>> open;
    // A table's partitions are neighbours: the table's id comes first in their order.
    for (auto it = routes_.lower_bound({app_id, 0}); it != routes_.end(); ++it) {
      if (it->first.app_id != app_id) break;
      if (it->second.phase == Phase::kOpen) open.push_back(it->second.replica);
    }
    return open;
  }
  // `replica` counts while `phase` is kOpen.
  void Set(PartitionId pid, Phase phase, std::shared_ptr<Replica> replica) {
    const WriterLock lock(mutex_);
    routes_[pid] = {.phase = phase,
                    .replica = phase == Phase::kOpen ? std::move(replica) : nullptr};
  }
  void Erase(PartitionId pid) {
    const WriterLock lock(mutex_);
    routes_.erase(pid);
  }

 private:
  mutable SharedMutex mutex_;
  std::map<PartitionId, Route> routes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
