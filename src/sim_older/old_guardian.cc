// SPDX-License-Identifier: Apache-2.0
#include "sim_older/old_guardian.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace arion::sim {
namespace {

bool IsForLeading(ConfigType type) {
  return type == ConfigType::kAssignPrimary || type == ConfigType::kUpgradeToPrimary;
}

// Of equal ones the first, by address.
template <class May, class Load>
std::optional<Endpoint> LeastLoaded(const OldClusterState& state, const May& may,
                                    const Load& load) {
  std::optional<Endpoint> best;
  for (const auto& [node, known] : state.nodes) {
    if (!known.is_alive || !may(node)) continue;
    if (!best || load(node) < load(*best)) best = node;
  }
  return best;
}

// Whether the proposal still makes sense for the configuration that holds now, and whether those it
// names are there.
bool Applies(const OldClusterState& state, const OldPartition& partition,
             const OldProposal& proposal) {
  const PartitionConfiguration& config = partition.config;
  if (!state.nodes.contains(proposal.target) || !state.nodes.contains(proposal.node)) return false;
  if (!state.IsAlive(proposal.target)) return false;
  const bool is_removal =
      proposal.type == ConfigType::kDowngradeToInactive || proposal.type == ConfigType::kRemove;
  if (!is_removal && !state.IsAlive(proposal.node)) return false;
  const bool is_own = proposal.node == proposal.target;
  const bool is_asked_to_lead = proposal.target == config.primary;
  switch (proposal.type) {
    case ConfigType::kAssignPrimary:
      return is_own && !config.primary.IsValid() && !config.IsSecondary(proposal.node);
    case ConfigType::kUpgradeToPrimary:
      return is_own && !config.primary.IsValid() && config.IsSecondary(proposal.node);
    case ConfigType::kAddSecondary:
    case ConfigType::kAddSecondaryForLoadBalance:
      return is_asked_to_lead && !config.IsMember(proposal.node);
    case ConfigType::kDowngradeToInactive:
    case ConfigType::kRemove:
      return is_asked_to_lead && config.IsMember(proposal.node);
    case ConfigType::kDowngradeToSecondary:
      return is_own && is_asked_to_lead;
    default:
      return false;
  }
}

// A secondary leads if there is one. A partition that never had members gets any server; one that
// lost all of them gets one of those who left last, or waits.
std::optional<OldProposal> CureWithoutPrimary(const OldClusterState& state,
                                              const OldPartition& partition) {
  const PartitionConfiguration& config = partition.config;
  const auto primaries = [&state](Endpoint node) { return state.PrimariesOf(node); };
  if (!config.secondaries.empty()) {
    const auto node = LeastLoaded(
        state, [&config](Endpoint one) { return config.IsSecondary(one); }, primaries);
    if (!node) return std::nullopt;
    return OldProposal{ConfigType::kUpgradeToPrimary, *node, *node};
  }
  const std::optional<Endpoint> node = config.last_drops.empty()
                                           ? LeastLoaded(
                                                 state, [](Endpoint) { return true; }, primaries)
                                           : OldChooseOfDropped(state, partition).node;
  if (!node) return std::nullopt;
  return OldProposal{ConfigType::kAssignPrimary, *node, *node};
}

// Who is to be taught next. For assign_delay after a member left, its return is waited for, because
// it has nearly everything. When too few members are left for writes, or the time is over, any
// server known to have a copy is taken, the newest first, and at last the one with the fewest
// replicas.
std::optional<Endpoint> ChooseLearner(const OldClusterState& state, const OldTable& table,
                                      const OldPartition& partition,
                                      const OldGuardianOptions& options, Instant now) {
  const PartitionConfiguration& config = partition.config;
  const int32_t factor = config.max_replica_count;
  const auto is_old = [&](const OldDropped& one) {
    return !one.at || now - *one.at > options.assign_delay;
  };
  const bool is_urgent = (static_cast<int32_t>(config.MemberCount()) < options.replica_count_min &&
                          factor > options.replica_count_min) ||
                         partition.dropped.empty() || is_old(partition.dropped.back());
  if (!is_urgent) {
    const Endpoint newest = partition.dropped.back().node;
    return state.IsAlive(newest) ? std::optional(newest) : std::nullopt;
  }
  for (auto one = partition.dropped.rbegin(); one != partition.dropped.rend(); ++one)
    if (state.IsAlive(one->node)) return one->node;
  return LeastLoaded(
      state, [&config](Endpoint node) { return !config.IsMember(node); },
      [&](Endpoint node) {
        return std::pair(state.ReplicasOf(node, table), state.ReplicasOf(node));
      });
}

std::optional<OldProposal> CureWithPrimary(const OldClusterState& state, const OldTable& table,
                                           const OldPartition& partition,
                                           const OldGuardianOptions& options, Instant now) {
  const PartitionConfiguration& config = partition.config;
  for (Endpoint node : config.secondaries)
    if (!state.IsAlive(node))
      return OldProposal{ConfigType::kDowngradeToInactive, config.primary, node};
  const auto factor = static_cast<size_t>(config.max_replica_count);
  if (config.MemberCount() < factor) {
    const auto node = ChooseLearner(state, table, partition, options, now);
    if (!node) return std::nullopt;
    return OldProposal{ConfigType::kAddSecondary, config.primary, *node};
  }
  if (config.secondaries.size() < factor) return std::nullopt;
  const Endpoint most = *std::max_element(
      config.secondaries.begin(), config.secondaries.end(),
      [&state](Endpoint a, Endpoint b) { return state.ReplicasOf(a) < state.ReplicasOf(b); });
  return OldProposal{ConfigType::kRemove, config.primary, most};
}

void SortAndTrim(OldPartition& partition, const OldGuardianOptions& options) {
  std::stable_sort(
      partition.dropped.begin(), partition.dropped.end(),
      [](const OldDropped& a, const OldDropped& b) {
        return std::tuple(a.at.value_or(Instant(INT64_MIN)), a.ballot, a.committed, a.prepared) <
               std::tuple(b.at.value_or(Instant(INT64_MIN)), b.ballot, b.committed, b.prepared);
      });
  const size_t factor = static_cast<size_t>(partition.config.max_replica_count);
  const size_t members = partition.config.MemberCount();
  // 2.5.0 keeps in mind only as many as are missing.
  const size_t most = (factor > members ? factor - members : 0) + options.reserved_dropped_max;
  if (partition.dropped.size() > most)
    partition.dropped.erase(partition.dropped.begin(),
                            partition.dropped.end() - static_cast<ptrdiff_t>(most));
}

}  // namespace

