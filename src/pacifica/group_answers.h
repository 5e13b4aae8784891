// GroupAnswers: what a primary does with each answer of its group, and with the lack of one: it
// counts the member, removes it, gives way to it, yields to it, or makes a learner a member
// (pacifica/PROTOCOL.md 3.5, 3.7, 5.1 and 6).
//
// Shapes    PrepareDispatch, GroupCheck and RollCall each judge one answer and change nothing
//           outside themselves. This class turns their verdicts into steps of Reconfiguration,
//           because only here all three are known.
// Errors    A *failed* node answered, with an error or with nonsense. A *silent* node did not
//           answer. A failed member is removed at once. A silent one is removed too, unless every
//           other member is silent as well: then this server itself is probably cut off.
// Threads   Strand-bound, as all of the core.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pacifica/events.h"
#include "pacifica/replica_state.h"

namespace arion {

class GroupCheck;
class Primary;
class Reconfiguration;
class RollCall;

// The primary's side of every answer. It keeps no state of its own. All references outlive it; the
// core owns them.
//
//   GroupAnswers answers(state, roll_call, primary, reconfiguration, group_check);
//   answers.OnPrepareAcked({.from = node, .serial = serial, .ack = ack});  // may remove `node`
//   answers.OnTick();                                                      // may give up office
class GroupAnswers {
 public:
  GroupAnswers(ReplicaState& state, RollCall& roll_call, Primary& primary,
               Reconfiguration& reconfiguration, GroupCheck& group_check)
      : s_(state),
        roll_call_(roll_call),
        primary_(primary),
        reconfiguration_(reconfiguration),
        group_check_(group_check) {}

  // A receiver of a prepare answered, or the call failed. Ignored and counted as stale unless the
  // replica is PRIMARY and waits for exactly this serial from this node. Afterwards the role may be
  // INACTIVE.
  void OnPrepareAcked(const PrepareAcked& event);

  // A member or learner answered a group check, or the call failed. An answer of a member also
  // counts for the roll call while one is under way. Afterwards the role may be INACTIVE.
  void OnGroupCheckAnswered(const GroupCheckAnswered& event);

  // Asks the members again that the roll call still waits for, and acts on the first whose time is
  // over. Does nothing unless the replica is PRIMARY and its roll call is under way.
  void OnTick();

 private:
  void HearMember(const GroupCheckAnswered& event);
  void OnUnheard(Endpoint member);
  void OnSilent(Endpoint node);

  ReplicaState& s_;
  RollCall& roll_call_;
  Primary& primary_;
  Reconfiguration& reconfiguration_;
  GroupCheck& group_check_;
};

}  // namespace arion
