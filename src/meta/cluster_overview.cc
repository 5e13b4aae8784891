// SPDX-License-Identifier: Apache-2.0
#include "meta/cluster_overview.h"

#include "messages/write_members.h"

namespace arion {

std::string_view PartitionHealthName(PartitionHealth health) {
  constexpr std::array<std::string_view, kPartitionHealths> kNames = {
      "dead", "unreadable", "unwritable", "writable_ill", "healthy"};
  return kNames[static_cast<size_t>(health)];
}

PartitionHealth HealthOf(const PartitionConfiguration& config, int32_t write_members_min) {
  const auto members = static_cast<int32_t>(config.MemberCount());
  if (members == 0) return PartitionHealth::kDead;
  if (!config.primary.IsValid()) return PartitionHealth::kUnreadable;
  if (members < WriteMembersMin(write_members_min, config.max_replica_count))
    return PartitionHealth::kUnwritable;
  if (members < config.max_replica_count) return PartitionHealth::kWritableIll;
  return PartitionHealth::kHealthy;
}

ClusterOverview OverviewOf(const ClusterState& state, FunctionLevel level,
                           int32_t write_members_min) {
  ClusterOverview overview{.level = level};
  for (const auto& [endpoint, node] : state.nodes)
    ++(node.alive ? overview.alive_servers : overview.dead_servers);
  for (const auto& [app_id, table] : state.tables) {
    if (table.info.status != AppStatus::kAvailable) continue;
    TableOverview row{.app_id = app_id, .name = table.info.app_name};
    for (const Partition& partition : table.partitions)
      ++row.partitions[static_cast<size_t>(HealthOf(partition.config, write_members_min))];
    overview.tables.push_back(std::move(row));
  }
  return overview;
}

}  // namespace arion
