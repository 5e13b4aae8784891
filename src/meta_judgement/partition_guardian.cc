// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/partition_guardian.h"

#include <algorithm>

#include "messages/write_members.h"
#include "meta_judgement/copy_giving.h"
#include "meta_judgement/full_disks.h"
#include "meta_judgement/placement_planner.h"
#include "meta_judgement/proposal_patience.h"
#include "meta_judgement/slow_servers.h"
#include "meta_judgement/succession.h"
#include "meta_state/configuration_change.h"
#include "meta_state/stale_configuration.h"

namespace arion {
namespace {

constexpr int kSlowMovesAtOnce = 16;  // of members that acknowledge slowly

// One look at all partitions. What it decided so far counts for the next decision (placement_,
// moves_away_), so a plan for a thousand partitions spreads over the servers.
// The order in one partition is that of the functions' calls: JudgeMembers, JudgePrimary, plans,
// Cure. The first that names a step ends it.
class Look {
 public:
  Look(const ClusterState& state, FunctionLevel level, const GuardianOptions& options, Instant now)
      : state_(state),
        level_(level),
        options_(options),
        now_(now),
        placement_(state),
        patience_(state, now, &plan_.next_look),
        slow_(state, now, &plan_.next_look),
        full_(state, options.mutation_2pc_min_replica_count, now, &plan_.next_look),
        giving_(state),
        succession_(state, options.grace, now, &plan_.next_look) {}

