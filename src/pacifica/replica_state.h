// ReplicaState: what all roles of one replica share: who it is in which configuration, its prepare
// list, how far its log and its engine are, and the effects of the step under way.
//
// Shapes    The roles (primary.h, secondary.h, learner.h) hold a reference and act on it in turn;
//           none of them keeps a copy of what is here. What needs more than one field to stay true
//           is a method; the rest is plain data.
// Threads   Strand-bound.
// Promises  Check() states what holds between two steps. Within a step it may be broken for a
//           moment.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/instant.h"
#include "decrees/prepare_list.h"
#include "pacifica/core_options.h"
#include "pacifica/effects.h"
#include "pacifica/replica_core.h"

namespace arion {

struct Watermarks;

// Owned by ReplicaCore, which constructs it, calls Recover once, and then sets `now` at each step.
struct ReplicaState {
  // CHECKs that the options can work together.
  explicit ReplicaState(CoreOptions options_in);

  CoreOptions options;
  // The newest description of the table, and a number that rises when it changes, and when it is
  // told for the first time: until then it is what the directory remembers (kAppRemembered).
  AppInfo app;
  uint64_t app_serial = kAppRemembered;

  // ---- who it is ----

  PartitionStatus role = PartitionStatus::kInactive;
  // Of an INACTIVE replica.
  Inactivity inactivity = Inactivity::kTransient;
  Ballot ballot;
  // As known here; may be invalid.
  Endpoint primary;
  // The last full configuration that was adopted. It counts only while the role is PRIMARY or an
  // own update is pending.
  PartitionConfiguration configuration;
  // No configuration was heard of since the process began.
  bool initializing = true;
  // The ballot under which this process was primary and has been nobody's member or learner since.
  // 0: none.
  Ballot office_ballot;
  // The lease is held.
  bool connected = false;
  // The lease was lost once, and no config sync since has said what is true.
  bool lapsed = false;
  // The lease was lost since this replica last took office: another may have led meanwhile.
  bool lapsed_in_office = false;
  // Of the former process, until this one has become a member.
  LastStop last_stop = LastStop::kClean;
  // Since the process began this replica has held all that a primary had prepared at one moment.
  // Had its disk lost something before, that would have shown (roll_call.h).
  bool is_proven = false;
  // How often it was shown to lack what its group had committed.
  int64_t times_older = 0;
  // When it last became INACTIVE.
  Instant inactive_since;

  // ---- what it has ----

  PrepareList list;
  Decree last_applied;
  // The last decree that was given to the engine: applied <= handed <= committed, and equal to
  // committed between steps.
  Decree last_handed;
  // The ballot of that mutation. 0: not known, because its history came from elsewhere.
  Ballot last_handed_ballot;
  Decree last_durable;
  // A new primary serves no read before it has applied this much: the former one may have answered
  // reads from it.
  Decree read_barrier;
  // What was prepared here when the primary's term began.
  Decree inherited;
  // The largest ballot of what is held. 0: not known, a checkpoint does not tell.
  Ballot last_mutation_ballot;
  int64_t last_timestamp_us = 0;
  // How often a state from elsewhere took the place of the own one.
  int64_t learner_restarts = 0;
  Standing standing = Standing::kMember;
  // What is applied was never this group's (RecoveredState::is_foreign).
  bool is_foreign = false;

  // Appends that are not yet Logged: their sequence and decree.
  std::map<uint64_t, Decree> appends;
  uint64_t next_sequence = 1;
  // For calls and work. One counter for all, so that no serial means two things.
  uint64_t next_serial = 1;

  ReplicaCore::Counters counters;

  // ---- the step under way ----

  Effects effects;
  Instant now;

  // ---- questions ----

  bool LogIsBusy() const { return !appends.empty(); }
  bool AppliesPending() const { return last_applied < last_handed; }
  // After an unclean stop the end of this log may be missing, and the meta server takes a secondary
  // beside a working primary for intact. So such a replica waits for a prepare or a group check:
  // they tell the committed point, and with it whether something is missing.
  bool AwaitsItsPrimary() const {
    return role == PartitionStatus::kInactive && last_stop == LastStop::kUnclean;
  }
  // The replica has no state at all: whatever it learns is all it knows.
  bool HoldsNothing() const {
    return last_handed == Decree(0) && list.last_prepared() == Decree(0);
  }
  // The smallest number of members with which a write is accepted.
  int32_t MembersMin() const;
  RoleState role_state() const { return {role, ballot, inactivity}; }
  Watermarks marks() const;
  // CHECKs invariants/R12, invariants/R13, invariants/R14 and invariants/R15.
  void Check() const;

  // ---- changes ----

  // Takes over what the disk held. Once, before the first step. What the log proves committed is in
  // effects.apply afterwards.
  void Recover(const RecoveredState& recovered);
  // Puts a mutation of this partition into the list and, if it was stored, into the log.
  PrepareList::PutVerdict Append(MutationPtr mutation);
  // Puts it into the log alone: what the list holds is newer, or the same under an older ballot.
  void Log(MutationPtr mutation);
  // The append `sequence` is durable. Returns the decree that became logged in the list;
  // kInvalidDecree if the append is not under way, or the list holds another version by now.
  Decree TakeLogged(uint64_t sequence);
  // Gives the engine its next mutation: the decree behind last_handed, and no smaller ballot
  // (invariants/R7).
  void Hand(MutationPtr mutation);
  // Commits what is logged up to `through`, inclusive, and hands it to the engine. Stops early
  // where the list does (PrepareList::CommitThrough).
  void CommitThrough(Decree through);
  // Hands over mutations that did not go through the list, behind everything that was handed over
  // so far. The list begins anew there. They are of consecutive decrees, and their ballots do not
  // fall.
  void HandOver(const std::vector<MutationPtr>& mutations);
  // From now on the state is a learner's, also on disk (Standing). Repeated calls change nothing.
  void MarkAsLearner();
  // The engine stands at `decree` by other means. Nothing may be on its way to it.
  void JumpTo(Decree decree);
  // The list begins anew behind `committed`, which is of `ballot` (0: not known) and was handed
  // over. What follows comes from another's history, which may have committed the last decrees here
  // under a smaller ballot: a primary prepares again what others know to be committed. So its
  // ballots begin anew as well.
  void RestartList(Decree committed, Ballot ballot);

  // Answer a peer's request. Each token is answered once.
  void Reply(ReplyToken token, PrepareAck ack) {
    effects.replies.push_back({token, std::move(ack)});
  }
  void Reply(ReplyToken token, GroupCheckResponse response) {
    effects.replies.push_back({token, std::move(response)});
  }
  void Reply(ReplyToken token, LearnResponse response) {
    effects.replies.push_back({token, std::move(response)});
  }
  void Reply(ReplyToken token, LearnNotifyResponse response) {
    effects.replies.push_back({token, std::move(response)});
  }
  // The configuration that a message of this primary carries. `learner_signature` is 0 to a member.
  ReplicaConfiguration ConfigurationFor(PartitionStatus receiver_role,
                                        int64_t learner_signature) const;
};

}  // namespace arion
