// What is asked of tables, and what they take: by table, partition and server.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_join.h>
#include <absl/time/clock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/status.h"
#include "tools/pages/metric_entities.h"
#include "tools/shell/arguments.h"
#include "tools/shell/remote_server.h"
#include "tools/shell/server_load.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

// ---- app_stat ----

using ValueOfName = std::map<std::string, double>;

// A column: the sum of some of the servers' metrics, by the names of older collectors.
struct Statistic {
  std::string_view column;
  std::vector<std::string_view> metrics;
  enum class Group { kRequests, kMore, kUsage } group;
  // Rates are those of all members, for the primary may move meanwhile; the rest is the primary's.
  bool IsRate() const { return group != Group::kUsage; }
};
const std::vector<Statistic>& Statistics() {
  using enum Statistic::Group;
  static const auto* const all = new std::vector<Statistic>{
      {"get", {"get_requests"}, kRequests},
      {"mget", {"multi_get_requests"}, kRequests},
      {"bget", {"batch_get_requests"}, kRequests},
      {"put", {"put_requests"}, kRequests},
      {"mput", {"multi_put_requests"}, kRequests},
      {"del", {"remove_requests"}, kRequests},
      {"mdel", {"multi_remove_requests"}, kRequests},
      {"incr", {"incr_requests"}, kRequests},
      {"cas", {"check_and_set_requests"}, kRequests},
      {"cam", {"check_and_mutate_requests"}, kRequests},
      {"scan", {"scan_requests"}, kRequests},
      {"rcu", {"read_capacity_units"}, kMore},
      {"wcu", {"write_capacity_units"}, kMore},
      {"expire", {"read_expired_values"}, kMore},
      {"filter", {"read_filtered_values"}, kMore},
      {"abnormal", {"abnormal_read_requests"}, kMore},
      {"delay", {"throttling_delayed_read_requests", "throttling_delayed_write_requests"}, kMore},
      {"reject",
       {"throttling_rejected_read_requests", "throttling_rejected_write_requests"},
       kMore},
      {"file_mb", {"rdb_total_sst_size_mb"}, kUsage},
      {"file_num", {"rdb_total_sst_files"}, kUsage},
      {"keys", {"rdb_estimated_keys"}, kUsage},
      {"mem_tbl_bytes", {"rdb_memtable_mem_usage_bytes"}, kUsage},
      {"mem_idx_bytes", {"rdb_index_and_filter_blocks_mem_usage_bytes"}, kUsage}};
  return *all;
}
constexpr std::string_view kCacheHits = "rdb_block_cache_hit_count";
constexpr std::string_view kCacheReads = "rdb_block_cache_total_count";

// "replica@1.0"
std::optional<PartitionId> PartitionOf(const std::string& entity) {
  PartitionId pid;
  char rest = 0;
  const int read = sscanf(entity.c_str(), "replica@%d.%d%c", &pid.app_id, &pid.index, &rest);
  return read == 2 ? std::optional(pid) : std::nullopt;
}

// What all living servers say of the replicas of some tables, with their rates a second.
struct Readings {
  std::map<PartitionId, std::map<Endpoint, ValueOfName>> now, per_second;
  std::vector<std::string> silent;
};

class Reader {
 public:
  Reader(std::vector<Endpoint> servers, const std::vector<std::string_view>& metrics)
      : servers_(std::move(servers)),
        question_(absl::StrCat("types=replica&with_metric_fields=name,value&metrics=",
                               absl::StrJoin(metrics, ",", [](std::string* out, const auto& name) {
                                 out->append(name);
                               }))) {}

  Readings Read(absl::Duration pause) const {
    std::vector<absl::StatusOr<MetricReading>> before;
    if (pause > absl::ZeroDuration())
      for (const Endpoint server : servers_) before.push_back(FetchEntities(server, question_));
    absl::SleepFor(pause);
    Readings readings;
    for (size_t i = 0; i < servers_.size(); ++i) {
      const absl::StatusOr<MetricReading> now = FetchEntities(servers_[i], question_);
      if (!now.ok()) {
        readings.silent.push_back(servers_[i].ToString());
        continue;
      }
      for (const MetricEntity& entity : now->entities)
        if (const auto pid = PartitionOf(entity.id))
          readings.now[*pid][servers_[i]] = entity.values;
      if (!before.empty() && before[i].ok()) AddRates(servers_[i], *before[i], *now, &readings);
    }
    return readings;
  }

