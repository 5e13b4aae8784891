// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/coverage.h"

#include <algorithm>
#include <iterator>

#include "messages/replication_messages.h"

namespace arion::sim {

namespace {

struct NamedProbe {
  Probe probe;
  const char* name;
};
constexpr NamedProbe kProbeNames[] = {
    {Probe::kLearnFromCache, "learn-from-cache"},
    {Probe::kLearnFromLog, "learn-from-log"},
    {Probe::kLearnFromCheckpoint, "learn-from-checkpoint"},
    {Probe::kLearnRefused, "learn-refused"},
    {Probe::kLearnCompleted, "learn-completed"},
    {Probe::kFilesCopied, "files-copied"},
    {Probe::kLearnerTakesPrepares, "learner-takes-prepares"},
    {Probe::kInactiveToPrimary, "inactive-to-primary"},
    {Probe::kInactiveToSecondary, "inactive-to-secondary"},
    {Probe::kInactiveToLearner, "inactive-to-learner"},
    {Probe::kLearnerToSecondary, "learner-to-secondary"},
    {Probe::kLearnerToInactive, "learner-to-inactive"},
    {Probe::kSecondaryToPrimary, "secondary-to-primary"},
    {Probe::kSecondaryToLearner, "secondary-to-learner"},
    {Probe::kSecondaryToInactive, "secondary-to-inactive"},
    {Probe::kPrimaryToSecondary, "primary-to-secondary"},
    {Probe::kPrimaryToLearner, "primary-to-learner"},
    {Probe::kPrimaryToInactive, "primary-to-inactive"},
    {Probe::kReconciliation, "reconciliation"},
    {Probe::kReconciliationOfMany, "reconciliation-of-many"},
    {Probe::kHoleFilled, "hole-filled"},
    {Probe::kPrepareRefused, "prepare-refused"},
    {Probe::kPrepareTimedOutOrLost, "prepare-sent-again"},
    {Probe::kMemberAdded, "member-added"},
    {Probe::kMemberRemoved, "member-removed"},
    {Probe::kPrimaryLost, "primary-lost"},
    {Probe::kPrimaryUpgraded, "primary-upgraded"},
    {Probe::kPrimaryReturned, "primary-returned"},
    {Probe::kNobodyLeft, "nobody-left"},
    {Probe::kTableDropped, "table-dropped"},
    {Probe::kTableOfAnOldName, "table-of-an-old-name"},
    {Probe::kRecalledTableRead, "recalled-table-read"},
    {Probe::kGarbageRemoved, "garbage-removed"},
    {Probe::kWriteRefusedByDisk, "write-refused-by-disk"},
    {Probe::kClientSentElsewhere, "client-sent-elsewhere"},
    {Probe::kReplicaOpenedAgain, "replica-opened-again"},
    {Probe::kCheckpointInstalled, "checkpoint-installed"},
    {Probe::kPowerCut, "power-cut"},
    {Probe::kPowerCutOfAll, "power-cut-of-all"},
    {Probe::kCallsReset, "calls-reset"},
    {Probe::kTaskLate, "task-late"},
    {Probe::kTaskLaterThanLease, "task-later-than-lease"},
    {Probe::kCallFailed, "call-failed"},
    {Probe::kNameError, "name-error"},
    {Probe::kStartFailed, "start-failed"},
    {Probe::kDifferingFound, "differing-found"},
    {Probe::kStoredByReserve, "stored-by-reserve"},
    {Probe::kFoundByIndex, "found-by-index"},
    {Probe::kIndexIsBeingBuilt, "index-is-being-built"},
    {Probe::kSplitStarted, "split-started"},
    {Probe::kSplitPaused, "split-paused"},
    {Probe::kSplitCancelled, "split-cancelled"},
    {Probe::kChildRegistered, "child-registered"},
};
static_assert(std::size(kProbeNames) == kProbeCount);

// ProbeName takes a probe for an index.
constexpr bool AreInOrder() {
  for (size_t i = 0; i < std::size(kProbeNames); ++i)
    if (kProbeNames[i].probe != static_cast<Probe>(i)) return false;
  return true;
}
static_assert(AreInOrder());

}  // namespace

const char* ProbeName(Probe probe) { return kProbeNames[static_cast<size_t>(probe)].name; }

void Coverage::Becomes(Endpoint server, PartitionId pid, Role role) {
  Role& old = roles_[{server, pid}];
  if (old == role) return;
  const auto changes = [&](Role from, Role to) { return old == from && role == to; };
  if (changes(Role::kInactive, Role::kPrimary)) Hit(Probe::kInactiveToPrimary);
  if (changes(Role::kInactive, Role::kSecondary)) Hit(Probe::kInactiveToSecondary);
  if (changes(Role::kInactive, Role::kLearner)) Hit(Probe::kInactiveToLearner);
  if (changes(Role::kLearner, Role::kSecondary)) Hit(Probe::kLearnerToSecondary);
  if (changes(Role::kLearner, Role::kInactive)) Hit(Probe::kLearnerToInactive);
  if (changes(Role::kSecondary, Role::kPrimary)) Hit(Probe::kSecondaryToPrimary);
  if (changes(Role::kSecondary, Role::kLearner)) Hit(Probe::kSecondaryToLearner);
  if (changes(Role::kSecondary, Role::kInactive)) Hit(Probe::kSecondaryToInactive);
  if (changes(Role::kPrimary, Role::kSecondary)) Hit(Probe::kPrimaryToSecondary);
  if (changes(Role::kPrimary, Role::kLearner)) Hit(Probe::kPrimaryToLearner);
  if (changes(Role::kPrimary, Role::kInactive)) Hit(Probe::kPrimaryToInactive);
  old = role;
}

void Coverage::Prepared(Endpoint from, Endpoint to, const PrepareRequest& request) {
  Prepares& p = prepares_[request.pid];
  const Decree decree = request.mutation->decree;
  // A new term begins with its first prepare.
  if (request.config.ballot > p.ballot) {
    p.ballot = request.config.ballot;
    p.sender = from;
    // What is prepared up to here under the new ballot was prepared before: reconciliation.
    p.last_old = p.last;
    p.newest_again = Decree(0);
    p.again = 0;
    p.sent.clear();
  }
  if (request.config.ballot < p.ballot) return;  // of one who does not know yet
  Becomes(from, request.pid, Role::kPrimary);
  if (request.config.status == PartitionStatus::kSecondary) {
    Becomes(to, request.pid, Role::kSecondary);
  } else {
    Hit(Probe::kLearnerTakesPrepares);
    Becomes(to, request.pid, Role::kLearner);
  }
  // Each decree once, although a prepare goes to every member.
  if (decree <= p.last_old && decree > p.newest_again) {
    p.newest_again = decree;
    if (++p.again == 1) Hit(Probe::kReconciliation);
    if (p.again == 3) Hit(Probe::kReconciliationOfMany);
    if (request.mutation->updates.size() == 1 &&
        request.mutation->updates[0].code == WriteCode::kEmpty)
      Hit(Probe::kHoleFilled);
  }
  Decree& sent = p.sent[to];
  // By receiver: a prepare goes to each member once unless it was lost.
  if (decree <= sent) Hit(Probe::kPrepareTimedOutOrLost);
  sent = std::max(sent, decree);
  p.last = std::max(p.last, decree);
}

void Coverage::LearnAsked(Endpoint learner, PartitionId pid) {
  Becomes(learner, pid, Role::kLearner);
}

void Coverage::LearnAnswered(const LearnResponse& response) {
  if (response.err != ErrorCode::kOk) return Hit(Probe::kLearnRefused);
  if (response.type == LearnType::kCache) Hit(Probe::kLearnFromCache);
  if (response.type == LearnType::kLog) Hit(Probe::kLearnFromLog);
  if (response.type == LearnType::kApp) Hit(Probe::kLearnFromCheckpoint);
}

void Coverage::Stored(const PartitionConfiguration& config) {
  // A table's first partitions have no member at first.
  if (!stored_.contains(config.pid) && config.primary.IsValid()) Hit(Probe::kChildRegistered);
  PartitionConfiguration& old = stored_[config.pid];
  if (old.ballot == config.ballot) {  // loaded again, or not of the members
    old = config;
    return;
  }
  const bool was_alone = !old.primary.IsValid() && old.secondaries.empty();
  const bool is_alone = !config.primary.IsValid() && config.secondaries.empty();
  if (config.MemberCount() > old.MemberCount() && config.primary == old.primary)
    Hit(Probe::kMemberAdded);
  if (config.primary == old.primary && config.MemberCount() < old.MemberCount())
    Hit(Probe::kMemberRemoved);
  if (old.primary.IsValid() && config.primary != old.primary) Hit(Probe::kPrimaryLost);
  if (config.primary.IsValid() && config.primary != old.primary && old.IsSecondary(config.primary))
    Hit(Probe::kPrimaryUpgraded);
  // Without former members it is the first primary of a new partition.
  if (was_alone && config.primary.IsValid() && !old.last_drops.empty())
    Hit(Probe::kPrimaryReturned);
  if (is_alone && !was_alone) Hit(Probe::kNobodyLeft);
  old = config;
}

void Coverage::Opened(Endpoint server, PartitionId pid, Decree decree) {
  Becomes(server, pid, Role::kInactive);
  // At 0 it is a new replica.
  if (decree > Decree(0)) Hit(Probe::kReplicaOpenedAgain);
}

void Coverage::Died(Endpoint server) {
  for (auto& [who, role] : roles_)
    if (who.first == server && role != Role::kNone) Becomes(server, who.second, Role::kInactive);
}

}  // namespace arion::sim
