// PrepareDispatch: the prepares a primary has on their way, with their repeats: one owner of every
// retry.
//
// Shapes    A prepare to one receiver ends in exactly one verdict, unless it is forgotten. It is
//           repeated while the receiver is not ready (TRY_AGAIN, INACTIVE_STATE), once when its
//           connection broke, and, without an answer for prepare_attempt_timeout, when it is the
//           oldest one to that receiver: one that is merely slow gets no second load. Never past
//           the timeout counted from its first sending. Only a primary has any on their way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "pacifica/replica_state.h"

namespace arion {

class PrepareDispatch {
 public:
  explicit PrepareDispatch(ReplicaState& state) : s_(state) {}

  enum class Outcome { kPending, kAcked, kFailed, kTimedOut, kUnknown };
  struct Verdict {
    Outcome outcome = Outcome::kUnknown;
    Endpoint node;
    Decree decree;
  };

  // `signature` 0: to a secondary; else to the learner of that session.
  void Send(Endpoint to, int64_t signature, MutationPtr mutation);
  Verdict OnAnswer(const PrepareAcked& answer);
  void OnTick();
  Instant NextWakeup() const;

  void Forget() { outgoing_.clear(); }
  void ForgetNode(Endpoint node);
  // It owes an answer for half of the time it has.
  bool IsSilent(Endpoint node) const;
  void Check() const;

 private:
  struct Outgoing {
    Endpoint to;
    int64_t signature = 0;
    MutationPtr mutation;
    Instant deadline;
    Instant sent_at;
    Instant retry_at = Instant::InfiniteFuture();  // the receiver is not ready, or not connected
    Instant probe_at = Instant::InfiniteFuture();  // the sending, or its answer, may be lost
    int broken_connections = 0;
  };
  void SendNow(uint64_t serial, Outgoing& outgoing);
  void SendAgain(uint64_t serial, Outgoing& outgoing);
  Verdict Finish(uint64_t serial, Outcome outcome);

  ReplicaState& s_;
  std::map<uint64_t, Outgoing> outgoing_;
};

}  // namespace arion
