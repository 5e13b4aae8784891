// GroupCheck: a primary's regular word to its secondaries and learners: their role, and how far it
// has committed.
//
// Shapes    At once after each configuration, then every group_check_interval; sooner when the
//           primary falls idle with a committed point it has not told, or while a member says that
//           it lacks space. A lost answer is asked for once more; the second loss is a failure.
//           Between steps a primary has its next check planned, and nobody else has anything.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "pacifica/learner_sessions.h"
#include "pacifica/primary.h"
#include "pacifica/replica_state.h"

namespace arion {

class GroupCheck {
 public:
  GroupCheck(ReplicaState& state, Primary& primary, LearnerSessions& sessions)
      : s_(state), primary_(primary), sessions_(sessions) {}

  enum class Verdict { kFine, kMemberFailed, kLearnerFailed, kLearnerSucceeded };
  Verdict OnAnswer(const GroupCheckAnswered& answer);

  // It owes the answer to a repeated check.
  bool IsSilent(Endpoint node) const { return lost_.contains(node); }

  // The replica took office under a ballot.
  void Begin();
  void End();
  // Out of turn: for an answer that is waited for.
  void Ask(Endpoint member) { Send(member, PartitionStatus::kSecondary, 0); }
  // After each step of a primary: notices a committed point that nobody was told.
  void Watch();
  void OnTick();
  Instant NextWakeup() const;
  void Check() const;

 private:
  void SendAll();
  void Send(Endpoint to, PartitionStatus role, int64_t signature);
  bool IsUntold() const;

  ReplicaState& s_;
  Primary& primary_;
  LearnerSessions& sessions_;
  Instant next_ = Instant::InfiniteFuture();
  Instant notice_ = Instant::InfiniteFuture();
  std::map<Endpoint, int> lost_;
};

}  // namespace arion
