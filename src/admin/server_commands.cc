// SPDX-License-Identifier: Apache-2.0
#include "admin/server_commands.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "admin/remote_commands.h"
#include "base/log.h"
#include "base/status.h"
#include "base/version.h"
#include "config/live_settings.h"
#include "env/clock.h"
#include "exposition/perf_counters.h"
#include "indexes/index_book.h"
#include "messages/admin_messages.h"
#include "meta/meta_service.h"
#include "replica/replica_snapshot.h"
#include "replica_server/replica_server.h"
#include "rpc/thrift_codec.h"
#include "rpc/transport.h"

namespace arion {
namespace {

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;
using Words = RemoteCommands::Words;

// How long a command or page waits for the server's strand.
constexpr std::chrono::seconds kServerPatience{2};
constexpr char kSilent[] = "the server does not answer within 2 s; /stuck may say why";

void Put(JsonWriter& json, std::string_view name, std::string_view text) {
  json.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}
void Put(JsonWriter& json, std::string_view name, int64_t number) {
  json.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
  json.Int64(number);
}
HttpResponse JsonPage(const rapidjson::StringBuffer& buffer) {
  return {.content_type = "application/json", .body = {buffer.GetString(), buffer.GetSize()}};
}

std::string StartTimeText(int64_t unix_seconds) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixSeconds(unix_seconds),
                          absl::LocalTimeZone());
}

// What `ask` gives its callback; nullopt: not in time. It waits for a strand, so it must not run on
// one; and not for long, because a server that hangs must still answer its pages.
template <class T>
std::optional<T> Await(const std::function<void(std::function<void(T)>)>& ask) {
  // Shared, because an answer may come after the patience has ended.
  auto promise = std::make_shared<std::promise<T>>();
  std::future<T> answer = promise->get_future();
  ask([promise](T value) { promise->set_value(std::move(value)); });
  if (answer.wait_for(kServerPatience) != std::future_status::ready) return std::nullopt;
  return answer.get();
}

// ---- settings ----

void PutEntry(JsonWriter& json, const LiveSettings::Entry& entry) {
  json.StartObject();
  Put(json, "name", entry.key);
  Put(json, "section", entry.section);
  Put(json, "type", "FV_STRING");
  // Names and types are those of older versions' pages, which tools read.
  Put(json, "tags", entry.is_changeable ? "flag_tag::FT_MUTABLE" : "");
  Put(json, "description", entry.help);
  Put(json, "value", entry.value);
  Put(json, "default", entry.default_value);
  Put(json, "at_start", entry.at_start);
  Put(json, "origin", entry.origin);
  json.EndObject();
}

HttpResponse AnswerConfigs(const LiveSettings& settings) {
  rapidjson::StringBuffer buffer;
  JsonWriter json(buffer);
  json.StartObject();
  for (const LiveSettings::Entry& entry : settings.Entries()) {
    json.Key(entry.key.c_str());
    PutEntry(json, entry);
  }
  json.EndObject();
  return JsonPage(buffer);
}

HttpResponse AnswerConfig(const LiveSettings& settings, const HttpRequest& request) {
  std::string key;
  for (const auto& [name, value] : request.arguments)
    if (name == "name") key = value;
  if (key.empty()) return {.status = 400, .body = "which? write ?name=KEY\n"};
  const auto entry = settings.Find(key);
  if (!entry) return {.body = "there is no setting of that name\n"};
  rapidjson::StringBuffer buffer;
  JsonWriter json(buffer);
  PutEntry(json, *entry);
  return JsonPage(buffer);
}

HttpResponse AnswerUpdate(LiveSettings& settings, const HttpRequest& request) {
  if (request.arguments.size() != 1)
    return {.status = 400, .body = "one change at a time: ?KEY=VALUE\n"};
  const auto& [key, value] = request.arguments[0];
  // DEFAULT goes back to what the process began with.
  const absl::Status set = value == "DEFAULT" ? settings.Reset(key) : settings.Set(key, value);
  rapidjson::StringBuffer buffer;
  JsonWriter json(buffer);
  json.StartObject();
  Put(json, "update_status", set.ok() ? std::string("ERR_OK") : std::string(set.message()));
  json.EndObject();
  return JsonPage(buffer);
}

