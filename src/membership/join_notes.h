// JoinNotes: how far this server's joining of an older version's cluster is, and what is in the
// way: for displays, and for those who decide whether a proposal is followed.
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

// One for a server. It also logs each new reason once.
class JoinNotes {
 public:
  // The server does not take part yet; `why` has a line for each reason.
  void SetWaiting(std::vector<std::string> why);
  // The server takes part, admitted with this meta server.
  void SetJoined(Endpoint meta_server);
  // What the meta server lists, while this server takes part.
  void SetListing(const ClusterListing& listing);
  // Partitions that are here and that an older version's meta server does not know. It is not told.
  void SetUnreported(std::vector<PartitionId> unreported);

  // Why no new copy of that table is taken here; nullopt: nothing is in the way.
  std::optional<Obstacle> ObstacleOf(int32_t app_id) const;
  // How many reasons to wait, and tables of which no new copy is taken, there are.
  size_t obstacles() const;
  // A line for each; of a server that joins nothing: one line that says so.
  std::string Text() const;

 private:
  // kNotAsked: this server joins nothing, or has not asked yet.
  enum class State { kNotAsked, kWaiting, kJoined };
  mutable Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kNotAsked;
  Endpoint meta_server_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> waiting_ ABSL_GUARDED_BY(mutex_);
  // Of obstacles_.
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
  std::map<int32_t, Obstacle> obstacles_ ABSL_GUARDED_BY(mutex_);
  std::vector<PartitionId> unreported_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
