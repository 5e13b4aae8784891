// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/balance_planner.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace arion {
namespace {

constexpr PartitionId kNewReplica{};  // of no partition there is

bool IsQuietAndWhole(const ClusterState& state, const Table& table, const Partition& partition) {
  const PartitionConfiguration& config = partition.config;
  if (partition.pending || partition.intent || !partition.planned.empty()) return false;
  if (!config.primary.IsValid() || partition.primary_deadline) return false;
  if (config.MemberCount() != static_cast<size_t>(table.info.max_replica_count)) return false;
  auto holds_all = [&](Endpoint node) {
    return state.IsAlive(node) && partition.serving.contains(node);
  };
  return holds_all(config.primary) &&
         std::all_of(config.secondaries.begin(), config.secondaries.end(), holds_all);
}

// One table's members as they will be when what is planned so far is done.
class TableBalance {
 public:
  // Over `nodes`; what others have a part in stays. Only `takers` get copies that they do not have.
  TableBalance(const Table& table, const std::vector<Endpoint>& nodes,
               const std::set<Endpoint>& takers)
      : takers_(takers) {
    for (Endpoint node : nodes) primaries_[node] = replicas_[node] = 0;
    for (const Partition& partition : table.partitions) {
      const PartitionConfiguration& config = partition.config;
      partitions_.push_back(config);
      Count(config.primary, config.pid, &primaries_);
      Count(config.primary, config.pid, &replicas_);
      for (Endpoint node : config.secondaries) Count(node, config.pid, &replicas_);
    }
  }

  // Appends moves of primaries; false: none is needed.
  bool BalancePrimaries(std::vector<BalanceMove>* moves, size_t moves_max) {
    bool any = false;
    while (moves->size() < moves_max) {
      // A chain moves roles only, within seconds. A copy of a primary's data costs minutes, so it
      // comes second.
      const Endpoint most = Most(primaries_);
      std::vector<BalanceMove> chain = ChainBetween(most);
      if (chain.empty()) chain = CopyOfPrimary(most, FewestOfTakers(primaries_));
      if (chain.empty()) break;
      // From its end: done in part it does no harm.
      for (const BalanceMove& move : chain) {
        if (moves->size() == moves_max) break;
        Carry(move);
        moves->push_back(move);
      }
      any = true;
    }
    return any;
  }

  void BalanceCopies(std::vector<BalanceMove>* moves, size_t moves_max) {
    while (moves->size() < moves_max) {
      const Endpoint most = Most(replicas_), fewest = FewestOfTakers(replicas_);
      if (!fewest.IsValid() || replicas_[most] - replicas_[fewest] <= 1) return;
      auto may_move = [&](const PartitionConfiguration& config) {
        return !moved_.contains(config.pid) && config.IsSecondary(most) && !config.IsMember(fewest);
      };
      auto found = std::find_if(partitions_.begin(), partitions_.end(), may_move);
      if (found == partitions_.end()) return;
      const BalanceMove move{BalanceMove::Kind::kCopySecondary, found->pid, most, fewest};
      Carry(move);
      moves->push_back(move);
    }
  }

 private:
  using Counts = std::map<Endpoint, int64_t>;

  void Count(Endpoint node, PartitionId pid, Counts* counts) {
    const auto found = counts->find(node);
    // A partition with a member outside `nodes` is left alone.
    if (found == counts->end())
      moved_.insert(pid);
    else
      ++found->second;
  }

