// What servers do for their clients and with their disks: slow requests, hot keys, disks, one key's
// way.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>

#include <algorithm>
#include <map>

#include "base/crc.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "tools/pages/server_page.h"
#include "tools/shell/arguments.h"
#include "tools/shell/mixed_cluster.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

constexpr int kRowsByDefault = 20;

int64_t NumberOf(const JsonRow& row, const std::string& name) {
  const auto it = row.find(name);
  int64_t number = 0;
  return it != row.end() && absl::SimpleAtoi(it->second, &number) ? number : 0;
}
std::string TextOf(const JsonRow& row, const std::string& name) {
  const auto it = row.find(name);
  return it == row.end() ? std::string() : it->second;
}

// Rows of all living servers, each with its server; what could not be asked makes health bad.
struct Gathered {
  std::vector<std::pair<Endpoint, JsonRow>> rows;
  std::vector<std::string> silent;
};
absl::StatusOr<Gathered> GatherRows(Session& session, std::string_view page) {
  ASSIGN_OR_RETURN(std::vector<NodeState> nodes, session.cluster().Nodes({}));
  Gathered gathered;
  for (const NodeState& node : nodes) {
    absl::StatusOr<std::vector<JsonRow>> rows = FetchRows(node.address, page);
    if (!rows.ok()) {
      gathered.silent.push_back(node.address.ToString());
      continue;
    }
    for (JsonRow& row : *rows) gathered.rows.emplace_back(node.address, std::move(row));
  }
  return gathered;
}

void Finish(Gathered gathered, Answer::List list, Outcome* outcome) {
  if (!gathered.silent.empty()) outcome->health = Health::kBad;
  outcome->answer.Add("no_answer_from", std::move(gathered.silent)).AddList(std::move(list));
}

absl::StatusOr<int> LimitOf(const Arguments& arguments) {
  int limit = kRowsByDefault;
  if (const std::string text = arguments.Value("-n");
      !text.empty() && (!absl::SimpleAtoi(text, &limit) || limit < 1))
    return UsageError("-n takes a number of rows");
  return limit;
}

constexpr std::string_view kMoreByRows = "-n ROWS shows more";

// Leaves the first `limit` rows, and says so; `rest` is how to get the others.
void Cut(int limit, std::string_view rest, Answer::List* list, Outcome* outcome) {
  const size_t all = list->rows.size();
  if (all <= static_cast<size_t>(limit)) return;
  list->rows.resize(static_cast<size_t>(limit));
  outcome->part =
      absl::StrCat("only the first ", limit, " of ", all, " rows are shown; ", Text(rest));
}

Answer::List SlowRows(const Gathered& gathered, const std::string& partition) {
  static constexpr const char* kStages[] = {"queue_us",     "log_append_us", "log_sync_us",
                                            "replicate_us", "apply_us",      "reply_us"};
  Answer::List list{"slow",
                    {"at", "server", "table", "partition", "operation", "from", "took_us",
                     "queue_us", "log_append_us", "log_sync_us", "replicate_us", "apply_us",
                     "reply_us", "asked_bytes", "answered_bytes", "error"},
                    {}};
  auto rows = gathered.rows;
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return NumberOf(a.second, "ended_at_us") > NumberOf(b.second, "ended_at_us");
  });
  for (const auto& [server, row] : rows) {
    if (!partition.empty() && TextOf(row, "partition") != partition) continue;
    std::vector<Cell> cells = {
        absl::FormatTime("%Y-%m-%d_%H:%M:%E3S", absl::FromUnixMicros(NumberOf(row, "ended_at_us")),
                         absl::LocalTimeZone()),
        server.ToString(),
        Escape(TextOf(row, "table")),
        TextOf(row, "partition"),
        TextOf(row, "operation"),
        TextOf(row, "from"),
        NumberOf(row, "took_us")};
    for (const char* stage : kStages)
      // A stage that a request did not go through has no time; 0 would be one.
      cells.push_back(row.contains(stage) ? Cell(NumberOf(row, stage)) : Cell(std::string()));
    cells.push_back(NumberOf(row, "asked_bytes"));
    cells.push_back(NumberOf(row, "answered_bytes"));
    cells.push_back(TextOf(row, "error"));
    list.rows.push_back(std::move(cells));
  }
  return list;
}

