// GroupCheck: a primary's regular word to its secondaries and learners: their role, and how far it
// has committed (pacifica/PROTOCOL.md 6).
//
// Shapes    A check goes to the whole group at once after each configuration, then every
//           group_check_interval. It goes sooner when the primary falls idle with a committed point
//           that it has not told, or while a member says that it lacks disk space. A lost answer is
//           asked for once more; the second loss is a failure.
// Errors    An answer that no check of this ballot waits for is counted as stale and changes
//           nothing.
// Threads   Strand-bound, as all of the core. It reads the time of the step, never a clock.
// Promises  Between steps a primary has its next check planned, and a replica in any other role has
//           nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "pacifica/replica_state.h"

namespace arion {

class LearnerSessions;
class Primary;

// The references outlive it; the core owns all of them. It appends to the effects of the step under
// way.
//
//   group_check.Begin();                                  // the replica took office
//   group_check.Watch();                                  // at the end of each step of a primary
//   if (now >= group_check.NextWakeup()) group_check.OnTick();
//   switch (group_check.OnAnswer(answered)) { ... }       // the caller removes who failed
//   group_check.End();                                    // it leads no more
class GroupCheck {
 public:
  GroupCheck(ReplicaState& state, Primary& primary, LearnerSessions& sessions)
      : s_(state), primary_(primary), sessions_(sessions) {}

  // What the caller is to do about the node that answered.
  enum class Verdict {
    kFine,
    // A secondary answered an error, or lost two answers in a row: remove it.
    kMemberFailed,
    // The same of a learner, or its node has not learned for learner_patience: end its session.
    kLearnerFailed,
    // The learner of this very session has everything: ask for it as a secondary.
    kLearnerSucceeded,
  };
  // Judges one answer. Sends the check again if the answer was lost the first time.
  Verdict OnAnswer(const GroupCheckAnswered& answer);

  // True while the node has lost one answer and owes the answer to the repeated check.
  bool IsSilent(Endpoint node) const { return lost_.contains(node); }

  // The replica has taken office under a ballot that it did not lead before: checks everybody now
  // and forgets the answers that were lost. Only while PRIMARY.
  void Begin();
  // It leads no more. Nothing is planned until the next Begin.
  void End();
  // Checks one secondary out of turn, because its answer is waited for (roll_call.h). The regular
  // check stays where it was.
  void Ask(Endpoint member) { Send(member, PartitionStatus::kSecondary, 0); }
  // Checks everybody now, because the committed point is waited for.
  void TellAll() { SendAll(); }
  // At the end of each step of a primary: plans a check if the group was not told the committed
  // point and no prepare under way will tell it.
  void Watch();
  // Sends the check to all if one is due. Does nothing unless the replica is PRIMARY.
  void OnTick();
  // When OnTick has something to do; InfiniteFuture unless the replica is PRIMARY.
  Instant NextWakeup() const;
  // CHECKs the promise above. After every step.
  void Check() const;

 private:
  void SendAll();
  void Send(Endpoint to, PartitionStatus role, int64_t signature);
  bool IsUntold() const;

  ReplicaState& s_;
  Primary& primary_;
  LearnerSessions& sessions_;
  // The next regular check. Infinite: not in office.
  Instant next_ = Instant::InfiniteFuture();
  // A check for a committed point that was not told. Infinite: there is none, or it was told.
  Instant notice_ = Instant::InfiniteFuture();
  // Answers that were lost in a row, by node. A node without an entry lost none.
  std::map<Endpoint, int> lost_;
};

}  // namespace arion
