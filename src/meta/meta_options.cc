// SPDX-License-Identifier: Apache-2.0
#include "meta/meta_options.h"

#include "meta_judgement/partition_guardian.h"
#include "meta_state/table_duplication.h"
#include "meta_state/table_lifecycle.h"

namespace arion {

void TakeChangeable(const MetaServerOptions& from, MetaServerOptions* to) {
  to->guardian_interval = from.guardian_interval;
  to->min_live_node_count_for_unfreeze = from.min_live_node_count_for_unfreeze;
  to->node_live_percentage_threshold_for_update = from.node_live_percentage_threshold_for_update;
  to->replica_assign_delay_for_dropouts = from.replica_assign_delay_for_dropouts;
  to->hold_dropped_app = from.hold_dropped_app;
  to->min_allowed_replica_count = from.min_allowed_replica_count;
  to->max_allowed_replica_count = from.max_allowed_replica_count;
  to->balance_only_moves_primaries = from.balance_only_moves_primaries;
}

FunctionLevel LevelOf(const ClusterState& state, const MetaServerOptions& options) {
  return state.Level({.min_live_node_count = options.min_live_node_count_for_unfreeze,
                      .live_percentage = options.node_live_percentage_threshold_for_update});
}

KnownClusters ClustersOf(const MetaServerOptions& options) {
  KnownClusters known{.own = options.cluster_name, .ids = options.cluster_ids, .reachable = {}};
  for (const auto& [cluster, addresses] : options.clusters) known.reachable.insert(cluster);
  return known;
}

TableLimits LimitsOf(const MetaServerOptions& options) {
  return {.min_replica_count = options.min_allowed_replica_count,
          .max_replica_count = options.max_allowed_replica_count,
          .hold_dropped = options.hold_dropped_app};
}

GuardianOptions GuardianOf(const MetaServerOptions& options) {
  return {.grace = options.grace,
          .replica_assign_delay_for_dropouts = options.replica_assign_delay_for_dropouts,
          .mutation_2pc_min_replica_count = options.mutation_2pc_min_replica_count};
}

}  // namespace arion
