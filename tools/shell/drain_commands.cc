// Emptying a server, and restarting servers one after the other.
//
// Each step is planned from the partitions as they are now, so whoever was interrupted, or lost the
// connection, says the same command again and goes on where it stood.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_replace.h>
#include <absl/time/clock.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "base/status.h"
#include "tools/pages/server_page.h"
#include "tools/shell/arguments.h"
#include "tools/shell/progress.h"
#include "tools/shell/session.h"
#include "tools/shell/wrong_clocks.h"

namespace arion::shell {
namespace {

constexpr absl::Duration kLookEvery = absl::Milliseconds(500);
constexpr size_t kAtOnce = 8;                            // partitions moved at a time
constexpr absl::Duration kAskAgain = absl::Seconds(5);   // refused while it is under way
constexpr absl::Duration kPatience = absl::Minutes(30);  // without any partition moved

enum class What { kPrimaries, kEverything };

struct Move {
  PartitionId pid;
  std::string action;  // move_primary, copy, remove
  Endpoint from, to;
  std::vector<ProposedAction> steps;
};

struct Plan {
  std::vector<Move> moves;
  std::vector<std::string> refused;  // why nothing may be done
};

// Loads as they will be once the plan is carried out.
class Loads {
 public:
  // `followers`: who leads what others could lead, too, only in their place.
  Loads(const std::vector<NodeState>& nodes, Endpoint leaving, std::set<Endpoint> followers)
      : followers_(std::move(followers)) {
    for (const NodeState& node : nodes)
      if (node.alive && node.address != leaving)
        loads_[node.address] = {node.primaries, node.primaries + node.secondaries};
  }
  bool IsThere(Endpoint node) const { return loads_.contains(node); }
  // The least loaded secondary that is alive; invalid: none.
  Endpoint NextPrimary(const PartitionConfiguration& partition) {
    Endpoint best;
    const auto rank = [this](Endpoint node) {
      return std::pair(followers_.contains(node), loads_[node].first);
    };
    for (const Endpoint node : partition.secondaries)
      if (IsThere(node) && (!best.IsValid() || rank(node) < rank(best))) best = node;
    if (best.IsValid()) ++loads_[best].first;
    return best;
  }
  // The server with the fewest replicas that has none of this partition; invalid: none.
  Endpoint NextHome(const PartitionConfiguration& partition) {
    Endpoint best;
    for (const auto& [node, load] : loads_)
      if (!partition.IsMember(node) && (!best.IsValid() || load.second < loads_[best].second))
        best = node;
    if (best.IsValid()) ++loads_[best].second;
    return best;
  }

