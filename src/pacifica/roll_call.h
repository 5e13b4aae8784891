// RollCall: what a primary asks before it proposes or answers anything in a term: each member that
// stays says what it holds, and whoever holds more than the primary leads instead.
//
// Why       A disk may come back older than it was: a copy put back, a snapshot, a cache that lied.
//           Its replica is whole and knows nothing of what it lacks; led by it, the group would
//           acknowledge new mutations under decrees that members have committed, and those would
//           answer them as long known. Who was asked before shows that.
// Shapes    The questions are group checks, and are put again until they are answered; who loads or
//           has no lease says nothing of itself. The primary that led the ballot before goes on
//           where it was: what it heard still holds.
//           A primary is proven once it has held, since its process began, all that another had
//           prepared at one moment (Secondary), or has finished a roll call: what its disk had lost
//           would have shown. It yields only to a member that has committed what it never held;
//           what others hold besides was acknowledged by it, or by nobody. Until then it yields to
//           whoever holds a later mutation at all.
// Errors    A member that does not answer is the caller's to remove, or to give way to, when the
//           time is over: prepare_timeout, twice that for a primary that is not proven.
// Cost      One way there and back, when another than before leads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "pacifica/replica_state.h"

namespace arion {

class RollCall {
 public:
  explicit RollCall(ReplicaState& state) : s_(state) {}

  // What this replica is to hear of before its term begins.
  enum class Start {
    kAnew,       // another led before, or another process
    kContinued,  // this one led the ballot before, or leads this one again after a pause
  };
  void Begin(Start start);
  void End();  // it leads no more
  bool IsOver() const { return awaited_.empty(); }

  enum class Verdict {
    kFine,
    kHoldsMore,  // a member holds what this one may lack
    kIsBehind,   // what it does not know to be committed is prepared again for it, then it is heard
    kIsFarBehind,  // the same, and that is no more in the list: it is to learn
    kProvesMore,   // a member has committed what this one lacks
  };
  Verdict OnAnswer(Endpoint from, const GroupCheckResponse& answer);
  // It logged that decree, which was prepared again for it.
  void OnPreparedAgain(Endpoint node, Decree decree);
  // To be asked again now.
  std::vector<Endpoint> TakeDue();
  // Whose time is over.
  std::optional<Endpoint> Overdue() const;
  // It can be neither heard nor removed now: a proven primary does without, another waits on.
  void Excuse(Endpoint node);
  Instant NextWakeup() const;
  void Check() const;

 private:
  struct Asked {
    Instant again_at;
    absl::Duration delay;
    std::set<Decree> lacks;  // what was prepared again for it, and it has not logged yet
  };
  absl::Duration Patience() const;
  bool HoldsMore(const GroupCheckResponse& answer) const;
  bool MayHoldLaterVersions(const GroupCheckResponse& answer) const;

  ReplicaState& s_;
  bool has_begun_ = false;
  std::map<Endpoint, Asked> awaited_;  // who has not answered
  Instant deadline_;
};

}  // namespace arion
