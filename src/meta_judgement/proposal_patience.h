// ProposalPatience: how long a look of the guardian waits for what was proposed, and which servers
// are passed over. A server that was to take a replica and is not seen to do so comes after all
// others: in this look at once, later by Partition::passed_over. Pure.
//
// Shapes    For one look. What it waits for moves *next_look, when waiting ends.
// Lifetime  The state and *next_look outlive it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "meta_judgement/placement_planner.h"
#include "meta_state/cluster_state.h"

namespace arion {

// For each partition: BeginPartition, then the rest.
class ProposalPatience {
 public:
  ProposalPatience(const ClusterState& state, Instant now, Instant* next_look)
      : state_(state), now_(now), next_look_(*next_look) {}

  // What follows is about another partition.
  void BeginPartition() { ignored_.reset(); }
  // The server that is passed over in this look because nothing comes of what it is to do.
  std::optional<Endpoint> ignored() const { return ignored_; }

  // Whether nothing comes of what was proposed. The server that should have taken a replica is then
  // passed over.
  bool GivesUp(const Partition& partition, const Intent& intent);
  bool IsPassedOver(const Partition& partition, Endpoint node) const {
    return PassedOverUntil(partition, node) > now_;
  }
  // Where all servers that may are passed over: the one that has been for longest.
  Endpoint FirstPassedOver(const Partition& partition, const PlacementPlanner::Filter& may) const;

 private:
  // Of a table that begins with another cluster's data, and has not begun.
  bool IsFollower(const Partition& partition) const;
  bool HasPassed(Instant when);
  // Until when others come before it.
  Instant PassedOverUntil(const Partition& partition, Endpoint node) const;

  const ClusterState& state_;
  const Instant now_;
  Instant& next_look_;
  std::optional<Endpoint> ignored_;
};

}  // namespace arion
