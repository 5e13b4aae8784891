// What the meta server is told to do: levels, moves of replicas, dead partitions revived.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/status.h"
#include "tools/shell/arguments.h"
#include "tools/shell/dead_partition.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

constexpr std::pair<std::string_view, ConfigType> kActions[] = {
    {"ASSIGN_PRIMARY", ConfigType::kAssignPrimary},
    {"UPGRADE_TO_PRIMARY", ConfigType::kUpgradeToPrimary},
    {"ADD_SECONDARY", ConfigType::kAddSecondary},
    {"DOWNGRADE_TO_SECONDARY", ConfigType::kDowngradeToSecondary},
    {"DOWNGRADE_TO_INACTIVE", ConfigType::kDowngradeToInactive},
    {"REMOVE", ConfigType::kRemove},
    {"ADD_SECONDARY_FOR_LB", ConfigType::kAddSecondaryForLoadBalance},
};

std::string ActionName(ConfigType type) {
  for (const auto& [name, known] : kActions)
    if (known == type) return std::string(name);
  return "?";
}

// kInvalid asks for the level and leaves it as it is.
absl::StatusOr<Outcome> ControlMeta(Session& session, FunctionLevel level) {
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  ASSIGN_OR_RETURN(ControlMetaResponse answer, admin->ControlMeta({level}));
  Outcome outcome;
  const std::string old_level = std::string(FunctionLevelName(answer.old_level));
  if (level == FunctionLevel::kInvalid) {
    outcome.answer.Add("level", old_level).Say(absl::StrCat("current level: ", old_level));
  } else {
    const std::string new_level(FunctionLevelName(level));
    outcome.answer.Add("old_level", old_level)
        .Add("level", new_level)
        .Say(absl::StrCat("level ", old_level, " became ", new_level));
  }
  return outcome;
}

absl::StatusOr<Outcome> GetLevel(Session& session, const Words& arguments) {
  if (!arguments.empty()) return UsageError("it takes nothing");
  return ControlMeta(session, FunctionLevel::kInvalid);
}

absl::StatusOr<Outcome> SetLevel(Session& session, const Words& arguments) {
  const auto level = arguments.size() == 1 ? FindFunctionLevel(arguments[0]) : std::nullopt;
  if (!level) return UsageError("stopped, blind, freezed, steady or lively");
  return ControlMeta(session, *level);
}

absl::StatusOr<Outcome> MetaLevel(Session& session, const Words& arguments) {
  if (arguments.empty()) return GetLevel(session, {});
  if (arguments[0] != "set") return UsageError("nothing, or: set LEVEL");
  return SetLevel(session, Words(arguments.begin() + 1, arguments.end()));
}

// ---- moves ----

absl::StatusOr<PartitionConfiguration> FindPartition(Session& session, PartitionId pid) {
  ASSIGN_OR_RETURN(std::vector<TableState> tables, session.cluster().Tables());
  for (const TableState& table : tables)
    for (const PartitionConfiguration& partition : table.partitions)
      if (partition.pid == pid) return partition;
  return absl::NotFoundError(absl::StrCat("there is no partition ", pid.ToString()));
}

Answer::List StepsOf(const std::vector<ProposedAction>& actions) {
  Answer::List steps{"steps", {"action", "node", "target"}, {}};
  for (const ProposedAction& action : actions)
    steps.rows.push_back({ActionName(action.type), action.node.ToString(),
                          action.target.IsValid() ? action.target.ToString() : "primary"});
  return steps;
}

