// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/coverage.h"

#include <algorithm>

namespace arion::sim {

const char* ProbeName(Probe probe) {
  switch (probe) {
    case Probe::kLearnFromCache:
      return "learn-from-cache";
    case Probe::kLearnFromLog:
      return "learn-from-log";
    case Probe::kLearnFromCheckpoint:
      return "learn-from-checkpoint";
    case Probe::kLearnRefused:
      return "learn-refused";
    case Probe::kLearnCompleted:
      return "learn-completed";
    case Probe::kFilesCopied:
      return "files-copied";
    case Probe::kLearnerTakesPrepares:
      return "learner-takes-prepares";
    case Probe::kInactiveToPrimary:
      return "inactive-to-primary";
    case Probe::kInactiveToSecondary:
      return "inactive-to-secondary";
    case Probe::kInactiveToLearner:
      return "inactive-to-learner";
    case Probe::kLearnerToSecondary:
      return "learner-to-secondary";
    case Probe::kLearnerToInactive:
      return "learner-to-inactive";
    case Probe::kSecondaryToPrimary:
      return "secondary-to-primary";
    case Probe::kSecondaryToLearner:
      return "secondary-to-learner";
    case Probe::kSecondaryToInactive:
      return "secondary-to-inactive";
    case Probe::kPrimaryToSecondary:
      return "primary-to-secondary";
    case Probe::kPrimaryToLearner:
      return "primary-to-learner";
    case Probe::kPrimaryToInactive:
      return "primary-to-inactive";
    case Probe::kReconciliation:
      return "reconciliation";
    case Probe::kReconciliationOfMany:
      return "reconciliation-of-many";
    case Probe::kHoleFilled:
      return "hole-filled";
    case Probe::kPrepareRefused:
      return "prepare-refused";
    case Probe::kPrepareTimedOutOrLost:
      return "prepare-sent-again";
    case Probe::kMemberAdded:
      return "member-added";
    case Probe::kMemberRemoved:
      return "member-removed";
    case Probe::kPrimaryLost:
      return "primary-lost";
    case Probe::kPrimaryUpgraded:
      return "primary-upgraded";
    case Probe::kPrimaryReturned:
      return "primary-returned";
    case Probe::kNobodyLeft:
      return "nobody-left";
    case Probe::kTableDropped:
      return "table-dropped";
    case Probe::kTableOfAnOldName:
      return "table-of-an-old-name";
    case Probe::kRecalledTableRead:
      return "recalled-table-read";
    case Probe::kGarbageRemoved:
      return "garbage-removed";
    case Probe::kWriteRefusedByDisk:
      return "write-refused-by-disk";
    case Probe::kClientSentElsewhere:
      return "client-sent-elsewhere";
    case Probe::kReplicaOpenedAgain:
      return "replica-opened-again";
    case Probe::kCheckpointInstalled:
      return "checkpoint-installed";
    case Probe::kPowerCut:
      return "power-cut";
    case Probe::kPowerCutOfAll:
      return "power-cut-of-all";
    case Probe::kCallsReset:
      return "calls-reset";
    case Probe::kTaskLate:
      return "task-late";
    case Probe::kTaskLaterThanLease:
      return "task-later-than-lease";
    case Probe::kCallFailed:
      return "call-failed";
    case Probe::kNameError:
      return "name-error";
    case Probe::kStartFailed:
      return "start-failed";
    case Probe::kDifferingFound:
      return "differing-found";
    case Probe::kStoredByReserve:
      return "stored-by-reserve";
  }
  return "?";
}

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
  if (request.config.ballot > p.ballot) {
    p.ballot = request.config.ballot;
    p.sender = from;
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
  if (decree <= p.last_old && decree > p.newest_again) {
    p.newest_again = decree;
    if (++p.again == 1) Hit(Probe::kReconciliation);
    if (p.again == 3) Hit(Probe::kReconciliationOfMany);
    if (request.mutation->updates.size() == 1 &&
        request.mutation->updates[0].code == WriteCode::kEmpty)
      Hit(Probe::kHoleFilled);
  }
  Decree& sent = p.sent[to];
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
  if (was_alone && config.primary.IsValid() && !old.last_drops.empty())
    Hit(Probe::kPrimaryReturned);
  if (is_alone && !was_alone) Hit(Probe::kNobodyLeft);
  old = config;
}

void Coverage::Opened(Endpoint server, PartitionId pid, Decree decree) {
  Becomes(server, pid, Role::kInactive);
  if (decree > Decree(0)) Hit(Probe::kReplicaOpenedAgain);
}

void Coverage::Died(Endpoint server) {
  for (auto& [who, role] : roles_)
    if (who.first == server && role != Role::kNone) Becomes(server, who.second, Role::kInactive);
}

}  // namespace arion::sim