absl::StatusOr<Outcome> Slow(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(Arguments arguments, Arguments::Parse(words, {"-g", "-n"}, {}));
  if (!arguments.words().empty()) return UsageError("options only");
  std::string partition;
  if (!arguments.Value("-g").empty()) {
    ASSIGN_OR_RETURN(const PartitionId pid, arguments.Partition("-g"));
    partition = pid.ToString();
  }
  ASSIGN_OR_RETURN(const int limit, LimitOf(arguments));
  // More than are shown: the latest of all servers are chosen here.
  ASSIGN_OR_RETURN(Gathered gathered, GatherRows(session, "/slow?limit=512"));
  Outcome outcome;
  Answer::List list = SlowRows(gathered, partition);
  Cut(limit, kMoreByRows, &list, &outcome);
  Finish(std::move(gathered), std::move(list), &outcome);
  return outcome;
}

absl::StatusOr<Outcome> HotKeysCommand(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(Arguments arguments, Arguments::Parse(words, {"-n"}, {}));
  if (arguments.words().size() > 1) return UsageError("nothing, or a table");
  const std::string table = arguments.words().empty() ? "" : arguments.words()[0];
  ASSIGN_OR_RETURN(const int limit, LimitOf(arguments));
  if (!table.empty()) RETURN_IF_ERROR(session.cluster().FindTable(table).status());
  // More than are shown: the hottest of all servers are chosen here.
  ASSIGN_OR_RETURN(Gathered gathered, GatherRows(session, "/hotkeys?limit=1000"));
  std::stable_sort(gathered.rows.begin(), gathered.rows.end(), [](const auto& a, const auto& b) {
    return NumberOf(a.second, "per_second") > NumberOf(b.second, "per_second");
  });
  Answer::List list{
      "hotkeys",
      {"table", "partition", "server", "use", "per_second", "share_percent", "hash_key"},
      {}};
  for (const auto& [server, row] : gathered.rows) {
    if (!table.empty() && TextOf(row, "table") != table) continue;
    list.rows.push_back({Escape(TextOf(row, "table")), TextOf(row, "partition"), server.ToString(),
                         TextOf(row, "use"), NumberOf(row, "per_second"),
                         NumberOf(row, "share_percent"), TextOf(row, "hash_key")});
  }
  Outcome outcome;
  Cut(limit, kMoreByRows, &list, &outcome);
  Finish(std::move(gathered), std::move(list), &outcome);
  return outcome;
}

// ---- disks ----

absl::StatusOr<Outcome> Disks(Session& session, const Words& arguments) {
  if (!arguments.empty()) return UsageError("it takes nothing");
  ASSIGN_OR_RETURN(std::vector<NodeState> nodes, session.cluster().Nodes({}));
  Outcome outcome;
  Answer::List list{"disks",
                    {"server", "disk", "state", "used_percent", "available_mb", "capacity_mb",
                     "slow", "sync_p99_us", "log_mb", "io_errors", "failed_replicas"},
                    {}};
  for (const NodeState& node : nodes) {
    const absl::StatusOr<std::vector<MetricSample>> samples = FetchSamples(node.address);
    if (!samples.ok()) {
      const bool is_older = IsOlder(node.address, samples.status());
      if (!is_older) outcome.health = Health::kBad;
      list.rows.push_back({node.address.ToString(), std::string(),
                           is_older
                               ? std::string("of an older version: disk-capacity tells its room")
                               : std::string("no answer")});
      // Every row has a cell in each column.
      list.rows.back().resize(list.columns.size(), std::string());
      continue;
    }
    for (const MetricSample& sample : *samples) {
      if (sample.name != "disk_state" || sample.value != 1) continue;
      const std::string& disk = sample.labels.at("disk");
      const std::string& state = sample.labels.at("state");
      const auto of = [&](std::string_view name) { return SumOf(*samples, name, "disk", disk); };
      const auto number = [&](std::string_view name, double unit) {
        return static_cast<int64_t>(of(name) / unit);
      };
      const double capacity = of("disk_capacity_bytes");
      const bool is_slow = of("disk_slow") > 0;
      if (state != "normal" || is_slow) outcome.health = Health::kBad;
      list.rows.push_back(
          {node.address.ToString(), disk, state,
           capacity > 0 ? static_cast<int64_t>(100 - of("disk_available_bytes") / capacity * 100)
                        : int64_t{0},
           number("disk_available_bytes", 1 << 20), number("disk_capacity_bytes", 1 << 20),
           std::string(is_slow ? "yes" : "no"), number("disk_sync_p99_seconds", 1e-6),
           number("log_bytes", 1 << 20), number("disk_io_errors_total", 1),
           number("disk_failed_replicas", 1)});
    }
  }
  outcome.answer.AddList(std::move(list));
  return outcome;
}

