// What is wrong, what is being done about it, and what is under way.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_split.h>

#include <algorithm>
#include <set>

#include "base/status.h"
#include "tools/pages/server_page.h"
#include "tools/shell/mixed_cluster.h"
#include "tools/shell/session.h"
#include "tools/shell/wrong_clocks.h"

namespace arion::shell {
namespace {

struct Overview {
  std::vector<TableState> tables;
  std::vector<NodeState> nodes;
  FunctionLevel level = FunctionLevel::kInvalid;

  bool Heals() const { return level >= FunctionLevel::kSteady; }
  int64_t alive() const {
    return std::count_if(nodes.begin(), nodes.end(), [](const NodeState& n) { return n.alive; });
  }
};

absl::StatusOr<Overview> Look(Session& session) {
  Overview overview;
  ASSIGN_OR_RETURN(overview.tables, session.cluster().Tables());
  ASSIGN_OR_RETURN(overview.nodes, session.cluster().Nodes(overview.tables));
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  ASSIGN_OR_RETURN(const ControlMetaResponse level, admin->ControlMeta({FunctionLevel::kInvalid}));
  overview.level = level.old_level;
  return overview;
}

// What a partition that is not healthy waits for.
std::string DoneAbout(const Overview& overview, const TableState& table,
                      const PartitionConfiguration& partition) {
  if (!overview.Heals()) return "nothing: the meta level is below steady (set_meta_level steady)";
  if (partition.MemberCount() == 0)
    return "it waits for a last member to come back; ddd_diagnose says who has what";
  if (!partition.primary.IsValid()) return "another member becomes primary";
  const auto wanted = static_cast<int64_t>(table.info.max_replica_count);
  if (overview.alive() < wanted)
    return absl::StrCat("it waits for a server: ", overview.alive(), " are alive, ", wanted,
                        " are needed");
  return "a member is brought up, or waited for (lost_member_wait)";
}

std::string WrongWith(const TableState& table, const PartitionConfiguration& partition) {
  if (partition.MemberCount() == 0) return "no member: can't be read or written";
  if (!partition.primary.IsValid()) return "no primary: can't be read or written";
  return absl::StrCat(partition.MemberCount(), " of ", table.info.max_replica_count, " members");
}

void AddPartitions(const Overview& overview, Answer::List* problems) {
  constexpr size_t kShownOfTable = 10;
  for (const TableState& table : overview.tables) {
    if (table.info.status != AppStatus::kAvailable)
      problems->rows.push_back({absl::StrCat("table ", Escape(table.info.app_name)),
                                std::string(AppStatusName(table.info.status)),
                                std::string("the meta server goes on with it")});
    size_t shown = 0, left = 0;
    for (const PartitionConfiguration& partition : table.partitions) {
      if (table.IsHealthy(partition)) continue;
      if (shown == kShownOfTable) {
        ++left;
        continue;
      }
      ++shown;
      problems->rows.push_back({absl::StrCat("partition ", partition.pid.ToString(), " of ",
                                             Escape(table.info.app_name)),
                                WrongWith(table, partition),
                                DoneAbout(overview, table, partition)});
    }
    if (left > 0)
      problems->rows.push_back({absl::StrCat("table ", Escape(table.info.app_name)),
                                absl::StrCat(left, " partitions more"),
                                absl::StrCat("app ", Escape(table.info.app_name), " -d")});
  }
}

void AddDisks(const NodeState& node, const std::vector<MetricSample>& samples,
              Answer::List* problems) {
  for (const MetricSample& sample : samples) {
    const auto disk = sample.labels.find("disk");
    if (disk == sample.labels.end() || sample.value == 0) continue;
    const std::string where = absl::StrCat("disk ", disk->second, " of ", node.address.ToString());
    if (sample.name == "disk_state" && sample.labels.at("state") == "space_insufficient")
      problems->rows.push_back(
          {where, std::string("lacks space"),
           std::string("its replicas leave it; whoever has to stay in its group "
                       "refuses new writes until there is space, reads go on")});
    if (sample.name == "disk_state" && sample.labels.at("state") == "open_files_insufficient")
      problems->rows.push_back({where, std::string("its logs wait for open files"),
                                std::string("new writes are refused until there are some; reads "
                                            "go on; raise LimitNOFILE= of the service")});
    if (sample.name == "disk_state" && sample.labels.at("state") == "memory_insufficient")
      problems->rows.push_back({where, std::string("its logs wait for memory"),
                                std::string("new writes are refused until there is some; reads "
                                            "go on")});
    if (sample.name == "disk_state" && sample.labels.at("state") == "refused")
      problems->rows.push_back({where, std::string("the server may not write there"),
                                std::string("new writes are refused until it may; reads go on; its "
                                            "log says which path belongs to whom")});
    if (sample.name == "disk_state" && sample.labels.at("state") == "io_error")
      problems->rows.push_back(
          {where, std::string("failed"), std::string("its replicas are made again elsewhere")});
    if (sample.name == "disk_slow")
      problems->rows.push_back(
          {where, std::string("is slow"),
           std::string("its primaries move away, then its replicas leave it")});
    if (sample.name == "disk_failed_replicas")
      problems->rows.push_back(
          {where, absl::StrCat(static_cast<int64_t>(sample.value), " replicas set aside, *.err"),
           std::string("kept for a while, then removed")});
    if (sample.name == "log_waiting_for_space")
      problems->rows.push_back({where,
                                absl::StrCat(static_cast<int64_t>(sample.value), " logs wait"),
                                std::string("tried again until they go on")});
  }
}

void AddDiffering(const std::string& where, const std::vector<MetricSample>& samples,
                  Answer::List* problems) {
  for (const MetricSample& sample : samples)
    if (sample.name == "undecided_partitions" && sample.value > 0)
      problems->rows.push_back(
          {where,
           absl::StrCat("the copies of ", static_cast<int64_t>(sample.value),
                        " partitions it leads differ and no majority says which is right"),
           std::string("nothing by itself; verify_replicas shows where, and what to do")});
}

void AddOpenFiles(const std::string& where, const std::vector<MetricSample>& samples,
                  Answer::List* problems) {
  const auto value = [&](std::string_view name) {
    for (const MetricSample& sample : samples)
      if (sample.name == name) return static_cast<int64_t>(sample.value);
    return int64_t{0};
  };
  if (value("open_files_short") == 0) return;
  problems->rows.push_back(
      {where,
       absl::StrCat("open files: its limit of ", value("process_max_fds"), " carries ",
                    value("replicas_max"), " replicas"),
       std::string("new copies go elsewhere; raise LimitNOFILE= of its service")});
}

std::string DoneAboutSilent(const Overview& overview, const NodeState& node) {
  if (node.primaries + node.secondaries == 0)
    return absl::StrCat(
        "no group counts it any more, and what it had is made again elsewhere unless it comes "
        "back; where its address changed for good: forget_server ",
        node.address.ToString());
  if (node.primaries > 0)
    return absl::StrCat("nobody serves in its place yet in ", node.primaries,
                        node.primaries == 1 ? " partition" : " partitions", " that it leads");
  return overview.Heals() ? "others serve in its place; its copies are made again elsewhere"
                          : "nothing: the meta level is below steady";
}

// Those that live and answer nothing are `silent` then.
void AddServers(const Overview& overview, std::set<Endpoint>* silent, Answer::List* problems) {
  for (const NodeState& node : overview.nodes) {
    const std::string where = "server " + node.address.ToString();
    if (!node.alive) {
      problems->rows.push_back({where, std::string("silent"), DoneAboutSilent(overview, node)});
      continue;
    }
    const absl::StatusOr<std::vector<MetricSample>> samples = FetchSamples(node.address);
    if (!samples.ok() && IsOlder(node.address, samples.status())) continue;  // WhoJoins says it
    if (!samples.ok()) {
      silent->insert(node.address);
      problems->rows.push_back(
          {where, "no page: " + std::string(samples.status().message()), std::string()});
      continue;
    }
    AddDisks(node, *samples, problems);
    AddDiffering(where, *samples, problems);
    AddOpenFiles(where, *samples, problems);
    const absl::StatusOr<std::string> stuck = FetchPage(node.address, "/stuck", PageForm::kText);
    if (stuck.ok() && !stuck->starts_with("nothing"))
      problems->rows.push_back(
          {where, stuck->substr(0, stuck->find('\n')), std::string("stuck shows where it stands")});
  }
}

void AddWarnings(Session& session, Answer::List* problems) {
  for (Endpoint meta_server : session.cluster().meta_servers()) {
    const absl::StatusOr<std::vector<JsonRow>> warnings = FetchWarnings(meta_server);
    if (!warnings.ok()) continue;
    for (JsonRow warning : *warnings)
      if (warning["notice"] != "true")
        problems->rows.push_back({warning["what"], warning["problem"], warning["way"]});
    return;
  }
}

// What shall be known while it lasts, and what a power cut would cost: no problems by themselves.
void AddMixed(Session& session, const Overview& overview, const std::vector<Joining>& joins,
              Answer::List* notes) {
  for (const Joining& joining : joins)
    notes->rows.push_back({joining.who, joining.what, joining.way});
  for (const WeakTable& table : WeakTables(session, overview.tables))
    notes->rows.push_back({absl::StrCat("table ", Escape(table.name)),
                           std::string("an acknowledged write may not survive a power cut"),
                           table.why});
}

// What the meta server remembers of servers, though it may be mended: no problem by itself.
void AddNotes(Session& session, Answer::List* notes) {
  for (Endpoint meta_server : session.cluster().meta_servers()) {
    const absl::StatusOr<std::vector<MetricSample>> samples = FetchSamples(meta_server);
    if (!samples.ok()) continue;
    for (const MetricSample& sample : *samples) {
      if (sample.name != "older_copies" || sample.value == 0) continue;
      const auto copies = static_cast<int64_t>(sample.value);
      notes->rows.push_back({absl::StrCat("server ", sample.labels.at("server")),
                             absl::StrCat("came back within a day with ", copies,
                                          copies == 1 ? " older copy" : " older copies"),
                             std::string("they learn by themselves; look for a disk or directory "
                                         "that was put back")});
    }
    return;
  }
}

// ---- what is under way ----

void AddRecoveries(const Overview& overview, Answer::List* jobs) {
  for (const NodeState& node : overview.nodes) {
    const absl::StatusOr<std::string> page = FetchPage(node.address, "/recovery", PageForm::kText);
    if (!page.ok() || page->find("recovery: done") == 0 || page->find("recovery: not") == 0)
      continue;
    jobs->rows.push_back(
        {std::string("recovery"), node.address.ToString(), page->substr(0, page->find('\n'))});
  }
}

void AddHealing(const Overview& overview, Answer::List* jobs) {
  for (const TableState& table : overview.tables) {
    int64_t members = 0, wanted = 0;
    for (const PartitionConfiguration& partition : table.partitions) {
      if (TableState::IsAwaited(partition)) continue;
      members += static_cast<int64_t>(partition.MemberCount());
      wanted += table.info.max_replica_count;
    }
    // Below steady nothing is under way, however many are missing.
    if (members < wanted && overview.Heals())
      jobs->rows.push_back({std::string("healing"), Escape(table.info.app_name),
                            absl::StrCat(members, "/", wanted, " replicas")});
    if (members > wanted)
      jobs->rows.push_back({std::string("moving"), Escape(table.info.app_name),
                            absl::StrCat(members - wanted, " copies more than wanted meanwhile")});
  }
}

void AddSplits(const Overview& overview, Answer::List* jobs) {
  for (const TableState& table : overview.tables) {
    const int awaited = table.AwaitedPartitions();
    const int parents = table.info.partition_count / 2;
    if (awaited > 0)
      jobs->rows.push_back({std::string("split"), Escape(table.info.app_name),
                            absl::StrCat(parents - awaited, "/", parents, " partitions")});
  }
}

Answer::List JobsOf(const Overview& overview) {
  Answer::List jobs{"jobs", {"job", "of", "progress"}, {}};
  AddRecoveries(overview, &jobs);
  AddHealing(overview, &jobs);
  AddSplits(overview, &jobs);
  return jobs;
}

absl::StatusOr<Outcome> Jobs(Session& session, const Words& arguments) {
  if (!arguments.empty()) return UsageError("it takes nothing");
  ASSIGN_OR_RETURN(const Overview overview, Look(session));
  Outcome outcome;
  outcome.answer.AddList(JobsOf(overview));
  return outcome;
}

absl::StatusOr<Outcome> ShowStatus(Session& session, const Words& arguments) {
  if (!arguments.empty()) return UsageError("it takes nothing");
  ASSIGN_OR_RETURN(const Overview overview, Look(session));
  Outcome outcome;
  Answer::List problems{"problems", {"what", "problem", "being_done"}, {}};
  if (!overview.Heals())
    problems.rows.push_back({std::string("meta server"),
                             std::string("its level is below steady: nothing heals"),
                             std::string("set_meta_level steady")});
  AddWarnings(session, &problems);
  std::set<Endpoint> silent;
  AddServers(overview, &silent, &problems);
  for (const WrongClock& clock : WrongClocks(session))
    problems.rows.push_back({clock.whose, clock.what, clock.remedy});
  AddPartitions(overview, &problems);
  const std::vector<Joining> joins = WhoJoins(session, overview.nodes, silent);
  // Servers of one version see to it by beacons; only beside others is it worth the questions.
  if (!joins.empty())
    for (const Joining& lease : WhoLeadsTooLong(session, overview.nodes, silent))
      problems.rows.push_back({lease.who, lease.what, lease.way});
  int64_t partitions = 0, healthy = 0;
  for (const TableState& table : overview.tables) {
    partitions += table.info.partition_count;
    healthy += table.HealthyPartitions();
  }
  if (!problems.rows.empty()) outcome.health = Health::kBad;
  // Notes come after: what is only to be known makes nothing unhealthy.
  const std::string state = problems.rows.empty() ? "healthy" : "unhealthy";
  AddNotes(session, &problems);
  AddMixed(session, overview, joins, &problems);
  outcome.answer.Add("state", state)
      .Add("servers_alive", overview.alive())
      .Add("servers", static_cast<int64_t>(overview.nodes.size()))
      .Add("partitions_healthy", healthy)
      .Add("partitions", partitions)
      .AddList(std::move(problems))
      .AddList(JobsOf(overview));
  return outcome;
}

}  // namespace

std::vector<Command> StatusCommands() {
  using Completes = Command::Completes;
  return {{"status", "", "what is wrong, what is being done about it, what is under way",
           Completes::kNothing, ShowStatus},
          {"jobs", "", "what is under way: recoveries, healing, moves", Completes::kNothing, Jobs}};
}

}  // namespace arion::shell