// Shows the plan, asks, and hands it to the meta server, which carries it out step by step.
absl::StatusOr<Outcome> CarryOut(Session& session, const Arguments& arguments, PartitionId pid,
                                 std::vector<ProposedAction> actions, bool force) {
  Outcome outcome;
  outcome.answer.Add("partition", pid.ToString()).AddList(StepsOf(actions));
  if (arguments.Has("--dry-run")) return outcome;
  std::string question = absl::StrCat("partition ", pid.ToString(), ":");
  for (const ProposedAction& action : actions)
    absl::StrAppend(&question, " ", ActionName(action.type), " ", action.node.ToString(), ",");
  question.back() = '?';
  if (!arguments.Has("-y") && !session.IsConfirmed(question))
    return absl::AbortedError("nothing was done; -y does not ask, --dry-run only shows");
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  const absl::Status proposed =
      admin->ProposePlan({.pid = pid, .actions = std::move(actions), .force = force}).status();
  if (absl::IsInvalidArgument(proposed))
    return absl::FailedPreconditionError(
        absl::StrCat(proposed.message(),
                     ": the first step does not fit the partition as it is, or an earlier plan is "
                     "still being carried out"));
  RETURN_IF_ERROR(proposed);
  outcome.answer.Add("result", std::string("queued; app TABLE -d shows when it is done"));
  return outcome;
}

absl::StatusOr<Outcome> Propose(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(Arguments arguments,
                   Arguments::Parse(words, {"-g", "-p", "-t", "-n"}, {"-f", "-y", "--dry-run"}));
  if (!arguments.words().empty()) return UsageError("options only");
  ASSIGN_OR_RETURN(PartitionId pid, arguments.Partition("-g"));
  ProposedAction action;
  for (const auto& [name, type] : kActions)
    if (arguments.Value("-p") == name) action.type = type;
  if (action.type == ConfigType::kInvalid)
    return UsageError("-p needs an action, as UPGRADE_TO_PRIMARY or REMOVE");
  ASSIGN_OR_RETURN(action.target, arguments.Node("-t"));
  ASSIGN_OR_RETURN(action.node, arguments.Node("-n"));
  if (!action.node.IsValid()) return UsageError("-n needs the server it is about");
  return CarryOut(session, arguments, pid, {action}, arguments.Has("-f"));
}

absl::StatusOr<Outcome> Balance(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(Arguments arguments,
                   Arguments::Parse(words, {"-g", "-p", "-f", "-t"}, {"-y", "--dry-run"}));
  if (!arguments.words().empty()) return UsageError("options only");
  ASSIGN_OR_RETURN(PartitionId pid, arguments.Partition("-g"));
  ASSIGN_OR_RETURN(Endpoint from, arguments.Node("-f"));
  ASSIGN_OR_RETURN(Endpoint to, arguments.Node("-t"));
  if (!from.IsValid() || !to.IsValid() || from == to)
    return UsageError("-f and -t name two servers");
  ASSIGN_OR_RETURN(PartitionConfiguration partition, FindPartition(session, pid));
  const std::string what = arguments.Value("-p");
  const bool moves_primary = what == "move_pri" || what == "copy_pri";
  if (moves_primary && partition.primary != from)
    return absl::FailedPreconditionError(
        absl::StrCat(from.ToString(), " is not primary of ", pid.ToString()));
  if (what == "copy_sec" && !partition.IsSecondary(from))
    return absl::FailedPreconditionError(
        absl::StrCat(from.ToString(), " is not secondary of ", pid.ToString()));
  // A primary moves to a member; a copy is made where there is none.
  if (partition.IsMember(to) != (what == "move_pri"))
    return absl::FailedPreconditionError(
        absl::StrCat(to.ToString(), partition.IsMember(to) ? " has" : " does not have",
                     " a copy of ", pid.ToString(), " already"));
  using enum ConfigType;
  if (what == "move_pri")
    return CarryOut(session, arguments, pid,
                    {{from, from, kDowngradeToSecondary}, {to, to, kUpgradeToPrimary}}, false);
  // The new copy is made before the primary leaves the old one, which goes last: the group never
  // has fewer members than it had.
  if (what == "copy_pri")
    return CarryOut(session, arguments, pid,
                    {{from, to, kAddSecondaryForLoadBalance},
                     {from, from, kDowngradeToSecondary},
                     {to, to, kUpgradeToPrimary},
                     {to, from, kRemove}},
                    false);
  if (what == "copy_sec")
    return CarryOut(session, arguments, pid,
                    {{{}, to, kAddSecondaryForLoadBalance}, {{}, from, kDowngradeToInactive}},
                    false);
  return UsageError("-p is move_pri, copy_pri or copy_sec");
}

