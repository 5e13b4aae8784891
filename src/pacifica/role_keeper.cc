// SPDX-License-Identifier: Apache-2.0
#include "pacifica/role_keeper.h"

#include <string>
#include <utility>

#include "base/log.h"

namespace arion {

void RoleKeeper::RaiseBallot(Ballot ballot) {
  CHECK_GE(ballot, s_.ballot) << "invariants/R3";
  if (ballot == s_.ballot) return;
  s_.ballot = ballot;
  s_.effects.persist_ballot = ballot;
  // What was prepared under the old ballot is in the log and never acknowledged.
  secondary_.DropWaiting();
}

void RoleKeeper::Enter(PartitionStatus to, std::string_view why) {
  CHECK(s_.role != PartitionStatus::kError)
      << "replica_core/P5: a failed replica takes a role again";
  s_.effects.role_changes.push_back({s_.role, to, s_.ballot, std::string(why)});
  if (to == PartitionStatus::kInactive && s_.role != to) s_.inactive_since = s_.now;
  s_.role = to;
  if (to == PartitionStatus::kPrimary) s_.office_ballot = s_.ballot;
  if (to == PartitionStatus::kSecondary || to == PartitionStatus::kPotentialSecondary)
    s_.office_ballot = Ballot(0);
}

void RoleKeeper::BecomeMember() {
  CHECK(s_.role == PartitionStatus::kPrimary || s_.role == PartitionStatus::kSecondary);
  s_.last_stop = LastStop::kClean;
  if (s_.standing == Standing::kMember) return;
  s_.is_proven = true;  // it has learned all there is
  s_.standing = Standing::kMember;
  s_.effects.persist_standing = Standing::kMember;
}

void RoleKeeper::LeaveRole(PartitionStatus to) {
  if (to != PartitionStatus::kPrimary) {
    roll_call_.End();
    primary_.Resign();
    sessions_.Clear();
  }
  if (to != PartitionStatus::kPotentialSecondary) learner_.Abort();
  if (to != s_.role) secondary_.DropWaiting();
}

TransitionVerdict RoleKeeper::Adopt(const PartitionConfiguration& configuration,
                                    std::string_view why) {
  const PartitionStatus to = configuration.RoleOf(s_.options.self);
  CHECK_EQ(configuration.pid, s_.options.pid);
  const TransitionVerdict verdict = JudgeTransition(s_.role_state(), to, configuration.ballot);
  if (verdict != TransitionVerdict::kAccept) return verdict;
  const bool same_ballot = configuration.ballot == s_.ballot;
  const bool joins = to == PartitionStatus::kPrimary || to == PartitionStatus::kSecondary;
  // A restarted process must not speak again under a ballot it may have used, nor who took from
  // others since what they prepared under it.
  if (to == PartitionStatus::kPrimary && same_ballot && s_.office_ballot != s_.ballot)
    return TransitionVerdict::kRefuse;
  if (to == PartitionStatus::kSecondary && s_.role == PartitionStatus::kPotentialSecondary &&
      learner_.phase() != LearnerStatus::kSucceeded) {
    return TransitionVerdict::kRefuse;
  }
  CheckMembers(configuration);
  // What it prepared then nobody else has answered.
  const bool led_before = !s_.initializing && s_.configuration.primary == s_.options.self &&
                          s_.configuration.ballot + 1 == configuration.ballot;
  RaiseBallot(configuration.ballot);
  LeaveRole(to);
  Enter(to, why);
  s_.configuration = configuration;
  s_.primary = configuration.primary;
  s_.initializing = false;
  if (to == PartitionStatus::kInactive) s_.inactivity = Inactivity::kRemoved;
  if (joins) BecomeMember();
  if (to == PartitionStatus::kPrimary) {
    sessions_.BeginTerm();
    if (!same_ballot) s_.inherited = s_.list.last_prepared();
    if (!same_ballot && !led_before) s_.read_barrier = s_.inherited;
    const bool goes_on = same_ballot || led_before;
    roll_call_.Begin(goes_on ? RollCall::Start::kContinued : RollCall::Start::kAnew);
    primary_.TakeOffice(same_ballot ? Primary::Term::kResumed : Primary::Term::kNew);
  }
  CHECK(s_.role == to && s_.ballot == configuration.ballot) << "it changed again on the way";
  return verdict;
}

TransitionVerdict RoleKeeper::AdoptAssigned(const ReplicaConfiguration& assigned,
                                            std::string_view why) {
  const PartitionStatus to = assigned.status;
  const bool assignable =
      to == PartitionStatus::kSecondary || to == PartitionStatus::kPotentialSecondary;
  if (!assignable || !assigned.primary.IsValid() || assigned.primary == s_.options.self ||
      assigned.ballot < s_.ballot) {
    return TransitionVerdict::kRefuse;
  }
  // A larger ballot with another primary: this one was deposed before it heard of it, and is to
  // learn.
  if (s_.role == PartitionStatus::kPrimary && to == PartitionStatus::kPotentialSecondary &&
      assigned.ballot > s_.ballot) {
    RaiseBallot(assigned.ballot);
    LeaveRole(PartitionStatus::kInactive);
    Enter(PartitionStatus::kInactive, "deposed");
    s_.inactivity = Inactivity::kRemoved;
  }
  const TransitionVerdict verdict = JudgeTransition(s_.role_state(), to, assigned.ballot);
  if (verdict == TransitionVerdict::kNoChange && s_.primary != assigned.primary)
    return TransitionVerdict::kRefuse;
  if (verdict != TransitionVerdict::kAccept) return verdict;
  if (to == PartitionStatus::kSecondary && s_.role == PartitionStatus::kPotentialSecondary &&
      learner_.phase() != LearnerStatus::kSucceeded) {
    return TransitionVerdict::kRefuse;
  }
  RaiseBallot(assigned.ballot);
  LeaveRole(to);
  Enter(to, why);
  s_.primary = assigned.primary;
  s_.initializing = false;
  if (to == PartitionStatus::kSecondary) BecomeMember();
  return verdict;
}

void RoleKeeper::BecomeInactive(Inactivity inactivity, std::string_view why) {
  CHECK(s_.role != PartitionStatus::kError);
  if (s_.role == PartitionStatus::kPrimary) primary_.Pause();
  learner_.Abort();
  secondary_.DropWaiting();
  if (s_.role != PartitionStatus::kInactive) Enter(PartitionStatus::kInactive, why);
  s_.inactivity = inactivity;
}

void RoleKeeper::Fail(std::string_view why) {
  CHECK(s_.role != PartitionStatus::kError);
  LeaveRole(PartitionStatus::kError);
  Enter(PartitionStatus::kError, why);
  s_.effects.close = Effects::Close::kSetAside;
  s_.effects.close_why = std::string(why);
}

}  // namespace arion
