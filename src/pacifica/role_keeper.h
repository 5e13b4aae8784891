// RoleKeeper: the one door through which a replica's role and ballot change, and what follows from
// each change.
//
// Promises A refused change changes nothing. A larger ballot is persisted before anything said
// under it leaves. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "pacifica/learner.h"
#include "pacifica/learner_sessions.h"
#include "pacifica/primary.h"
#include "pacifica/replica_state.h"
#include "pacifica/roll_call.h"
#include "pacifica/secondary.h"

namespace arion {

class RoleKeeper {
 public:
  RoleKeeper(ReplicaState& state, RollCall& roll_call, Primary& primary, Secondary& secondary,
             Learner& learner, LearnerSessions& sessions)
      : s_(state),
        roll_call_(roll_call),
        primary_(primary),
        secondary_(secondary),
        learner_(learner),
        sessions_(sessions) {}

  // A complete configuration of the meta server: the role follows from the membership.
  TransitionVerdict Adopt(const PartitionConfiguration& configuration, std::string_view why);
  // What a primary says this replica is to it: SECONDARY or POTENTIAL_SECONDARY.
  TransitionVerdict AdoptAssigned(const ReplicaConfiguration& assigned, std::string_view why);
  // The ballot rises, the INACTIVE role stays.
  void RaiseBallot(Ballot ballot);

  // Local moves, without a new ballot.
  void BecomeInactive(Inactivity inactivity, std::string_view why);
  void Fail(std::string_view why);

 private:
  void BecomeMember();
  void LeaveRole(PartitionStatus to);
  void Enter(PartitionStatus to, std::string_view why);

  ReplicaState& s_;
  RollCall& roll_call_;
  Primary& primary_;
  Secondary& secondary_;
  Learner& learner_;
  LearnerSessions& sessions_;
};

}  // namespace arion
