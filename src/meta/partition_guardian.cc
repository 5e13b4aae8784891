// SPDX-License-Identifier: Apache-2.0
#include "meta/partition_guardian.h"

#include <algorithm>
#include <tuple>

#include "meta/configuration_change.h"
#include "meta/placement_planner.h"
#include "meta/proposal_patience.h"
#include "meta/stale_configuration.h"

namespace arion {
namespace {

constexpr int kSlowMovesAtOnce = 16;                        // of members that acknowledge slowly
constexpr absl::Duration kSlowPatience = absl::Seconds(2);  // before members leave a slow disk

// One look at all partitions; what it decided so far counts for the next decision.
class Look {
 public:
  Look(const ClusterState& state, FunctionLevel level, const GuardianOptions& options, Instant now)
      : state_(state),
        level_(level),
        options_(options),
        now_(now),
        placement_(state),
        patience_(state, now, &plan_.next_look) {}

  GuardianPlan Plan() {
    std::vector<GuardianPlan::Step> lonely, rest;
    if (level_ < FunctionLevel::kFreezed) return {};
    for (const auto& [app_id, table] : state_.tables)
      for (const Partition& partition : table.partitions)
        if (partition.intent && partition.intent->type == ConfigType::kRemove) ++moves_away_;
    for (const auto& [app_id, table] : state_.tables) {
      if (table.info.status != AppStatus::kAvailable || table.partitions_change) continue;
      for (const Partition& partition : table.partitions) {
        if (partition.pending || partition.IsDropped() || partition.config.ballot < Ballot(0)) {
          continue;
        }
        GuardianPlan::Step step = Judge(partition);
        step.pid = partition.config.pid;
        bool adds = step.intent && step.intent->type == ConfigType::kAddSecondary;
        auto& list = !adds ? plan_.steps : partition.config.secondaries.empty() ? lonely : rest;
        list.push_back(std::move(step));
      }
    }
    std::move(lonely.begin(), lonely.end(), std::back_inserter(plan_.steps));
    std::move(rest.begin(), rest.end(), std::back_inserter(plan_.steps));
    return std::move(plan_);
  }

  bool Begins(const Partition& partition) const {
    const Intent& first = partition.planned.front();
    return !IsDone(partition.config, first) &&
           (MakesRoom(partition, first) || TakePlanned(partition, first).has_value());
  }

 private:
  using Step = GuardianPlan::Step;

  Step Judge(const Partition& partition) {
    patience_.BeginPartition();
    Step step = JudgeMembers(partition);
    step.passed_over = patience_.ignored();
    return step;
  }

  Step JudgeMembers(const Partition& partition) {
    const PartitionConfiguration& config = partition.config;
    if (partition.IsBehind()) {
      StaleJudgement judgement = JudgeStale(state_, partition);
      return {.write = level_ > FunctionLevel::kFreezed ? std::move(judgement.next) : std::nullopt,
              .reason = judgement.reason};
    }
    if (config.primary.IsValid()) {
      if (std::optional<Step> step = JudgePrimary(partition)) return *step;
    }
    if (level_ <= FunctionLevel::kFreezed) return {};
    if (partition.planned.empty()) return Cure(partition);
    std::vector<Intent> rest = partition.planned;
    while (!rest.empty() && IsDone(config, rest.front())) rest.erase(rest.begin());
    if (!rest.empty() && MakesRoom(partition, rest.front()))
      return Write(Vacated(config), "another than its secondaries is to lead it");
    std::optional<Step> step;
    if (!rest.empty()) step = TakePlanned(partition, rest.front());
    if (!step || patience_.GivesUp(partition, *step->intent)) {
      rest.clear();
      step = Cure(partition);
    }
    if (rest.size() != partition.planned.size()) step->planned = std::move(rest);
    return *std::move(step);
  }

  static bool IsDone(const PartitionConfiguration& config, const Intent& intent) {
    switch (intent.type) {
      case ConfigType::kAssignPrimary:
      case ConfigType::kUpgradeToPrimary:
        return config.primary == intent.node;
      case ConfigType::kAddSecondary:
      case ConfigType::kAddSecondaryForLoadBalance:
        return config.IsSecondary(intent.node);
      case ConfigType::kDowngradeToSecondary:
        return config.primary != intent.node;
      default:
        return !config.IsMember(intent.node);
    }
  }

