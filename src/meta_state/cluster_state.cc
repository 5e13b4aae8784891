// SPDX-License-Identifier: Apache-2.0
#include "meta_state/cluster_state.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>

#include "base/status.h"
#include "meta_state/configuration_change.h"
#include "meta_state/store_change.h"
#include "meta_state/table_duplication.h"
#include "meta_state/table_split.h"

namespace arion {
namespace {

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;
constexpr char kAppStatusScope[] = "app_status::";
// What Pegasus writes where there is no server. Tools of both read the other's state.
constexpr char kNoAddress[] = "invalid address";
constexpr char kNoHostPort[] = "invalid host_port";
constexpr char kAppsPrefix[] = "/apps/";
constexpr char kLevelKey[] = "/arion/function_level";
constexpr char kCommittedPrefix[] = "/arion/committed/";
constexpr char kServersPrefix[] = "/arion/servers/";

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

void Write(JsonWriter& json, std::string_view text) {
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

std::string AddressText(Endpoint endpoint) {
  return endpoint.IsValid() ? endpoint.ToString() : std::string(kNoAddress);
}

std::string TableJson(const AppInfo& info) {
  rapidjson::StringBuffer buffer;
  JsonWriter json(buffer);
  json.StartObject();
  json.Key("status");
  Write(json, std::string(kAppStatusScope) + std::string(AppStatusName(info.status)));
  json.Key("app_type");
  Write(json, info.app_type);
  json.Key("app_name");
  Write(json, info.app_name);
  json.Key("app_id");
  json.Int(info.app_id);
  json.Key("partition_count");
  json.Int(info.partition_count);
  json.Key("envs");
  json.StartObject();
  for (const auto& [key, value] : info.envs) {
    json.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
    Write(json, value);
  }
  json.EndObject();
  json.Key("is_stateful");
  // Pegasus writes truth values as numbers here.
  json.Int(info.is_stateful ? 1 : 0);
  json.Key("max_replica_count");
  json.Int(info.max_replica_count);
  json.Key("expire_second");
  json.Int64(info.expire_second);
  json.Key("create_second");
  json.Int64(info.create_second);
  json.Key("drop_second");
  json.Int64(info.drop_second);
  json.Key("duplicating");
  json.Int(info.duplicating ? 1 : 0);
  json.Key("init_partition_count");
  json.Int(info.init_partition_count);
  json.Key("is_bulk_loading");
  json.Int(info.is_bulk_loading ? 1 : 0);
  json.Key("atomic_idempotent");
  json.Int(info.atomic_idempotent.value_or(false) ? 1 : 0);
  if (info.version) {
    json.Key("arion_version");
    json.Int64(*info.version);
  }
  json.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

std::string PartitionJson(const PartitionConfiguration& config,
                          const std::map<Endpoint, HostPort>& host_names) {
  auto host_text = [&](Endpoint endpoint) -> std::string {
    if (!endpoint.IsValid()) return kNoHostPort;
    auto found = host_names.find(endpoint);
    HostPort name = found == host_names.end() ? HostPort::From(endpoint) : found->second;
    return absl::StrCat(name.host, ":", name.port);
  };
  rapidjson::StringBuffer buffer;
  JsonWriter json(buffer);
  auto write_list = [&](const char* key, const std::vector<Endpoint>& list, auto text) {
    json.Key(key);
    json.StartArray();
    for (Endpoint endpoint : list) Write(json, text(endpoint));
    json.EndArray();
  };
  json.StartObject();
  json.Key("pid");
  Write(json, config.pid.ToString());
  json.Key("ballot");
  json.Int64(config.ballot.value());
  json.Key("max_replica_count");
  json.Int(config.max_replica_count);
  json.Key("primary");
  Write(json, AddressText(config.primary));
  write_list("secondaries", config.secondaries, AddressText);
  write_list("last_drops", config.last_drops, AddressText);
  json.Key("last_committed_decree");
  json.Int64(config.last_committed_decree.value());
  json.Key("partition_flags");
  json.Int(config.partition_flags);
  json.Key("hp_primary");
  Write(json, host_text(config.primary));
  write_list("hp_secondaries", config.secondaries, host_text);
  write_list("hp_last_drops", config.last_drops, host_text);
  json.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

// Reads members of one JSON object; the first one that can't be understood is remembered.
class ObjectReader {
 public:
  explicit ObjectReader(const std::string& text) {
    document_.Parse(text.data(), text.size());
    if (document_.HasParseError() || !document_.IsObject()) failed_ = "(not a JSON object)";
  }

  void Read(const char* key, int32_t* out) {
    if (const auto* value = Find(key)) value->IsInt() ? void(*out = value->GetInt()) : Fail(key);
  }
  void Read(const char* key, int64_t* out) {
    if (const auto* value = Find(key))
      value->IsInt64() ? void(*out = value->GetInt64()) : Fail(key);
  }
  // Pegasus writes 0 and 1. A state that a person edited may say true and false.
  void Read(const char* key, bool* out) {
    const auto* value = Find(key);
    if (value == nullptr) return;
    if (value->IsBool()) {
      *out = value->GetBool();
    } else if (value->IsInt()) {
      *out = value->GetInt() != 0;
    } else {
      Fail(key);
    }
  }
  void Read(const char* key, std::string* out) {
    if (const auto* value = Find(key)) value->IsString() ? void(*out = TextOf(*value)) : Fail(key);
  }
  void Read(const char* key, std::map<std::string, std::string>* out) {
    const auto* value = Find(key);
    if (value == nullptr) return;
    if (!value->IsObject()) return Fail(key);
    for (const auto& member : value->GetObject()) {
      if (!member.value.IsString()) return Fail(key);
      (*out)[TextOf(member.name)] = TextOf(member.value);
    }
  }
  void Read(const char* key, std::vector<std::string>* out) {
    const auto* value = Find(key);
    if (value == nullptr) return;
    if (!value->IsArray()) return Fail(key);
    for (const auto& element : value->GetArray()) {
      if (!element.IsString()) return Fail(key);
      out->push_back(TextOf(element));
    }
  }
  bool Has(const char* key) const { return failed_.empty() && document_.HasMember(key); }
  void Fail(std::string_view key) {
    if (failed_.empty()) failed_ = key;
  }
  absl::Status status(std::string_view path) const {
    if (failed_.empty()) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("meta state, key ", Text(path), ": can't understand ", failed_));
  }

 private:
  static std::string TextOf(const rapidjson::Value& value) {
    return {value.GetString(), value.GetStringLength()};
  }
  const rapidjson::Value* Find(const char* key) {
    if (!failed_.empty()) return nullptr;
    auto member = document_.FindMember(key);
    return member == document_.MemberEnd() ? nullptr : &member->value;
  }

  // Most objects fit: by itself a document takes 64 KiB, whatever it holds.
  std::array<char, 4096> space_;
  rapidjson::MemoryPoolAllocator<> allocator_{space_.data(), space_.size()};
  rapidjson::Document document_{&allocator_};
  std::string failed_;
};

std::optional<AppStatus> AppStatusFromText(std::string_view text) {
  if (text.starts_with(kAppStatusScope)) text.remove_prefix(sizeof(kAppStatusScope) - 1);
  for (int i = 0; i <= static_cast<int>(AppStatus::kRecalling); ++i) {
    if (AppStatusName(static_cast<AppStatus>(i)) == text) return static_cast<AppStatus>(i);
  }
  return std::nullopt;
}

absl::StatusOr<AppInfo> ParseTable(std::string_view path, const std::string& text) {
  ObjectReader reader(text);
  AppInfo info;
  std::string status;
  bool atomic_idempotent = false;
  reader.Read("status", &status);
  reader.Read("app_type", &info.app_type);
  reader.Read("app_name", &info.app_name);
  reader.Read("app_id", &info.app_id);
  reader.Read("partition_count", &info.partition_count);
  reader.Read("envs", &info.envs);
  reader.Read("is_stateful", &info.is_stateful);
  reader.Read("max_replica_count", &info.max_replica_count);
  reader.Read("expire_second", &info.expire_second);
  reader.Read("create_second", &info.create_second);
  reader.Read("drop_second", &info.drop_second);
  reader.Read("duplicating", &info.duplicating);
  reader.Read("init_partition_count", &info.init_partition_count);
  reader.Read("is_bulk_loading", &info.is_bulk_loading);
  reader.Read("atomic_idempotent", &atomic_idempotent);
  if (atomic_idempotent) info.atomic_idempotent = true;
  int64_t version = 0;
  reader.Read("arion_version", &version);
  if (version > 0) info.version = version;
  std::optional<AppStatus> known = AppStatusFromText(status);
  if (!known) {
    reader.Fail("status");
  } else {
    info.status = *known;
  }
  // Bounded here, because Load makes an entry for each partition.
  if (info.partition_count < 1 || info.partition_count > kPartitionCountMax) {
    reader.Fail("partition_count");
  }
  RETURN_IF_ERROR(reader.status(path));
  return info;
}

// An address is its "ip:port" text; what older and newer versions left out is taken from its
// host:port twin when that is a literal. A name beside an address is remembered.
Endpoint AddressOf(const std::string* address, const std::string* host_port, const char* key,
                   ObjectReader& reader, std::map<Endpoint, HostPort>* host_names) {
  // Some versions write only one of the two texts.
  bool no_address = address == nullptr || *address == kNoAddress || address->empty();
  bool no_host = host_port == nullptr || *host_port == kNoHostPort || host_port->empty();
  if (no_address && no_host) return {};
  std::optional<Endpoint> parsed = Endpoint::Parse(no_address ? *host_port : *address);
  if (!parsed) {
    reader.Fail(key);
    return {};
  }
  if (!no_address && !no_host) {
    // A literal that repeats the address needs no entry: PartitionJson writes that by itself.
    size_t colon = host_port->rfind(':');
    int32_t port = 0;
    if (colon != std::string::npos &&
        absl::SimpleAtoi(absl::string_view(*host_port).substr(colon + 1), &port) && port > 0 &&
        port <= 65535) {
      HostPort name{host_port->substr(0, colon), static_cast<uint16_t>(port)};
      if (!(name == HostPort::From(*parsed))) (*host_names)[*parsed] = name;
    }
  }
  return *parsed;
}

absl::StatusOr<PartitionConfiguration> ParsePartition(std::string_view path,
                                                      const std::string& text,
                                                      std::map<Endpoint, HostPort>* host_names) {
  ObjectReader reader(text);
  PartitionConfiguration config;
  std::string pid;
  int64_t ballot = 0, committed = 0;
  reader.Read("pid", &pid);
  reader.Read("ballot", &ballot);
  reader.Read("max_replica_count", &config.max_replica_count);
  reader.Read("last_committed_decree", &committed);
  reader.Read("partition_flags", &config.partition_flags);
  config.ballot = Ballot(ballot);
  config.last_committed_decree = Decree(committed);

  std::vector<absl::string_view> parts = absl::StrSplit(pid, '.');
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &config.pid.app_id) ||
      !absl::SimpleAtoi(parts[1], &config.pid.index)) {
    reader.Fail("pid");
  }
  std::string primary, hp_primary;
  reader.Read("primary", &primary);
  reader.Read("hp_primary", &hp_primary);
  config.primary = AddressOf(&primary, &hp_primary, "primary", reader, host_names);
  auto read_list = [&](const char* key, const char* hp_key, std::vector<Endpoint>* out) {
    std::vector<std::string> addresses, hosts;
    reader.Read(key, &addresses);
    reader.Read(hp_key, &hosts);
    for (size_t i = 0; i < std::max(addresses.size(), hosts.size()); ++i) {
      Endpoint endpoint =
          AddressOf(i < addresses.size() ? &addresses[i] : nullptr,
                    i < hosts.size() ? &hosts[i] : nullptr, key, reader, host_names);
      if (endpoint.IsValid()) out->push_back(endpoint);
    }
  };
  read_list("secondaries", "hp_secondaries", &config.secondaries);
  read_list("last_drops", "hp_last_drops", &config.last_drops);
  RETURN_IF_ERROR(reader.status(path));
  return config;
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
void FinishDropOrRecall(const AppInfo& info, PartitionConfiguration* config) {
  const bool is_dropped = (config->partition_flags & kPartitionDropped) != 0;
  if (info.status == AppStatus::kDropped && !is_dropped) *config = Emptied(*config);
  if (info.status == AppStatus::kAvailable && is_dropped) *config = Recalled(*config);
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
  std::map<PartitionId, PartitionConfiguration> partitions;
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
      ASSIGN_OR_RETURN(AppInfo info, ParseTable(key, value));
      if (info.app_id != app_id) return Damaged(key, "holds another table");
      state.tables[app_id].info = std::move(info);
    } else if (parts.size() == 2 && absl::SimpleAtoi(parts[1], &index)) {
      ASSIGN_OR_RETURN(PartitionConfiguration config,
                       ParsePartition(key, value, &state.host_names));
      if (config.pid != PartitionId{app_id, index}) return Damaged(key, "holds another partition");
      partitions[config.pid] = std::move(config);
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
      partition.config = stored[i]  ? std::move(partitions[{app_id, i}])
                         : is_child ? UnregisteredChild(table.info, i)
                                    : UnmadePartition(table.info, i);
      if (lacking == Lacking::kIsMade) FinishDropOrRecall(table.info, &partition.config);
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
  return {absl::StrCat(kAppsPrefix, info.app_id), TableJson(info)};
}

StoreChange ClusterState::ChangeOf(const PartitionConfiguration& config) const {
  return {absl::StrCat(kAppsPrefix, config.pid.app_id, "/", config.pid.index),
          PartitionJson(config, host_names)};
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
