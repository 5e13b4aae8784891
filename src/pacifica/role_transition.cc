// SPDX-License-Identifier: Apache-2.0
#include "pacifica/role_transition.h"

namespace arion {
namespace {

using enum PartitionStatus;

// The table of pacifica/PROTOCOL.md 1.4, row by row, without the ballots. ERROR is final.
bool MayBecome(const RoleState& from, PartitionStatus to) {
  const bool returns = from.inactivity == Inactivity::kTransient;
  switch (from.role) {
    case kPrimary:
      return to == kPrimary || to == kSecondary || to == kInactive;
    case kSecondary:
      return to == kPrimary || to == kSecondary || to == kPotentialSecondary || to == kInactive;
    case kPotentialSecondary:
      return to == kSecondary || to == kPotentialSecondary || to == kInactive;
    case kInactive:
      if (to == kPrimary || to == kSecondary) return returns;
      return to == kPotentialSecondary || to == kInactive;
    default:
      return false;
  }
}

// Which changes need no new ballot: a replica comes back to what it was, or begins or ends
// learning.
bool MayKeepBallot(const RoleState& from, PartitionStatus to) {
  if (from.role == kInactive)
    return to == kPotentialSecondary || to == kSecondary || to == kPrimary;
  return from.role == kPotentialSecondary && to == kSecondary;
}

}  // namespace

TransitionVerdict JudgeTransition(const RoleState& from, PartitionStatus to, Ballot ballot) {
  if (ballot < from.ballot) return TransitionVerdict::kRefuse;
  if (ballot == from.ballot && to == from.role) return TransitionVerdict::kNoChange;
  if (!MayBecome(from, to)) return TransitionVerdict::kRefuse;
  if (ballot == from.ballot && !MayKeepBallot(from, to)) return TransitionVerdict::kRefuse;
  return TransitionVerdict::kAccept;
}

}  // namespace arion
