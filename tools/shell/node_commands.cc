// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

absl::StatusOr<Outcome> Nodes(Session& session, const Words& arguments) {
  if (!arguments.empty()) return UsageError("it takes nothing");
  ASSIGN_OR_RETURN(std::vector<TableState> tables, session.cluster().Tables());
  ASSIGN_OR_RETURN(std::vector<NodeState> nodes, session.cluster().Nodes(tables));
  Outcome outcome;
  Answer::List list{"nodes", {"address", "state", "primary", "secondary"}, {}};
  for (const NodeState& node : nodes) {
    list.rows.push_back({node.address.ToString(), std::string(node.alive ? "alive" : "dead"),
                         int64_t{node.primaries}, int64_t{node.secondaries}});
    if (!node.alive) outcome.health = Health::kBad;
  }
  outcome.answer.AddList(std::move(list));
  return outcome;
}

}  // namespace

std::vector<Command> NodeCommands() {
  return {{"nodes", "", "replica servers, alive or dead, and what they serve",
           Command::Completes::kNothing, Nodes}};
}

}  // namespace arion::shell
