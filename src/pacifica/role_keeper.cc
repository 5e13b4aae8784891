// Each change of role takes the same steps in the same order: the judgement, the ballot, the end of
// what the old role had begun, the new role, what belongs to it.
// SPDX-License-Identifier: Apache-2.0
#include "pacifica/role_keeper.h"

#include <string>
#include <utility>

#include "base/log.h"
#include "pacifica/invariants.h"
#include "pacifica/learner.h"
#include "pacifica/learner_sessions.h"
#include "pacifica/primary.h"
#include "pacifica/roll_call.h"
#include "pacifica/secondary.h"

namespace arion {

void RoleKeeper::RaiseBallot(Ballot ballot) {
  CHECK_GE(ballot, s_.ballot) << "invariants/R3";
  if (ballot == s_.ballot) return;
  s_.ballot = ballot;
  s_.effects.persist_ballot = ballot;
  // What was prepared under the old ballot stays in the log and is never acknowledged
  // (replica_core/P4).
  secondary_.DropWaiting();
}

void RoleKeeper::Enter(PartitionStatus to, std::string_view why) {
  CHECK(s_.role != PartitionStatus::kError)
      << "replica_core/P5: a failed replica takes a role again";
  CHECK(to == PartitionStatus::kInactive || to == PartitionStatus::kError || s_.connected)
      << "invariants/R12: a role without a lease";
  CHECK(!why.empty()) << "nobody could tell why the role changed";
  s_.effects.role_changes.push_back({s_.role, to, s_.ballot, std::string(why)});
  if (to == PartitionStatus::kInactive && s_.role != to) s_.inactive_since = s_.now;
  s_.role = to;
  if (to == PartitionStatus::kPrimary) s_.office_ballot = s_.ballot;
  // As member or learner it takes from others what they prepared under this ballot, so it may not
  // lead it again.
  if (to == PartitionStatus::kSecondary || to == PartitionStatus::kPotentialSecondary)
    s_.office_ballot = Ballot(0);
}

void RoleKeeper::BecomeMember() {
  CHECK(s_.role == PartitionStatus::kPrimary || s_.role == PartitionStatus::kSecondary);
  // The group counts on this replica again: what the former process may have lost no longer
  // matters.
  s_.last_stop = LastStop::kClean;
  // It leads, so what it holds is the group's from now on.
  if (std::exchange(s_.is_foreign, false)) s_.effects.persist_standing = Standing::kMember;
  if (s_.standing == Standing::kMember) return;
  // It has learned everything from a primary, since the process began.
  s_.is_proven = true;
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
  CHECK(to == PartitionStatus::kPrimary || sessions_.all().empty())
      << "learners of a primary that has resigned";
}

TransitionVerdict RoleKeeper::Adopt(const PartitionConfiguration& configuration,
                                    std::string_view why) {
  const PartitionStatus to = configuration.RoleOf(s_.options.self);
  CHECK_EQ(configuration.pid, s_.options.pid);
  const TransitionVerdict verdict = JudgeTransition(s_.role_state(), to, configuration.ballot);
  if (verdict != TransitionVerdict::kAccept) return verdict;
  const bool same_ballot = configuration.ballot == s_.ballot;
  const bool joins = to == PartitionStatus::kPrimary || to == PartitionStatus::kSecondary;
  // A restarted process must not speak again under a ballot that it may have used. Nor may a
  // replica that has taken, since it led, what others prepared under this ballot.
  if (to == PartitionStatus::kPrimary && same_ballot && s_.office_ballot != s_.ballot)
    return TransitionVerdict::kRefuse;
  if (to == PartitionStatus::kSecondary && s_.role == PartitionStatus::kPotentialSecondary &&
      learner_.phase() != LearnerStatus::kSucceeded) {
    return TransitionVerdict::kRefuse;
  }
  CheckMembers(configuration);
  // If it led the ballot before this one, nobody else can have answered reads from what it has
  // prepared.
  const bool led_before = !s_.initializing && !s_.lapsed_in_office &&
                          s_.configuration.primary == s_.options.self &&
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
    const bool lapsed = std::exchange(s_.lapsed_in_office, false);
    const bool goes_on = same_ballot ? !lapsed || primary_.IsOpen() : led_before;
    roll_call_.Begin(goes_on ? RollCall::Start::kContinued : RollCall::Start::kAnew);
    primary_.TakeOffice(same_ballot ? Primary::Term::kResumed : Primary::Term::kNew);
    if (lapsed && primary_.IsOpen()) primary_.AffirmTerm();
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
  // learn. There is no change from PRIMARY to learner, so it becomes INACTIVE first.
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
  CHECK(s_.role == to && s_.ballot == assigned.ballot) << "it changed again on the way";
  return verdict;
}

void RoleKeeper::BecomeInactive(Inactivity inactivity, std::string_view why) {
  CHECK(s_.role != PartitionStatus::kError);
  if (s_.role == PartitionStatus::kPrimary) primary_.Pause();
  learner_.Abort();
  secondary_.DropWaiting();
  if (s_.role != PartitionStatus::kInactive) Enter(PartitionStatus::kInactive, why);
  s_.inactivity = inactivity;
  CHECK_EQ(learner_.signature(), 0) << "a session of no learner";
}

void RoleKeeper::Fail(std::string_view why) {
  CHECK(s_.role != PartitionStatus::kError);
  LeaveRole(PartitionStatus::kError);
  Enter(PartitionStatus::kError, why);
  CHECK_EQ(learner_.signature(), 0) << "replica_core/P5: it still learns";
  s_.effects.close = Effects::Close::kSetAside;
  s_.effects.close_why = std::string(why);
}

}  // namespace arion
