// What the cluster is like, for metrics and pages, from the state alone. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "meta_state/cluster_state.h"
#include "meta_state/cluster_warning.h"
#include "meta_state/store_room.h"

namespace arion {

// Worst first.
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

// What one server holds, of one table or of all.
struct ServerShare {
  int32_t primaries = 0;
  int32_t secondaries = 0;
  int32_t unhealthy = 0;  // of both: those whose partition is not kHealthy
  int32_t opening = 0;    // of both and others: found at the server's start, not open yet
  int32_t learning = 0;   // proposed here, no member yet

  int64_t copies() const { return int64_t{primaries} + secondaries + learning; }
  bool IsEmpty() const { return primaries + secondaries + opening + learning == 0; }
  bool operator==(const ServerShare&) const = default;
};

struct TableOverview {
  int32_t app_id = 0;
  std::string name;
  int32_t replica_count = 0;
  std::array<int32_t, kPartitionHealths> partitions{};  // by PartitionHealth
  // Of these, those whose copies differ, and no majority says which is right.
  int32_t undecided = 0;
  std::map<Endpoint, ServerShare> servers;  // without empty ones
  // Of the replicas that were reported; empty: not known. An older version's acknowledge what is in
  // their page cache.
  std::set<Durability> durability;
  std::set<Endpoint> older_servers;  // those of an older version that are members of some of it
};

struct ServerOverview {
  Endpoint address;
  bool is_alive = false;
  bool is_older = false;  // of an older version (Apache Pegasus)
  bool has_unreadable_disks = false;
  ServerShare share;
  std::optional<int64_t> clock_offset_ms;  // its wall clock minus what most show
  bool has_wrong_clock = false;
  int32_t older_copies = 0;           // that lack what their groups have committed
  int64_t older_copies_recently = 0;  // found within a day, those that have learned since included
  // It takes no more copies: so many carries its limit of open files, which is that.
  bool lacks_open_files = false;
  int64_t replicas_max = 0, open_files_max = 0;
  std::vector<DiskReport> full_disks;  // of a living one: those that take no writes
};

// A step that was proposed and has not happened yet.
struct WorkOverview {
  PartitionId pid;
  ConfigType type = ConfigType::kInvalid;
  Endpoint node;  // whom it is about
};

struct ClusterOverview {
  int32_t alive_servers = 0;
  int32_t dead_servers = 0;
  FunctionLevel level = FunctionLevel::kSteady;
  Clocks clocks;
  std::vector<ServerOverview> servers;  // by address
  std::vector<TableOverview> tables;    // those that serve, by id
  std::vector<WorkOverview> work;       // by partition
  std::vector<ClusterWarning> warnings;
  StoreRoom store;
};

ClusterOverview OverviewOf(const ClusterState& state, FunctionLevel level,
                           int32_t write_members_min);

}  // namespace arion
