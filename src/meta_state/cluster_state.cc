// SPDX-License-Identifier: Apache-2.0
#include "meta_state/cluster_state.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>

#include "base/status.h"
#include "meta_state/configuration_change.h"
#include "meta_state/store_change.h"
#include "meta_state/stored_json.h"
#include "meta_state/table_duplication.h"
#include "meta_state/table_split.h"

namespace arion {
namespace {

constexpr char kAppsPrefix[] = "/apps/";
constexpr char kLevelKey[] = "/arion/function_level";
constexpr char kCommittedPrefix[] = "/arion/committed/";
constexpr char kServersPrefix[] = "/arion/servers/";
constexpr char kMinVersionKey[] = "/arion/min_version";

// Whether `fits` holds for no disk where the replica of `pid` lies or a new one may be made. False
// where the server reports no such disk: nothing is known against it. The disk of the logs holds no
// replica.
template <typename Fits>
bool NoPlaceFits(const Node& node, PartitionId pid, const Fits& fits) {
  const auto replica = node.replicas.find(pid);
  bool any_place = false, any_fits = false;
  for (const DiskReport& disk : node.disks) {
    if (disk.tag == kLogHomeTag) continue;
    if (replica != node.replicas.end() && replica->second.disk_tag != disk.tag) continue;
    any_place = true;
    any_fits |= fits(disk);
  }
  return any_place && !any_fits;
}

absl::Status Damaged(std::string_view key, std::string_view what) {
  return absl::DataLossError(absl::StrCat("meta state, key ", Text(key), ": ", Text(what)));
}

absl::Status ParseCommitted(std::string_view key, const std::string& text, Table* table) {
  const std::vector<absl::string_view> decrees = absl::StrSplit(text, ',');
  const size_t count = table->partitions.size();
  // A short list would put decrees to wrong partitions, and with them wrong verdicts about copies.
  // But a split may have begun since, or been taken back: partitions keep their places.
  const bool was_split = table->info.init_partition_count < table->info.partition_count;
  const bool is_of_fewer = was_split && decrees.size() < count && count % decrees.size() == 0;
  if (decrees.size() != count && decrees.size() != 2 * count && !is_of_fewer)
    return Damaged(key, "is of other partitions");
  for (size_t i = 0; i < decrees.size(); ++i) {
    int64_t decree = 0;
    if (!absl::SimpleAtoi(decrees[i], &decree) || decree < 0) return Damaged(key, "not decrees");
    if (i >= count && decree > 0) return Damaged(key, "is of other partitions");
    if (i < count) table->partitions[i].committed.decree = Decree(decree);
  }
  return absl::OkStatus();
}

// As of a table that has just been created; or dropped before it was whole.
PartitionConfiguration UnmadePartition(const AppInfo& info, int32_t index) {
  PartitionConfiguration config{.pid = {info.app_id, index},
                                .max_replica_count = info.max_replica_count};
  if (info.status == AppStatus::kDropped) config.partition_flags |= kPartitionDropped;
  return config;
}

// A table's own node is stored before its partitions: what it says was begun, and holds.
void FinishChange(const AppInfo& info, PartitionConfiguration* config) {
  // 2.5.0 changes the counts of partitions first, and says so in the meantime.
  if (info.max_replica_count > 0 && !info.envs.contains("max_replica_count.update"))
    config->max_replica_count = info.max_replica_count;
  const bool is_dropped = (config->partition_flags & kPartitionDropped) != 0;
  if (info.status == AppStatus::kDropped && !is_dropped) *config = Emptied(*config);
  if (info.status == AppStatus::kAvailable && is_dropped) *config = Recalled(*config);
}

absl::Status CheckVersion(const std::map<std::string, std::string>& entries) {
  const auto found = entries.find(kMinVersionKey);
  if (found == entries.end()) return absl::OkStatus();
  int32_t needed = 0;
  if (!absl::SimpleAtoi(found->second, &needed)) return Damaged(kMinVersionKey, "not a number");
  if (needed <= kStateVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "meta state, key ", kMinVersionKey, ": what is stored needs version ", needed,
      " of its form; this meta server knows up to ", kStateVersion, ". Run a later Arion here"));
}

}  // namespace

