// ReplicaState: what all roles of one replica share: who it is in which configuration, its prepare
// list, how far its log and engine are; and the effects of the step under way.
//
// Threads   Strand-bound. The roles (primary.h, secondary.h, learner.h) hold a reference and act on
// it in turn. SPDX-License-Identifier: Apache-2.0
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

struct ReplicaState {
  explicit ReplicaState(CoreOptions options_in);

  CoreOptions options;
  AppInfo app;
  uint64_t app_serial = 1;  // rises when it changes

  PartitionStatus role = PartitionStatus::kInactive;
  Inactivity inactivity = Inactivity::kTransient;
  Ballot ballot;
  Endpoint primary;
  PartitionConfiguration
      configuration;  // authoritative only while PRIMARY or its update is pending
  bool initializing = true;
  // Under which this process was primary, and has been nobody's member or learner since; 0: none.
  Ballot office_ballot;
  bool connected = false;
  bool lapsed = false;  // the lease was lost once, and no config sync since has said what is true
  LastStop last_stop = LastStop::kClean;
  // Since its process began it has held all that a primary had prepared at one moment: what its disk
  // had lost before would have shown (roll_call.h).
  bool is_proven = false;
  int64_t times_older = 0;  // shown to lack what its group had committed
  Instant inactive_since;

  PrepareList list;
  Decree last_applied;
  Decree last_handed;  // to the engine; applied <= handed <= committed, equal to committed between
                       // steps
  Ballot last_handed_ballot;  // of that mutation; 0: not known, its history came from elsewhere
  Decree last_durable;
  Decree read_barrier;  // a new primary serves no read before it applied what the old one may have
                        // answered
  Decree inherited;     // what was prepared when the primary's term began
  Ballot last_mutation_ballot;  // of what is held; 0: not known, a checkpoint doesn't tell
  int64_t last_timestamp_us = 0;
  int64_t learner_restarts = 0;
  Standing standing = Standing::kMember;

  std::map<uint64_t, Decree> appends;  // sequence -> decree: appended, not yet Logged
  uint64_t next_sequence = 1;
  uint64_t next_serial = 1;

  ReplicaCore::Counters counters;

  // Of the step under way.
  Effects effects;
  Instant now;

  bool LogIsBusy() const { return !appends.empty(); }
  bool AppliesPending() const { return last_applied < last_handed; }
  // After an unclean stop the end of this log may be missing, and meta holds who is secondary beside
  // a primary that works for intact. A prepare or a group check makes it one: they tell the
  // committed point, and so whether something is missing.
  bool AwaitsItsPrimary() const {
    return role == PartitionStatus::kInactive && last_stop == LastStop::kUnclean;
  }
  // Requests of at least this many members must stay for a write.
  int32_t MembersMin() const;
  RoleState role_state() const { return {role, ballot, inactivity}; }
  Watermarks marks() const;

  void Check() const;  // invariants/R12, invariants/R13, invariants/R14, invariants/R15
  // Puts a mutation into the list and, if it was stored, into the log.
  PrepareList::PutVerdict Append(MutationPtr mutation);
  // Into the log alone.
  void Log(MutationPtr mutation);
  // Logged for that append: the decree that became logged in the list; kInvalidDecree when it no
  // longer matters there.
  Decree TakeLogged(uint64_t sequence);
  // The next mutation for the engine (invariants/R7).
  void Hand(MutationPtr mutation);
  // Commits what is logged up to `through` and hands it to the engine.
  void CommitThrough(Decree through);
  // Hands over mutations that did not go through the list, behind everything handed so far; the
  // list begins anew there. Their ballots don't fall.
  void HandOver(const std::vector<MutationPtr>& mutations);
  // From now on its state is a learner's, also on disk (Standing).
  void MarkAsLearner();
  bool HoldsNothing() const {
    return last_handed == Decree(0) && list.last_prepared() == Decree(0);
  }
  // The engine stands at `decree` by other means.
  void JumpTo(Decree decree);
  // What follows in the list comes from another's history. That may have committed the last decrees
  // here under a smaller ballot: a primary prepares again what others know to be committed.
  void RestartList(Decree committed, Ballot ballot);

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
  // The configuration a message of this primary carries.
  ReplicaConfiguration ConfigurationFor(PartitionStatus receiver_role,
                                        int64_t learner_signature) const;
};

}  // namespace arion
