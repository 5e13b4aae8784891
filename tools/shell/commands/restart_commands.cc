// Servers restarted one after the other, as themselves or as another version.
//
// Each step is planned from the servers and partitions as they are now, so whoever was interrupted,
// or met a server that did not come back, says the same command again.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <absl/time/clock.h>
#include <sys/wait.h>

#include <algorithm>
#include <cinttypes>
#include <cstdlib>
#include <optional>

#include "base/status.h"
#include "tools/pages/server_page.h"
#include "tools/shell/arguments.h"
#include "tools/shell/progress.h"
#include "tools/shell/server_emptying.h"
#include "tools/shell/server_life.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

constexpr char kSayItAgain[] =
    "; the others were left alone. The same command goes on: a server that is down comes first";

struct Order {
  std::string command;
  absl::Duration patience = absl::Minutes(10);
  // Servers of that version only, which COMMAND replaces by the other one; nullopt: all, as they
  // are.
  std::optional<ServerKind> only;
};

std::string CommandFor(const std::string& command, Endpoint node) {
  const std::string address = node.ToString();
  const size_t colon = address.rfind(':');
  return absl::StrReplaceAll(command, {{"{address}", address},
                                       {"{host}", address.substr(0, colon)},
                                       {"{port}", address.substr(colon + 1)}});
}

int64_t UnhealthyOf(const std::vector<TableState>& tables) {
  int64_t unhealthy = 0;
  for (const TableState& table : tables)
    unhealthy += table.info.partition_count - table.HealthyPartitions();
  return unhealthy;
}

absl::StatusOr<int64_t> UnhealthyPartitions(Session& session) {
  ASSIGN_OR_RETURN(const std::vector<TableState> tables, session.cluster().Tables());
  return UnhealthyOf(tables);
}

// Nobody has its port: it can't be in anybody's way, and none of its partitions loses by its start.
bool IsDown(Endpoint node) { return IsNobodyThere(LifeOf(node).status()); }

// What is still awaited of a server that was restarted; empty: nothing. Aborted: it is in vain.
absl::StatusOr<std::string> WhatIsMissing(Session& session, Endpoint node, const Order& order,
                                          const std::optional<ServerLife>& before) {
  // In the order in which a restart goes on: the process, the meta server's view, its replicas, and
  // last the whole cluster. The first that is missing is what a person is told.
  const absl::StatusOr<ServerLife> now = LifeOf(node);
  if (!now.ok()) return std::string(now.status().message());
  if (before && *now == *before)
    return std::string("the old process still runs; did the command restart it?");
  if (order.only && now->kind == *order.only)
    return absl::AbortedError(
        absl::StrCat(node.ToString(), " runs what it ran before the command (",
                     now->kind == ServerKind::kArion ? "Arion" : "an older version",
                     "), not the other version", kSayItAgain));
  ASSIGN_OR_RETURN(const std::vector<TableState> tables, session.cluster().Tables());
  ASSIGN_OR_RETURN(const std::vector<NodeState> nodes, session.cluster().Nodes({}));
  if (std::none_of(nodes.begin(), nodes.end(),
                   [&](const NodeState& known) { return known.address == node && known.alive; }))
    return absl::StrCat("the meta server does not hear it",
                        now->kind == ServerKind::kArion
                            ? absl::StrCat("; http://", node.ToString(), "/join may say why")
                            : "");
  if (std::string left = WhatItIsStillToDo(session.cluster(), tables, node, now->kind);
      !left.empty())
    return left;
  if (const int64_t unhealthy = UnhealthyOf(tables); unhealthy > 0)
    return absl::StrCat(unhealthy, " partitions lack a member; status says why");
  return std::string();
}

// Until the server runs anew and does its part, and every partition is healthy again. `before`:
// nullopt where it was down.
absl::StatusOr<Ended> AwaitRestart(Session& session, Endpoint node, const Order& order,
                                   const std::optional<ServerLife>& before) {
  const absl::Time until = absl::Now() + order.patience;
  std::string missing;
  while (absl::Now() < until) {
    // Ctrl-C only ends the waiting: the server comes back all the same.
    if (Interrupts::IsInterrupted()) return Ended::kDetached;
    const absl::StatusOr<std::string> found = WhatIsMissing(session, node, order, before);
    if (absl::IsAborted(found.status())) return found.status();
    missing = found.ok() ? *found : std::string(found.status().message());
    if (missing.empty()) return Ended::kDone;
    Interrupts::Sleep(kLookEvery);
  }
  return absl::DeadlineExceededError(
      absl::StrCat(node.ToString(), " did not come back healthy within ",
                   absl::FormatDuration(order.patience), ": ", missing, kSayItAgain));
}

absl::StatusOr<Ended> RestartOne(Session& session, Endpoint node, const Order& order) {
  std::optional<ServerLife> before;
  // A server that is down serves nothing, so there is nothing to move away and no process to
  // compare with.
  if (!IsDown(node)) {
    ASSIGN_OR_RETURN(const int64_t unhealthy, UnhealthyPartitions(session));
    if (unhealthy > 0)
      return absl::FailedPreconditionError(
          absl::StrCat(node.ToString(), " was left alone: ", unhealthy,
                       " partitions are not healthy; status says why"));
    ASSIGN_OR_RETURN(const Ended emptied, Empty(session, node, What::kPrimaries));
    if (emptied == Ended::kDetached) return emptied;
    const absl::StatusOr<ServerLife> life = LifeOf(node);
    if (!life.ok())
      return absl::FailedPreconditionError(
          absl::StrCat(node.ToString(),
                       " was left alone: it does not say since when it runs, so that nobody "
                       "could tell when it has restarted: ",
                       life.status().message()));
    before = *life;
  }
  const Interrupts interrupts;  // from the command on: it is not to be ended in the middle
  const int result = std::system(CommandFor(order.command, node).c_str());
  if (result != 0)
    return absl::FailedPreconditionError(
        absl::StrCat("the command for ", node.ToString(), " ended with ",
                     WIFEXITED(result) ? WEXITSTATUS(result) : result, kSayItAgain));
  return AwaitRestart(session, node, order, before);
}