 private:
  std::map<Endpoint, std::pair<int, int>> loads_;  // primaries, replicas
  const std::set<Endpoint> followers_;
};

void PlanPartition(const PartitionConfiguration& partition, size_t replica_count, Endpoint node,
                   What what, Loads* loads, Plan* plan) {
  using enum ConfigType;
  const std::string name = "partition " + partition.pid.ToString();
  if (partition.primary == node) {
    const Endpoint to = loads->NextPrimary(partition);
    if (!to.IsValid()) {
      plan->refused.push_back(name + ": no living secondary can become primary");
      return;
    }
    plan->moves.push_back({partition.pid,
                           "move_primary",
                           node,
                           to,
                           {{node, node, kDowngradeToSecondary}, {to, to, kUpgradeToPrimary}}});
    if (what == What::kPrimaries) return;
    // Its copy follows once the primary has gone.
    if (partition.MemberCount() <= replica_count && !loads->NextHome(partition).IsValid())
      plan->refused.push_back(name + ": no other server can take its copy");
    return;
  }
  if (what == What::kPrimaries || !partition.IsSecondary(node)) return;
  if (partition.MemberCount() > replica_count) {  // its successor is there already
    plan->moves.push_back({partition.pid, "remove", node, {}, {{{}, node, kDowngradeToInactive}}});
    return;
  }
  const Endpoint to = loads->NextHome(partition);
  if (!to.IsValid()) {
    plan->refused.push_back(absl::StrCat(name, ": without ", node.ToString(), " it would have ",
                                         partition.MemberCount() - 1,
                                         " members, and no other server can take a copy"));
    return;
  }
  plan->moves.push_back(
      {partition.pid,
       "copy",
       node,
       to,
       {{{}, to, kAddSecondaryForLoadBalance}, {{}, node, kDowngradeToInactive}}});
}

absl::StatusOr<Plan> PlanOf(Session& session, Endpoint node, What what) {
  ASSIGN_OR_RETURN(const std::vector<TableState> tables, session.cluster().Tables());
  ASSIGN_OR_RETURN(const std::vector<NodeState> nodes, session.cluster().Nodes(tables));
  if (std::none_of(nodes.begin(), nodes.end(),
                   [&](const NodeState& known) { return known.address == node; }))
    return absl::NotFoundError(
        absl::StrCat("there is no server ", node.ToString(), "; nodes lists them"));
  Loads loads(nodes, node, ServersWithWrongClocks(session));
  Plan plan;
  for (const TableState& table : tables)
    for (const PartitionConfiguration& partition : table.partitions)
      PlanPartition(partition, static_cast<size_t>(std::max(1, table.info.max_replica_count)), node,
                    what, &loads, &plan);
  return plan;
}

// How much of it is still on the server.
absl::StatusOr<int64_t> LeftOn(Session& session, Endpoint node, What what) {
  ASSIGN_OR_RETURN(const std::vector<TableState> tables, session.cluster().Tables());
  int64_t left = 0;
  for (const TableState& table : tables)
    for (const PartitionConfiguration& partition : table.partitions) {
      left += partition.primary == node ? 1 : 0;
      if (what == What::kEverything) left += partition.IsSecondary(node) ? 1 : 0;
    }
  return left;
}

absl::Status Refusal(const Plan& plan) {
  if (plan.refused.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "nothing was done: ", plan.refused.front(),
      plan.refused.size() > 1 ? absl::StrCat("; and ", plan.refused.size() - 1, " more such")
                              : ""));
}

enum class Ended { kDone, kDetached };  // kDetached: by Ctrl-C; what follows must not rely on it

// Proposes the moves, some at a time, and waits until nothing is left on the server.
absl::StatusOr<Ended> Empty(Session& session, Endpoint node, What what) {
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  ASSIGN_OR_RETURN(const int64_t all, LeftOn(session, node, what));
  Progress progress(all, "moved away from " + node.ToString());
  std::map<std::pair<PartitionId, std::string>, absl::Time> asked;
  int64_t least = all;
  absl::Time moved_at = absl::Now();
  while (true) {
    ASSIGN_OR_RETURN(const int64_t left, LeftOn(session, node, what));
    progress.Show(all - left);
    if (left == 0) return Ended::kDone;
    const absl::Time now = absl::Now();
    if (left < least) least = left, moved_at = now;
    if (now - moved_at > kPatience)
      return absl::DeadlineExceededError(absl::StrCat(left, " are still there, and none left for ",
                                                      absl::FormatDuration(kPatience),
                                                      "; status says what is wrong"));
    ASSIGN_OR_RETURN(const Plan plan, PlanOf(session, node, what));
    RETURN_IF_ERROR(Refusal(plan));
    std::set<std::pair<PartitionId, std::string>> wanted;
    for (const Move& move : plan.moves) wanted.insert({move.pid, move.action});
    std::erase_if(asked, [&](const auto& one) {
      return !wanted.contains(one.first) || now - one.second > kAskAgain;
    });
    for (const Move& move : plan.moves) {
      if (asked.size() >= kAtOnce) break;
      if (asked.contains({move.pid, move.action})) continue;
      const absl::Status proposed =
          admin->ProposePlan({.pid = move.pid, .actions = move.steps}).status();
      // Not now: an earlier plan, perhaps this one, is still carried out, or the partition has
      // changed.
      if (!proposed.ok() && !absl::IsInvalidArgument(proposed) &&
          !absl::IsDeadlineExceeded(proposed))
        return proposed;
      asked[{move.pid, move.action}] = now;
    }
    Interrupts::Sleep(kLookEvery);
    if (progress.IsDetached()) return Ended::kDetached;
  }
}

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
  outcome.answer.Add("result", std::string(ended == Ended::kDone
                                               ? "done"
                                               : "detached: what was proposed is carried out; say "
                                                 "it again to go on"));
  return outcome;
}

// ---- restarts ----

absl::StatusOr<int64_t> UnhealthyPartitions(Session& session) {
  ASSIGN_OR_RETURN(const std::vector<TableState> tables, session.cluster().Tables());
  int64_t unhealthy = 0;
  for (const TableState& table : tables)
    unhealthy += table.info.partition_count - table.HealthyPartitions();
  return unhealthy;
}

// 0: it does not say.
double StartedAt(Endpoint node) {
  const absl::StatusOr<std::vector<MetricSample>> samples = FetchSamples(node);
  return samples.ok() ? SumOf(*samples, "process_start_time_seconds") : 0;
}

// While it loads them it stays a member of its partitions.
bool HasOpenedItsReplicas(Endpoint node) {
  const absl::StatusOr<std::string> page = FetchPage(node, "/recovery", PageForm::kText);
  return page.ok() && page->starts_with("recovery: done");
}

std::string CommandFor(const std::string& command, Endpoint node) {
  const std::string address = node.ToString();
  const size_t colon = address.rfind(':');
  return absl::StrReplaceAll(command, {{"{address}", address},
                                       {"{host}", address.substr(0, colon)},
                                       {"{port}", address.substr(colon + 1)}});
}

// After the command: until the server runs anew, with its replicas open, and every partition is
// healthy again.
absl::StatusOr<Ended> AwaitRestart(Session& session, Endpoint node, double started_before,
                                   absl::Duration patience) {
  const absl::Time until = absl::Now() + patience;
  while (absl::Now() < until) {
    if (Interrupts::IsInterrupted()) return Ended::kDetached;
    const double started = StartedAt(node);
    if (started != 0 && started != started_before && HasOpenedItsReplicas(node)) {
      const absl::StatusOr<int64_t> unhealthy = UnhealthyPartitions(session);
      if (unhealthy.ok() && *unhealthy == 0) return Ended::kDone;
    }
    Interrupts::Sleep(kLookEvery);
  }
  return absl::DeadlineExceededError(
      absl::StrCat(node.ToString(), " did not come back healthy within ",
                   absl::FormatDuration(patience), "; the others were left alone"));
}

