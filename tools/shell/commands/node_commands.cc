// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "tools/shell/arguments.h"
#include "tools/shell/mixed_cluster.h"
#include "tools/shell/server_load.h"
#include "tools/shell/session.h"
#include "tools/shell/wrong_clocks.h"

namespace arion::shell {
namespace {

// -u and -q: what living servers use and do, behind the columns there are; a dead one's, or a
// silent one's, stay empty.
absl::Status AddLoads(const Arguments& arguments, const std::vector<NodeState>& nodes,
                      Answer::List* list, Outcome* outcome) {
  std::vector<LoadColumn> columns;
  if (arguments.Has("-u")) columns = ResourceColumns();
  if (arguments.Has("-q"))
    for (LoadColumn& column : RequestColumns()) columns.push_back(std::move(column));
  if (columns.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const absl::Duration pause, PauseOf(arguments));
  std::vector<Endpoint> living;
  for (const NodeState& node : nodes)
    if (node.alive) living.push_back(node.address);
  const std::vector<absl::StatusOr<ServerLoad>> loads = LookAt(living, pause);
  for (const LoadColumn& column : columns) list->columns.push_back(column.name);
  // Only living servers were looked at: this iterator moves with them.
  auto load = loads.begin();
  std::vector<std::string> silent;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const bool is_known = nodes[i].alive && load->ok();
    for (const LoadColumn& column : columns)
      list->rows[i].push_back(is_known ? Cell(column.cell(**load)) : Cell(std::string()));
    if (!is_known) silent.push_back(nodes[i].address.ToString());
    if (nodes[i].alive) ++load;
  }
  if (!silent.empty()) outcome->health = Health::kBad;
  outcome->answer.Add("no_answer_from", std::move(silent));
  return absl::OkStatus();
}

absl::StatusOr<Outcome> Nodes(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments,
                   Arguments::Parse(words, {"-s", "-i"}, {"-d", "-u", "-q"}));
  const std::string wanted = arguments.Value("-s");
  if (!arguments.words().empty()) return UsageError("options only");
  if (!wanted.empty() && wanted != "all" && wanted != "alive" && wanted != "unalive")
    return UsageError("-s is all, alive or unalive");
  ASSIGN_OR_RETURN(std::vector<TableState> tables, session.cluster().Tables());
  ASSIGN_OR_RETURN(std::vector<NodeState> nodes, session.cluster().Nodes(tables));
  Outcome outcome;
  std::erase_if(nodes, [&](const NodeState& node) {
    if (!node.alive) outcome.health = Health::kBad;
    return (wanted == "alive" && !node.alive) || (wanted == "unalive" && node.alive);
  });
  Answer::List list{"nodes", {"address", "state", "primary", "secondary"}, {}};
  // Under the columns that scripts of older versions read.
  const bool detailed = arguments.Has("-d");
  if (detailed)
    list = {
        "details", {"address", "status", "replica_count", "primary_count", "secondary_count"}, {}};
  for (const NodeState& node : nodes) {
    const Cell primary = int64_t{node.primaries}, secondary = int64_t{node.secondaries};
    const std::string state =
        detailed ? (node.alive ? "ALIVE" : "UNALIVE") : (node.alive ? "alive" : "dead");
    list.rows.push_back({node.address.ToString(), state});
    if (detailed) list.rows.back().emplace_back(int64_t{node.primaries + node.secondaries});
    list.rows.back().insert(list.rows.back().end(), {primary, secondary});
  }
  RETURN_IF_ERROR(AddLoads(arguments, nodes, &list, &outcome));
  outcome.answer.AddList(std::move(list));
  Answer::List clocks{"wrong_clocks", {"whose", "problem", "remedy"}, {}};
  for (const WrongClock& clock : WrongClocks(session))
    clocks.rows.push_back({clock.whose, clock.what, clock.remedy});
  if (!clocks.rows.empty()) outcome.health = Health::kBad;
  if (!clocks.rows.empty()) outcome.answer.AddList(std::move(clocks));
  Answer::List joining{"joining", {"who", "what", "way"}, {}};
  for (const Joining& who : WhoJoins(session, nodes))
    joining.rows.push_back({who.who, who.what, who.way});
  if (!joining.rows.empty()) outcome.answer.AddList(std::move(joining));
  return outcome;
}

absl::StatusOr<Outcome> NodeStat(Session& session, const Words& arguments) {
  Words words = {"-u", "-q"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return Nodes(session, words);
}

absl::StatusOr<Outcome> ForgetServer(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(words, {}, {"-y"}));
  if (arguments.words().size() != 1) return UsageError("which server? write 10.0.0.1:34801");
  const auto server = Endpoint::Parse(arguments.words()[0]);
  if (!server)
    return UsageError(absl::StrCat("'", arguments.words()[0], "' is no server's address"));
  const std::string question = absl::StrCat(
      "forget ", server->ToString(), ", a dead server that comes back at that address no more?");
  if (!arguments.Has("-y") && !session.IsConfirmed(question))
    return absl::AbortedError("nothing was done; -y does not ask");
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  const auto answer = admin->ForgetServer({*server});
  // What the meta server has against it is not its silence.
  if (absl::IsUnavailable(answer.status()))
    return absl::FailedPreconditionError(answer.status().message());
  RETURN_IF_ERROR(answer.status());
  Outcome outcome;
  outcome.answer.Add("forgotten", server->ToString());
  return outcome;
}

}  // namespace

std::vector<Command> NodeCommands() {
  using Completes = Command::Completes;
  return {
      {"nodes", "[-d] [-s all|alive|unalive] [-u] [-q] [-i MILLISECONDS]",
       "replica servers, alive or dead, and what they serve; -u: memory and disks, -q: requests "
       "a second, counted for -i",
       Completes::kNothing, Nodes},
      {"forget_server", "SERVER [-y]",
       "stops showing a dead server that will not come back, for instance because its address "
       "changed; refused while it is alive or a configuration needs it",
       Completes::kNothing, ForgetServer},
      {"node-stat", "[-s all|alive|unalive] [-i MILLISECONDS]", "nodes -u -q, as admin-cli says it",
       Completes::kNothing, NodeStat}};
}

}  // namespace arion::shell
