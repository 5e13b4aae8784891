// SPDX-License-Identifier: Apache-2.0
#include "meta_overview/overview_json.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <string_view>

#include "meta_overview/cluster_health.h"
#include "meta_overview/meta_queries.h"

namespace arion {
namespace {

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

constexpr size_t kWorkMax = 200;  // steps that are listed; how many there are is said besides

// What becomes of the partition, in words of the dashboard. Steps that are none of the first three
// kinds take a member away.
std::string_view StepName(ConfigType type) {
  switch (type) {
    case ConfigType::kAssignPrimary:
    case ConfigType::kUpgradeToPrimary:
      return "appoint primary";
    case ConfigType::kAddSecondary:
    case ConfigType::kAddSecondaryForLoadBalance:
    case ConfigType::kUpgradeToSecondary:
      return "make copy";
    case ConfigType::kDowngradeToSecondary:
      return "hand over primary";
    default:
      return "remove copy";
  }
}

void WriteText(JsonWriter& json, std::string_view text) {
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}
void WriteField(JsonWriter& json, const char* name, std::string_view text) {
  json.Key(name);
  WriteText(json, text);
}
void WriteField(JsonWriter& json, const char* name, int64_t number) {
  json.Key(name);
  json.Int64(number);
}
// Fields of an object that the caller has begun: a server's share of all tables, or of one.
void WriteShare(JsonWriter& json, Endpoint server, const ServerShare& share) {
  WriteField(json, "server", server.ToString());
  WriteField(json, "primaries", share.primaries);
  WriteField(json, "secondaries", share.secondaries);
  WriteField(json, "unhealthy", share.unhealthy);
  WriteField(json, "opening", share.opening);
  WriteField(json, "learning", share.learning);
}

void WriteSplit(JsonWriter& json, const SplitOverview& split) {
  json.StartObject();
  WriteField(json, "from", split.from);
  WriteField(json, "to", split.to);
  WriteField(json, "registered", split.registered);
  WriteField(json, "paused", split.paused);
  json.Key("seconds_left");
  split.seconds_left ? json.Int64(*split.seconds_left) : json.Null();
  // The first of them; how many there are is from - registered.
  json.Key("parents");
  json.StartArray();
  size_t written = 0;
  for (const auto& [index, text] : split.progress) {
    if (++written > kWorkMax) break;
    json.StartObject();
    WriteField(json, "partition", index);
    WriteField(json, "progress", text);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteTable(JsonWriter& json, const TableOverview& table) {
  json.StartObject();
  WriteField(json, "id", table.app_id);
  WriteField(json, "name", table.name);
  WriteField(json, "replica_count", table.replica_count);
  json.Key("partitions");
  json.StartObject();
  for (size_t i = 0; i < kPartitionHealths; ++i) {
    const std::string_view name = PartitionHealthName(static_cast<PartitionHealth>(i));
    // The names are literals, so they end with a zero.
    WriteField(json, name.data(), table.partitions[i]);
  }
  json.EndObject();
  WriteField(json, "undecided", table.undecided);
  // The modes that its replicas have reported; empty: not known.
  json.Key("durability");
  json.StartArray();
  for (Durability mode : table.durability) WriteText(json, DurabilityName(mode));
  json.EndArray();
  json.Key("older_servers");
  json.StartArray();
  for (Endpoint server : table.older_servers) WriteText(json, server.ToString());
  json.EndArray();
  json.Key("split");
  // null: it is not being split.
  if (table.split)
    WriteSplit(json, *table.split);
  else
    json.Null();
  json.Key("shares");
  json.StartArray();
  for (const auto& [server, share] : table.servers) {
    json.StartObject();
    WriteShare(json, server, share);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteServer(JsonWriter& json, const ServerOverview& server) {
  json.StartObject();
  json.Key("alive");
  json.Bool(server.is_alive);
  json.Key("older");
  json.Bool(server.is_older);
  json.Key("unreadable_disks");
  json.Bool(server.has_unreadable_disks);
  WriteShare(json, server.address, server.share);
  json.Key("clock_offset_ms");
  // null says that it is not known; 0 would say that the clock is right.
  server.clock_offset_ms ? json.Int64(*server.clock_offset_ms) : json.Null();
  json.Key("wrong_clock");
  json.Bool(server.has_wrong_clock);
  WriteField(json, "older_copies", server.older_copies);
  WriteField(json, "older_copies_recently", server.older_copies_recently);
  json.Key("lacks_open_files");
  json.Bool(server.lacks_open_files);
  json.Key("full_disks");
  json.StartArray();
  for (const DiskReport& disk : server.full_disks) WriteText(json, disk.tag);
  json.EndArray();
  json.EndObject();
}

void WriteWarning(JsonWriter& json, const ClusterWarning& warning) {
  json.StartObject();
  WriteField(json, "kind", warning.kind);
  WriteField(json, "count", warning.count);
  WriteField(json, "what", warning.what);
  WriteField(json, "problem", warning.problem);
  WriteField(json, "way", warning.way);
  json.Key("notice");
  json.Bool(warning.is_notice);
  json.EndObject();
}

void WriteWork(JsonWriter& json, const WorkOverview& work) {
  json.StartObject();
  WriteField(json, "partition", work.pid.ToString());
  WriteField(json, "step", StepName(work.type));
  WriteField(json, "server", work.node.ToString());
  json.EndObject();
}

void WriteLeadership(JsonWriter& json, const Leadership& leadership) {
  json.Key("leadership");
  json.StartObject();
  json.Key("is_one_of_several");
  json.Bool(leadership.is_one_of_several);
  json.Key("is_leader");
  json.Bool(leadership.is_leader);
  json.Key("leader");
  if (leadership.leader.IsValid()) {
    WriteText(json, leadership.leader.ToString());
  } else {
    json.Null();
  }
  WriteField(json, "since_unix_ms", leadership.since_unix_ms);
  json.EndObject();
}

}  // namespace

std::string OverviewJson(const ClusterOverview& overview, int64_t unix_ms) {
  const ClusterHealth health = HealthOf(overview);
  rapidjson::StringBuffer buffer;
  JsonWriter json(buffer);
  json.StartObject();
  WriteField(json, "unix_ms", unix_ms);
  WriteField(json, "health", ClusterHealthName(health.grade));
  WriteField(json, "wrong", health.wrong);
  WriteField(json, "doing", health.doing);
  WriteField(json, "level", FunctionLevelName(overview.level));
  WriteLeadership(json, overview.leadership);
  json.Key("warnings");
  json.StartArray();
  for (const ClusterWarning& warning : overview.warnings) WriteWarning(json, warning);
  json.EndArray();
  json.Key("servers");
  json.StartArray();
  for (const ServerOverview& server : overview.servers) WriteServer(json, server);
  json.EndArray();
  json.Key("tables");
  json.StartArray();
  for (const TableOverview& table : overview.tables) WriteTable(json, table);
  json.EndArray();
  // The list may be cut, the number is not.
  WriteField(json, "work_total", static_cast<int64_t>(overview.work.size()));
  json.Key("work");
  json.StartArray();
  for (size_t i = 0; i < std::min(kWorkMax, overview.work.size()); ++i)
    WriteWork(json, overview.work[i]);
  json.EndArray();
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace arion
