// LearnerSessions: a primary's learners, and what it hands each of them next (spec/replication.md
// 1.11.2, 1.11.3).
//
// Shapes    A session is named by its signature; every answer out of memory (LT_CACHE) decides anew
//           from which decree on the learner gets prepares: a learner asks again only when the
//           former answer did not reach it.
// Promises  A learner that was sent decree d was sent every decree in [prepare_start, d], and was
//           given what lies below.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "pacifica/replica_state.h"

namespace arion {

class LearnerSessions {
 public:
  explicit LearnerSessions(ReplicaState& state) : s_(state) {}

  struct Session {
    int64_t signature = 0;
    Decree prepare_start = kInvalidDecree;  // -1: not decided, no prepares
    Decree start = kInvalidDecree;          // first decree it lacked at its last round
    Decree sent_through = kInvalidDecree;   // [prepare_start, sent_through] was sent, without a gap
    bool TakesPrepare(Decree decree) const {
      return prepare_start != kInvalidDecree && prepare_start <= decree;
    }
  };

  // A new configuration: new sessions get signatures of its ballot; running ones keep theirs.
  // Members are no learners.
  void BeginTerm();
  void Clear() { sessions_.clear(); }
  // The node's session, begun if there is none.
  const Session& Register(Endpoint node);
  void Erase(Endpoint node) { sessions_.erase(node); }
  const Session* Find(Endpoint node) const;
  // A prepare of `decree` goes to this learner, which takes it (R8).
  void NoteSent(Endpoint node, Decree decree);
  // Who takes prepares was sent each decree from its prepare_start to `last_prepared` (R8).
  void Check(Decree last_prepared) const;
  const std::map<Endpoint, Session>& all() const { return sessions_; }

  enum class Consequence {
    kNone,
    kSendTail,      // the learner takes prepares from now on: send it what is in flight
    kStopPrepares,  // it fell behind what is in memory
  };
  Consequence Answer(const LearnReceived& event);

  // First decree the learner lacks; a history that this group never committed counts for nothing.
  Decree StartOf(const LearnRequest& request) const;
  // The smallest decree a session may still ask of the log; last_durable + 1 when none does.
  Decree FirstLogDecreeNeeded() const;

 private:
  LearnResponse AnswerTo(Decree start) const;
  bool CacheCovers(Decree start) const;

  ReplicaState& s_;
  std::map<Endpoint, Session> sessions_;
  int64_t last_signature_ = 0;
};

}  // namespace arion
