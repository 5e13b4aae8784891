// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/placement_planner.h"

#include <tuple>

namespace arion {

PlacementPlanner::PlacementPlanner(const ClusterState& state) : state_(state) {
  for (const auto& [app_id, table] : state.tables) {
    for (const Partition& partition : table.partitions) {
      if (partition.config.primary.IsValid()) AddPrimary(partition.config.primary, app_id);
      for (Endpoint node : partition.config.secondaries) AddReplica(node, app_id);
      // What was proposed counts as if it had happened, else the next look would choose the same
      // server again.
      if (!partition.intent) continue;
      switch (partition.intent->type) {
        case ConfigType::kAssignPrimary:
          AddPrimary(partition.intent->node, app_id);
          break;
        case ConfigType::kUpgradeToPrimary:
          AddPromotion(partition.intent->node);
          break;
        case ConfigType::kAddSecondary:
          AddReplica(partition.intent->node, app_id);
          break;
        default:
          break;
      }
    }
  }
}

const PlacementPlanner::Load& PlacementPlanner::LoadOf(Endpoint node) const {
  static const Load& none = *new Load();
  auto found = load_.find(node);
  return found == load_.end() ? none : found->second;
}

void PlacementPlanner::AddPrimary(Endpoint node, int32_t app_id) {
  ++load_[node].primaries;
  AddReplica(node, app_id);
}

void PlacementPlanner::AddReplica(Endpoint node, int32_t app_id) {
  Load& load = load_[node];
  ++load.replicas;
  ++load.replicas_of_table[app_id];
}

Endpoint PlacementPlanner::FewestPrimaries(const Filter& may) const {
  Endpoint best;
  for (const auto& [endpoint, node] : state_.nodes) {
    if (!node.alive || !node.collected || !may(endpoint)) continue;
    // The address decides ties, so that equal states give equal plans.
    auto rank = [&](Endpoint e) { return std::tuple(LoadOf(e).primaries, LoadOf(e).replicas, e); };
    if (!best.IsValid() || rank(endpoint) < rank(best)) best = endpoint;
  }
  return best;
}

Endpoint PlacementPlanner::FewestPrimaries(const std::vector<Endpoint>& among) const {
  Endpoint best;
  for (Endpoint endpoint : among) {
    if (!best.IsValid() || LoadOf(endpoint).primaries < LoadOf(best).primaries) best = endpoint;
  }
  return best;
}

Endpoint PlacementPlanner::FewestReplicas(int32_t app_id, const Filter& may) const {
  Endpoint best;
  auto rank = [&](Endpoint e) {
    const Load& load = LoadOf(e);
    auto of_table = load.replicas_of_table.find(app_id);
    return std::tuple(of_table == load.replicas_of_table.end() ? 0 : of_table->second,
                      load.replicas, e);
  };
  for (const auto& [endpoint, node] : state_.nodes) {
    if (!node.alive || !node.collected || !may(endpoint)) continue;
    if (!best.IsValid() || rank(endpoint) < rank(best)) best = endpoint;
  }
  return best;
}

bool PlacementPlanner::HasRoom(Endpoint node) const {
  const Node* server = state_.FindNode(node);
  return server == nullptr || !server->replicas_max ||
         LoadOf(node).replicas < *server->replicas_max;
}

Endpoint PlacementPlanner::MostReplicas(const std::vector<Endpoint>& among) const {
  Endpoint best;
  for (Endpoint endpoint : among) {
    if (!best.IsValid() || LoadOf(endpoint).replicas > LoadOf(best).replicas) best = endpoint;
  }
  return best;
}

}  // namespace arion
