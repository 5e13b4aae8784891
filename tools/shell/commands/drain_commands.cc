// Emptying a server.
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "tools/shell/arguments.h"
#include "tools/shell/server_emptying.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

Answer::List RowsOf(const Plan& plan) {
  Answer::List list{"moves", {"partition", "action", "from", "to"}, {}};
  for (const Move& move : plan.moves)
    list.rows.push_back(
        {move.pid.ToString(), move.action, move.from.ToString(), move.to.ToString()});
  return list;
}

absl::StatusOr<Outcome> Drain(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(Arguments arguments,
                   Arguments::Parse(words, {}, {"--primaries", "-y", "--dry-run"}));
  const auto node =
      arguments.words().size() == 1 ? Endpoint::Parse(arguments.words()[0]) : std::nullopt;
  if (!node) return UsageError("which server? 10.0.0.1:34801");
  const What what = arguments.Has("--primaries") ? What::kPrimaries : What::kEverything;
  ASSIGN_OR_RETURN(const Plan plan, PlanOf(session, *node, what));
  // Before anybody is asked to confirm.
  RETURN_IF_ERROR(Refusal(plan));
  ASSIGN_OR_RETURN(const int64_t left, LeftOn(session, *node, what));
  Outcome outcome;
  outcome.answer.Add("server", node->ToString()).Add("to_move", left).AddList(RowsOf(plan));
  if (arguments.Has("--dry-run") || left == 0) return outcome;
  if (!arguments.Has("-y")) {
    RETURN_IF_ERROR(session.ShowPlan(outcome.answer));
    if (!session.IsConfirmed(absl::StrCat("move these away from ", node->ToString(), "?")))
      return absl::AbortedError("nothing was done; -y does not ask, --dry-run only shows");
  }
  ASSIGN_OR_RETURN(const Ended ended, Empty(session, *node, what));
  if (ended == Ended::kDetached) outcome.health = Health::kNotDone;
  outcome.answer.Add(
      "result", std::string(ended == Ended::kDone ? "done"
                                                  : "detached: what was proposed is carried out; "
                                                    "the same command goes on"));
  return outcome;
}

}  // namespace

std::vector<Command> DrainCommands() {
  return {{"drain", "HOST:PORT [--primaries] [-y] [--dry-run]",
           "moves what a server serves to others: primaries, then copies",
           Command::Completes::kNodes, Drain}};
}

}  // namespace arion::shell
