// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>

#include <algorithm>

#include "base/status.h"
#include "base/version.h"
#include "tools/shell/older_names.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

absl::StatusOr<Outcome> Help(Session& session, const Words& arguments) {
  if (arguments.size() > 1) return UsageError("nothing, or one command");
  Answer::List list{"commands", {"command", "what_it_does"}, {}};
  size_t width = 0;
  for (const Command& command : session.commands()) width = std::max(width, command.name.size());
  std::string text;
  for (const Command& command : session.commands()) {
    if (!arguments.empty() && arguments[0] != command.name) continue;
    const std::string usage =
        absl::StrCat(Text(command.name), command.usage.empty() ? "" : " ", Text(command.usage));
    list.rows.push_back({usage, std::string(command.help)});
    if (arguments.empty())
      absl::StrAppend(&text, Text(command.name), std::string(width - command.name.size() + 2, ' '),
                      Text(command.help), "\n");
    else
      absl::StrAppend(&text, usage, "\n    ", Text(command.help));
  }
  if (list.rows.empty()) {
    const std::string_view why = WhyAbsent(arguments[0]);
    return absl::NotFoundError(why.empty() ? "there is no such command; help lists them"
                                           : Text(why));
  }
  if (arguments.empty()) absl::StrAppend(&text, "\nhelp COMMAND shows what it takes");
  Outcome outcome;
  outcome.answer.AddList(std::move(list)).Say(std::move(text));
  return outcome;
}

absl::StatusOr<Outcome> Version(Session&, const Words& arguments) {
  if (!arguments.empty()) return UsageError("it takes nothing; server_info says servers'");
  Outcome outcome;
  outcome.answer.Add("version", std::string(kVersion))
      .Add("commit", std::string(kCommit))
      .Say(absl::StrCat("Arion shell ", Text(kVersion), " (", Text(kCommit), ")"));
  return outcome;
}

absl::StatusOr<Outcome> ChangeCluster(Session& session, const Words& arguments) {
  if (arguments.size() != 1)
    return UsageError("its meta servers, as 10.0.0.1:34601,10.0.0.2:34601");
  ASSIGN_OR_RETURN(std::vector<Endpoint> servers, ParseServers(arguments[0]));
  // The new cluster must answer before the old one is given up.
  const std::vector<Endpoint> before = session.cluster().meta_servers();
  session.cluster().ConnectTo(std::move(servers));
  if (const absl::Status there = session.cluster().Info().status(); !there.ok()) {
    session.cluster().ConnectTo(before);
    return absl::FailedPreconditionError(
        absl::StrCat("the cluster stays as it was: ", arguments[0], ": ", there.message()));
  }
  // The other cluster's table of that name is another one.
  session.set_table_name("");
  Outcome outcome;
  outcome.answer.Add("meta_servers", arguments[0]).Say(session.HealthLine());
  return outcome;
}

absl::StatusOr<Outcome> Timeout(Session& session, const Words& arguments) {
  int64_t millis = absl::ToInt64Milliseconds(session.cluster().timeout());
  if (arguments.size() > 1 || (arguments.size() == 1 && (!absl::SimpleAtoi(arguments[0], &millis) ||
                                                         millis < 1 || millis > 3'600'000)))
    return UsageError("nothing, or milliseconds, 1 to 3600000");
  if (!arguments.empty()) session.cluster().set_timeout(absl::Milliseconds(millis));
  Outcome outcome;
  outcome.answer.Add("timeout_ms", millis).Say(absl::StrCat("timeout: ", millis, " ms"));
  return outcome;
}

absl::StatusOr<Outcome> EscapeAllOfThem(Session& session, const Words& arguments) {
  if (arguments.size() > 1 ||
      (arguments.size() == 1 && arguments[0] != "true" && arguments[0] != "false"))
    return UsageError("nothing, true or false");
  if (!arguments.empty()) session.set_escapes_all(arguments[0] == "true");
  const std::string now = session.escapes_all() ? "true" : "false";
  Outcome outcome;
  outcome.answer.Add("escape_all", now).Say(absl::StrCat("escape_all: ", now));
  return outcome;
}

absl::StatusOr<Outcome> Exit(Session& session, const Words&) {
  session.End();
  return Outcome{};
}

}  // namespace

std::vector<Command> SessionCommands() {
  using Completes = Command::Completes;
  return {
      {"help", "[COMMAND]", "lists the commands, or shows what one takes", Completes::kNothing,
       Help},
      {"version", "", "prints the shell's version", Completes::kNothing, Version},
      {"cc", "META_SERVER,...", "connects to another cluster", Completes::kNothing, ChangeCluster},
      {"timeout", "[MILLISECONDS]", "shows or sets how long to wait for an answer",
       Completes::kNothing, Timeout},
      {"escape_all", "[true|false]", "whether all bytes of keys and values are shown as \\xHH",
       Completes::kNothing, EscapeAllOfThem},
      {"exit", "", "leaves the shell", Completes::kNothing, Exit}};
}

}  // namespace arion::shell