std::string ConfigDump(const LiveSettings& settings) {
  std::string text, section;
  for (const LiveSettings::Entry& entry : settings.Entries()) {
    // Entries come by section, so each section is printed once.
    if (entry.section != section) absl::StrAppend(&text, "[", section = entry.section, "]\n");
    absl::StrAppend(&text, entry.key, " = ", entry.value, "\n");
  }
  return text;
}

// ---- replicas by their ids ----

// "2" or "2.1", blanks or commas between; empty: all.
struct Wanted {
  std::set<int32_t> tables;
  std::set<PartitionId> partitions;
  bool Has(PartitionId pid) const {
    return (tables.empty() && partitions.empty()) || tables.contains(pid.app_id) ||
           partitions.contains(pid);
  }
};
absl::StatusOr<Wanted> ParseIds(const Words& arguments) {
  Wanted wanted;
  for (const std::string& word : arguments) {
    // Blanks are split already; commas may stand within a word.
    for (const absl::string_view id : absl::StrSplit(word, ',', absl::SkipEmpty())) {
      const std::vector<std::string> parts = absl::StrSplit(id, '.');
      PartitionId pid;
      const bool is_id = parts.size() <= 2 && absl::SimpleAtoi(parts[0], &pid.app_id) &&
                         (parts.size() == 1 || absl::SimpleAtoi(parts[1], &pid.index));
      if (!is_id)
        return absl::InvalidArgumentError("write ids of tables or partitions, as 2 or 2.1");
      if (parts.size() == 1)
        wanted.tables.insert(pid.app_id);
      else
        wanted.partitions.insert(pid);
    }
  }
  return wanted;
}

// P leads, S follows, L learns; I stands for all that do none of these.
char RoleLetter(PartitionStatus status) {
  return status == PartitionStatus::kPrimary              ? 'P'
         : status == PartitionStatus::kSecondary          ? 'S'
         : status == PartitionStatus::kPotentialSecondary ? 'L'
                                                          : 'I';
}

// A line for each replica that is wanted and open.
std::string ForEach(ReplicaServer& server, const Words& arguments, const std::string& self,
                    const std::function<std::string(const ReplicaSnapshot&)>& text_of) {
  const absl::StatusOr<Wanted> wanted = ParseIds(arguments);
  if (!wanted.ok()) return CommandError(View(wanted.status().message()));
  const auto replicas =
      Await<std::vector<ReplicaSnapshot>>([&](auto done) { server.Snapshot(std::move(done)); });
  if (!replicas) return CommandError(kSilent);
  std::string lines;
  // What was asked for and is not here is counted: a wrong id shows.
  int processed = 0;
  std::set<int32_t> tables = wanted->tables;
  std::set<PartitionId> missing = wanted->partitions;
  for (const ReplicaSnapshot& replica : *replicas) {
    // A replica that is loading can't do anything yet.
    if (replica.loading || !wanted->Has(replica.pid)) continue;
    ++processed;
    tables.erase(replica.pid.app_id);
    missing.erase(replica.pid);
    absl::StrAppend(&lines, "\n    ", replica.pid.ToString(), "@", self, "@",
                    std::string(1, RoleLetter(replica.status)), " : ", text_of(replica));
  }
  return absl::StrCat(processed, " processed, ", tables.size() + missing.size(), " not found",
                      lines);
}

std::string EnvironmentsText(const std::vector<AppInfo>& tables, int32_t app_id) {
  for (const AppInfo& table : tables)
    if (table.app_id == app_id) return absl::StrJoin(table.envs, ",", absl::PairFormatter("="));
  return {};
}