bool OldClusterState::IsAlive(Endpoint node) const {
  const auto found = nodes.find(node);
  return found != nodes.end() && found->second.is_alive;
}

size_t OldClusterState::AliveCount() const {
  return static_cast<size_t>(std::count_if(nodes.begin(), nodes.end(),
                                           [](const auto& node) { return node.second.is_alive; }));
}

OldPartition* OldClusterState::Find(PartitionId pid) {
  const auto table = tables.find(pid.app_id);
  if (table == tables.end() || pid.index < 0 ||
      pid.index >= static_cast<int32_t>(table->second.partitions.size()))
    return nullptr;
  return &table->second.partitions[static_cast<size_t>(pid.index)];
}

OldTable* OldClusterState::FindByName(std::string_view name) {
  for (auto& [id, table] : tables)
    if (table.info.status != AppStatus::kDropped && table.info.app_name == name) return &table;
  return nullptr;
}

int OldClusterState::PrimariesOf(Endpoint node) const {
  int count = 0;
  for (const auto& [id, table] : tables) {
    for (const OldPartition& partition : table.partitions) {
      const bool is_assigned = !partition.proposals.empty() &&
                               IsForLeading(partition.proposals.front().type) &&
                               partition.proposals.front().node == node;
      count += partition.config.primary == node || is_assigned;
    }
  }
  return count;
}

int OldClusterState::ReplicasOf(Endpoint node, const OldTable& table) const {
  return static_cast<int>(
      std::count_if(table.partitions.begin(), table.partitions.end(),
                    [node](const auto& partition) { return partition.config.IsMember(node); }));
}

int OldClusterState::ReplicasOf(Endpoint node) const {
  int count = 0;
  for (const auto& [id, table] : tables) count += ReplicasOf(node, table);
  return count;
}

FunctionLevel OldLevel(const OldClusterState& state, const OldGuardianOptions& options,
                       FunctionLevel set) {
  const size_t alive = state.AliveCount();
  const bool has_enough =
      alive >= options.live_min && alive * 100 >= state.nodes.size() * options.live_percentage_min;
  return has_enough ? set : std::min(set, FunctionLevel::kFreezed);
}

std::optional<OldProposal> OldCure(OldClusterState& state, OldTable& table, OldPartition& partition,
                                   const OldGuardianOptions& options, Instant now) {
  if (partition.pending || partition.IsDropped() || partition.config.ballot < Ballot(0))
    return std::nullopt;
  // A proposal stays until it does not apply, whatever comes of it: 2.5.0 knows no patience.
  if (!partition.proposals.empty() && !Applies(state, partition, partition.proposals.front()))
    partition.proposals.clear();
  if (partition.proposals.empty()) {
    const auto cure = partition.config.primary.IsValid()
                          ? CureWithPrimary(state, table, partition, options, now)
                          : CureWithoutPrimary(state, partition);
    if (!cure) return std::nullopt;
    partition.proposals.push_back(*cure);
  }
  return partition.proposals.front();
}