  // Secondaries that can't follow stand in the way of whom an administrator names.
  bool MakesRoom(const Partition& partition, const Intent& intent) const {
    const Node* node = state_.FindNode(intent.node);
    return intent.type == ConfigType::kAssignPrimary && intent.target == intent.node &&
           partition.config.MemberCount() > 0 && IsForsaken(state_, partition) && node != nullptr &&
           node->alive && node->LoadedReplica(partition.config.pid) != nullptr;
  }

  // nullopt: it does not apply.
  std::optional<Step> TakePlanned(const Partition& partition, Intent intent) const {
    const PartitionConfiguration& config = partition.config;
    if (!intent.target.IsValid()) intent.target = config.primary;
    if (!MayPropose(partition, intent)) return std::nullopt;
    if (partition.intent && partition.intent->SaysTheSame(intent))
      return Step{.intent = partition.intent};
    return Step{.intent = std::move(intent)};
  }

  bool MayPropose(const Partition& partition, const Intent& intent) const {
    const PartitionConfiguration& config = partition.config;
    const Endpoint node = intent.node;
    const size_t factor = static_cast<size_t>(std::max(config.max_replica_count, 1));
    if (!state_.IsAlive(intent.target)) return false;
    switch (intent.type) {
      case ConfigType::kAssignPrimary: {
        const Node* alive = state_.FindNode(node);
        return intent.target == node && config.MemberCount() == 0 &&
               (config.ballot == Ballot(0) || alive->LoadedReplica(config.pid) != nullptr);
      }
      case ConfigType::kUpgradeToPrimary:
        return intent.target == node && !config.primary.IsValid() && IsIntact(partition, node);
      case ConfigType::kAddSecondary:
        return intent.target == config.primary && MayLearn(partition, node) &&
               config.MemberCount() < factor;
      case ConfigType::kAddSecondaryForLoadBalance:
        return intent.target == config.primary && MayLearn(partition, node) &&
               config.MemberCount() <= factor;
      case ConfigType::kDowngradeToSecondary:  // somebody must be there to follow
        return intent.target == config.primary && node == config.primary &&
               !Intact(partition).empty();
      case ConfigType::kDowngradeToInactive:
      case ConfigType::kRemove:  // never the last one
        return intent.target == config.primary && config.IsMember(node) &&
               config.MemberCount() > 1 && MaySpare(config, intent);
      default:
        return false;
    }
  }

  // Whether enough living members stay without the one that `removal` is about.
  bool MaySpare(const PartitionConfiguration& config, const Intent& removal) const {
    const auto stays = [&](Endpoint e) { return e != removal.node && state_.IsAlive(e); };
    const auto staying =
        std::count_if(config.secondaries.begin(), config.secondaries.end(), stays) +
        (stays(config.primary) ? 1 : 0);
    return !removal.keeps_factor || staying >= std::max(config.max_replica_count, 1);
  }

  Step Cure(const Partition& partition) {
    const PartitionConfiguration& config = partition.config;
    if (partition.intent && StillApplies(partition, *partition.intent)) {
      if (std::optional<Step> other = UpgradeAnother(partition)) return *other;
      const bool may_choose_another =
          partition.intent->type == ConfigType::kAddSecondary ||
          (partition.intent->type == ConfigType::kAssignPrimary && config.last_drops.empty());
      if (!may_choose_another || !patience_.GivesUp(partition, *partition.intent))
        return {.intent = partition.intent};
    }
    if (!config.primary.IsValid()) {
      if (!config.secondaries.empty()) return UpgradeOne(partition);
      if (config.last_drops.empty()) return AssignNew(partition);
      Step step = AssignFromDrops(partition);
      if (!step.intent) step.reason = WhyNobody(partition);
      return step;
    }
    for (Endpoint node : config.secondaries) {
      if (!state_.IsAlive(node)) {
        return Propose(ConfigType::kDowngradeToInactive, config.primary, node);
      }
    }
    if (std::optional<Step> step = LeaveSlow(partition)) return *step;
    size_t factor = static_cast<size_t>(std::max(config.max_replica_count, 1));
    if (config.MemberCount() < factor) return AddMissing(partition);
    if (config.secondaries.size() >= factor) {
      Step step =
          Propose(ConfigType::kRemove, config.primary, placement_.MostReplicas(config.secondaries));
      step.intent->keeps_factor = true;
      return step;
    }
    return {};
  }