const ReplicaInfo* Node::LoadedReplica(PartitionId pid) const {
  auto found = replicas.find(pid);
  if (found == replicas.end() || found->second.loading.value_or(false)) return nullptr;
  return &found->second;
}

bool Node::IsSlowFor(PartitionId pid) const {
  if (slow_disks.empty()) return false;
  const auto found = replicas.find(pid);
  return found == replicas.end() || slow_disks.contains(found->second.disk_tag) ||
         // Every write waits for a log that lies there, wherever the replica is.
         slow_disks.contains(kLogHomeTag);
}

bool Node::HasFullDisk() const {
  return std::any_of(disks.begin(), disks.end(), [](const auto& d) { return d.takes_no_writes; });
}

bool Node::IsFullFor(PartitionId pid) const {
  // Where the disk of the logs is full, no replica of the server takes writes.
  const bool is_log_full = std::any_of(disks.begin(), disks.end(), [](const DiskReport& disk) {
    return disk.tag == kLogHomeTag && disk.takes_no_writes;
  });
  return is_log_full ||
         NoPlaceFits(*this, pid, [](const DiskReport& disk) { return !disk.takes_no_writes; });
}

bool Node::IsNearlyFullFor(PartitionId pid) const {
  return NoPlaceFits(*this, pid, [this](const DiskReport& disk) {
    return !disk.takes_no_writes && !nearly_full.contains(disk.tag);
  });
}

bool Node::IsTightFor(PartitionId pid) const {
  // A copy that is there already does not grow by staying: only a new one needs so much.
  if (replicas.contains(pid)) return IsNearlyFullFor(pid);
  return NoPlaceFits(*this, pid, [this](const DiskReport& disk) {
    return !disk.takes_no_writes && !nearly_full.contains(disk.tag) &&
           disk.available_bytes - disk.available_bytes_min >=
               disk.total_bytes / 100 * tight_percent;
  });
}

bool Node::GivesAway(PartitionId pid) const {
  const auto replica = replicas.find(pid);
  return replica != replicas.end() && nearly_full.contains(replica->second.disk_tag);
}

bool Node::IsLoading(PartitionId pid) const {
  auto found = replicas.find(pid);
  return found != replicas.end() && found->second.loading.value_or(false);
}

