// SlowServers: which servers are slow enough for a look of the guardian to move roles and copies
// away from them. Pure.
//
// Shapes    Two ways to be slow. On a slow disk: the server says so itself, replica by replica. It
//           counts after 2 s, so that others would be known to be slow as well. Acknowledging
//           slowly: others say so (copies/peer_pace.h). A server with a slow disk is judged by that
//           alone. Where most servers are slow, none is: there is nowhere to go. A wrong wall clock
//           counts like a slow disk, for the choice of primaries only (meta_state/cluster_clock.h).
//           A server that stops is no better than a slow one, for that choice. For one look. What
//           it waits for moves *next_look, when waiting ends.
// Lifetime  The state and *next_look outlive it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "meta_state/cluster_state.h"

namespace arion {

// Made for one look of the guardian.
class SlowServers {
 public:
  SlowServers(const ClusterState& state, Instant now, Instant* next_look)
      : state_(state), now_(now), next_look_(*next_look) {}

  // Whether its replica of `pid` is on a slow disk.
  bool IsOnSlowDisk(Endpoint endpoint, PartitionId pid);
  // Whether it is slow as a secondary of that primary.
  bool AcknowledgesSlowly(Endpoint endpoint, Endpoint primary) const;
  // Whether most others call it slow. (One other server alone may itself be badly connected.)
  bool IsSlowToMost(Endpoint endpoint) const;
  // Whether nothing of that speaks against a new copy there; a slow disk counts at once.
  bool MayTakeCopy(Endpoint endpoint, const PartitionConfiguration& config) const;
  // Whether its wall clock is not what most show: by it records would expire too early or too late.
  bool HasWrongClock(Endpoint endpoint) const;
  // Those of `nodes` that may lead and go on running.
  std::vector<Endpoint> FastOf(std::vector<Endpoint> nodes, PartitionId pid);

 private:
  bool MostAreSlow() const;

  const ClusterState& state_;
  const Instant now_;
  Instant& next_look_;
};

}  // namespace arion