  // For long enough that others would be known to be slow as well.
  bool IsSlow(Endpoint endpoint, PartitionId pid) {
    const Node* node = state_.FindNode(endpoint);
    if (node == nullptr || !node->alive || !node->IsSlowFor(pid) || MostAreSlow()) return false;
    const Instant since = node->slow_since + kSlowPatience;
    if (now_ < since) LookAgainAt(since);
    return now_ >= since;
  }

  // As a secondary of that primary. A slow disk is judged by itself, replica by replica.
  bool AcknowledgesSlowly(Endpoint endpoint, Endpoint primary) const {
    const Node* node = state_.FindNode(endpoint);
    const Node* asks = state_.FindNode(primary);
    return node != nullptr && asks != nullptr && asks->alive && node->slow_disks.empty() &&
           asks->slow_members.contains(endpoint) && !MostAreSlow();
  }
  // Not to one other server alone, which may itself be badly connected.
  bool IsSlowToMost(Endpoint endpoint) const {
    const Node* node = state_.FindNode(endpoint);
    const size_t reports = state_.SlownessReports(endpoint);
    return node != nullptr && node->slow_disks.empty() && reports >= 2 &&
           2 * reports > state_.AliveCount() - 1 && !MostAreSlow();
  }

  bool MostAreSlow() const {
    const auto is_slow = [this](const auto& entry) {
      return entry.second.alive &&
             (!entry.second.slow_disks.empty() || state_.SlownessReports(entry.first) > 0);
    };
    const auto slow = std::count_if(state_.nodes.begin(), state_.nodes.end(), is_slow);
    return 2 * static_cast<size_t>(slow) > state_.AliveCount();
  }

  // Every member is waited for by every write: the primary's role goes first, then the copy.
  std::optional<Step> LeaveSlow(const Partition& partition) {
    const PartitionConfiguration& config = partition.config;
    const bool is_under_way = partition.intent && partition.intent->type == ConfigType::kRemove;
    const bool may_move = is_under_way || moves_away_ < kSlowMovesAtOnce;
    if (IsSlow(config.primary, config.pid) || (may_move && IsSlowToMost(config.primary))) {
      if (FastOf(Intact(partition), config.pid).empty()) return std::nullopt;
      ++moves_away_;
      return Propose(ConfigType::kDowngradeToSecondary, config.primary, config.primary);
    }
    if (config.MemberCount() <= Enough()) return std::nullopt;
    for (Endpoint node : config.secondaries)
      if (IsSlow(node, config.pid) || (may_move && AcknowledgesSlowly(node, config.primary))) {
        if (!is_under_way) ++moves_away_;
        return Propose(ConfigType::kRemove, config.primary, node);
      }
    return std::nullopt;
  }

  std::vector<Endpoint> FastOf(std::vector<Endpoint> nodes, PartitionId pid) {
    std::erase_if(nodes, [&](Endpoint node) { return IsSlow(node, pid) || IsSlowToMost(node); });
    return nodes;
  }

  static Step Propose(ConfigType type, Endpoint target, Endpoint node) {
    return {.intent = Intent{.type = type, .target = target, .node = node}};
  }
  static Step Write(PartitionConfiguration next, const char* reason) {
    return {.write = std::move(next), .reason = reason};
  }
  void LookAgainAt(Instant when) { plan_.next_look = std::min(plan_.next_look, when); }

