// Environments of the table in use, under the names of both older shells.
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "messages/table_environments.h"
#include "tools/shell/arguments.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

absl::StatusOr<Outcome> Get(Session& session, const Words& arguments) {
  if (arguments.size() > 1) return UsageError("one table at most");
  const std::string name = arguments.empty() ? session.table_name() : arguments[0];
  if (name.empty()) return UsageError("which table?");
  ASSIGN_OR_RETURN(TableState table, session.cluster().FindTable(name));
  Answer::List list{"app_envs", {"key", "value", "acts"}, {}};
  for (const auto& [key, value] : table.info.envs) {
    // An older version may have stored what nothing here acts upon.
    const bool acts = CheckTableEnvironment(key, value).ok();
    list.rows.push_back({Escape(key), Escape(value), std::string(acts ? "yes" : "no")});
  }
  Outcome outcome;
  outcome.answer.Add("name", Escape(name)).AddList(std::move(list));
  return outcome;
}

absl::StatusOr<Outcome> Update(Session& session, UpdateAppEnvRequest request) {
  if (session.table_name().empty())
    return absl::FailedPreconditionError("no table in use; say: use NAME (ls lists them)");
  request.app_name = session.table_name();
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  const absl::StatusOr<UpdateAppEnvResponse> answer = admin->UpdateEnvironments(request);
  if (absl::IsInvalidArgument(answer.status()))  // the values, not the usage
    return absl::FailedPreconditionError(answer.status().message());
  RETURN_IF_ERROR(answer.status());
  Outcome outcome;
  outcome.answer.Add("name", Escape(request.app_name)).Add("hint", Escape(answer->hint_message));
  outcome.answer.Say(answer->hint_message.empty() ? "done" : answer->hint_message);
  return outcome;
}

absl::StatusOr<Outcome> Set(Session& session, const Words& arguments) {
  if (arguments.empty() || arguments.size() % 2 != 0) return UsageError("keys and values, in turn");
  UpdateAppEnvRequest request{.op = EnvOperation::kSet};
  request.keys.emplace();
  request.values.emplace();
  for (size_t i = 0; i < arguments.size(); i += 2) {
    request.keys->push_back(arguments[i]);
    request.values->push_back(arguments[i + 1]);
  }
  return Update(session, std::move(request));
}

absl::StatusOr<Outcome> Delete(Session& session, const Words& arguments) {
  if (arguments.empty()) return UsageError("which keys?");
  return Update(session, {.op = EnvOperation::kDelete, .keys = arguments});
}

absl::StatusOr<Outcome> Clear(Session& session, const Words& arguments) {
  ASSIGN_OR_RETURN(Arguments parsed,
                   Arguments::Parse(arguments, {"-p", "--prefix"}, {"-a", "--all"}));
  const bool all = parsed.Has("-a") || parsed.Has("--all");
  const std::string prefix = parsed.Value("-p") + parsed.Value("--prefix");
  // Neither would clear all by mistake, both contradict each other.
  if (all == !prefix.empty() || !parsed.words().empty())
    return UsageError("either -a for all, or -p PREFIX for those that start with PREFIX.");
  return Update(session, {.op = EnvOperation::kClear, .clear_prefix = prefix});
}

// admin-cli's way to say all of these.
absl::StatusOr<Outcome> TableEnv(Session& session, const Words& arguments) {
  const std::string verb = arguments.empty() ? "list" : arguments[0];
  const Words rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (verb == "list" || verb == "ls") return Get(session, rest);
  if (verb == "set") return Set(session, rest);
  if (verb == "clear") return Clear(session, {"-a"});
  if (verb == "delete" || verb == "del") {
    ASSIGN_OR_RETURN(Arguments parsed, Arguments::Parse(rest, {}, {"--prefix"}));
    if (!parsed.Has("--prefix")) return Delete(session, parsed.words());
    if (parsed.words().size() != 1) return UsageError("one prefix");
    return Clear(session, {"-p", parsed.words()[0]});
  }
  return UsageError("list, set, delete or clear");
}

}  // namespace

std::vector<Command> EnvironmentCommands() {
  using Completes = Command::Completes;
  return {{"get_app_envs", "[TABLE]", "environments of the table in use, and which act here",
           Completes::kTables, Get},
          {"set_app_envs", "KEY VALUE [KEY VALUE]...",
           "sets environments of the table in use; they act within a second",
           Completes::kEnvironments, Set},
          {"del_app_envs", "KEY...", "removes environments", Completes::kEnvironments, Delete},
          {"clear_app_envs", "-a | -p PREFIX", "removes all environments, or PREFIX.*",
           Completes::kNothing, Clear},
          {"table-env", "list | set KEY VALUE | delete KEY [--prefix] | clear",
           "the same, as admin-cli says it", Completes::kEnvironments, TableEnv}};
}

}  // namespace arion::shell
