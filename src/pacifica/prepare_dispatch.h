// PrepareDispatch: the prepares that a primary has on their way, with their repeats. It is the one
// owner of every retry of a prepare (pacifica/PROTOCOL.md 3.5).
//
// Shapes    A prepare to one receiver ends in exactly one verdict, unless it is forgotten. It is
//           repeated
//           - while the receiver is not ready (TRY_AGAIN, INACTIVE_STATE);
//           - once, when its connection broke;
//           - when it had no answer for prepare_attempt_timeout and is the oldest one to that
//             receiver. A receiver that is merely slow gets no second load for the younger ones.
//           Never past the timeout, which counts from the first sending.
// Units     Serials come from ReplicaState::next_serial, so no two calls of a core share one.
// Threads   Strand-bound, as all of the core.
// Promises  Only a primary has prepares on their way. Each is of its ballot.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "pacifica/replica_state.h"

namespace arion {

// Owned by Primary. The state outlives it.
//
//   dispatch.Send(secondary, 0, mutation);
//   ...
//   const PrepareDispatch::Verdict verdict = dispatch.OnAnswer(answer);
//   if (verdict.outcome == PrepareDispatch::Outcome::kAcked) Count(verdict.node, verdict.decree);
class PrepareDispatch {
 public:
  explicit PrepareDispatch(ReplicaState& state) : s_(state) {}

  enum class Outcome {
    // It is still on its way and will be repeated.
    kPending,
    // The receiver has the mutation durably in its log.
    kAcked,
    // The receiver refused it or answered nonsense, or its process was replaced.
    kFailed,
    // No answer until the timeout.
    kTimedOut,
    // The answer belongs to nothing on its way: it is late or doubled. `node` and `decree` say
    // nothing.
    kUnknown,
  };
  struct Verdict {
    Outcome outcome = Outcome::kUnknown;
    Endpoint node;
    Decree decree;
  };

  // Sends `mutation`, which is of the present ballot, and waits for its answer. A `signature` of 0
  // means a secondary, any other the learner of that session. The timeout follows from that.
  void Send(Endpoint to, int64_t signature, MutationPtr mutation);
  // Judges one answer, or the lack of one. Takes any answer a peer may send.
  Verdict OnAnswer(const PrepareAcked& answer);
  // Repeats what is due. Timeouts are not found here: the call of each sending ends with the
  // timeout, and comes back through OnAnswer.
  void OnTick();
  // When OnTick has something to do; InfiniteFuture if nothing is to be repeated.
  Instant NextWakeup() const;

  // Nothing is on its way any more; answers that come are kUnknown.
  void Forget() { outgoing_.clear(); }
  // The same for one receiver.
  void ForgetNode(Endpoint node);
  // True if the oldest prepare to `node` has had no answer for at least half of the time it has.
  bool IsSilent(Endpoint node) const;
  // CHECKs the promises above. After every step.
  void Check() const;

 private:
  struct Outgoing {
    Endpoint to;
    int64_t signature = 0;
    MutationPtr mutation;
    // The end of the timeout, and the first sending.
    Instant deadline;
    Instant sent_at;
    // When to send again because the receiver is not ready, or not connected.
    Instant retry_at = Instant::InfiniteFuture();
    // When to send again because the sending, or its answer, may be lost.
    Instant probe_at = Instant::InfiniteFuture();
    int broken_connections = 0;
  };
  void SendNow(uint64_t serial, Outgoing& outgoing);
  void SendAgain(uint64_t serial, Outgoing& outgoing);
  Verdict Finish(uint64_t serial, Outcome outcome);

  ReplicaState& s_;
  // By serial: the first entry of a receiver is its oldest.
  std::map<uint64_t, Outgoing> outgoing_;
};

}  // namespace arion
