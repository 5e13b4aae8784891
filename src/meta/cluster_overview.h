// What the cluster is like in numbers, for metrics and pages, from the state alone. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "meta/cluster_state.h"

namespace arion {

// Worst first (spec/meta-and-admin.md 1.1).
enum class PartitionHealth {
  kDead,         // no member
  kUnreadable,   // no primary
  kUnwritable,   // too few members for a write
  kWritableIll,  // fewer members than the table's replica count
  kHealthy,
};
constexpr size_t kPartitionHealths = 5;
std::string_view PartitionHealthName(PartitionHealth health);  // "writable_ill"

// `write_members_min`: mutation_2pc_min_replica_count.
PartitionHealth HealthOf(const PartitionConfiguration& config, int32_t write_members_min);

struct TableOverview {
  int32_t app_id = 0;
  std::string name;
  std::array<int32_t, kPartitionHealths> partitions{};  // by PartitionHealth
};

struct ClusterOverview {
  int32_t alive_servers = 0;
  int32_t dead_servers = 0;
  FunctionLevel level = FunctionLevel::kSteady;
  std::vector<TableOverview> tables;  // those that serve, by id
};

ClusterOverview OverviewOf(const ClusterState& state, FunctionLevel level,
                           int32_t write_members_min);

}  // namespace arion