  Endpoint Most(const Counts& counts) const {
    return std::max_element(counts.begin(), counts.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }
  Endpoint FewestOfTakers(const Counts& counts) const {
    Endpoint fewest;
    for (Endpoint node : takers_)
      if (!fewest.IsValid() || counts.at(node) < counts.at(fewest)) fewest = node;
    return fewest;
  }

  // A chain of moves to existing secondaries that takes a primary from `most` and gives one to the
  // server with the fewest of all that can be reached, if that has at least two fewer.
  std::vector<BalanceMove> ChainBetween(Endpoint most) const {
    // A breadth-first search over "can hand a primary to": the shortest chain to each server.
    std::map<Endpoint, BalanceMove> came_by;
    std::deque<Endpoint> reached = {most};
    Endpoint best = most;
    while (!reached.empty()) {
      const Endpoint from = reached.front();
      reached.pop_front();
      for (const PartitionConfiguration& config : partitions_) {
        if (config.primary != from || moved_.contains(config.pid)) continue;
        for (Endpoint to : config.secondaries) {
          if (to == most || came_by.contains(to)) continue;
          came_by[to] = {BalanceMove::Kind::kMovePrimary, config.pid, from, to};
          reached.push_back(to);
          if (primaries_.at(to) < primaries_.at(best)) best = to;
        }
      }
    }
    // With a difference of one a move would only swap the two.
    if (primaries_.at(most) - primaries_.at(best) < 2) return {};
    return ChainTo(best, most, came_by);
  }
  static std::vector<BalanceMove> ChainTo(Endpoint end, Endpoint start,
                                          const std::map<Endpoint, BalanceMove>& came_by) {
    std::vector<BalanceMove> chain;
    for (Endpoint node = end; node != start; node = chain.back().from) {
      chain.push_back(came_by.at(node));
    }
    return chain;
  }

  std::vector<BalanceMove> CopyOfPrimary(Endpoint from, Endpoint to) const {
    if (!to.IsValid() || primaries_.at(from) - primaries_.at(to) <= 1) return {};
    for (const PartitionConfiguration& config : partitions_) {
      if (config.primary == from && !config.IsMember(to) && !moved_.contains(config.pid)) {
        return {{BalanceMove::Kind::kCopyPrimary, config.pid, from, to}};
      }
    }
    return {};
  }

  void Carry(const BalanceMove& move) {
    auto found = std::find_if(partitions_.begin(), partitions_.end(),
                              [&](const auto& config) { return config.pid == move.pid; });
    // Only one move for each partition: plans of one partition would stand in each other's way.
    moved_.insert(move.pid);
    const bool is_primary = move.kind != BalanceMove::Kind::kCopySecondary;
    if (is_primary) {
      --primaries_[move.from];
      ++primaries_[move.to];
      found->primary = move.to;
    }
    if (move.kind == BalanceMove::Kind::kMovePrimary) {
      std::replace(found->secondaries.begin(), found->secondaries.end(), move.to, move.from);
      return;
    }
    --replicas_[move.from];
    ++replicas_[move.to];
    if (!is_primary) {
      std::replace(found->secondaries.begin(), found->secondaries.end(), move.from, move.to);
    }
  }

  const std::set<Endpoint>& takers_;
  std::vector<PartitionConfiguration> partitions_;
  Counts primaries_, replicas_;
  std::set<PartitionId> moved_;  // or not to be moved
};

}  // namespace

std::vector<BalanceMove> PlanBalance(const ClusterState& state, size_t moves_max, BalanceBy by) {
  std::vector<Endpoint> nodes;
  for (const auto& [endpoint, node] : state.nodes) {
    if (!node.alive) continue;
    // Its copies are not known yet: a plan without them would be undone at once.
    if (!node.collected) return {};
    const bool is_left_alone = !node.slow_disks.empty() || node.HasFullDisk() ||
                               state.SlownessReports(endpoint) > 0 || node.has_wrong_clock ||
                               node.is_stopping;
    if (!is_left_alone) nodes.push_back(endpoint);
  }
  // Where most servers are left alone, the rest would have to take it all.
  if (nodes.size() < 2 || 2 * nodes.size() < state.AliveCount()) return {};
  std::set<Endpoint> takers(nodes.begin(), nodes.end());
  for (const auto& [app_id, table] : state.tables) {
    if (table.info.status == AppStatus::kDropped) continue;
    if (table.info.status != AppStatus::kAvailable || table.partitions_change) return {};
    for (const Partition& partition : table.partitions) {
      if (partition.IsUnregistered()) continue;
      if (!IsQuietAndWhole(state, table, partition)) return {};
      for (const auto& [node, until] : partition.passed_over) takers.erase(node);
    }
  }
  // What its limit of open files does not carry, or its disks have less room for than others'.
  const ClusterState::Room room = state.RoomOfAll();
  std::erase_if(takers, [&](Endpoint endpoint) {
    const Node& node = *state.FindNode(endpoint);
    return IsAvoided(node, kNewReplica, room) ||
           (node.replicas_max && static_cast<int64_t>(node.replicas.size()) >= *node.replicas_max);
  });
  if (by == BalanceBy::kPrimaries) takers.clear();
  std::vector<BalanceMove> moves;
  std::vector<TableBalance> tables;
  bool primaries_move = false;
  for (const auto& [app_id, table] : state.tables) {
    // A move changes the ballot, and with it ends an attempt to make a child.
    if (table.info.status != AppStatus::kAvailable || table.split) continue;
    tables.emplace_back(table, nodes, takers);
    primaries_move |= tables.back().BalancePrimaries(&moves, moves_max);
  }
  // Copies wait for primaries to lie still: moving primaries changes which copies should move.
  if (primaries_move) return moves;
  for (TableBalance& table : tables) table.BalanceCopies(&moves, moves_max);
  return moves;
}

std::vector<Intent> StepsOf(const BalanceMove& move) {
  using enum ConfigType;
  const Endpoint a = move.from, b = move.to;
  const auto remove_from = [a](Endpoint target) {
    return Intent{.type = kRemove, .target = target, .node = a, .keeps_factor = true};
  };
  switch (move.kind) {
    case BalanceMove::Kind::kMovePrimary:
      return {{kDowngradeToSecondary, a, a}, {kUpgradeToPrimary, b, b}};
    case BalanceMove::Kind::kCopyPrimary:
      return {{kAddSecondaryForLoadBalance, a, b},
              {kDowngradeToSecondary, a, a},
              {kUpgradeToPrimary, b, b},
              // Before the removal the role moves: a primary can't be removed in place.
              remove_from(b)};
    case BalanceMove::Kind::kCopySecondary:
      // No target: whoever is primary when the step is due (TakePlanned).
      return {{kAddSecondaryForLoadBalance, {}, b}, remove_from({})};
  }
  return {};
}

}  // namespace arion
