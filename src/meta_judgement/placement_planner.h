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
#include <vector>

#include "meta_state/cluster_state.h"

namespace arion {

// Choose, then report the choice with an Add method, so that the next choice counts it.
class PlacementPlanner {
 public:
  // Counts configurations and intents.
  explicit PlacementPlanner(const ClusterState& state);

  using Filter = std::function<bool(Endpoint)>;
  // Of all servers that are alive, have reported and pass `may`: the one with the fewest primaries;
  // or an invalid endpoint.
  Endpoint FewestPrimaries(const Filter& may) const;
  // The same among the servers given; of equal ones the first.
  Endpoint FewestPrimaries(const std::vector<Endpoint>& among) const;
  // The one with the fewest replicas of the table, then in total.
  Endpoint FewestReplicas(int32_t app_id, const Filter& may) const;
  // Whether the server's limit of open files carries one more replica.
  bool HasRoom(Endpoint node) const;
  Endpoint MostReplicas(const std::vector<Endpoint>& among) const;

  // A choice was made: of a new partition's primary, of a secondary that becomes primary, of a new
  // replica.
  void AddPrimary(Endpoint node, int32_t app_id);
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
