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
//     RollCall). After a lost lease it answers none before all have logged a mutation anew
// invariants/R17  while a child is made and asked for, its parent has proposed nothing behind what
//     the child holds, under that ballot (checked at each turn and after each step,
//     Reconfiguration)
//
// tests/sim/invariants.md says of each invariant of the protocol where it is held.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/ids.h"
#include "messages/configuration.h"
#include "messages/replication_messages.h"
#include "pacifica/effects.h"

namespace arion {

class PrepareList;

// How far one replica is, and as what: the numbers that the invariants compare. All are inclusive:
// a watermark of 12 has decree 12. They start at the decree that the engine had when the replica
// was opened.
struct Watermarks {
  PartitionStatus role = PartitionStatus::kInactive;
  Ballot ballot;
  // The engine would stand here after a crash, without the log.
  Decree last_durable;
  // The engine has it.
  Decree last_applied;
  // Every member has logged it, as far as this replica knows.
  Decree last_committed;
  // Everything in (last_committed, last_logged] is in the own log, without a hole.
  Decree last_logged;
  // The largest decree in the prepare list.
  Decree last_prepared;
  // How often the replica took a state from elsewhere in place of its own. When this rises the
  // other watermarks may fall.
  int64_t learner_restarts = 0;
};

// Each function stops the process if its invariant is broken, and prints the invariant's tag. They
// look at their arguments only, so tests and the simulator may call them on any state. Cheap enough
// for every step: all are O(1), except CheckMembers (members of one partition) and CheckTerm
// (mutations under way).

// invariants/R1, of one state.
void CheckLadder(const Watermarks& marks);
// invariants/R3, and the part of replica_core/P5 that a role shows, of two states of one replica in
// the order in which they were.
void CheckRise(const Watermarks& before, const Watermarks& after);
// invariants/R6, of the members alone: that no learner is a member is checked where sessions are
// known.
void CheckMembers(const PartitionConfiguration& configuration);
// invariants/R2 and invariants/R9, of a primary whose term is open under `ballot`.
void CheckTerm(const PrepareList& list, Ballot ballot);
// invariants/R10, of a replica in `role`. `phase` is kInvalid for one that does not learn.
void CheckStanding(PartitionStatus role, LearnerStatus phase, Standing standing);
// invariants/R10, of a learner whose log lacks everything up to `gap_end`, inclusive.
void CheckGap(LearnerStatus phase, Decree last_durable, Decree gap_end);

}  // namespace arion