absl::StatusOr<Ended> RestartOne(Session& session, Endpoint node, const std::string& command,
                                 absl::Duration patience) {
  ASSIGN_OR_RETURN(const int64_t unhealthy, UnhealthyPartitions(session));
  if (unhealthy > 0)
    return absl::FailedPreconditionError(
        absl::StrCat(node.ToString(), " was left alone: ", unhealthy,
                     " partitions are not healthy; status says why"));
  ASSIGN_OR_RETURN(const Ended emptied, Empty(session, node, What::kPrimaries));
  if (emptied == Ended::kDetached) return emptied;
  const double started = StartedAt(node);
  if (started == 0)
    return absl::FailedPreconditionError(
        absl::StrCat(node.ToString(),
                     " was left alone: it does not say since when it runs, so that nobody "
                     "could tell when it has restarted"));
  const Interrupts interrupts;  // from the command on: it is not to be ended in the middle
  const int result = std::system(CommandFor(command, node).c_str());
  if (result != 0)
    return absl::FailedPreconditionError(
        absl::StrCat("the command for ", node.ToString(), " ended with ",
                     WIFEXITED(result) ? WEXITSTATUS(result) : result));
  return AwaitRestart(session, node, started, patience);
}

absl::StatusOr<Outcome> RollingRestart(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(Arguments arguments, Arguments::Parse(words, {"-c", "-w"}, {"-y", "--dry-run"}));
  const std::string command = arguments.Value("-c");
  if (command.empty())
    return UsageError(
        "-c needs the command that restarts a server, as -c \"ssh {host} sudo "
        "systemctl restart arion-replica\"");
  absl::Duration patience = absl::Minutes(10);
  if (const std::string wait = arguments.Value("-w");
      !wait.empty() && !absl::ParseDuration(wait, &patience))
    return UsageError("-w takes a time, as 10m");
  ASSIGN_OR_RETURN(const std::vector<NodeState> known, session.cluster().Nodes({}));
  std::vector<Endpoint> nodes;
  for (const std::string& word : arguments.words()) {
    const auto node = Endpoint::Parse(word);
    if (!node || std::none_of(known.begin(), known.end(),
                              [&](const NodeState& other) { return other.address == *node; }))
      return absl::NotFoundError(absl::StrCat("there is no server ", Escape(word)));
    nodes.push_back(*node);
  }
  if (nodes.empty())
    for (const NodeState& node : known) nodes.push_back(node.address);
  ASSIGN_OR_RETURN(const int64_t unhealthy, UnhealthyPartitions(session));
  if (unhealthy > 0)
    return absl::FailedPreconditionError(absl::StrCat(
        "nothing was done: ", unhealthy, " partitions are not healthy; status says why"));

  Outcome outcome;
  Answer::List list{"restarts", {"server", "command"}, {}};
  for (const Endpoint node : nodes)
    list.rows.push_back({node.ToString(), CommandFor(command, node)});
  outcome.answer.AddList(std::move(list));
  if (arguments.Has("--dry-run")) return outcome;
  if (!arguments.Has("-y")) {
    RETURN_IF_ERROR(session.ShowPlan(outcome.answer));
    if (!session.IsConfirmed("restart these, one after the other?"))
      return absl::AbortedError("nothing was done; -y does not ask, --dry-run only shows");
  }
  int64_t restarted = 0;
  for (const Endpoint node : nodes) {
    ASSIGN_OR_RETURN(const Ended ended, RestartOne(session, node, command, patience));
    if (ended == Ended::kDetached) break;
    ++restarted;
    fprintf(
        stderr, "%s restarted, %s\n", node.ToString().c_str(),
        ProgressText(restarted, static_cast<int64_t>(nodes.size()), "servers", absl::ZeroDuration())
            .c_str());
  }
  std::vector<std::string> left;  // whoever goes on names them
  for (size_t i = static_cast<size_t>(restarted); i < nodes.size(); ++i)
    left.push_back(nodes[i].ToString());
  if (!left.empty()) outcome.health = Health::kNotDone;
  outcome.answer.Add("restarted", restarted)
      .Add("result", std::string(left.empty() ? "done" : "detached: the others were left alone"))
      .Add("left", std::move(left));
  return outcome;
}

}  // namespace

std::vector<Command> DrainCommands() {
  using Completes = Command::Completes;
  return {
      {"drain", "HOST:PORT [--primaries] [-y] [--dry-run]",
       "moves what a server serves to others: primaries, then copies", Completes::kNodes, Drain},
      {"rolling-restart", "-c COMMAND [-w TIME] [HOST:PORT]... [-y] [--dry-run]",
       "restarts servers one after the other: primaries away, COMMAND ({host}, {port}, "
       "{address}), its replicas open and all healthy again",
       Completes::kNodes, RollingRestart}};
}

}  // namespace arion::shell