  GuardianPlan Plan() {
    // New copies come last in the plan, those for a primary alone before the others: what ends an
    // outage goes out first.
    std::vector<GuardianPlan::Step> lonely, rest;
    if (level_ < FunctionLevel::kFreezed) return {};
    for (const auto& [app_id, table] : state_.tables)
      for (const Partition& partition : table.partitions)
        if (partition.intent && partition.intent->type == ConfigType::kRemove) ++moves_away_;
    for (const auto& [app_id, table] : state_.tables) {
      if (table.info.status != AppStatus::kAvailable || table.partitions_change) continue;
      for (const Partition& partition : table.partitions) {
        if (partition.pending || partition.IsDropped() || partition.IsUnregistered()) continue;
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
    // It stays planned.
    if (step && step->intent->type == ConfigType::kDowngradeToSecondary && !MayStepDown(partition))
      // Meanwhile it is cured, but loses no member: the plan may need that one.
      step = CureWithout(ConfigType::kRemove, partition);
    else if (!step || patience_.GivesUp(partition, *step->intent)) {
      rest.clear();
      step = Cure(partition);
    }
    if (rest.size() != partition.planned.size()) step->planned = std::move(rest);
    return *std::move(step);
  }

  Step CureWithout(ConfigType type, const Partition& partition) {
    Step step = Cure(partition);
    return step.intent && step.intent->type == type ? Step{} : step;
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

  // Whether the secondaries are to be removed, so that the server that an administrator's plan
  // names may lead: none of them can.
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
        return intent.target == node && !config.primary.IsValid() &&
               succession_.IsIntact(partition, node);
      case ConfigType::kAddSecondary:
        return intent.target == config.primary && MayLearn(partition, node) &&
               config.MemberCount() < factor;
      case ConfigType::kAddSecondaryForLoadBalance:
        return intent.target == config.primary && MayLearn(partition, node) &&
               config.MemberCount() <= factor;
      case ConfigType::kDowngradeToSecondary:  // somebody must be there to follow
        return intent.target == config.primary && node == config.primary &&
               !succession_.Intact(partition).empty();
      case ConfigType::kDowngradeToInactive:
      case ConfigType::kRemove:  // never the last one
        return intent.target == config.primary && config.IsMember(node) &&
               config.MemberCount() > 1 && MaySpare(config, intent);
      default:
        return false;
    }
  }

  // Ours waits until nothing is under way. An older version's steps down at once, whatever it
  // prepares again, which may have been committed before it began anew: its secondaries must have
  // told under this ballot that they hold as much.
  bool MayStepDown(const Partition& partition) const {
    const PartitionConfiguration& config = partition.config;
    const auto told = [&](Endpoint member) -> const ReplicaInfo* {
      const Node* node = state_.FindNode(member);
      const ReplicaInfo* report =
          node != nullptr && node->alive ? node->LoadedReplica(config.pid) : nullptr;
      return report != nullptr && report->ballot == config.ballot ? report : nullptr;
    };
    const Node* leader = state_.FindNode(config.primary);
    if (leader == nullptr || !leader->is_older) return true;
    const ReplicaInfo* own = told(config.primary);
    return own != nullptr &&
           std::all_of(config.secondaries.begin(), config.secondaries.end(), [&](Endpoint member) {
             const ReplicaInfo* report = told(member);
             return report != nullptr && report->last_prepared_decree >= own->last_prepared_decree;
           });
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
    if (config.primary.IsValid()) {
      if (std::optional<Step> step = LeaveFull(partition)) return *step;
    }
    if (partition.intent && StillApplies(partition, *partition.intent)) {
      // A proposal under way is kept, so that it is repeated to the same server, unless another one
      // promises more.
      if (std::optional<Step> other = UpgradeAnother(partition)) return *other;
      const bool may_choose_another =
          partition.intent->type == ConfigType::kAddSecondary ||
          (partition.intent->type == ConfigType::kAssignPrimary && config.last_drops.empty());
      if (!may_choose_another || !patience_.GivesUp(partition, *partition.intent))
        return {.intent = partition.intent};
    }
    if (!config.primary.IsValid()) {
      if (!config.secondaries.empty()) return UpgradeOne(partition);
      return config.last_drops.empty() ? AssignNew(partition) : AssignFromDrops(partition);
    }
    for (Endpoint node : config.secondaries) {
      if (!state_.IsAlive(node)) {
        return Propose(ConfigType::kDowngradeToInactive, config.primary, node);
      }
    }
    if (std::optional<Step> step = LeaveSlow(partition)) return *step;
    size_t factor = static_cast<size_t>(std::max(config.max_replica_count, 1));
    if (config.MemberCount() < factor) return AddMissing(partition);
    // One too many: a primary and as many secondaries as the table wants replicas.
    if (config.secondaries.size() >= factor) {
      const Endpoint giver = giving_.GiverOf(config);
      Step step = Propose(ConfigType::kRemove, config.primary,
                          giver.IsValid() ? giver : placement_.MostReplicas(config.secondaries));
      step.intent->keeps_factor = true;
      return step;
    }
    return GiveAway(partition);
  }

  // From a disk that is nearly full to one with much room; then it is one member too many.
  Step GiveAway(const Partition& partition) {
    const PartitionConfiguration& config = partition.config;
    if (!giving_.MayGive(partition)) return {};
    const Endpoint place = PlaceForCopy(partition);
    if (!place.IsValid() || !full_.HasMuchRoom(place, config.pid)) return {};
    giving_.Gives(partition);
    return Add(ConfigType::kAddSecondaryForLoadBalance, config, place);
  }

  // Every write waits for every member. The primary's role goes first, then the copy.
  std::optional<Step> LeaveSlow(const Partition& partition) {
    const PartitionConfiguration& config = partition.config;
    const bool is_under_way = partition.intent && partition.intent->type == ConfigType::kRemove;
    const bool may_move = is_under_way || moves_away_ < kSlowMovesAtOnce;
    if (slow_.IsOnSlowDisk(config.primary, config.pid) || slow_.HasWrongClock(config.primary) ||
        (may_move && slow_.IsSlowToMost(config.primary))) {
      if (slow_.FastOf(succession_.Intact(partition), config.pid).empty() ||
          !MayStepDown(partition))
        return std::nullopt;
      ++moves_away_;
      return Propose(ConfigType::kDowngradeToSecondary, config.primary, config.primary);
    }
    // A slow member is better than a write that waits for a copy to be made.
    if (config.MemberCount() <= Enough()) return std::nullopt;
    for (Endpoint node : config.secondaries)
      if (slow_.IsOnSlowDisk(node, config.pid) ||
          (may_move && slow_.AcknowledgesSlowly(node, config.primary))) {
        if (!is_under_way) ++moves_away_;
        return Propose(ConfigType::kRemove, config.primary, node);
      }
    return std::nullopt;
  }

  // A member on a disk that takes no writes keeps the others from theirs. Where too few would stay,
  // another copy is made first; where that can't be, all goes on being read.
  std::optional<Step> LeaveFull(const Partition& partition) {
    const PartitionConfiguration& config = partition.config;
    const PartitionId pid = config.pid;
    const auto must_leave = [&](Endpoint e) { return full_.MustLeave(e, pid); };
    const auto full =
        std::find_if(config.secondaries.begin(), config.secondaries.end(), must_leave);
    const bool is_primary_full = must_leave(config.primary);
    if (!is_primary_full && full == config.secondaries.end()) return std::nullopt;
    const bool has_enough = full_.HasEnoughWithRoom(config);
    const Endpoint place = has_enough ? Endpoint{} : PlaceForCopy(partition);
    if (!has_enough && !place.IsValid()) return std::nullopt;
    if (is_primary_full && MayStepDown(partition) &&
        !full_.WithRoom(Staying(succession_.Intact(partition)), pid).empty())
      return Propose(ConfigType::kDowngradeToSecondary, config.primary, config.primary);
    if (!has_enough) {
      const bool is_one_more =
          config.MemberCount() >= static_cast<size_t>(std::max(config.max_replica_count, 1));
      return Add(is_one_more ? ConfigType::kAddSecondaryForLoadBalance : ConfigType::kAddSecondary,
                 config, place);
    }
    if (full == config.secondaries.end()) return std::nullopt;
    return Propose(ConfigType::kRemove, config.primary, *full);
  }

  // For one copy more than the table has; the one that was chosen is kept.
  Endpoint PlaceForCopy(const Partition& partition) {
    const PartitionConfiguration& config = partition.config;
    if (config.MemberCount() > static_cast<size_t>(std::max(config.max_replica_count, 1)))
      return {};
    if (partition.intent && TakesCopy(partition.intent->type) &&
        MayLearn(partition, partition.intent->node) &&
        !patience_.GivesUp(partition, *partition.intent))
      return partition.intent->node;
    const auto may = [&](Endpoint e) {
      return MayLearn(partition, e) && !patience_.IsPassedOver(partition, e);
    };
    const Endpoint place = placement_.FewestReplicas(
        config.pid.app_id, [&](Endpoint e) { return may(e) && !full_.IsTight(e, config.pid); });
    return place.IsValid() ? place : placement_.FewestReplicas(config.pid.app_id, may);
  }
  static bool TakesCopy(ConfigType type) {
    return type == ConfigType::kAddSecondary || type == ConfigType::kAddSecondaryForLoadBalance;
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
    // What it said before its last update was accepted is over: it has led, and written, since.
    if (IsUnprovenPrimary(state_, partition) && partition.IsSince(*node)) {
      if (std::optional<Step> step = JudgeOlderPrimary(partition)) return *step;
    }
    if (!partition.primary_deadline) return std::nullopt;

    // Its process is new.
    // Until the deadline a former lease may still hold, and the primary may resume.
    bool expired = now_ >= *partition.primary_deadline;
    if (!expired) LookAgainAt(*partition.primary_deadline);
    const ReplicaInfo* report = node->LoadedReplica(config.pid);
    if (report == nullptr) {
      bool gone = node->collected && !node->has_unreadable_disks && !node->IsLoading(config.pid);
      if (gone) return Write(WithoutPrimary(config), "primary has lost its replica");
      if (!expired) return Step{};
      // Where nobody else is known to hold everything, what it holds may be needed.
      return Write(succession_.Intact(partition).empty() && !config.secondaries.empty()
                       ? PrimaryAmongSecondaries(config)
                       : WithoutPrimary(config),
                   "primary was not loaded within a grace");
    }
    if (!partition.suspects.contains(primary)) {
      if (expired) return Write(WithoutPrimary(config), "primary did not resume within a grace");
      return Step{};  // config sync tells it; it will force a new ballot
    }
    // Stopped uncleanly: others that kept running lead, or whoever has most. It stays a member:
    // what its log may lack shows as a gap.
    if (!succession_.Intact(partition).empty() || expired ||
        succession_.HaveAliveMembersReported(partition)) {
      return Write(PrimaryAmongSecondaries(config), "primary stopped uncleanly");
    }
    return Step{};
  }

  // Its process is new, and so may its disk be another: what it holds is compared with what is
  // stored, and, where no member is left to ask (pacifica/roll_call.h), with what others hold.
  std::optional<Step> JudgeOlderPrimary(const Partition& partition) const {
    const PartitionConfiguration& config = partition.config;
    const bool is_alone = config.secondaries.empty();
    std::optional<Step> step;
    if (partition.short_copies.contains(config.primary)) {
      // The state may be an older copy, too: then who has not told yet shows a later ballot.
      if (!state_.awaited.empty()) return Step{};
      step = Write(is_alone ? WithoutPrimary(config) : PrimaryAmongSecondaries(config),
                   "the primary's copy ends before what was committed");
      step->older = config.primary;
    } else if (is_alone) {
      const OutsideCopies copies = OutsideCopiesOf(state_, config);
      if (!copies.more.IsValid()) return std::nullopt;
      step = Write(LedBy(config, copies.more), "another holds more than its only member");
      if (copies.more_is_committed) step->older = config.primary;
    }
    return step;
  }

  Step UpgradeOne(const Partition& partition) {
    if (std::vector<Endpoint> intact = succession_.Intact(partition); !intact.empty()) {
      if (std::vector<Endpoint> staying = Staying(intact); !staying.empty()) intact = staying;
      // Who stepped down wants somebody else to follow.
      if (intact.size() > 1) std::erase(intact, partition.former_primary);
      const PartitionId pid = partition.config.pid;
      if (std::vector<Endpoint> room = full_.WithRoom(intact, pid); !room.empty()) intact = room;
      if (std::vector<Endpoint> fast = slow_.FastOf(intact, pid); !fast.empty()) intact = fast;
      return Upgrade(placement_.FewestPrimaries(intact));
    }
    const Succession::Choice choice = succession_.OfSecondaries(partition);
    if (!choice.leader.IsValid()) return {.reason = choice.reason};
    if (partition.config.IsSecondary(choice.leader)) return Upgrade(choice.leader);
    // An older version's server has closed what it was left out of: named a secondary it asks to be
    // removed, assigned to lead it opens it.
    const bool is_older = state_.FindNode(choice.leader)->is_older;
    return Write((is_older ? LedBy : Rejoined)(partition.config, choice.leader),
                 "who led before holds more than its secondaries");
  }

  std::vector<Endpoint> Staying(std::vector<Endpoint> nodes) const {
    std::erase_if(nodes, [&](Endpoint node) { return state_.IsStopping(node); });
    return nodes;
  }

  Step Upgrade(Endpoint node) {
    placement_.AddPromotion(node);
    return Propose(ConfigType::kUpgradeToPrimary, node, node);
  }

  // Who sends beacons may still be cut off from all the rest: when the chosen one does nothing,
  // the next one is asked. One that stops is not waited for.
  std::optional<Step> UpgradeAnother(const Partition& partition) {
    const Intent& intent = *partition.intent;
    if (intent.type != ConfigType::kUpgradeToPrimary) return std::nullopt;
    std::vector<Endpoint> intact = succession_.Intact(partition);
    if (std::vector<Endpoint> staying = Staying(intact); !staying.empty()) {
      if (state_.IsStopping(intent.node)) return UpgradeOne(partition);
      intact = std::move(staying);
    }
    if (intact.empty() || !patience_.GivesUp(partition, intent)) return std::nullopt;
    std::sort(intact.begin(), intact.end());
    const auto next = std::upper_bound(intact.begin(), intact.end(), intent.node);
    const Endpoint node = next == intact.end() ? intact.front() : *next;
    if (node == intent.node) return std::nullopt;
    return Upgrade(node);
  }

  Step AssignNew(const Partition& partition) {
    const auto has_room = [&](Endpoint e) {
      return placement_.HasRoom(e) && full_.HasRoom(e, partition.config.pid);
    };
    const auto comes_first = [&](Endpoint e) {
      return has_room(e) && !patience_.IsPassedOver(partition, e);
    };
    Endpoint node = placement_.FewestPrimaries(
        [&](Endpoint e) { return comes_first(e) && !full_.IsTight(e, partition.config.pid); });
    if (!node.IsValid()) node = placement_.FewestPrimaries(comes_first);
    if (!node.IsValid()) node = patience_.FirstPassedOver(partition, has_room);
    if (!node.IsValid()) return {.reason = "no server may be chosen"};
    return Assign(partition, node);
  }

  Step AssignFromDrops(const Partition& partition) {
    const Succession::Choice choice = succession_.OfLastDrops(partition);
    return choice.leader.IsValid() ? Assign(partition, choice.leader)
                                   : Step{.reason = choice.reason};
  }

  Step Assign(const Partition& partition, Endpoint node) {
    placement_.AddPrimary(node, partition.config.pid.app_id);
    return Propose(ConfigType::kAssignPrimary, node, node);
  }

  Step AddMissing(const Partition& partition) {
    const PartitionConfiguration& config = partition.config;
    Endpoint node;
    if (IsUrgent(partition)) {
      const auto may_learn = [&](Endpoint e) { return MayLearn(partition, e); };
      const auto comes_first = [&](Endpoint e) {
        return MayLearn(partition, e) && !patience_.IsPassedOver(partition, e);
      };
      const auto has_much_room = [&](Endpoint e) {
        return comes_first(e) && !full_.IsTight(e, config.pid);
      };
      // Who left last comes first: it lacks least and learns soonest.
      for (size_t i = partition.dropped.size(); i > 0 && !node.IsValid(); --i) {
        if (has_much_room(partition.dropped[i - 1].node)) node = partition.dropped[i - 1].node;
      }
      if (!node.IsValid()) node = placement_.FewestReplicas(config.pid.app_id, has_much_room);
      if (!node.IsValid()) node = placement_.FewestReplicas(config.pid.app_id, comes_first);
      if (!node.IsValid()) node = patience_.FirstPassedOver(partition, may_learn);
    } else {
      const DroppedReplica& newest = partition.dropped.back();
      if (MayLearn(partition, newest.node)) node = newest.node;
      LookAgainAt(*newest.at + options_.replica_assign_delay_for_dropouts);
    }
    return node.IsValid() ? Add(ConfigType::kAddSecondary, config, node) : Step{};
  }

  Step Add(ConfigType type, const PartitionConfiguration& config, Endpoint node) {
    placement_.AddReplica(node, config.pid.app_id);
    return Propose(type, config.primary, node);
  }

  bool IsUrgent(const Partition& partition) const {
    int32_t factor = partition.config.max_replica_count;
    int32_t members = static_cast<int32_t>(partition.config.MemberCount());
    int32_t enough = WriteMembersMin(options_.mutation_2pc_min_replica_count, factor);
    if (members < enough && factor > enough) return true;
    if (partition.dropped.empty() || !partition.dropped.back().at) return true;
    if (patience_.IsPassedOver(partition, partition.dropped.back().node)) return true;
    if (slow_.AcknowledgesSlowly(partition.dropped.back().node, partition.config.primary))
      return true;
    if (!full_.HasRoom(partition.dropped.back().node, partition.config.pid)) return true;
    return now_ - *partition.dropped.back().at >= options_.replica_assign_delay_for_dropouts;
  }

  bool MayLearn(const Partition& partition, Endpoint endpoint) const {
    const Node* node = state_.FindNode(endpoint);
    return node != nullptr && node->alive && node->collected &&
           !partition.config.IsMember(endpoint) && full_.HasRoom(endpoint, partition.config.pid) &&
           (placement_.HasRoom(endpoint) || WasToldToLearn(partition, endpoint)) &&
           (!node->IsLoading(partition.config.pid) || WasToldToLearn(partition, endpoint)) &&
           (partition.config.MemberCount() < Enough() ||
            slow_.MayTakeCopy(endpoint, partition.config));
  }

  // Then it opens its replica for that.
  static bool WasToldToLearn(const Partition& partition, Endpoint endpoint) {
    return partition.intent && partition.intent->node == endpoint &&
           partition.intent->times_sent > 0 && TakesCopy(partition.intent->type);
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
  SlowServers slow_;
  FullDisks full_;
  CopyGiving giving_;
  Succession succession_;
};

}  // namespace

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
