// What the replica servers' /recovery, /shared_log, /stuck and /pools pages say.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_split.h>

#include "base/status.h"
#include "tools/pages/server_page.h"
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
    if (!lines.ok()) outcome.health = Health::kBad;
    std::string state = !lines.ok()      ? std::string(lines.status().message())
                        : lines->empty() ? std::string()
                                         : lines->front();
    list.rows.push_back({node.address.ToString(), std::move(state)});
  }
  outcome.answer.AddList(std::move(list));
  return outcome;
}

}  // namespace

std::vector<Command> ServerPageCommands() {
  return {
      {"recovery", "[HOST:PORT]", "how far the servers' opening of their replicas is",
       Command::Completes::kNodes,
       [](Session& session, const Words& arguments) {
         return ShowPage(session, arguments, "/recovery");
       }},
      {"shared_log", "[HOST:PORT]", "what is left of an older version's shared log, who needs it",
       Command::Completes::kNodes,
       [](Session& session, const Words& arguments) {
         return ShowPage(session, arguments, "/shared_log");
       }},
      {"stuck", "[HOST:PORT]", "event loops and disks' work that do not move",
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
