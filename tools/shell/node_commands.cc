// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

absl::StatusOr<Outcome> Nodes(Session& session, const Words& arguments) {
  const bool detailed = arguments == Words{"-d"};
  if (!arguments.empty() && !detailed) return UsageError("nothing, or -d");
  ASSIGN_OR_RETURN(std::vector<TableState> tables, session.cluster().Tables());
  ASSIGN_OR_RETURN(std::vector<NodeState> nodes, session.cluster().Nodes(tables));
  Outcome outcome;
  Answer::List list{"nodes", {"address", "state", "primary", "secondary"}, {}};
  for (const NodeState& node : nodes) {
    list.rows.push_back({node.address.ToString(), std::string(node.alive ? "alive" : "dead"),
                         int64_t{node.primaries}, int64_t{node.secondaries}});
    if (!node.alive) outcome.health = Health::kBad;
  }
  if (detailed) {
    // Under the columns that scripts of older versions read.
    list = {
        "details", {"address", "status", "replica_count", "primary_count", "secondary_count"}, {}};
    for (const NodeState& node : nodes)
      list.rows.push_back({node.address.ToString(), std::string(node.alive ? "ALIVE" : "UNALIVE"),
                           int64_t{node.primaries + node.secondaries}, int64_t{node.primaries},
                           int64_t{node.secondaries}});
  }
  outcome.answer.AddList(std::move(list));
  return outcome;
}

}  // namespace

std::vector<Command> NodeCommands() {
  return {{"nodes", "[-d]", "replica servers, alive or dead, and what they serve",
           Command::Completes::kNothing, Nodes}};
}

}  // namespace arion::shell
