// SPDX-License-Identifier: Apache-2.0
#include "meta_state/configuration_change.h"

#include <algorithm>

#include "meta_state/table_split.h"

namespace arion {
namespace {

void Erase(std::vector<Endpoint>& list, Endpoint node) {
  list.erase(std::remove(list.begin(), list.end(), node), list.end());
}

void AppendDrop(PartitionConfiguration& config, Endpoint node) {
  Erase(config.last_drops, node);
  config.last_drops.push_back(node);
  if (config.last_drops.size() > kLastDropsMax) config.last_drops.erase(config.last_drops.begin());
}

std::vector<Endpoint> Sorted(std::vector<Endpoint> list) {
  std::sort(list.begin(), list.end());
  return list;
}

// The repeat of an update that was stored (meta/STATE.md 5.1): not by last_drops.
bool IsRepeat(const PartitionConfiguration& now, const PartitionConfiguration& wanted) {
  return now.ballot == wanted.ballot && now.pid == wanted.pid &&
         now.max_replica_count == wanted.max_replica_count && now.primary == wanted.primary &&
         now.last_committed_decree >= wanted.last_committed_decree &&
         Sorted(now.secondaries) == Sorted(wanted.secondaries);
}

// The members `type` about `node` must lead to, as (primary, sorted secondaries); nullopt: not from
// here.
struct Members {
  Endpoint primary;
  std::vector<Endpoint> secondaries;
  bool operator==(const Members&) const = default;
};
std::optional<Members> ExpectedMembers(const PartitionConfiguration& now, ConfigType type,
                                       Endpoint node) {
  Members members{now.primary, Sorted(now.secondaries)};
  switch (type) {
    case ConfigType::kAssignPrimary:
      if (now.primary.IsValid() || !now.secondaries.empty()) return std::nullopt;
      members.primary = node;
      break;
    case ConfigType::kUpgradeToPrimary:
      if (now.primary.IsValid() || !now.IsSecondary(node)) return std::nullopt;
      Erase(members.secondaries, node);
      members.primary = node;
      break;
    case ConfigType::kUpgradeToSecondary:
      if (!now.primary.IsValid() || now.IsMember(node)) return std::nullopt;
      members.secondaries.push_back(node);
      members.secondaries = Sorted(std::move(members.secondaries));
      break;
    case ConfigType::kDowngradeToSecondary:
      if (now.primary != node) return std::nullopt;
      members.primary = {};
      members.secondaries.push_back(node);
      members.secondaries = Sorted(std::move(members.secondaries));
      break;
    case ConfigType::kDowngradeToInactive:
    case ConfigType::kRemove:
      // About a learner: membership stays.
      if (now.primary == node) members.primary = {};
      Erase(members.secondaries, node);
      break;
    case ConfigType::kPrimaryForceUpdateBallot:
    case ConfigType::kRegisterChild:
      if (now.primary != node) return std::nullopt;
      break;
    default:
      return std::nullopt;
  }
  return members;
}

bool AddsMember(ConfigType type) {
  return type == ConfigType::kAssignPrimary || type == ConfigType::kUpgradeToPrimary ||
         type == ConfigType::kUpgradeToSecondary;
}
bool MakesPrimary(ConfigType type) {
  return type == ConfigType::kAssignPrimary || type == ConfigType::kUpgradeToPrimary;
}

// Freezed, the members stay; a primary's next ballot changes none.
bool MayApply(FunctionLevel level, ConfigType type) {
  return level > FunctionLevel::kFreezed ||
         (level == FunctionLevel::kFreezed && type == ConfigType::kPrimaryForceUpdateBallot);
}

}  // namespace

// The order of the checks is that of meta/STATE.md 5.1. Each of them answers what the sender can
// act on: kOutdated makes it adopt the stored configuration, kPending keeps its question.
UpdateJudgement JudgeUpdate(const ClusterState& state, FunctionLevel level,
                            const ConfigurationUpdateRequest& request) {
  const PartitionConfiguration& wanted = request.config;
  const Table* table = state.FindTable(wanted.pid.app_id);
  const Partition* partition = state.FindPartition(wanted.pid);
  const auto judged = [](UpdateVerdict verdict, const char* reason) {
    return UpdateJudgement{.verdict = verdict, .reason = reason};
  };
  // Of an unregistered child no server knows anything that could be changed.
  if (partition == nullptr || partition->IsUnregistered())
    return judged(UpdateVerdict::kUnknown, "unknown partition");
  if (state.FindNode(request.node) == nullptr)
    return judged(UpdateVerdict::kUnknown, "unknown node");

  const PartitionConfiguration& now = partition->config;
  // Before the level: the change is stored already, only its answer was lost.
  // Not a registration that came too late: another request of the same primary took its ballot.
  const bool lacks_child = request.type == ConfigType::kRegisterChild &&
                           InfoFor(*table, wanted.pid.index).partition_count !=
                               int64_t{2} * request.info.partition_count;
  if (IsRepeat(now, wanted) && !lacks_child) return judged(UpdateVerdict::kRepeat, "repeated");
  if (!MayApply(level, request.type)) return judged(UpdateVerdict::kFreezed, "freezed");
  if (wanted.ballot != now.ballot + 1) return judged(UpdateVerdict::kOutdated, "ballot");
  if (partition->pending || table->partitions_change)
    return judged(UpdateVerdict::kPending, "another change is being stored");
  // All that follows is against this change as such. The sender then adopts what is stored.
  const auto refuse = [&](const char* reason) { return judged(UpdateVerdict::kOutdated, reason); };
  if (partition->IsDropped()) return refuse("partition is dropped");
  // A server with a larger ballot would ignore what this change leads to (stale_configuration.h).
  if (partition->IsBehind()) return refuse("a server knows a larger ballot");

  std::optional<Members> expected = ExpectedMembers(now, request.type, request.node);
  if (!expected) return refuse("not applicable to the current configuration");
  // The count wished for may have changed since the sender was told.
  if (Members{wanted.primary, Sorted(wanted.secondaries)} != *expected) {
    return refuse("members are not those of this change");
  }
  if (now.primary.IsValid() && !state.IsAlive(now.primary)) return refuse("the primary is dead");
  // A process that has just begun may resume or step back. Anything else was sent by the one before
  // it.
  bool steps_back = wanted.primary != now.primary && request.node == now.primary;
  if (partition->primary_deadline && !steps_back &&
      request.type != ConfigType::kPrimaryForceUpdateBallot) {
    return refuse("sent by a process of the primary that has ended");
  }
  if (AddsMember(request.type) && !state.IsAlive(request.node)) return refuse("the node is dead");
  if (MakesPrimary(request.type) &&
      (!partition->intent || partition->intent->type != request.type ||
       partition->intent->node != request.node)) {
    return refuse("meta did not choose this primary");  // or chose before something happened to it
  }
  if (request.type == ConfigType::kPrimaryForceUpdateBallot && !now.secondaries.empty()) {
    // Of an older version's servers only a new process asks for this. It would answer reads before
    // it has committed again what it acknowledged (only one that is upgraded waits for that), and,
    // told that it is the primary still, go on under the ballot that it had.
    if (state.FindNode(request.node)->is_older)
      return judged(UpdateVerdict::kGivesWay, "an older version's primary began anew");
    if (partition->suspects.contains(request.node))
      return refuse("a primary never resumes in place after an unclean stop");
  }

  if (request.type == ConfigType::kRegisterChild) {
    if (const char* why_not = WhyNotRegistered(state, *table, request)) return refuse(why_not);
  }

  UpdateJudgement judgement{.verdict = UpdateVerdict::kApply, .next = now};
  PartitionConfiguration& next = judgement.next;
  next.ballot = wanted.ballot;
  next.primary = wanted.primary;
  next.secondaries = wanted.secondaries;  // in the requested order: the primary compares
  // A new primary may know of fewer commits than the one before. Who was assigned begins anew with
  // what it has.
  next.last_committed_decree =
      request.type == ConfigType::kAssignPrimary
          ? wanted.last_committed_decree
          : std::max(now.last_committed_decree, wanted.last_committed_decree);
  if (AddsMember(request.type)) Erase(next.last_drops, request.node);
  if (now.IsMember(request.node) && !next.IsMember(request.node)) AppendDrop(next, request.node);
  if (request.type == ConfigType::kRegisterChild)
    judgement.child = ChildOf(*table->split, next, *request.child_decree);
  return judgement;
}

PartitionConfiguration WithoutPrimary(const PartitionConfiguration& config) {
  PartitionConfiguration next = config;
  ++next.ballot;
  AppendDrop(next, config.primary);
  next.primary = {};
  return next;
}

PartitionConfiguration PrimaryAmongSecondaries(const PartitionConfiguration& config) {
  PartitionConfiguration next = config;
  ++next.ballot;
  next.secondaries.push_back(config.primary);
  next.primary = {};
  return next;
}

PartitionConfiguration Vacated(const PartitionConfiguration& config) {
  PartitionConfiguration next = config;
  ++next.ballot;
  for (Endpoint node : config.secondaries) AppendDrop(next, node);
  if (config.primary.IsValid()) AppendDrop(next, config.primary);
  next.secondaries.clear();
  next.primary = {};
  return next;
}

PartitionConfiguration LedBy(const PartitionConfiguration& config, Endpoint node) {
  PartitionConfiguration next = Vacated(config);
  AppendDrop(next, node);
  return next;
}

PartitionConfiguration Rejoined(const PartitionConfiguration& config, Endpoint node) {
  PartitionConfiguration next = config;
  ++next.ballot;
  Erase(next.last_drops, node);
  next.secondaries.push_back(node);
  return next;
}

PartitionConfiguration Emptied(const PartitionConfiguration& config) {
  PartitionConfiguration next = Vacated(config);
  next.partition_flags |= kPartitionDropped;
  return next;
}

PartitionConfiguration Recalled(const PartitionConfiguration& config) {
  PartitionConfiguration next = config;
  ++next.ballot;
  next.partition_flags &= ~kPartitionDropped;
  return next;
}

PartitionChange WithReplicaCount(int32_t count) {
  return {.next = [count](const PartitionConfiguration& config) {
    PartitionConfiguration next = config;
    next.max_replica_count = count;
    return next;
  }};
}

void Install(Partition& partition, PartitionConfiguration next, ConfigType cause, Instant now) {
  // A change that keeps the ballot changes no member (WithReplicaCount).
  if (next.ballot == partition.config.ballot) {
    partition.config = std::move(next);
    partition.pending.reset();
    return;
  }
  // What is known of servers follows their membership: who left becomes one to take back, who came
  // is no such one any more.
  const PartitionConfiguration former = std::move(partition.config);
  partition.config = std::move(next);
  partition.pending.reset();
  const PartitionConfiguration& config = partition.config;

  auto forget_dropped = [&](Endpoint node) {
    std::erase_if(partition.dropped,
                  [&](const DroppedReplica& dropped) { return dropped.node == node; });
    partition.passed_over.erase(node);
  };
  auto note_membership = [&](Endpoint node) {
    if (!node.IsValid()) return;
    if (config.IsMember(node)) return forget_dropped(node);
    // Once it came back, and was a member again, it is like any other who left.
    if (node == partition.former_primary) partition.former_primary = {};
    partition.serving.erase(node);
    partition.suspects.erase(node);
    forget_dropped(node);
    partition.dropped.push_back({.node = node, .at = now, .held = partition.KnownCommitted()});
  };
  for (Endpoint node : former.secondaries) note_membership(node);
  note_membership(former.primary);
  for (Endpoint node : config.secondaries) note_membership(node);
  note_membership(config.primary);

  if (cause == ConfigType::kAssignPrimary) partition.committed = {};  // it begins with what it has
  if (config.primary.IsValid()) {
    // It was judged before it was stored: who may lead holds everything. And who asks for another
    // group of its own leads already, whatever this meta server has heard of it.
    const bool has_asked = cause != ConfigType::kInvalid && former.primary == config.primary;
    if (MakesPrimary(cause) || has_asked) {
      partition.serving.insert(config.primary);
      partition.suspects.erase(config.primary);
    }
    partition.primary_deadline.reset();
    partition.inactive_reports = 0;
    partition.headless_since.reset();
  } else {
    if (former.primary.IsValid()) partition.former_primary = former.primary;
    if (!partition.headless_since) partition.headless_since = now;
    partition.primary_deadline.reset();
    partition.inactive_reports = 0;
  }
  // A learner that its primary calls ready has all that the group has, so what was said against its
  // copy is over.
  if (cause == ConfigType::kUpgradeToSecondary) {
    for (Endpoint node : config.secondaries) {
      if (former.IsMember(node)) continue;
      partition.serving.insert(node);
      partition.suspects.erase(node);
      partition.older.erase(node);
      partition.short_copies.erase(node);
    }
  }
}

}  // namespace arion
