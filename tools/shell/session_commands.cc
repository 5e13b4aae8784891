// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

absl::StatusOr<Outcome> Help(Session& session, const Words& arguments) {
  Answer::List list{"commands", {"command", "what_it_does"}, {}};
  for (const Command& command : session.commands()) {
    if (!arguments.empty() && arguments[0] != command.name) continue;
    list.rows.push_back(
        {absl::StrCat(Text(command.name), command.usage.empty() ? "" : " ", Text(command.usage)),
         std::string(command.help)});
  }
  if (list.rows.empty()) return absl::NotFoundError("there is no such command; help lists them");
  Outcome outcome;
  outcome.answer.AddList(std::move(list));
  return outcome;
}

absl::StatusOr<Outcome> Exit(Session& session, const Words&) {
  session.End();
  return Outcome{};
}

}  // namespace

std::vector<Command> SessionCommands() {
  using Completes = Command::Completes;
  return {{"help", "[COMMAND]", "this list", Completes::kNothing, Help},
          {"exit", "", "leaves the shell", Completes::kNothing, Exit}};
}

}  // namespace arion::shell
