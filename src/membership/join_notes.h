// JoinNotes: how far this server's joining of an older version's cluster is, and what is in the way: for
// displays, and for who decides whether a proposal is followed.
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "membership/join_tolerance.h"

namespace arion {

class JoinNotes {
 public:
  // It does not take part yet, and why; empty: nothing is in the way.
  void SetWaiting(std::vector<std::string> why);
  // It takes part.
  void SetJoined(Endpoint meta_server);
  // What the meta server lists, while this server takes part.
  void SetListing(const ClusterListing& listing);
  // Partitions that are here and that an older version's meta server does not know: it is not told.
  void SetUnreported(std::vector<PartitionId> unreported);

  std::optional<Obstacle> ObstacleOf(int32_t app_id) const;
  // What it waits for, and tables of which no new copy is taken.
  size_t obstacles() const;
  std::string Text() const;  // a line each; of a server that joins nothing: one that says so

 private:
  enum class State { kNotAsked, kWaiting, kJoined };
  mutable Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kNotAsked;
  Endpoint meta_server_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> waiting_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);  // of obstacles_
  std::map<int32_t, Obstacle> obstacles_ ABSL_GUARDED_BY(mutex_);
  std::vector<PartitionId> unreported_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