  // Whether the configured primary must go; nullopt: it serves, or may still come to.
  std::optional<Step> JudgePrimary(const Partition& partition) {
    const PartitionConfiguration& config = partition.config;
    Endpoint primary = config.primary;
    const Node* node = state_.FindNode(primary);
    if (node == nullptr || !node->alive) return Write(WithoutPrimary(config), "primary is dead");
    if (!partition.primary_deadline) return std::nullopt;

    // Its process is new.
    bool expired = now_ >= *partition.primary_deadline;
    if (!expired) LookAgainAt(*partition.primary_deadline);
    const ReplicaInfo* report = node->LoadedReplica(config.pid);
    if (report == nullptr) {
      bool gone = node->collected && !node->has_unreadable_disks && !node->IsLoading(config.pid);
      if (gone) return Write(WithoutPrimary(config), "primary has lost its replica");
      if (expired) return Write(WithoutPrimary(config), "primary was not loaded within a grace");
      return Step{};
    }
    if (!partition.suspects.contains(primary)) {
      if (expired) return Write(WithoutPrimary(config), "primary did not resume within a grace");
      return Step{};  // config sync tells it; it will force a new ballot
    }
    // Stopped uncleanly: others that kept running lead, or whoever has most. It stays a member:
    // what its log may lack shows as a gap.
    if (!Intact(partition).empty() || expired || AllAliveMembersReported(partition)) {
      return Write(PrimaryAmongSecondaries(config), "primary stopped uncleanly");
    }
    return Step{};
  }

  // An alive secondary that holds everything acknowledged for certain.
  bool IsIntact(const Partition& partition, Endpoint node) const {
    return partition.config.IsSecondary(node) && state_.IsAlive(node) &&
           partition.serving.contains(node);
  }
  std::vector<Endpoint> Intact(const Partition& partition) const {
    std::vector<Endpoint> intact;
    for (Endpoint node : partition.config.secondaries) {
      if (IsIntact(partition, node)) intact.push_back(node);
    }
    return intact;
  }

  bool AllAliveMembersReported(const Partition& partition) const {
    const PartitionConfiguration& config = partition.config;
    auto has_reported = [&](Endpoint endpoint) {
      const Node* node = state_.FindNode(endpoint);
      if (node == nullptr || !node->alive || partition.serving.contains(endpoint)) return true;
      if (!node->collected || node->IsLoading(config.pid)) return false;
      return node->replicas.contains(config.pid) || !node->has_unreadable_disks;
    };
    return std::all_of(config.secondaries.begin(), config.secondaries.end(), has_reported) &&
           (!config.primary.IsValid() || has_reported(config.primary));
  }

  Step UpgradeOne(const Partition& partition) {
    const PartitionConfiguration& config = partition.config;
    auto upgrade = [&](Endpoint node) {
      placement_.AddPromotion(node);
      return Propose(ConfigType::kUpgradeToPrimary, node, node);
    };
    if (std::vector<Endpoint> intact = Intact(partition); !intact.empty()) {
      // Who stepped down wants somebody else to follow.
      if (intact.size() > 1) std::erase(intact, partition.former_primary);
      if (std::vector<Endpoint> fast = FastOf(intact, config.pid); !fast.empty()) intact = fast;
      return upgrade(placement_.FewestPrimaries(intact));
    }
    Instant deadline = partition.headless_since.value_or(now_) + options_.grace;
    if (now_ < deadline && !AllAliveMembersReported(partition)) {
      LookAgainAt(deadline);
      return {};
    }
    const Endpoint best = LongestSecondary(partition);
    if (best.IsValid()) return upgrade(best);
    return {.reason = IsForsaken(state_, partition)
                          ? "the secondaries are dead or have lost their replicas; who left last "
                            "may hold everything"
                          : "no secondary is alive with its replica loaded"};
  }