std::string ProgressJson(ReplicaServer& server, const Words& arguments) {
  const absl::StatusOr<Wanted> wanted = ParseIds(arguments);
  if (!wanted.ok()) return CommandError(View(wanted.status().message()));
  const auto replicas =
      Await<std::vector<ReplicaSnapshot>>([&](auto done) { server.Snapshot(std::move(done)); });
  if (!replicas) return CommandError(kSilent);
  rapidjson::StringBuffer buffer;
  JsonWriter json(buffer);
  json.StartObject();
  for (const ReplicaSnapshot& replica : *replicas) {
    if (!wanted->Has(replica.pid)) continue;
    json.Key(replica.pid.ToString().c_str());
    json.StartObject();
    Put(json, "role", std::string(1, RoleLetter(replica.status)));
    Put(json, "ballot", replica.ballot.value());
    Put(json, "last_committed_decree", replica.last_committed.value());
    Put(json, "last_applied_decree", replica.last_applied.value());
    Put(json, "last_durable_decree", replica.last_durable.value());
    Put(json, "last_prepared_decree", replica.last_prepared.value());
    json.EndObject();
  }
  json.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

// ---- counters under the names of 2.5 and older ----

std::string CountersJson(const std::vector<PerfCounter>& counters) {
  rapidjson::StringBuffer buffer;
  JsonWriter json(buffer);
  const int64_t now = absl::ToUnixSeconds(absl::Now());
  json.StartObject();
  Put(json, "result", "OK");
  Put(json, "timestamp", now);
  Put(json, "timestamp_str", StartTimeText(now));
  json.Key("counters");
  json.StartArray();
  for (const PerfCounter& counter : counters) {
    json.StartObject();
    Put(json, "name", counter.name);
    Put(json, "type", counter.type);
    // Older scripts look for digits, so whole numbers are printed as such.
    if (const auto whole = static_cast<int64_t>(counter.value);
        static_cast<double>(whole) == counter.value) {
      Put(json, "value", whole);
    } else {
      json.Key("value");
      json.Double(counter.value);
    }
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

void AddCounters(RemoteCommands& commands, const PerfCounters& counters) {
  using Fits = bool (*)(std::string_view name, std::string_view text);
  const auto add = [&](const char* command, const char* help, Fits fits) {
    commands.Add(command, "[text...]", help, [&counters, fits](const Words& words) {
      return CountersJson(counters.Read([&](const std::string& name) {
        return words.empty() || std::any_of(words.begin(), words.end(),
                                            [&](const auto& text) { return fits(name, text); });
      }));
    });
  };
  const Fits contains = [](std::string_view name, std::string_view text) {
    return name.find(text) != std::string_view::npos;
  };
  add("perf-counters-by-substr", "counters whose name holds one of the texts", contains);
  add("perf-counters-by-prefix", "counters whose name begins with one of the texts",
      [](std::string_view name, std::string_view text) { return name.starts_with(text); });
  add("perf-counters-by-postfix", "counters whose name ends with one of the texts",
      [](std::string_view name, std::string_view text) { return name.ends_with(text); });
  // Of regular expressions only ".*" means something: others could take any time to match.
  add("perf-counters", "the same; '.*' before or behind a text is left out",
      [](std::string_view name, std::string_view text) {
        if (text.starts_with(".*")) text.remove_prefix(2);
        if (text.ends_with(".*")) text.remove_suffix(2);
        return name.find(text) != std::string_view::npos;
      });
}

}  // namespace

namespace {

// Nothing is said while the clock is right.
std::string ClockText(const Clock& clock) {
  const int64_t offset = clock.WallMicros() - AgreedWallMicros(clock);
  // Clocks that agree may lie so far apart (env/clock.h).
  if (std::abs(offset) <= kMarginMicros) return {};
  return absl::StrCat(
      ", wall clock WRONG: ", absl::FormatDuration(absl::Seconds(std::abs(offset) / 1000000)),
      offset > 0 ? " ahead of" : " behind", " most of the cluster's");
}

}  // namespace

void AddServerCommands(RemoteCommands& commands, LiveSettings& settings, const Clock& clock,
                       const char* program, int64_t started_unix_seconds) {
  commands.Add("server-info", "", "product, version, build, since when it runs",
               [program, started_unix_seconds, &clock](const Words&) {
                 return absl::StrCat("Arion ", program, " ", Text(kVersion), " (", Text(kCommit),
                                     "), Started at ", StartTimeText(started_unix_seconds),
                                     ClockText(clock));
               });
  // A path would be written with the server's rights, by anyone who may ask.
  commands.Add("config-dump", "", "all settings as they are now", [&settings](const Words& words) {
    return words.empty() ? ConfigDump(settings)
                         : CommandError("it writes no file; take what it answers");
  });
  commands.Add("config-set", "KEY VALUE | KEY DEFAULT",
               "changes a changeable setting until the end", [&settings](const Words& words) {
                 if (words.size() != 2) return CommandError("a key and its value, or DEFAULT");
                 const absl::Status set = words[1] == "DEFAULT" ? settings.Reset(words[0])
                                                                : settings.Set(words[0], words[1]);
                 return set.ok() ? CommandJson("result", "OK") : CommandError(View(set.message()));
               });
  commands.Add("flush-log", "", "what was logged is written", [](const Words&) {
    // The library's flush waits for our queue, with a bound (exposition/server_log.h).
    google::FlushLogFiles(google::GLOG_INFO);
    return std::string("Flush done.");
  });
  const auto set_level = [&settings](const Words& words) {
    if (words.size() > 1)
      return CommandError("one level: info, warning or error; none: as at the start");
    // The names of levels in older versions are understood as well.
    const absl::Status set =
        words.empty() ? settings.Reset("text_log_level")
                      : settings.Set("text_log_level", words[0] == "LOG_LEVEL_INFO"      ? "info"
                                                       : words[0] == "LOG_LEVEL_WARNING" ? "warning"
                                                       : words[0] == "LOG_LEVEL_ERROR"   ? "error"
                                                                                       : words[0]);
    return set.ok() ? absl::StrCat("OK, current level is ", settings.Find("text_log_level")->value)
                    : CommandError(View(set.message()));
  };
  commands.Add("reset-log-start-level", "[info | warning | error]",
               "from which level on is logged; without one: as at the start", set_level);
}

void AddServerPages(PageServer& pages, LiveSettings& settings, int64_t started_unix_seconds) {
  pages.Add("/recentStartTime", "when this process began",
            [started_unix_seconds](const HttpRequest&) {
              rapidjson::StringBuffer buffer;
              JsonWriter json(buffer);
              json.StartObject();
              Put(json, "RecentStartTime", StartTimeText(started_unix_seconds));
              json.EndObject();
              return JsonPage(buffer);
            });
  pages.Add("/configs", "all settings: now, at the start, by default; JSON",
            [&settings](const HttpRequest&) { return AnswerConfigs(settings); });
  pages.Add("/config", "?name=KEY: one of them",
            [&settings](const HttpRequest& request) { return AnswerConfig(settings, request); });
  pages.Add(
      "/updateConfig", "?KEY=VALUE: changes one that is changeable, until the process ends",
      // Changes by GET, as older versions' page does; so it always needs permission.
      [&settings](const HttpRequest& request) { return AnswerUpdate(settings, request); },
      PageServer::Changes::kAlways);
}

void AddMetaCommands(RemoteCommands& commands, LiveSettings& settings, MetaService& server) {
  // Names and values are an older version's. The third text is the setting that stands for it here,
  // the fourth the unit that an older number has.
  commands.AddSetting("meta.live_percentage", settings, "live_servers_percent_min", "",
                      "below this share of living servers nothing is reconfigured");
  commands.AddSetting("meta.lb.assign_delay_ms", settings, "lost_member_wait", "ms",
                      "how long a lost member is waited for");
  commands.AddSetting("meta.lb.only_move_primary", settings, "balance_only_moves_primaries", "",
                      "primaries change places for balance, no copy is made");
  commands.Add(
      "meta.lb.get_balance_operation_count", "[total | move_pri | copy_pri | copy_sec | detail]",
      "what balance would take", [&server](const Words&) {
        // Asked as a tool would: the count needs the whole state, which only the strand may read.
        const auto body = Await<std::string>([&](auto done) {
          server.Handle({.header = {.name = kRpcClusterInfo},
                         .body = EncodeWrapped(ClusterInfoRequest{}),
                         .responder = Responder([done](ErrorCode, std::string body) mutable {
                           done(std::move(body));
                         })});
        });
        const auto info = DecodeWrapped<ClusterInfoResponse>(body.value_or(""));
        if (!info.ok()) return CommandError(kSilent);
        for (size_t i = 0; i < std::min(info->keys.size(), info->values.size()); ++i)
          if (info->keys[i] == "balance_operation_count") return info->values[i];
        return CommandError("the meta server does not count it now");
      });
  commands.AddRefused(
      "meta.lb.add_secondary_max_count_for_one_node",
      "copies are paced by what their disks bear (copy_rate_per_disk), not counted");
  commands.AddRefused("meta.lb.add_secondary_enable_flow_control",
                      "copies are paced by what their disks bear (copy_rate_per_disk)");
  commands.AddRefused("meta.lb.assign_secondary_black_list", "Arion has no such list yet");
  commands.AddRefused("meta.lb.ignored_app_list", "Arion has no such list yet");
  commands.AddRefused("meta.dump", "it would write a file where the server runs; ask for ls -d -j");
}

void AddReplicaCommands(RemoteCommands& commands, LiveSettings& settings, ReplicaServer& server,
                        Endpoint self_address, const PerfCounters& counters,
                        std::function<std::string()> pools) {
  const std::string self = self_address.ToString();
  commands.Add("replica.trigger-checkpoint", "[id[.index]]...", "checkpoints are made now",
               [&server, self](const Words& words) {
                 return ForEach(server, words, self, [&](const ReplicaSnapshot& replica) {
                   server.AskForCheckpoints(replica.pid);
                   return std::string("triggered");
                 });
               });
  commands.Add("replica.query-compact", "[id[.index]]...", "how far compactions on request are",
               [&server, self](const Words& words) {
                 const auto texts = Await<std::map<PartitionId, std::string>>(
                     [&](auto done) { server.CompactionTexts(std::move(done)); });
                 if (!texts) return CommandError(kSilent);
                 return ForEach(server, words, self, [&](const ReplicaSnapshot& replica) {
                   const auto it = texts->find(replica.pid);
                   return it == texts->end() ? std::string("not open") : it->second;
                 });
               });
  commands.Add("replica.query-app-envs", "[id[.index]]...", "their tables' environments",
               [&server, self](const Words& words) {
                 const auto tables = Await<std::vector<AppInfo>>(
                     [&](auto done) { server.Tables(std::move(done)); });
                 if (!tables) return CommandError(kSilent);
                 return ForEach(server, words, self, [&](const ReplicaSnapshot& replica) {
                   return EnvironmentsText(*tables, replica.pid.app_id);
                 });
               });
  commands.Add("replica.query-progress", "[id[.index]]...", "their decrees, as JSON",
               [&server](const Words& words) { return ProgressJson(server, words); });
  for (const char* name :
       // Older versions have a limit for each direction. Here one setting holds for both, so both
       // names show and set the same.
       {"nfs.max_copy_rate_megabytes_per_disk", "nfs.max_send_rate_megabytes_per_disk"})
    commands.AddSetting(name, settings, "copy_rate_per_disk", " MiB",
                        "copy_rate_per_disk, of what is read and written alike");
  // Two questions of older tools with one answer here.
  for (const char* name : {"engine", "system.queue"})
    commands.Add(name, "", "event loops and disks' pools",
                 [pools](const Words&) { return pools(); });
  AddCounters(commands, counters);
}

void AddReplicaPages(const AddPage& add, ReplicaServer& server) {
  const auto of_table =
      // Both pages choose their replicas alike; the first of the pair is an error, if its status
      // says so.
      [&server](
          const HttpRequest& request) -> std::pair<HttpResponse, std::vector<ReplicaSnapshot>> {
    int32_t app_id = 0;
    for (const auto& [name, value] : request.arguments)
      if (name == "app_id" && !absl::SimpleAtoi(value, &app_id)) app_id = 0;
    if (app_id <= 0) return {{.status = 400, .body = "which table? write ?app_id=2\n"}, {}};
    auto all =
        Await<std::vector<ReplicaSnapshot>>([&](auto done) { server.Snapshot(std::move(done)); });
    if (!all) return {{.status = 503, .body = absl::StrCat(kSilent, "\n")}, {}};
    std::erase_if(*all, [&](const ReplicaSnapshot& r) { return r.pid.app_id != app_id; });
    if (all->empty())
      return {{.status = 404, .body = absl::StrCat("no replica of table ", app_id, " is here\n")},
              {}};
    return {{}, *std::move(all)};
  };
  add("/replica/data_version", "?app_id=2: the layout of its values here, by partition; JSON",
      [of_table](const HttpRequest& request) {
        const auto [error, replicas] = of_table(request);
        if (error.status != 200) return error;
        rapidjson::StringBuffer buffer;
        JsonWriter json(buffer);
        json.StartObject();
        for (const ReplicaSnapshot& replica : replicas) {
          if (!replica.data_version) continue;
          json.Key(std::to_string(replica.pid.index).c_str());
          json.StartObject();
          Put(json, "data_version", std::to_string(static_cast<int>(*replica.data_version)));
          json.EndObject();
        }
        json.EndObject();
        return JsonPage(buffer);
      });
  add("/replica/indexes", "how far each index is built, over the replicas here; JSON",
      [&server](const HttpRequest&) {
        rapidjson::StringBuffer buffer;
        JsonWriter json(buffer);
        json.StartArray();
        const std::map<std::string, IndexBook::Pace> paces = server.indexes()->Paces();
        for (const IndexBook::Row& row : server.indexes()->Rows()) {
          json.StartObject();
          Put(json, "table", row.table);
          Put(json, "index", row.index);
          Put(json, "definition", row.definition);
          Put(json, "replicas", row.replicas);
          Put(json, "whole", row.whole);
          json.Key("percent");
          json.Double(row.mean_percent);
          Put(json, "entries", row.entries);
          Put(json, "left_out", row.left_out);
          Put(json, "renewed", row.renewed);
          // Of the table: one walk builds all that is missing.
          const auto found = paces.find(row.table);
          const IndexBook::Pace pace = found == paces.end() ? IndexBook::Pace() : found->second;
          Put(json, "table_left_bytes", static_cast<int64_t>(pace.left_bytes));
          Put(json, "table_bytes_per_second", static_cast<int64_t>(pace.bytes_per_second));
          json.Key("table_seconds_left");
          pace.seconds_left() ? json.Double(*pace.seconds_left()) : json.Null();
          json.EndObject();
        }
        json.EndArray();
        return JsonPage(buffer);
      });
  add("/replica/manual_compaction", "?app_id=2: how far its compaction on request is; JSON",
      [of_table](const HttpRequest& request) {
        const auto [error, replicas] = of_table(request);
        if (error.status != 200) return error;
        std::map<ManualCompactStatus, int64_t> counts;
        for (const ReplicaSnapshot& replica : replicas) ++counts[replica.compaction];
        rapidjson::StringBuffer buffer;
        JsonWriter json(buffer);
        json.StartObject();
        json.Key("status");
        json.StartObject();
        Put(json, "idle", counts[ManualCompactStatus::kIdle]);
        Put(json, "queuing", counts[ManualCompactStatus::kQueuing]);
        Put(json, "running", counts[ManualCompactStatus::kRunning]);
        Put(json, "finished", counts[ManualCompactStatus::kFinished]);
        json.EndObject();
        json.EndObject();
        return JsonPage(buffer);
      });
}

}  // namespace arion