 private:
  static void AddRates(Endpoint server, const MetricReading& before, const MetricReading& now,
                       Readings* readings) {
    const double seconds = static_cast<double>(now.unix_nanos - before.unix_nanos) / 1e9;
    if (seconds <= 0) return;
    std::map<std::string_view, const ValueOfName*> earlier;
    for (const MetricEntity& entity : before.entities) earlier[entity.id] = &entity.values;
    for (const MetricEntity& entity : now.entities) {
      const auto pid = PartitionOf(entity.id);
      const auto known = earlier.find(entity.id);
      if (!pid) continue;
      ValueOfName& rates = readings->per_second[*pid][server];
      for (const auto& [name, value] : entity.values) {
        // A replica that opened between the two readings counts from 0.
        double then = 0;
        if (known != earlier.end() && known->second->contains(name)) then = known->second->at(name);
        rates[name] = std::max(0.0, (value - then) / seconds);
      }
    }
  }

  const std::vector<Endpoint> servers_;
  const std::string question_;
};

// The sums over some partitions; a metric that nobody counts is not there.
struct Sums {
  ValueOfName per_second, now;
  void Add(const PartitionConfiguration& partition, const Readings& readings) {
    if (const auto it = readings.per_second.find(partition.pid); it != readings.per_second.end())
      for (const auto& [server, values] : it->second)
        for (const auto& [name, value] : values) per_second[name] += value;
    const auto it = readings.now.find(partition.pid);
    if (it == readings.now.end() || !it->second.contains(partition.primary)) return;
    for (const auto& [name, value] : it->second.at(partition.primary)) now[name] += value;
  }
  void Add(const Sums& other) {
    for (const auto& [name, value] : other.per_second) per_second[name] += value;
    for (const auto& [name, value] : other.now) now[name] += value;
  }
  Cell Of(const Statistic& statistic) const {
    const ValueOfName& values = statistic.IsRate() ? per_second : now;
    double sum = 0;
    // Requests of a kind are counted from the first of them on; the rest is counted, or not known.
    bool is_known = statistic.group == Statistic::Group::kRequests;
    for (const std::string_view metric : statistic.metrics) {
      is_known = is_known || now.contains(std::string(metric));
      if (const auto it = values.find(std::string(metric)); it != values.end()) sum += it->second;
    }
    return is_known ? Cell(int64_t{std::llround(sum)}) : Cell(std::string());
  }
  Cell HitPercent() const {
    const auto hits = now.find(std::string(kCacheHits)), reads = now.find(std::string(kCacheReads));
    if (hits == now.end() || reads == now.end() || reads->second <= 0) return std::string();
    return int64_t{std::llround(100 * hits->second / reads->second)};
  }
};

absl::StatusOr<std::vector<Endpoint>> LivingServers(Session& session) {
  ASSIGN_OR_RETURN(const std::vector<NodeState> nodes, session.cluster().Nodes({}));
  std::vector<Endpoint> living;
  for (const NodeState& node : nodes)
    if (node.alive) living.push_back(node.address);
  return living;
}

// The rows of a list, and their sum.
class StatisticRows {
 public:
  StatisticRows(std::vector<std::string> first_columns, bool requests_only, bool usage_only)
      : list_{"app_stat", std::move(first_columns), {}}, has_hits_(!requests_only) {
    using enum Statistic::Group;
    for (const Statistic& statistic : Statistics())
      if (requests_only ? statistic.group == kRequests : !usage_only || statistic.group == kUsage)
        shown_.push_back(&statistic);
    for (const Statistic* statistic : shown_) list_.columns.emplace_back(statistic->column);
    if (has_hits_) list_.columns.emplace_back("hit_percent");
  }
  std::vector<std::string_view> Metrics() const {
    std::vector<std::string_view> metrics = {kCacheHits, kCacheReads};
    for (const Statistic* statistic : shown_)
      metrics.insert(metrics.end(), statistic->metrics.begin(), statistic->metrics.end());
    return metrics;
  }
  void Add(std::vector<Cell> first, const Sums& sums) {
    for (const Statistic* statistic : shown_) first.push_back(sums.Of(*statistic));
    if (has_hits_) first.push_back(sums.HitPercent());
    list_.rows.push_back(std::move(first));
  }
  size_t size() const { return list_.rows.size(); }
  Answer::List Take() { return std::move(list_); }

 private:
  Answer::List list_;
  const bool has_hits_;
  std::vector<const Statistic*> shown_;
};

