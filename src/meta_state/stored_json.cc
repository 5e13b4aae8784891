// SPDX-License-Identifier: Apache-2.0
#include "meta_state/stored_json.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/status.h"
#include "meta_state/cluster_state.h"

namespace arion {
namespace {

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;
constexpr char kAppStatusScope[] = "app_status::";
// What Pegasus writes where there is no server. Tools of both read the other's state.
constexpr char kNoAddress[] = "invalid address";
constexpr char kNoHostPort[] = "invalid host_port";

// The object that was written, with `other` behind its members.
std::string Finished(const rapidjson::StringBuffer& buffer, std::string_view other) {
  std::string text(buffer.GetString(), buffer.GetSize());
  text.insert(text.size() - 1, other);
  return text;
}

void Write(JsonWriter& json, std::string_view text) {
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

std::string AddressText(Endpoint endpoint) {
  return endpoint.IsValid() ? endpoint.ToString() : std::string(kNoAddress);
}

// Reads members of one JSON object; the first one that can't be understood is remembered.
class ObjectReader {
 public:
  explicit ObjectReader(const std::string& text) : text_(text) {
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
  // What nobody asked for.
  std::string Other() const {
    const bool are_all_known = document_.MemberCount() == found_;
    return are_all_known ? std::string() : OtherMembers(text_, asked_);
  }
  void Fail(std::string_view key) {
    if (failed_.empty()) failed_ = key;
  }
  absl::Status status(std::string_view store_key) const {
    if (failed_.empty()) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("meta state, key ", Text(store_key), ": can't understand ", failed_));
  }

 private:
  static std::string TextOf(const rapidjson::Value& value) {
    return {value.GetString(), value.GetStringLength()};
  }
  const rapidjson::Value* Find(const char* key) {
    if (!failed_.empty()) return nullptr;
    asked_.push_back(key);
    auto member = document_.FindMember(key);
    if (member == document_.MemberEnd()) return nullptr;
    ++found_;
    return &member->value;
  }

  // Most objects fit: by itself a document takes 64 KiB, whatever it holds.
  std::array<char, 4096> space_;
  rapidjson::MemoryPoolAllocator<> allocator_{space_.data(), space_.size()};
  rapidjson::Document document_{&allocator_};
  std::string failed_;
  const std::string& text_;
  std::vector<std::string_view> asked_;
  size_t found_ = 0;
};

std::optional<AppStatus> AppStatusFromText(std::string_view text) {
  if (text.starts_with(kAppStatusScope)) text.remove_prefix(sizeof(kAppStatusScope) - 1);
  for (int i = 0; i <= static_cast<int>(AppStatus::kRecalling); ++i) {
    if (AppStatusName(static_cast<AppStatus>(i)) == text) return static_cast<AppStatus>(i);
  }
  return std::nullopt;
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

}  // namespace

std::string TableJson(const AppInfo& info, std::string_view other) {
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
  return Finished(buffer, other);
}

std::string PartitionJson(const PartitionConfiguration& config,
                          const std::map<Endpoint, HostPort>& host_names, std::string_view other) {
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
  return Finished(buffer, other);
}

absl::StatusOr<StoredTable> ParseTable(std::string_view key, const std::string& text) {
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
  RETURN_IF_ERROR(reader.status(key));
  return StoredTable{std::move(info), reader.Other()};
}

absl::StatusOr<StoredPartition> ParsePartition(std::string_view key, const std::string& text,
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
  RETURN_IF_ERROR(reader.status(key));
  return StoredPartition{std::move(config), reader.Other()};
}

std::string OtherMembers(std::string_view object, const std::vector<std::string_view>& known) {
  std::string others;
  bool is_in_text = false, is_name_whole = false;
  size_t depth = 0, begin = 0;
  std::string_view name;
  for (size_t at = 0; at < object.size(); ++at) {
    const char c = object[at];
    if (is_in_text) {
      if (c == '\\') ++at;
      if (c != '"') continue;
      is_in_text = false;
      if (depth == 1 && !std::exchange(is_name_whole, true))
        name = object.substr(begin + 1, at - begin - 1);
      continue;
    }
    const bool ends = depth == 1 && (c == ',' || c == '}');
    if (ends && is_name_whole && std::ranges::find(known, name) == known.end())
      absl::StrAppend(&others, ",", Text(object.substr(begin, at - begin)));
    if (ends) is_name_whole = false;
    if (c == '"') {
      is_in_text = true;
      if (depth == 1 && !is_name_whole) begin = at;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
  }
  return others;
}

}  // namespace arion
