// The replica-scope invariants as code (tests/sim/invariants.md). A violation is a CHECK failure:
// we are wrong.
//
// invariants/R1  durable <= applied <= committed <= logged <= prepared: the ladder of a member
// invariants/R2  the prepare list holds (committed, prepared] without a hole at a primary; its
//     members' gaps close before they commit
// invariants/R3  ballots only rise; prepared falls only when the ballot rises or the replica learns
//     anew
// invariants/R4  PrepareAck(d) is sent only when logged >= d, that is: d itself and in this ballot
//     (checked where acks are made)
// invariants/R5  prepared - committed <= mutations_in_flight_max at a primary in new work, and at
//     most prepare_list_span_max anywhere, unless recovered from a longer log
//     (the first is where Primary proposes; the simulator holds the second, sim_checkers/bounds.h)
// invariants/R6  the members of a configuration are distinct, and no learner is a member
// invariants/R7  the ballots of what the engine is handed never fall within one history (checked
//     where it is handed, ReplicaState::Hand)
// invariants/R8  a learner that takes prepares was sent each decree in [prepare_start, prepared]
//     (checked where prepares are sent and after each step, LearnerSessions)
// invariants/R9  what a primary has prepared and not committed is of its own ballot: the tail of a
//     former term was prepared again
// invariants/R10  a learned state is a learner's until it is a member's: no member has a learner's
//     standing, no learner that takes prepares a member's, and none has succeeded before its gap is
//     durable
// invariants/R11  a primary sends all it prepares to a learner that meta may have made a member
//     since it refused to (checked after each step, Reconfiguration)
// invariants/R12  whoever has a role is connected: without a lease a replica is INACTIVE
// invariants/R13  a ballot that rose leaves with the step that raised it, to be durable first
// invariants/R14  between steps the engine was handed all that is committed, and nothing else
// invariants/R15  nothing that is held is of a larger ballot than the replica's
//     (this one and the three before: checked after each step, ReplicaState)
// invariants/R16  a primary proposes nothing and answers no read in a term before each member that
//     stays has said what it holds (checked where a term opens, Primary, and after each step,
//     RollCall)
//
// tests/sim/invariants.md says of each invariant of the protocol where it is held.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/ids.h"
#include "decrees/prepare_list.h"
#include "messages/configuration.h"
#include "messages/replication_messages.h"
#include "pacifica/effects.h"

namespace arion {

struct Watermarks {
  PartitionStatus role = PartitionStatus::kInactive;
  Ballot ballot;
  Decree last_durable;
  Decree last_applied;
  Decree last_committed;
  Decree last_logged;  // everything in (committed, last_logged] is in the own log, without a hole
  Decree last_prepared;
  int64_t learner_restarts =
      0;  // how often the replica took a state from elsewhere in place of its own
};

void CheckLadder(const Watermarks& marks);                          // invariants/R1
void CheckRise(const Watermarks& before, const Watermarks& after);  // invariants/R3
void CheckMembers(const PartitionConfiguration& configuration);     // invariants/R6
void CheckTerm(const PrepareList& list, Ballot ballot);             // invariants/R9, of a primary
void CheckStanding(PartitionStatus role, LearnerStatus phase, Standing standing);  // invariants/R10
void CheckGap(LearnerStatus phase, Decree last_durable, Decree gap_end);           // invariants/R10

}  // namespace arion