absl::StatusOr<ClusterState> ClusterState::Load(const std::map<std::string, std::string>& entries,
                                                Lacking lacking) {
  ClusterState state;
  RETURN_IF_ERROR(CheckVersion(entries));
  // Pegasus' meta server writes this while it rewrites the whole state: what is there is a part of
  // it.
  if (auto apps = entries.find("/apps"); apps != entries.end() && apps->second == "lock") {
    return Damaged("/apps", "a full rewrite of the state was interrupted");
  }
  if (auto level = entries.find(kLevelKey); level != entries.end()) {
    state.function_level = FindFunctionLevel(level->second);
    if (!state.function_level) return Damaged(kLevelKey, "not a level");
  }
  // Keys come in the order of text, so "/apps/10/0" may precede "/apps/2": partitions are put into
  // their tables when all is read.
  std::map<PartitionId, StoredPartition> partitions;
  for (const auto& [key, value] : entries) {
    if (key.starts_with(kServersPrefix)) {
      const auto server = Endpoint::Parse(key.substr(sizeof(kServersPrefix) - 1));
      if (!server) return Damaged(key, "not an address");
      state.listed.insert(*server);
    }
    if (!key.starts_with(kAppsPrefix)) continue;
    const absl::string_view path = absl::string_view(key).substr(sizeof(kAppsPrefix) - 1);
    const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
    int32_t app_id = 0, index = 0;
    if (!absl::SimpleAtoi(parts[0], &app_id) || app_id < 1) return Damaged(key, "not a table id");
    if (parts.size() == 1) {
      ASSIGN_OR_RETURN(StoredTable table, ParseTable(key, value));
      if (table.info.app_id != app_id) return Damaged(key, "holds another table");
      state.tables[app_id].info = std::move(table.info);
      state.tables[app_id].other_members = std::move(table.other);
    } else if (parts.size() == 2 && absl::SimpleAtoi(parts[1], &index)) {
      ASSIGN_OR_RETURN(StoredPartition partition, ParsePartition(key, value, &state.host_names));
      const PartitionId pid = partition.config.pid;
      if (pid != PartitionId{app_id, index}) return Damaged(key, "holds another partition");
      partitions[pid] = std::move(partition);
    }
  }
  for (auto& [app_id, table] : state.tables) {
    std::vector<bool> stored;
    for (int32_t i = 0; i < table.info.partition_count; ++i)
      stored.push_back(partitions.contains({app_id, i}));
    ASSIGN_OR_RETURN(table.split, LoadSplit(entries, table.info, stored));
    for (int32_t i = 0; i < table.info.partition_count; ++i) {
      const bool is_child = table.split && i >= table.split->from;
      if (!stored[i] && !is_child && lacking == Lacking::kIsDamage)
        return Damaged(absl::StrCat(kAppsPrefix, app_id, "/", i), "missing");
      Partition partition;
      if (stored[i]) {
        StoredPartition& read = partitions[{app_id, i}];
        partition.config = std::move(read.config);
        partition.other_members = std::move(read.other);
      } else {
        partition.config =
            is_child ? UnregisteredChild(table.info, i) : UnmadePartition(table.info, i);
      }
      if (lacking == Lacking::kIsMade) FinishChange(table.info, &partition.config);
      // When they left is not stored (nullopt), only in which order.
      for (Endpoint node : partition.config.last_drops) partition.dropped.push_back({.node = node});
      // A member that is named may hold a lease from the meta server's former life. So it has an
      // entry, which ServerRequests::Begin takes for alive.
      for (Endpoint node : partition.config.secondaries) state.nodes[node];
      if (partition.config.primary.IsValid()) state.nodes[partition.config.primary];
      table.partitions.push_back(std::move(partition));
    }
  }
  for (const auto& [pid, config] : partitions) {
    if (!state.tables.contains(pid.app_id)) {
      return Damaged(absl::StrCat(kAppsPrefix, pid.app_id, "/", pid.index), "has no table");
    }
  }
  for (auto& [app_id, table] : state.tables) {
    LoadDuplications(entries, &table);
    const auto found = entries.find(absl::StrCat(kCommittedPrefix, app_id));
    if (found != entries.end())
      RETURN_IF_ERROR(ParseCommitted(found->first, found->second, &table));
  }
  state.awaited = state.listed;
  return state;
}

Table* ClusterState::FindTable(int32_t app_id) {
  auto found = tables.find(app_id);
  return found == tables.end() ? nullptr : &found->second;
}
const Table* ClusterState::FindTable(int32_t app_id) const {
  auto found = tables.find(app_id);
  return found == tables.end() ? nullptr : &found->second;
}

const Table* ClusterState::FindTableByName(std::string_view name) const {
  for (const auto& [id, table] : tables) {
    if (table.info.status != AppStatus::kDropped && table.info.app_name == name) return &table;
  }
  return nullptr;
}

Partition* ClusterState::FindPartition(PartitionId pid) {
  Table* table = FindTable(pid.app_id);
  if (table == nullptr || pid.index < 0) return nullptr;
  size_t index = static_cast<size_t>(pid.index);
  return index < table->partitions.size() ? &table->partitions[index] : nullptr;
}
const Partition* ClusterState::FindPartition(PartitionId pid) const {
  // FindPartition changes nothing.
  return const_cast<ClusterState*>(this)->FindPartition(pid);
}

int32_t ClusterState::NextAppId() const {
  return std::max(tables.empty() ? 0 : tables.rbegin()->first, last_reserved_app_id) + 1;
}

const Node* ClusterState::FindNode(Endpoint node) const {
  auto found = nodes.find(node);
  return found == nodes.end() ? nullptr : &found->second;
}

