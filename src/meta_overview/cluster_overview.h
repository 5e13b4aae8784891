// What the cluster is like, for metrics and pages, from the state alone. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
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
  // No member.
  kDead,
  // No primary.
  kUnreadable,
  // Too few members for a write.
  kUnwritable,
  // Fewer members than the table's replica count.
  kWritableIll,
  kHealthy,
};
constexpr size_t kPartitionHealths = 5;
// "writable_ill"
std::string_view PartitionHealthName(PartitionHealth health);

// `write_members_min`: mutation_2pc_min_replica_count.
PartitionHealth HealthOf(const PartitionConfiguration& config, int32_t write_members_min);

// How many replicas one server has, of one table or of all.
struct ServerShare {
  int32_t primaries = 0;
  int32_t secondaries = 0;
  // Of both: those whose partition is not kHealthy.
  int32_t unhealthy = 0;
  // Of both and others: found at the server's start, not open yet.
  int32_t opening = 0;
  // Proposed here, no member yet.
  int32_t learning = 0;

  int64_t copies() const { return int64_t{primaries} + secondaries + learning; }
  bool IsEmpty() const { return primaries + secondaries + opening + learning == 0; }
  bool operator==(const ServerShare&) const = default;
};

// A split of a table that is under way.
struct SplitOverview {
  // Partitions before, and after.
  int32_t from = 0, to = 0;
  // Children that are there already.
  int32_t registered = 0;
  int32_t paused = 0;
  // By index of the parents whose children are not: what is being done, or waited for.
  std::map<int32_t, std::string> progress;
  // MetaServer::Overview's; nullopt: not known.
  std::optional<int64_t> seconds_left;
};

// One table that serves (not one that is dropped, or under way).
struct TableOverview {
  int32_t app_id = 0;
  std::string name;
  int32_t replica_count = 0;
  // By PartitionHealth. Children that a split has not made yet are none.
  std::array<int32_t, kPartitionHealths> partitions{};
  // Of these, those whose copies differ, and no majority says which is right.
  int32_t undecided = 0;
  // Without empty ones.
  std::map<Endpoint, ServerShare> servers;
  // Of the replicas that were reported; empty: not known. Older versions' replicas acknowledge what
  // is in their page cache.
  std::set<Durability> durability;
  // Servers of an older version that are members of some of it.
  std::set<Endpoint> older_servers;
  std::optional<SplitOverview> split;
};

// One server, alive or dead; numbers are of what it reported last.
struct ServerOverview {
  Endpoint address;
  bool is_alive = false;
  // Of an older version (Apache Pegasus).
  bool is_older = false;
  bool has_unreadable_disks = false;
  ServerShare share;
  // Its wall clock minus what most show.
  std::optional<int64_t> clock_offset_ms;
  bool has_wrong_clock = false;
  // Copies that lack what their groups have committed.
  int32_t older_copies = 0;
  // Those found within a day, the ones that have learned since included.
  int64_t older_copies_recently = 0;
  // It takes no more copies: its limit of open files, open_files_max, carries replicas_max of them.
  bool lacks_open_files = false;
  int64_t replicas_max = 0, open_files_max = 0;
  // Of a living server: those that take no writes.
  std::vector<DiskReport> full_disks;
};

// A step that was proposed and has not happened yet.
struct WorkOverview {
  PartitionId pid;
  ConfigType type = ConfigType::kInvalid;
  // The server that it is about.
  Endpoint node;
};

// Of a meta server: which of several leads.
struct Leadership {
  bool is_one_of_several = false;
  bool is_leader = true;
  // Invalid: not known. Its own address where it leads.
  Endpoint leader;
  // When this one began to lead; 0: it does not, or is the only one.
  int64_t since_unix_ms = 0;
};

// The whole cluster at one moment: a copy, so that pages and metrics read it on their own threads.
// MetaServer::Overview makes it on the meta server's strand and adds `store` and the warnings that
// only it knows.
struct ClusterOverview {
  int32_t alive_servers = 0;
  int32_t dead_servers = 0;
  FunctionLevel level = FunctionLevel::kSteady;
  Clocks clocks;
  // By address.
  std::vector<ServerOverview> servers;
  // Those that serve, by id.
  std::vector<TableOverview> tables;
  // By partition.
  std::vector<WorkOverview> work;
  std::vector<ClusterWarning> warnings;
  StoreRoom store;
  Leadership leadership;
};

// `write_members_min`: mutation_2pc_min_replica_count.
ClusterOverview OverviewOf(const ClusterState& state, FunctionLevel level,
                           int32_t write_members_min);

}  // namespace arion
