// PrepareDispatch: the prepares a primary has on their way, with their repeats: one owner of every
// retry.
//
// Shapes    A prepare to one receiver ends in exactly one verdict, unless it is forgotten. It is
//           repeated while the receiver is not ready (TRY_AGAIN, INACTIVE_STATE), when one sending
//           got lost, and once when its connection broke; never past the timeout counted from its
//           first sending.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "pacifica/replica_state.h"

namespace arion {

class PrepareDispatch {
 public:
  explicit PrepareDispatch(ReplicaState& state) : s_(state) {}

  enum class Outcome { kPending, kAcked, kFailed, kUnknown };
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

 private:
  struct Outgoing {
    Endpoint to;
    int64_t signature = 0;
    MutationPtr mutation;
    Instant deadline;
    Instant retry_at = Instant::InfiniteFuture();  // set between two sendings
    int broken_connections = 0;
  };
  void SendNow(uint64_t serial, Outgoing& outgoing);
  Verdict Finish(uint64_t serial, Outcome outcome);

  ReplicaState& s_;
  std::map<uint64_t, Outgoing> outgoing_;
};

}  // namespace arion
