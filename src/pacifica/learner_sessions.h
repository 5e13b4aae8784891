// LearnerSessions: a primary's learners, and what it hands each of them next
// (pacifica/PROTOCOL.md 9).
//
// Shapes    A session is named by its signature; every answer out of memory (LT_CACHE) decides anew
//           from which decree on the learner gets prepares: a learner asks again only when the
//           former answer did not reach it.
//           Who asks again for what it was given asked in vain: a copy failed, or an answer was
//           lost. A session that failed so, or that gets nowhere though it is not at a copy, gives
//           its place when another learner is wanted; it ends when it did so too often, or when its
//           node, though it answers, does not learn. A copy is not hurried: nobody sees its bytes.
//           What a learner asked for is either still being made ready or given, never both.
// Promises  A learner that was sent decree d was sent every decree in [prepare_start, d], and was
//           given what lies below.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "pacifica/replica_state.h"

namespace arion {

class LearnerSessions {
 public:
  explicit LearnerSessions(ReplicaState& state) : s_(state) {}

  struct Session {
    int64_t signature = 0;
    Decree prepare_start = kInvalidDecree;  // -1: not decided, no prepares
    Decree sent_through = kInvalidDecree;   // [prepare_start, sent_through] was sent, without a gap
    Decree asked = kInvalidDecree;          // first decree it lacked at its last round
    Decree furthest = kInvalidDecree;       // the largest it ever asked from
    Decree log_first = kInvalidDecree;      // of the log it may still ask this; -1: it needs none
    std::optional<ReplyToken> shipping;     // of the answer that waits for the disk
    bool was_given = false;                 // what it asked for last is on its way
    bool is_at_copy = false;                // that is a checkpoint
    int vain_rounds = 0;                    // since it last got further
    Instant moved_at;                       // when it did, or began
    bool TakesPrepare(Decree decree) const {
      return prepare_start != kInvalidDecree && prepare_start <= decree;
    }
  };

  // A new configuration, or the same one after a pause: new sessions get signatures of its ballot, none
  // a second time; running ones keep theirs. Members are no learners.
  void BeginTerm();
  void Clear() { sessions_.clear(); }
  // The node's session, begun if there is none.
  const Session& Register(Endpoint node);
  void Erase(Endpoint node) { sessions_.erase(node); }
  const Session* Find(Endpoint node) const;
  // A prepare of `decree` goes to this learner, which takes it (invariants/R8).
  void NoteSent(Endpoint node, Decree decree);
  // Who takes prepares was sent each decree from its prepare_start to `last_prepared`
  // (invariants/R8); and the shapes above.
  void Check(Decree last_prepared) const;
  const std::map<Endpoint, Session>& all() const { return sessions_; }

  enum class Consequence {
    kNone,
    kSendTail,      // the learner takes prepares from now on: send it what is in flight
    kStopPrepares,  // it fell behind what is in memory
    kEnd,           // it asked in vain too often
  };
  Consequence Answer(const LearnReceived& event);
  void OnShipped(const Shipped& event);
  // Whose session is worth least when another learner is wanted; nullopt: each gets on.
  std::optional<Endpoint> WhoGivesPlace() const;
  // Its node answers for itself that it does not learn, and has not for long.
  bool IsIdle(const Session& session, const GroupCheckResponse& answer) const;

  // First decree the learner lacks; a history that this group never committed counts for nothing.
  Decree StartOf(const LearnRequest& request) const;
  // The smallest decree a session may still ask of the log; last_durable + 1 when none does. Who
  // is at a copy needs what lies behind its checkpoint.
  Decree FirstLogDecreeNeeded() const;

 private:
  LearnResponse AnswerTo(Decree start) const;
  bool CacheCovers(Decree start) const;
  bool IsStuck(const Session& session) const;
  void NoteRound(Decree start, Session& session) const;

  ReplicaState& s_;
  std::map<Endpoint, Session> sessions_;
  int64_t last_signature_ = 0;
};

}  // namespace arion