// Who leads after all members were lost. The last one to leave has everything that was
// acknowledged, so where it is known alone it is waited for. Of the last two both must be there and
// have told what they hold; the better copy leads, unless the two contradict each other.
OldChoice OldChooseOfDropped(const OldClusterState& state, const OldPartition& partition) {
  const PartitionConfiguration& config = partition.config;
  if (config.last_drops.size() == 1) {
    const Endpoint only = config.last_drops.front();
    return {.node = state.IsAlive(only) ? std::optional(only) : std::nullopt};
  }
  std::vector<OldDropped> last;  // the earlier one, the later one
  for (auto node = config.last_drops.end() - 2; node != config.last_drops.end(); ++node) {
    if (!state.IsAlive(*node) || !state.nodes.at(*node).is_collected) return {};
    OldDropped& one = last.emplace_back(OldDropped{.node = *node});
    const auto report = partition.reports.find(*node);
    if (report == partition.reports.end()) continue;
    one.ballot = report->second.ballot;
    one.committed = report->second.last_committed_decree;
    one.prepared = report->second.last_prepared_decree;
  }
  const OldDropped& p = last[0];
  const OldDropped& q = last[1];
  const bool is_nowhere = p.ballot < Ballot(0) && q.ballot < Ballot(0);
  // The copy under the larger ballot has committed less: no rule of 2.5.0 decides.
  const bool disagree = (p.ballot < q.ballot && p.committed > q.committed) ||
                        (p.ballot > q.ballot && p.committed < q.committed);
  const Decree prepared = std::max(p.prepared, q.prepared);
  if (is_nowhere || disagree || prepared < config.last_committed_decree ||
      prepared < std::max(p.committed, q.committed))
    return {.is_for_a_person = true};
  const auto rank = [](const OldDropped& one) {
    return std::tuple(one.ballot, one.committed, one.prepared);
  };
  return {.node = rank(p) > rank(q) ? p.node : q.node};
}

void OldNoteDropped(PartitionConfiguration& config, Endpoint node) {
  std::erase(config.last_drops, node);
  config.last_drops.push_back(node);
  if (config.last_drops.size() > kOldLastDropsMax)
    config.last_drops.erase(config.last_drops.begin());
}

void OldApply(OldPartition& partition, const PartitionConfiguration& config,
              const OldGuardianOptions& options, Instant now) {
  const PartitionConfiguration before = std::exchange(partition.config, config);
  // Everyone who is a member no more is kept in mind with what it told last, as a candidate to come
  // back.
  std::vector<Endpoint> left = before.secondaries;
  if (before.primary.IsValid()) left.push_back(before.primary);
  for (Endpoint node : left) {
    if (config.IsMember(node)) continue;
    OldDropped one{.node = node, .at = now};
    if (const auto report = partition.reports.find(node); report != partition.reports.end()) {
      one.ballot = report->second.ballot;
      one.committed = report->second.last_committed_decree;
      one.prepared = report->second.last_prepared_decree;
    }
    std::erase_if(partition.dropped, [node](const auto& other) { return other.node == node; });
    partition.dropped.push_back(one);
  }
  std::erase_if(partition.dropped,
                [&config](const OldDropped& one) { return config.IsMember(one.node); });
  SortAndTrim(partition, options);
}

bool OldCollect(OldPartition& partition, Endpoint node, const ReplicaInfo& report,
                const OldGuardianOptions& options) {
  // A report from outside the configuration: the replica becomes a candidate if it is among the
  // best. Otherwise its server is told to remove it.
  if (partition.config.IsMember(node)) return true;
  const auto find = [&] {
    return std::find_if(partition.dropped.begin(), partition.dropped.end(),
                        [node](const OldDropped& one) { return one.node == node; });
  };
  auto one = find();
  if (one == partition.dropped.end())
    one = partition.dropped.insert(partition.dropped.end(), OldDropped{.node = node});
  one->ballot = report.ballot;
  one->committed = report.last_committed_decree;
  one->prepared = report.last_prepared_decree;
  SortAndTrim(partition, options);
  return find() != partition.dropped.end();
}

bool OldIsSame(const PartitionConfiguration& a, const PartitionConfiguration& b) {
  const auto set = [](const PartitionConfiguration& config) {
    return std::set<Endpoint>(config.secondaries.begin(), config.secondaries.end());
  };
  return a.pid == b.pid && a.ballot == b.ballot && a.max_replica_count == b.max_replica_count &&
         a.primary == b.primary && set(a) == set(b) &&
         a.last_committed_decree == b.last_committed_decree;
}

}  // namespace arion::sim