// ---- dead partitions ----

absl::StatusOr<Outcome> DddDiagnose(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(Arguments arguments,
                   Arguments::Parse(words, {"-g"}, {"-a", "-d", "-y", "--dry-run"}));
  if (!arguments.words().empty()) return UsageError("options only");
  DddDiagnoseRequest request;
  if (!arguments.Value("-g").empty()) {
    ASSIGN_OR_RETURN(request.pid, arguments.Partition("-g"));
  }
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  ASSIGN_OR_RETURN(DddDiagnoseResponse dead, admin->DiagnoseDead(request));
  Outcome outcome;
  Answer::List list{"partitions",
                    {"partition", "reason", "node", "alive", "reported", "ballot", "committed",
                     "prepared", "candidate"},
                    {}};
  bool may_propose = arguments.Has("-a") && !arguments.Has("--dry-run");
  int64_t proposed = 0;
  std::vector<std::string> refused;
  for (const DddPartition& partition : dead.partitions) {
    const DddNode* best = BestCandidate(partition);
    for (const DddNode& node : partition.dropped)
      list.rows.push_back({partition.config.pid.ToString(), partition.reason, node.node.ToString(),
                           std::string(node.is_alive ? "yes" : "no"),
                           std::string(node.is_collected ? "yes" : "no"), node.ballot.value(),
                           node.last_committed_decree.value(), node.last_prepared_decree.value(),
                           std::string(&node == best ? "yes" : "no")});
    if (!may_propose || best == nullptr) continue;
    const std::string question = absl::StrCat(
        "partition ", partition.config.pid.ToString(), ": serve from ", best->node.ToString(),
        " (prepared ", best->last_prepared_decree.value(), ", committed at least ",
        partition.config.last_committed_decree.value(), ")? What only others had is lost");
    // One question for each partition: each may lose other data.
    if (!arguments.Has("-y") && !session.IsConfirmed(question)) continue;
    const absl::Status status =
        admin
            ->ProposePlan({.pid = partition.config.pid,
                           .actions = {{best->node, best->node, ConfigType::kAssignPrimary}},
                           .force = true})
            .status();
    if (status.ok()) {
      ++proposed;
      continue;
    }
    refused.push_back(absl::StrCat(partition.config.pid.ToString(), ": ", status.message()));
    // Of this partition only: it has changed meanwhile.
    if (!absl::IsInvalidArgument(status)) may_propose = false;
  }
  // What was proposed is not healed yet: the meta server carries it out.
  if (!dead.partitions.empty()) outcome.health = Health::kBad;
  if (!refused.empty()) outcome.health = Health::kNotDone;
  outcome.answer.Add("dead", static_cast<int64_t>(dead.partitions.size()))
      .Add("proposed", proposed)
      .Add("refused", std::move(refused))
      .AddList(std::move(list));
  return outcome;
}

}  // namespace

std::vector<Command> PlanCommands() {
  using Completes = Command::Completes;
  return {{"get_meta_level", "", "shows what the meta server does by itself", Completes::kNothing,
           GetLevel},
          {"set_meta_level", "stopped|blind|freezed|steady|lively",
           "steady heals; lively also balances and removes garbage; freezed and below heal nothing",
           Completes::kLevels, SetLevel},
          {"meta-level", "[set LEVEL]", "the same, as admin-cli says it", Completes::kLevels,
           MetaLevel},
          {"propose", "-g PARTITION -p ACTION [-t TARGET] -n NODE [-f] [-y] [--dry-run]",
           "proposes one step for a partition", Completes::kNodes, Propose},
          {"balance", "-g PARTITION -p move_pri|copy_pri|copy_sec -f FROM -t TO [-y] [--dry-run]",
           "moves a primary, or a copy", Completes::kNodes, Balance},
          {"ddd_diagnose", "[-g PARTITION] [-a] [-y] [--dry-run]",
           "partitions that nobody can lead; -a: serve from the best candidate, once every living "
           "server that had the partition has reported what it has",
           Completes::kNothing, DddDiagnose}};
}

}  // namespace arion::shell