absl::StatusOr<Outcome> AppStat(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(words, {"-a", "-i"}, {"-q", "-u"}));
  if (!arguments.words().empty()) return UsageError("options only; -a names a table");
  if (arguments.Has("-q") && arguments.Has("-u")) return UsageError("-q or -u");
  ASSIGN_OR_RETURN(absl::Duration pause, PauseOf(arguments));
  if (arguments.Has("-u")) pause = absl::ZeroDuration();
  const std::string only = arguments.Value("-a");
  std::vector<TableState> tables;
  if (only.empty()) {
    ASSIGN_OR_RETURN(tables, session.cluster().Tables());
  } else {
    ASSIGN_OR_RETURN(TableState table, session.cluster().FindTable(only));
    tables.push_back(std::move(table));
  }
  ASSIGN_OR_RETURN(std::vector<Endpoint> servers, LivingServers(session));
  StatisticRows rows(only.empty() ? std::vector<std::string>{"app_name", "app_id", "pcount"}
                                  : std::vector<std::string>{"pidx"},
                     arguments.Has("-q"), arguments.Has("-u"));
  Readings readings = Reader(std::move(servers), rows.Metrics()).Read(pause);
  Sums total;
  int64_t partitions = 0;
  for (const TableState& table : tables) {
    Sums sums;
    for (const PartitionConfiguration& partition : table.partitions) {
      Sums one;
      one.Add(partition, readings);
      sums.Add(one);
      if (!only.empty()) rows.Add({std::to_string(partition.pid.index)}, one);
    }
    if (only.empty())
      rows.Add({Escape(table.info.app_name), int64_t{table.info.app_id},
                int64_t{table.info.partition_count}},
               sums);
    total.Add(sums);
    partitions += table.info.partition_count;
  }
  const std::string name = absl::StrCat("(total:", rows.size(), ")");
  rows.Add(only.empty() ? std::vector<Cell>{name, int64_t{0}, partitions} : std::vector<Cell>{name},
           total);
  Outcome outcome;
  if (!readings.silent.empty()) outcome.health = Health::kBad;
  outcome.answer.Add("no_answer_from", std::move(readings.silent)).AddList(rows.Take());
  return outcome;
}

absl::StatusOr<Outcome> PartitionStat(Session& session, const Words& words) {
  if (session.table_name().empty())
    return absl::FailedPreconditionError("no table in use; say: use NAME (ls lists them)");
  Words all = {"-a", session.table_name()};
  all.insert(all.end(), words.begin(), words.end());
  return AppStat(session, all);
}

// ---- app_disk ----

absl::StatusOr<Outcome> AppDisk(Session& session, const Words& words) {
  constexpr char kSize[] = "rdb_total_sst_size_mb";
  constexpr char kFiles[] = "rdb_total_sst_files";
  ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(words, {}, {"-d"}));
  if (arguments.words().size() > 1) return UsageError("one table");
  const std::string name = arguments.words().empty() ? session.table_name() : arguments.words()[0];
  if (name.empty()) return UsageError("which table?");
  ASSIGN_OR_RETURN(const TableState table, session.cluster().FindTable(name));
  ASSIGN_OR_RETURN(std::vector<Endpoint> servers, LivingServers(session));
  Readings readings = Reader(std::move(servers), {kSize, kFiles}).Read(absl::ZeroDuration());
  Answer::List list{
      "details", {"pidx", "ballot", "role", "server", "disk_used_mb", "file_count"}, {}};
  double primaries_mb = 0, all_mb = 0;
  int64_t all_files = 0, unknown = 0;
  for (const PartitionConfiguration& partition : table.partitions) {
    const auto& replicas = readings.now[partition.pid];
    std::vector<Endpoint> members = partition.secondaries;
    if (partition.primary.IsValid()) members.insert(members.begin(), partition.primary);
    for (const Endpoint member : members) {
      const auto it = replicas.find(member);
      const bool is_known = it != replicas.end() && it->second.contains(kSize);
      const double megabytes = is_known ? it->second.at(kSize) : 0;
      const int64_t files = is_known && it->second.contains(kFiles)
                                ? std::llround(it->second.at(kFiles))
                                : int64_t{0};
      if (!is_known) ++unknown;
      all_mb += megabytes;
      all_files += files;
      if (member == partition.primary) primaries_mb += megabytes;
      list.rows.push_back({int64_t{partition.pid.index}, partition.ballot.value(),
                           std::string(member == partition.primary ? "primary" : "secondary"),
                           member.ToString(), is_known ? Cell(megabytes) : Cell(std::string()),
                           is_known ? Cell(files) : Cell(std::string())});
    }
  }
  Outcome outcome;
  if (unknown > 0) outcome.health = Health::kBad;
  outcome.answer.Add("app_name", Escape(table.info.app_name))
      .Add("app_id", int64_t{table.info.app_id})
      .Add("partition_count", int64_t{table.info.partition_count})
      .Add("max_replica_count", int64_t{table.info.max_replica_count})
      .Add("disk_used_for_primary_replicas_mb", primaries_mb)
      .Add("disk_used_for_all_replicas_mb", all_mb)
      .Add("files_of_all_replicas", all_files)
      .Add("replicas_not_known", unknown)
      .Add("no_answer_from", std::move(readings.silent));
  if (arguments.Has("-d")) outcome.answer.AddList(std::move(list));
  return outcome;
}