  // By the last mutation's ballot and decree. Where one can't tell the ballot (0: nothing is in its
  // log), by decree alone: each of them has followed the group until it was cut off.
  Endpoint LongestSecondary(const Partition& partition) const {
    std::vector<std::pair<Endpoint, const ReplicaInfo*>> found;
    for (Endpoint endpoint : partition.config.secondaries) {
      const Node* node = state_.FindNode(endpoint);
      if (node == nullptr || !node->alive) continue;
      if (const ReplicaInfo* report = node->LoadedReplica(partition.config.pid))
        found.emplace_back(endpoint, report);
    }
    const auto ballot_of = [](const ReplicaInfo& report) {
      return report.last_mutation_ballot.value_or(report.ballot);
    };
    const bool all_tell = std::none_of(found.begin(), found.end(), [&](const auto& candidate) {
      return ballot_of(*candidate.second) == Ballot(0);
    });
    const auto rank = [&](const auto& candidate) {
      const auto& [endpoint, report] = candidate;
      const Ballot ballot = ballot_of(*report);
      return std::tuple(ballot >= Ballot(0), all_tell ? ballot : Ballot(0),
                        report->last_prepared_decree, endpoint == partition.former_primary);
    };
    const auto best =
        std::max_element(found.begin(), found.end(),
                         [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    return best == found.end() ? Endpoint{} : best->first;
  }

  // Who sends beacons may still be cut off from all the rest: when the chosen one does nothing,
  // the next one is asked.
  std::optional<Step> UpgradeAnother(const Partition& partition) {
    const Intent& intent = *partition.intent;
    if (intent.type != ConfigType::kUpgradeToPrimary || !patience_.GivesUp(partition, intent))
      return std::nullopt;
    std::vector<Endpoint> intact = Intact(partition);
    if (intact.empty()) return std::nullopt;
    std::sort(intact.begin(), intact.end());
    const auto next = std::upper_bound(intact.begin(), intact.end(), intent.node);
    const Endpoint node = next == intact.end() ? intact.front() : *next;
    if (node == intent.node) return std::nullopt;
    placement_.AddPromotion(node);
    return Propose(ConfigType::kUpgradeToPrimary, node, node);
  }

  Step AssignNew(const Partition& partition) {
    int32_t app_id = partition.config.pid.app_id;
    Endpoint node = placement_.FewestPrimaries(
        [&](Endpoint e) { return !patience_.IsPassedOver(partition, e); });
    if (!node.IsValid()) node = patience_.FirstPassedOver(partition, [](Endpoint) { return true; });
    if (!node.IsValid()) return {.reason = "no server may be chosen"};
    placement_.AddPrimary(node, app_id);
    return Propose(ConfigType::kAssignPrimary, node, node);
  }

  // One of the last two who left a partition that has nobody any more ("DDD").
  struct Candidate {
    Endpoint endpoint;
    bool is_known = false;  // alive, and said what it has
    bool has_replica = false;
    bool is_durable = false;
    bool is_unclean = false;
    Ballot ballot{-1}, mutation_ballot{-1};
    Decree committed{-1}, prepared{-1};
  };
  Candidate CandidateOf(PartitionId pid, Endpoint endpoint) const {
    Candidate candidate{.endpoint = endpoint};
    const Node* node = state_.FindNode(endpoint);
    if (node == nullptr || !node->alive || !node->collected) return candidate;
    const ReplicaInfo* report = node->LoadedReplica(pid);
    if (report == nullptr) {
      candidate.is_known = !node->IsLoading(pid) && !node->has_unreadable_disks;
      return candidate;
    }
    return {.endpoint = endpoint,
            .is_known = true,
            .has_replica = true,
            .is_durable = report->durability == static_cast<int8_t>(Durability::kFsync),
            .is_unclean = report->unclean.value_or(false),
            .ballot = report->ballot,
            .mutation_ballot = report->last_mutation_ballot.value_or(report->ballot),
            .committed = report->last_committed_decree,
            .prepared = report->last_prepared_decree};
  }

  Step AssignFromDrops(const Partition& partition) {
    const PartitionConfiguration& config = partition.config;
    auto assign = [&](const Candidate& candidate) {
      placement_.AddPrimary(candidate.endpoint, config.pid.app_id);
      return Propose(ConfigType::kAssignPrimary, candidate.endpoint, candidate.endpoint);
    };
    Candidate last = CandidateOf(config.pid, config.last_drops.back());
    if (config.last_drops.size() == 1) return last.has_replica ? assign(last) : Step{};
    Candidate earlier = CandidateOf(config.pid, config.last_drops[config.last_drops.size() - 2]);
    if (last.has_replica && last.is_durable) {
      if (const Candidate* longest = LongestDurable(partition, earlier, last))
        return assign(*longest);
      return {};
    }
    if (!last.has_replica || !earlier.is_known) return {};  // P6
    const bool agree = (earlier.ballot >= last.ballot && earlier.committed >= last.committed) ||
                       (earlier.ballot <= last.ballot && earlier.committed <= last.committed);
    Decree prepared = std::max(earlier.prepared, last.prepared);
    if (!agree || prepared < config.last_committed_decree ||
        prepared < std::max(earlier.committed, last.committed)) {
      return {};
    }
    auto rank = [](const Candidate& c) { return std::tuple(c.ballot, c.committed, c.prepared); };
    return assign(rank(earlier) > rank(last) ? earlier : last);
  }

  // For people: why AssignFromDrops found nobody it may choose by itself.
  const char* WhyNobody(const Partition& partition) const {
    const PartitionId pid = partition.config.pid;
    const Node* node = state_.FindNode(partition.config.last_drops.back());
    if (node == nullptr || !node->alive) return "the member that left last is dead";
    if (!node->collected) return "the member that left last has not reported its replicas yet";
    if (node->IsLoading(pid)) return "the member that left last is still loading its replica";
    if (node->LoadedReplica(pid) != nullptr)
      return "the last members' logs end before what was committed, or contradict each other, or "
             "one of them has not reported";
    if (node->has_unreadable_disks)
      return "the member that left last has a disk that can't be read";
    return "the member that left last has lost its replica";
  }

  // Where logs are durable, the last member alone holds everything acknowledged, and the rules of
  // an unclean restart apply: the other one counts when it has more (what the last one's damaged
  // end may lack), and is waited for one grace at most. Committed decrees say nothing here: what a
  // restarted member knows of them falls back.
  const Candidate* LongestDurable(const Partition& partition, const Candidate& earlier,
                                  const Candidate& last) {
    const Candidate* longest = &last;
    auto rank = [](const Candidate& c) { return std::tuple(c.mutation_ballot, c.prepared); };
    // A learner's state says -1: however long, it may lack what the last member acknowledged.
    const bool is_sure = earlier.has_replica && earlier.mutation_ballot >= Ballot(0);
    // Where no mutation is in the log (0), nothing is at its end that could be damaged either.
    const bool may_lack = last.mutation_ballot != Ballot(0);
    if (is_sure && may_lack && rank(earlier) > rank(last)) longest = &earlier;
    if (!earlier.is_known && last.is_unclean && state_.IsAlive(earlier.endpoint)) {
      Instant deadline = partition.headless_since.value_or(now_) + options_.grace;
      if (now_ < deadline) {
        LookAgainAt(deadline);
        return nullptr;
      }
    }
    return longest->prepared < partition.config.last_committed_decree ? nullptr : longest;
  }

  Step AddMissing(const Partition& partition) {
    const PartitionConfiguration& config = partition.config;
    Endpoint node;
    if (IsUrgent(partition)) {
      const auto may_learn = [&](Endpoint e) { return MayLearn(partition, e); };
      const auto comes_first = [&](Endpoint e) {
        return MayLearn(partition, e) && !patience_.IsPassedOver(partition, e);
      };
      for (size_t i = partition.dropped.size(); i > 0 && !node.IsValid(); --i) {
        if (comes_first(partition.dropped[i - 1].node)) node = partition.dropped[i - 1].node;
      }
      if (!node.IsValid()) node = placement_.FewestReplicas(config.pid.app_id, comes_first);
      if (!node.IsValid()) node = patience_.FirstPassedOver(partition, may_learn);
    } else {
      const DroppedReplica& newest = partition.dropped.back();
      if (MayLearn(partition, newest.node)) node = newest.node;
      LookAgainAt(*newest.at + options_.replica_assign_delay_for_dropouts);
    }
    if (!node.IsValid()) return {};
    placement_.AddReplica(node, config.pid.app_id);
    return Propose(ConfigType::kAddSecondary, config.primary, node);
  }

  bool IsUrgent(const Partition& partition) const {
    int32_t factor = partition.config.max_replica_count;
    int32_t members = static_cast<int32_t>(partition.config.MemberCount());
    int32_t enough = options_.mutation_2pc_min_replica_count;
    if (members < enough && factor > enough) return true;
    if (partition.dropped.empty() || !partition.dropped.back().at) return true;
    if (patience_.IsPassedOver(partition, partition.dropped.back().node)) return true;
    if (AcknowledgesSlowly(partition.dropped.back().node, partition.config.primary)) return true;
    return now_ - *partition.dropped.back().at >= options_.replica_assign_delay_for_dropouts;
  }

  bool MayLearn(const Partition& partition, Endpoint endpoint) const {
    const Node* node = state_.FindNode(endpoint);
    return node != nullptr && node->alive && node->collected &&
           !partition.config.IsMember(endpoint) &&
           (!node->IsLoading(partition.config.pid) || WasToldToLearn(partition, endpoint)) &&
           (partition.config.MemberCount() < Enough() ||
            ((!node->IsSlowFor(partition.config.pid) || MostAreSlow()) &&
             !AcknowledgesSlowly(endpoint, partition.config.primary)));
  }

  // Then it opens its replica for that.
  static bool WasToldToLearn(const Partition& partition, Endpoint endpoint) {
    return partition.intent && partition.intent->node == endpoint &&
           partition.intent->times_sent > 0 &&
           (partition.intent->type == ConfigType::kAddSecondary ||
            partition.intent->type == ConfigType::kAddSecondaryForLoadBalance);
  }

  // Members without whom slow ones are better than none.
  size_t Enough() const {
    return static_cast<size_t>(std::max(options_.mutation_2pc_min_replica_count, 2));
  }

  bool StillApplies(const Partition& partition, const Intent& intent) const {
    const PartitionConfiguration& config = partition.config;
    if (!state_.IsAlive(intent.target)) return false;
    switch (intent.type) {
      case ConfigType::kAssignPrimary: {  // it may find its copy damaged when it opens it
        const Node& node = *state_.FindNode(intent.node);
        return config.MemberCount() == 0 &&
               (config.last_drops.empty() || node.IsLoading(config.pid) ||
                node.LoadedReplica(config.pid) != nullptr);
      }
      case ConfigType::kUpgradeToPrimary:
        return !config.primary.IsValid() && config.IsSecondary(intent.node);
      case ConfigType::kAddSecondary:
        return intent.target == config.primary && MayLearn(partition, intent.node) &&
               config.MemberCount() < static_cast<size_t>(config.max_replica_count);
      case ConfigType::kDowngradeToInactive:
        return intent.target == config.primary && config.IsSecondary(intent.node) &&
               !state_.IsAlive(intent.node);
      case ConfigType::kRemove:  // others only as long as their reason holds, or their plan
        return intent.keeps_factor && intent.target == config.primary &&
               config.IsSecondary(intent.node) && MaySpare(config, intent);
      default:
        return false;
    }
  }

  const ClusterState& state_;
  int moves_away_ = 0;  // under way, and in this plan
  FunctionLevel level_;
  const GuardianOptions& options_;
  Instant now_;
  PlacementPlanner placement_;
  GuardianPlan plan_;
  ProposalPatience patience_;
};

}  // namespace

bool IsForsaken(const ClusterState& state, const Partition& partition) {
  const PartitionConfiguration& config = partition.config;
  const auto may_follow = [&](Endpoint endpoint) {
    const Node* node = state.FindNode(endpoint);
    return node != nullptr && node->alive &&
           (!node->collected || node->replicas.contains(config.pid));
  };
  return !config.primary.IsValid() &&
         std::none_of(config.secondaries.begin(), config.secondaries.end(), may_follow);
}

bool MayBePlanned(const ClusterState& state, const GuardianOptions& options,
                  const Partition& partition, const std::vector<Intent>& planned, Instant now) {
  Partition copy = partition;
  copy.planned = planned;
  return Look(state, FunctionLevel::kSteady, options, now).Begins(copy);
}

GuardianPlan PlanPartitions(const ClusterState& state, FunctionLevel level,
                            const GuardianOptions& options, Instant now) {
  return Look(state, level, options, now).Plan();
}

}  // namespace arion
