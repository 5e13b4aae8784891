// RoleKeeper: the one door through which a replica's role and ballot change, and what follows from
// each change (pacifica/PROTOCOL.md 1.4).
//
// Shapes    Two kinds of change. Adopt, AdoptAssigned and RaiseBallot follow what somebody else
//           said, and ask role_transition.h. BecomeInactive and Fail are the replica's own, and
//           need no new ballot. Every change tells the parts of the old role to end (answers that
//           wait, sessions, the roll call) before the parts of the new one begin.
// Threads   Strand-bound, as all of the core.
// Promises  A refused change changes nothing. A deposed primary is an exception: it is INACTIVE
//           even if what the new primary wants of it is then refused. A larger ballot is in the
//           effects of the same step as persist_ballot, so it is durable before anything said under
//           it leaves (invariants/R13).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "pacifica/replica_state.h"

namespace arion {

class Learner;
class LearnerSessions;
class Primary;
class RollCall;
class Secondary;

// All references outlive it; the core owns them. `why` of each method is for people: it goes to the
// text log.
//
//   if (roles.Adopt(configuration, "config sync") == TransitionVerdict::kRefuse) return;
//   roles.BecomeInactive(Inactivity::kTransient, "lease lost");
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

  // Adopts a complete configuration that the meta server stated; the role follows from the members.
  // Its members are distinct, and it is of this partition: the caller has checked what came from
  // outside. A new primary begins its roll call; a learner becomes a secondary only if its session
  // has succeeded; a process never becomes primary under a ballot that it did not lead itself
  // before.
  TransitionVerdict Adopt(const PartitionConfiguration& configuration, std::string_view why);
  // Adopts what a primary says that this replica is to it: SECONDARY or POTENTIAL_SECONDARY. Takes
  // any bytes: a role that no primary assigns, and an assignment by nobody or by this server, are
  // refused.
  TransitionVerdict AdoptAssigned(const ReplicaConfiguration& assigned, std::string_view why);
  // Raises the ballot without a change of role. `ballot` is not below the present one; the same one
  // changes nothing. Prepares that wait for the log are no longer acknowledged.
  void RaiseBallot(Ballot ballot);

  // To INACTIVE under the same ballot. A primary keeps what it has under way, and may return to it;
  // a learner loses its session. Not for a replica in ERROR.
  void BecomeInactive(Inactivity inactivity, std::string_view why);
  // To ERROR, for good: clients that wait are answered, and the driver is told to close the replica
  // and set its directory aside. Not for a replica in ERROR.
  void Fail(std::string_view why);

 private:
  // The replica became a member: its state is a member's from here on.
  void BecomeMember();
  // Ends what the old role was doing and `to` does not go on with.
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
