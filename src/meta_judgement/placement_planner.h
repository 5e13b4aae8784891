// PlacementPlanner chooses servers: who has least, counting what was proposed but has not happened
// yet. Pure.
//
// Promises  placement_planner/B1  After n choices from equal servers, the numbers of primaries (and
//               of replicas) differ by at most one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "meta_state/cluster_state.h"

namespace arion {

class PlacementPlanner {
 public:
  // Counts configurations and intents.
  explicit PlacementPlanner(const ClusterState& state);

  using Filter = std::function<bool(Endpoint)>;
  // Of all servers that are alive, have reported and pass: the one with the fewest primaries, or an
  // invalid endpoint.
  Endpoint FewestPrimaries(const Filter& may) const;
  Endpoint FewestPrimaries(
      const std::vector<Endpoint>& among) const;  // `among` in its order on ties
  // ... with the fewest replicas of the table, then in total.
  Endpoint FewestReplicas(int32_t app_id, const Filter& may) const;
  // Its limit of open files carries one more.
  bool HasRoom(Endpoint node) const;
  Endpoint MostReplicas(const std::vector<Endpoint>& among) const;

  // A choice was made.
  void AddPrimary(Endpoint node, int32_t app_id);  // of a new partition
  void AddPromotion(Endpoint node) { ++load_[node].primaries; }
  void AddReplica(Endpoint node, int32_t app_id);

 private:
  struct Load {
    int32_t primaries = 0;
    int32_t replicas = 0;
    std::map<int32_t, int32_t> replicas_of_table;
  };
  const Load& LoadOf(Endpoint node) const;

  const ClusterState& state_;
  std::map<Endpoint, Load> load_;
};

}  // namespace arion