bool ClusterState::IsAlive(Endpoint node) const {
  const Node* found = FindNode(node);
  return found != nullptr && found->alive;
}

size_t ClusterState::SlownessReports(Endpoint endpoint) const {
  return static_cast<size_t>(std::count_if(nodes.begin(), nodes.end(), [&](const auto& entry) {
    return entry.second.alive && entry.second.slow_members.contains(endpoint);
  }));
}

bool ClusterState::IsStopping(Endpoint node) const {
  const Node* found = FindNode(node);
  return found != nullptr && found->is_stopping;
}

size_t ClusterState::AliveCount() const {
  return std::count_if(nodes.begin(), nodes.end(), [](const auto& n) { return n.second.alive; });
}

ClusterState::Room ClusterState::RoomOfAll() const {
  // No server reports a replica of it, so each is asked about room for a new one.
  constexpr PartitionId kNewReplica{};  // of no partition there is
  const bool any = std::any_of(nodes.begin(), nodes.end(), [&](const auto& entry) {
    const Node& node = entry.second;
    return node.alive && !node.disks.empty() && !node.IsTightFor(kNewReplica);
  });
  return any ? Room::kSomebodyHasMuch : Room::kNobodyHasMuch;
}

bool IsAvoided(const Node& node, PartitionId pid, ClusterState::Room others) {
  return others == ClusterState::Room::kSomebodyHasMuch ? node.IsTightFor(pid)
                                                        : node.IsNearlyFullFor(pid);
}

bool ClusterState::HaveAllTold(PartitionId pid) const {
  return awaited.empty() && std::all_of(nodes.begin(), nodes.end(), [&](const auto& entry) {
           const Node& node = entry.second;
           return !node.alive || (node.collected && !node.IsLoading(pid));
         });
}

FunctionLevel ClusterState::Level(const LivenessLimits& limits) const {
  int64_t known = static_cast<int64_t>(nodes.size());
  int64_t alive = static_cast<int64_t>(AliveCount());
  // In a small cluster one server may be missing, so that a failover is possible with two servers.
  int64_t needed = limits.min_live_node_count > 0
                       ? limits.min_live_node_count
                       : std::max<int64_t>(1, std::min<int64_t>(3, known - 1));
  // Where most servers are silent, the network of this meta server is the likelier cause.
  bool enough = alive >= needed && alive * 100 >= limits.live_percentage * known;
  return enough ? SetLevel() : std::min(SetLevel(), FunctionLevel::kFreezed);
}

StoreChange ClusterState::ChangeOf(const AppInfo& info) const {
  const Table* table = FindTable(info.app_id);
  return {absl::StrCat(kAppsPrefix, info.app_id),
          TableJson(info, table == nullptr ? "" : table->other_members)};
}

StoreChange ClusterState::ChangeOf(const PartitionConfiguration& config) const {
  const Partition* partition = FindPartition(config.pid);
  return {absl::StrCat(kAppsPrefix, config.pid.app_id, "/", config.pid.index),
          PartitionJson(config, host_names, partition == nullptr ? "" : partition->other_members)};
}

StoreChange ClusterState::ChangeOfCommitted(const Table& table, std::optional<int32_t> anew) {
  const auto append = [&](std::string* out, const Partition& partition) {
    const bool begins_anew = anew && partition.config.pid.index == *anew;
    absl::StrAppend(out, begins_anew ? 0 : partition.committed.decree.value());
  };
  return {absl::StrCat(kCommittedPrefix, table.info.app_id),
          absl::StrJoin(table.partitions, ",", append)};
}

StoreChange ClusterState::ChangeOfListed(Endpoint server, bool is_listed) {
  const auto value = is_listed ? std::optional<std::string>("") : std::nullopt;
  // The key alone says it, the value has no meaning.
  return {absl::StrCat(kServersPrefix, server.ToString()), value};
}

StoreChange ClusterState::ChangeOf(FunctionLevel level) {
  return {kLevelKey, std::string(FunctionLevelName(level))};
}

}  // namespace arion
