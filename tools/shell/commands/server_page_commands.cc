// What the replica servers' /recovery, /shared_log, /stuck, /pools and /replica/data_version pages
// say.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_split.h>

#include <set>

#include "base/status.h"
#include "tools/pages/server_page.h"
#include "tools/shell/mixed_cluster.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

// The lines of a page that is text.
absl::StatusOr<std::vector<std::string>> PageOf(Endpoint server, std::string_view page) {
  ASSIGN_OR_RETURN(const std::string text, FetchPage(server, page, PageForm::kText));
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// Without a word: each living server's first line; with one: that server's page.
absl::StatusOr<Outcome> ShowPage(Session& session, const Words& arguments, std::string_view page) {
  Outcome outcome;
  if (arguments.size() > 1) return UsageError("nothing, or HOST:PORT of a replica server");
  if (arguments.size() == 1) {
    const auto server = Endpoint::Parse(arguments[0]);
    if (!server) return UsageError("HOST:PORT of a replica server");
    ASSIGN_OR_RETURN(std::vector<std::string> lines, PageOf(*server, page));
    Answer::List list{"lines", {"line"}, {}};
    for (std::string& line : lines) list.rows.push_back({std::move(line)});
    outcome.answer.AddList(std::move(list));
    return outcome;
  }
  ASSIGN_OR_RETURN(std::vector<TableState> tables, session.cluster().Tables());
  ASSIGN_OR_RETURN(std::vector<NodeState> nodes, session.cluster().Nodes(tables));
  Answer::List list{"servers", {"address", "state"}, {}};
  for (const NodeState& node : nodes) {
    const absl::StatusOr<std::vector<std::string>> lines = PageOf(node.address, page);
    const bool is_older = !lines.ok() && IsOlder(node.address, lines.status());
    if (!lines.ok() && !is_older) outcome.health = Health::kBad;
    std::string state = is_older      ? std::string("is of an older version: it has no such page")
                        : !lines.ok() ? std::string(lines.status().message())
                        : lines->empty() ? std::string()
                                         : lines->front();
    list.rows.push_back({node.address.ToString(), std::move(state)});
  }
  outcome.answer.AddList(std::move(list));
  return outcome;
}

// How the values of the table in use are laid out, on each server that has some of them.
absl::StatusOr<Outcome> DataVersion(Session& session, const Words& arguments) {
  if (!arguments.empty()) return UsageError("it takes nothing; use TABLE chooses the table");
  if (session.table_name().empty())
    return absl::FailedPreconditionError("no table in use; say: use NAME (ls lists them)");
  ASSIGN_OR_RETURN(const TableState table, session.cluster().FindTable(session.table_name()));
  std::set<Endpoint> servers;
  for (const PartitionConfiguration& partition : table.partitions) {
    servers.insert(partition.secondaries.begin(), partition.secondaries.end());
    if (partition.primary.IsValid()) servers.insert(partition.primary);
  }
  Outcome outcome;
  Answer::List list{"servers", {"server", "replicas", "data_versions"}, {}};
  std::vector<std::string> silent;
  for (const Endpoint server : servers) {
    const absl::StatusOr<std::vector<JsonRow>> rows =
        FetchMembers(server, absl::StrCat("/replica/data_version?app_id=", table.info.app_id));
    if (!rows.ok()) {
      silent.push_back(server.ToString());
      continue;
    }
    std::set<std::string> versions;
    for (const JsonRow& row : *rows)
      if (const auto it = row.find("data_version"); it != row.end()) versions.insert(it->second);
    list.rows.push_back({server.ToString(), static_cast<int64_t>(rows->size()),
                         std::vector<std::string>(versions.begin(), versions.end())});
  }
  if (!silent.empty()) outcome.health = Health::kBad;
  outcome.answer.Add("table", Escape(table.info.app_name))
      .Add("no_answer_from", std::move(silent))
      .AddList(std::move(list));
  return outcome;
}

}  // namespace

std::vector<Command> ServerPageCommands() {
  return {
      {"data-version", "",
       "the layout of stored values of the table in use, by server: 1, or 0 as of old versions",
       Command::Completes::kNothing, DataVersion},
      {"recovery", "[HOST:PORT]", "how far servers are with opening their replicas",
       Command::Completes::kNodes,
       [](Session& session, const Words& arguments) {
         return ShowPage(session, arguments, "/recovery");
       }},
      {"shared_log", "[HOST:PORT]", "what is left of an older version's shared log, who needs it",
       Command::Completes::kNodes,
       [](Session& session, const Words& arguments) {
         return ShowPage(session, arguments, "/shared_log");
       }},
      {"stuck", "[HOST:PORT]", "event loops and disk work that make no progress",
       Command::Completes::kNodes,
       [](Session& session, const Words& arguments) {
         return ShowPage(session, arguments, "/stuck");
       }},
      {"pools", "[HOST:PORT]",
       "event loops and disks' pools: sizes, queues, waiting and working times",
       Command::Completes::kNodes, [](Session& session, const Words& arguments) {
         return ShowPage(session, arguments, "/pools");
       }}};
}

}  // namespace arion::shell