// ---- one key ----

absl::StatusOr<Outcome> Hash(Session& session, const Words& arguments) {
  if (arguments.size() != 2) return UsageError("a hash key and a sort key (\"\" when it is empty)");
  const uint64_t hash = PartitionHash(arguments[0], arguments[1]);
  Outcome outcome;
  outcome.answer.Add("key_hash", std::to_string(hash));
  if (session.table_name().empty()) return outcome;
  ASSIGN_OR_RETURN(const TableState table, session.cluster().FindTable(session.table_name()));
  if (table.partitions.empty())
    return absl::FailedPreconditionError("the table has no partitions now");
  const PartitionConfiguration& partition = table.PartitionFor(hash);
  std::vector<std::string> secondaries;
  for (const Endpoint secondary : partition.secondaries)
    secondaries.push_back(secondary.ToString());
  outcome.answer.Add("app_name", Escape(table.info.app_name))
      .Add("app_id", int64_t{table.info.app_id})
      .Add("partition_index", int64_t{partition.pid.index})
      .Add("primary", partition.primary.IsValid() ? partition.primary.ToString() : std::string())
      .Add("secondaries", std::move(secondaries));
  return outcome;
}

absl::StatusOr<Outcome> Trace(Session& session, const Words& arguments) {
  if (arguments.empty() || arguments.size() > 2)
    return UsageError("HASH_KEY, and SORT_KEY where that counts");
  if (session.table_name().empty())
    return absl::FailedPreconditionError("no table in use; say: use NAME (ls lists them)");
  ASSIGN_OR_RETURN(const TableState table, session.cluster().FindTable(session.table_name()));
  if (table.partitions.empty())
    return absl::FailedPreconditionError("the table has no partitions now");
  const std::string raw = JoinRawKey(arguments[0], arguments.size() > 1 ? arguments[1] : "");
  const uint64_t hash = PartitionHash(raw);
  const PartitionConfiguration& partition = table.PartitionFor(hash);
  std::vector<std::string> secondaries;
  for (const Endpoint secondary : partition.secondaries)
    secondaries.push_back(secondary.ToString());
  Outcome outcome;
  outcome.answer.Add("table", Escape(table.info.app_name))
      .Add("hash", std::to_string(hash))
      .Add("partition", partition.pid.ToString())
      .Add("ballot", partition.ballot.value())
      .Add("primary", partition.primary.IsValid() ? partition.primary.ToString() : std::string())
      .Add("secondaries", std::move(secondaries))
      .Add("healthy", std::string(table.IsHealthy(partition) ? "yes" : "no"));
  if (!table.IsHealthy(partition)) outcome.health = Health::kBad;
  Gathered gathered;
  if (partition.primary.IsValid()) {
    absl::StatusOr<std::vector<JsonRow>> rows =
        FetchRows(partition.primary, "/slow?limit=512&partition=" + partition.pid.ToString());
    if (!rows.ok()) {
      gathered.silent.push_back(partition.primary.ToString());
    } else {
      for (JsonRow& row : *rows) gathered.rows.emplace_back(partition.primary, std::move(row));
    }
  }
  Answer::List list = SlowRows(gathered, partition.pid.ToString());
  Cut(kRowsByDefault, absl::StrCat("slow -g ", partition.pid.ToString(), " -n ROWS shows more"),
      &list, &outcome);
  Finish(std::move(gathered), std::move(list), &outcome);
  return outcome;
}

}  // namespace

std::vector<Command> LoadCommands() {
  using Completes = Command::Completes;
  return {{"disks", "", "the servers' disks: room, state, how fast they sync", Completes::kNothing,
           Disks},
          {"slow", "[-g PARTITION] [-n ROWS]",
           "the last slow requests of all servers, and what a write's time went into",
           Completes::kNothing, Slow},
          {"hotkeys", "[TABLE] [-n ROWS]", "the hash keys asked for most in the last minute",
           Completes::kTables, HotKeysCommand},
          {"hash", "HASH_KEY SORT_KEY", "a key's hash, and its partition in the table in use",
           Completes::kNothing, Hash},
          {"trace", "HASH_KEY [SORT_KEY]",
           "where a key of the table in use lives, and what was slow there", Completes::kNothing,
           Trace}};
}

}  // namespace arion::shell
