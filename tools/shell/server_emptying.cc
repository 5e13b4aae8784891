// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/server_emptying.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/status.h"
#include "tools/shell/progress.h"
#include "tools/shell/wrong_clocks.h"

namespace arion::shell {
namespace {

constexpr size_t kAtOnce = 8;                            // partitions moved at a time
constexpr absl::Duration kAskAgain = absl::Seconds(5);   // refused while it is under way
constexpr absl::Duration kPatience = absl::Minutes(30);  // without any partition moved

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
    // A server with a wrong clock leads only where nobody else can.
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

}  // namespace

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
    // Patience counts from the last progress, not from the beginning.
    if (left < least) least = left, moved_at = now;
    if (now - moved_at > kPatience)
      return absl::DeadlineExceededError(absl::StrCat(left, " are still there, and none left for ",
                                                      absl::FormatDuration(kPatience),
                                                      "; status says what is wrong"));
    ASSIGN_OR_RETURN(const Plan plan, PlanOf(session, node, what));
    // A server that dies meanwhile may leave something without a place.
    RETURN_IF_ERROR(Refusal(plan));
    std::set<std::pair<PartitionId, std::string>> wanted;
    for (const Move& move : plan.moves) wanted.insert({move.pid, move.action});
    // What is done leaves; what nothing came of is asked again.
    std::erase_if(asked, [&](const auto& one) {
      return !wanted.contains(one.first) || now - one.second > kAskAgain;
    });
    for (const Move& move : plan.moves) {
      // A few at a time: each copy takes disk and network from clients.
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

}  // namespace arion::shell
