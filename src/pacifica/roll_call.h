// RollCall: what a primary asks before it proposes or answers anything in a term. Each member that
// stays says what it holds. Whoever holds more than the primary leads instead (pacifica/PROTOCOL.md
// 5.1).
//
// Why       A disk may come back older than it was: a copy was put back, a snapshot was restored,
//           or a cache lied. Its replica looks whole and does not know what it lacks. If it led,
//           the group would acknowledge new mutations under decrees that members have committed
//           already, and those members would answer that they know them. Asking first shows it.
// Shapes    The questions are group checks. They are put again until they are answered: a server
//           that loads the replica, or has no lease, says nothing of it. A primary that led the
//           ballot before goes on where it was, because what it heard still holds.
//           A primary is *proven* once it has held, since its process began, all that another
//           primary had prepared at one moment (Secondary), or has finished a roll call: what its
//           disk had lost would have shown. A proven primary yields only to a member that has
//           committed what it never held. Whatever else others hold was acknowledged by this
//           primary, or by nobody. An unproven primary yields to whoever holds a later mutation at
//           all.
// Errors    A member that does not answer is the caller's to remove, or to give way to, when the
//           time is over: prepare_timeout, twice that for a primary that is not proven. Impossible
//           numbers are counted as odd, and the member has not answered.
// Cost      One way there and back, when another replica led before.
// Threads   Strand-bound, as all of the core.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "pacifica/replica_state.h"

namespace arion {

// The state outlives it.
//
//   roll_call.Begin(RollCall::Start::kAnew);   // in office, the members are asked
//   if (roll_call.OnAnswer(from, answer) != RollCall::Verdict::kFine) GiveUpOffice();
//   for (Endpoint member : roll_call.TakeDue()) group_check.Ask(member);
//   if (roll_call.IsOver()) primary.Open();
class RollCall {
 public:
  explicit RollCall(ReplicaState& state) : s_(state) {}

  enum class Start {
    // Another replica, or another process, led before: every secondary is asked.
    kAnew,
    // This process led the ballot before, or leads this one again after a pause: only those are
    // still asked that it had not heard. Without a roll call before, the same as kAnew.
    kContinued,
  };
  // This replica is primary of a configuration. The first question is the group check that each
  // configuration begins with; the caller sends it. Only while PRIMARY.
  void Begin(Start start);
  // It leads no more.
  void End();
  // Everybody was heard, or excused.
  bool IsOver() const { return awaited_.empty(); }

  enum class Verdict {
    // Heard, or not an answer that counts.
    kFine,
    // The member holds what this primary may lack.
    kHoldsMore,
    // The member does not know everything to be committed that is. What it lacks is prepared again
    // for it, and then it counts as heard.
    kIsBehind,
    // The same, but the list no longer holds that: the member is to learn.
    kIsFarBehind,
    // The member has committed what this primary lacks: this copy is an older one.
    kProvesMore,
  };
  // Takes any answer a peer may send. Nodes that are not asked are ignored.
  Verdict OnAnswer(Endpoint from, const GroupCheckResponse& answer);
  // The member has logged a decree that was prepared again for it. After the last one it is heard.
  void OnPreparedAgain(Endpoint node, Decree decree);
  // The members that are to be asked again now. Each is asked less and less often, down to every
  // 500 ms.
  std::vector<Endpoint> TakeDue();
  // One member that has not answered in time. nullopt: the time is not over, or all were heard.
  std::optional<Endpoint> Overdue() const;
  // The member can be neither heard nor removed now: a proven primary goes on without it, an
  // unproven one waits as long again.
  void Excuse(Endpoint node);
  // When TakeDue or Overdue has something to say; InfiniteFuture unless PRIMARY and somebody is
  // awaited.
  Instant NextWakeup() const;
  // CHECKs that only members are awaited (invariants/R16). After every step.
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
  // The members that have not answered.
  std::map<Endpoint, Asked> awaited_;
  // When their time is over.
  Instant deadline_;
};

}  // namespace arion
