// LearnerSessions: a primary's learners, and what it hands each of them next (pacifica/PROTOCOL.md
// 9).
//
// Shapes    A session is named by its signature. Every answer out of memory (LT_CACHE) decides anew
//           from which decree on the learner gets prepares: a learner asks again only when the
//           former answer did not reach it.
//           A learner that asks again for what it was given has asked in vain: its copy failed, or
//           the answer was lost. Such a session, and one that gets nowhere although it copies no
//           checkpoint, gives its place when another learner is wanted. It ends when it has asked
//           in vain too often, or when its node answers but does not learn. A copy is not hurried,
//           because nobody here sees its bytes. What a learner asked for is either still being made
//           ready or given, never both.
// Threads   Strand-bound, as all of the core.
// Promises  A learner that was sent decree d was sent every decree in [prepare_start, d], and was
//           given what lies below (invariants/R8).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "pacifica/replica_state.h"

namespace arion {

// The state outlives it. Sessions belong to a term: they survive a change of ballot under the same
// primary, and are cleared when it leads no more.
//
//   sessions.BeginTerm();   // a configuration names this replica as primary
//   const int64_t signature = sessions.Register(node).signature;
//   const auto consequence = sessions.Answer(event);
//   if (consequence == LearnerSessions::Consequence::kSendTail) primary.SendTailTo(node);
class LearnerSessions {
 public:
  explicit LearnerSessions(ReplicaState& state) : s_(state) {}

  // What the primary knows of one learner. Decrees are inclusive.
  struct Session {
    int64_t signature = 0;
    // The first decree that the learner takes as a prepare. -1: not decided, it takes none.
    Decree prepare_start = kInvalidDecree;
    // Everything in [prepare_start, sent_through] was sent to it, without a gap.
    Decree sent_through = kInvalidDecree;
    // The first decree that it lacked at its last round, and the largest it ever asked from.
    Decree asked = kInvalidDecree;
    Decree furthest = kInvalidDecree;
    // The furthest that its log was begun from, or went on from, for other clusters' sake.
    Decree furthest_kept = kInvalidDecree;
    // It may still ask the log for this decree and later ones. -1: it needs nothing of the log.
    Decree log_first = kInvalidDecree;
    // The request whose answer waits for the disk.
    std::optional<ReplyToken> shipping;
    // What it asked for last is on its way to it, and whether that is a checkpoint.
    bool was_given = false;
    bool is_at_copy = false;
    // How often it asked in vain since it last got further, and when it did that, or began.
    int vain_rounds = 0;
    Instant moved_at;
    bool TakesPrepare(Decree decree) const {
      return prepare_start != kInvalidDecree && prepare_start <= decree;
    }
  };

  // A new configuration, or the same one after a pause. New sessions get signatures of its ballot,
  // never one a second time; running ones keep theirs. Sessions of nodes that are members now end.
  void BeginTerm();
  void Clear() { sessions_.clear(); }
  // The node's session; begun if there is none. The node is another server and no member. The
  // reference holds until the session ends.
  const Session& Register(Endpoint node);
  // Ends the node's session, if there is one.
  void Erase(Endpoint node) { sessions_.erase(node); }
  // Null: the node has no session.
  const Session* Find(Endpoint node) const;
  // A prepare of `decree` goes to this learner. It has a session, takes that prepare, and was sent
  // everything below (invariants/R8).
  void NoteSent(Endpoint node, Decree decree);
  // CHECKs that every learner that takes prepares was sent each decree from its prepare_start to
  // `last_prepared` (invariants/R8), and the shapes above. After every step of a primary.
  void Check(Decree last_prepared) const;
  const std::map<Endpoint, Session>& all() const { return sessions_; }

  // What an answer means for the prepares of its learner.
  enum class Consequence {
    kNone,
    // It takes prepares from now on: send it what is prepared and not committed.
    kSendTail,
    // It fell behind what is in memory: its acknowledgements are no longer waited for.
    kStopPrepares,
    // It has asked in vain too often: end the session.
    kEnd,
  };
  // Answers a round: at once, or by an effect that waits for the disk (ShipState). Takes any
  // request a peer may send, in any role of this replica; a refusal has no consequence.
  Consequence Answer(const LearnReceived& event);
  // The answer that waited for the disk was sent. Ignored if the session asks for something else by
  // now.
  void OnShipped(const Shipped& event);
  // The session that is worth least when another learner is wanted. nullopt: each of them gets on.
  std::optional<Endpoint> WhoGivesPlace() const;
  // Whether the node says of itself in `answer` that it does not learn, and the session has not
  // moved for learner_patience.
  bool IsIdle(const Session& session, const GroupCheckResponse& answer) const;

  // The first decree that the learner lacks. 1 if it has applied more than is prepared here: a
  // history that this group never committed counts for nothing.
  Decree StartOf(const LearnRequest& request) const;
  static std::optional<Decree> KeptFrom(const LearnReceived& event, Decree start);
  // The smallest decree that a session may still ask the log for, or that this replica needs itself
  // after a crash: never above last_durable + 1. A learner at a copy needs what lies behind its
  // checkpoint.
  Decree FirstLogDecreeNeeded() const;

 private:
  LearnResponse AnswerTo(Decree start) const;
  LearnResponse GiveCache(Decree start, Session& session) const;
  bool CacheCovers(Decree start) const;
  bool IsStuck(const Session& session) const;
  // `kept_from`: also what is logged for other clusters gets on.
  void NoteRound(Decree start, std::optional<Decree> kept_from, Session& session) const;

  ReplicaState& s_;
  std::map<Endpoint, Session> sessions_;
  int64_t last_signature_ = 0;
};

}  // namespace arion
