// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

absl::StatusOr<Outcome> ClusterInfo(Session& session, const Words& arguments) {
  if (!arguments.empty()) return UsageError("it takes nothing");
  ASSIGN_OR_RETURN(auto info, session.cluster().Info());
  Outcome outcome;
  for (auto& [key, value] : info) outcome.answer.Add(key, Escape(value));
  return outcome;
}

}  // namespace

std::vector<Command> ClusterCommands() {
  return {{"cluster_info", "", "what the meta server says of the cluster",
           Command::Completes::kNothing, ClusterInfo},
          {"cluster-info", "", "the same, as admin-cli says it", Command::Completes::kNothing,
           ClusterInfo}};
}

}  // namespace arion::shell