absl::StatusOr<Order> OrderOf(const Arguments& arguments) {
  Order order{.command = arguments.Value("-c")};
  if (order.command.empty())
    return UsageError(
        "-c needs the command that restarts a server, as -c \"ssh {host} sudo "
        "systemctl restart arion-replica\"");
  if (const std::string wait = arguments.Value("-w");
      !wait.empty() && !absl::ParseDuration(wait, &order.patience))
    return UsageError("-w takes a time, as 10m");
  if (const std::string only = arguments.Value("--only"); !only.empty()) {
    if (only != KindName(ServerKind::kArion) && only != KindName(ServerKind::kOlder))
      return UsageError(
          "--only takes arion or older: servers of that version are replaced by the other one");
    order.only = only == KindName(ServerKind::kArion) ? ServerKind::kArion : ServerKind::kOlder;
  }
  return order;
}

// Those named, or all; with --only without those that run the other version already. Who is down
// comes first: the others wait for it.
struct Chosen {
  std::vector<Endpoint> nodes;
  bool is_first_down = false;
  std::vector<std::string> left_out;
};
absl::StatusOr<Chosen> Choose(Session& session, const Words& words, const Order& order) {
  ASSIGN_OR_RETURN(const std::vector<NodeState> known, session.cluster().Nodes({}));
  std::vector<Endpoint> named;
  for (const std::string& word : words) {
    // Only servers that the meta server knows: a misspelt address would be restarted, too.
    const auto node = Endpoint::Parse(word);
    if (!node || std::none_of(known.begin(), known.end(),
                              [&](const NodeState& other) { return other.address == *node; }))
      return absl::NotFoundError(absl::StrCat("there is no server ", Escape(word)));
    named.push_back(*node);
  }
  if (named.empty())
    for (const NodeState& node : known) named.push_back(node.address);
  Chosen chosen;
  std::vector<Endpoint> up;
  for (const Endpoint node : named) {
    const absl::StatusOr<ServerLife> life = LifeOf(node);
    if (IsNobodyThere(life.status()))
      chosen.nodes.push_back(node);
    else if (life.ok() && order.only && life->kind != *order.only)
      chosen.left_out.push_back(node.ToString());
    else
      up.push_back(node);
  }
  chosen.is_first_down = !chosen.nodes.empty();
  chosen.nodes.insert(chosen.nodes.end(), up.begin(), up.end());
  return chosen;
}

absl::StatusOr<Outcome> RollingRestart(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments,
                   Arguments::Parse(words, {"-c", "-w", "--only"}, {"-y", "--dry-run"}));
  ASSIGN_OR_RETURN(const Order order, OrderOf(arguments));
  ASSIGN_OR_RETURN(const Chosen chosen, Choose(session, arguments.words(), order));
  const std::vector<Endpoint>& nodes = chosen.nodes;
  ASSIGN_OR_RETURN(const int64_t unhealthy, UnhealthyPartitions(session));
  // Asked before the person is, so that nobody confirms what can't begin. Each step asks again.
  if (unhealthy > 0 && !chosen.is_first_down && !nodes.empty())
    return absl::FailedPreconditionError(absl::StrCat(
        "nothing was done: ", unhealthy, " partitions are not healthy; status says why"));

  Outcome outcome;
  Answer::List list{"restarts", {"server", "command"}, {}};
  for (const Endpoint node : nodes)
    list.rows.push_back({node.ToString(), CommandFor(order.command, node)});
  outcome.answer.AddList(std::move(list));
  if (order.only) outcome.answer.Add("done_before", chosen.left_out);
  if (arguments.Has("--dry-run")) return outcome;
  if (!arguments.Has("-y")) {
    RETURN_IF_ERROR(session.ShowPlan(outcome.answer));
    if (!session.IsConfirmed("restart these, one after the other?"))
      return absl::AbortedError("nothing was done; -y does not ask, --dry-run only shows");
  }
  int64_t restarted = 0;
  for (const Endpoint node : nodes) {
    ASSIGN_OR_RETURN(const Ended ended, RestartOne(session, node, order));
    if (ended == Ended::kDetached) break;
    ++restarted;
    fprintf(stderr, "%s restarted, %" PRId64 "/%zu servers\n", node.ToString().c_str(), restarted,
            nodes.size());
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

std::vector<Command> RestartCommands() {
  return {{"rolling-restart",
           "-c COMMAND [-w TIME] [--only arion|older] [HOST:PORT]... [-y] [--dry-run]",
           "restarts servers one after the other: moves primaries away, runs COMMAND ({host}, "
           "{port}, {address}), waits until all is healthy again; --only: servers of that version, "
           "which COMMAND replaces by the other",
           Command::Completes::kNodes, RollingRestart}};
}

}  // namespace arion::shell