// ---- server_stat ----

absl::StatusOr<Outcome> ServerStat(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments,
                   Arguments::Parse(words, {"-t", "-l", "-n", "-i"}, {}));
  if (!arguments.words().empty()) return UsageError("options only");
  ASSIGN_OR_RETURN(const absl::Duration pause, PauseOf(arguments));
  ASSIGN_OR_RETURN(const std::vector<KnownServer> servers,
                   ServersOf(session.cluster(), arguments.Value("-t"),
                             arguments.Value("-l") + arguments.Value("-n")));
  std::vector<Endpoint> addresses;
  for (const KnownServer& server : servers) addresses.push_back(server.address);
  std::vector<LoadColumn> columns = ResourceColumns();
  columns.push_back({"open_files", [](const ServerLoad& load) {
                       return static_cast<int64_t>(load.Now("process_open_fds"));
                     }});
  for (const char* role : {"primary", "secondary", "learner"})
    columns.push_back({absl::StrCat(role, "_replicas"), [role](const ServerLoad& load) {
                         return static_cast<int64_t>(load.Now("replicas", "status", role));
                       }});
  for (LoadColumn& column : RequestColumns()) columns.push_back(std::move(column));

  Outcome outcome;
  Answer::List list{"servers", {"address", "role", "answer"}, {}};
  for (const LoadColumn& column : columns) list.columns.push_back(column.name);
  const auto loads = LookAt(addresses, pause);
  int64_t failed = 0;
  std::string text;
  for (size_t i = 0; i < servers.size(); ++i) {
    const std::string address = servers[i].address.ToString(), role(servers[i].role);
    std::vector<std::string> pairs;
    std::vector<Cell> row = {address, role,
                             std::string(loads[i].ok() ? "succeed" : loads[i].status().message())};
    for (const LoadColumn& column : columns) {
      row.push_back(loads[i].ok() ? Cell(column.cell(*loads[i])) : Cell(std::string()));
      if (loads[i].ok()) pairs.push_back(absl::StrCat(column.name, "=", column.cell(*loads[i])));
    }
    if (!loads[i].ok()) ++failed;
    list.rows.push_back(std::move(row));
    absl::StrAppend(&text, "CALL [", role, "] [", address, "] ",
                    loads[i].ok() ? absl::StrCat("succeed: ", absl::StrJoin(pairs, ", "))
                                  : absl::StrCat("failed: ", loads[i].status().message()),
                    "\n");
  }
  if (failed > 0) outcome.health = Health::kBad;
  const auto succeeded = static_cast<int64_t>(servers.size()) - failed;
  absl::StrAppend(&text, "Succeed count: ", succeeded, "\nFailed count: ", failed);
  outcome.answer.Add("succeed_count", succeeded)
      .Add("failed_count", failed)
      .AddList(std::move(list))
      .Say(std::move(text));
  return outcome;
}

}  // namespace

std::vector<Command> StatisticsCommands() {
  using Completes = Command::Completes;
  return {
      {"app_stat", "[-a TABLE] [-q | -u] [-i MILLISECONDS]",
       "what each table is asked a second, counted for -i, and what it takes; -a: one table's "
       "partitions; -q: requests only; -u: usage only",
       Completes::kNothing, AppStat},
      {"table-stat", "[-q | -u] [-i MILLISECONDS]", "the same, as admin-cli says it",
       Completes::kNothing, AppStat},
      {"partition-stat", "[-q | -u] [-i MILLISECONDS]",
       "app_stat -a of the table in use, as admin-cli says it", Completes::kNothing, PartitionStat},
      {"app_disk", "[NAME] [-d]", "what a table's files take on the disks; -d: each replica",
       Completes::kTables, AppDisk},
      {"server_stat", "[-t all|meta-server|replica-server] [-l SERVER,...] [-i MILLISECONDS]",
       "what each server uses and does, counted for -i", Completes::kNodes, ServerStat}};
}

}  // namespace arion::shell
