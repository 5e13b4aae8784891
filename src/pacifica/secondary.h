// Secondary: stores what the primary prepares, acknowledges it once its own log has it durable, and
// commits what the primary says is committed. A learner in its second half does the same
// (pacifica/PROTOCOL.md 3.4).
//
// Shapes    Prepares may arrive in any order and more than once. The committed point rises through
//           logged entries only: it follows the primary's word as far as the own log goes.
// Errors    A verdict of kLostEntries: the own disk lacks what the group has committed. A prepare
//           too far ahead is refused with kCapacityExceeded and counted as odd.
// Threads   Strand-bound, as all of the core.
// Promises  invariants/R4: an acknowledgement leaves in answer to Logged, under the ballot of the
//           mutation, and never after a larger ballot was adopted. Its token is dropped instead.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "pacifica/replica_state.h"

namespace arion {

// One object for the life of the core, in whatever role. The state outlives it.
//
//   secondary.Prepare(token, request);   // asks to append; nothing is acknowledged yet
//   secondary.OnLogged(decree);          // acknowledges, and commits as far as the primary said
class Secondary {
 public:
  explicit Secondary(ReplicaState& state) : s_(state) {}

  enum class Verdict {
    kFine,
    // A decree that was committed with this replica's acknowledgement is not here, or is here in a
    // version that the group gave up: the own log lost it. The replica must leave the group.
    kLostEntries,
  };
  // Takes one prepare. Its ballot is the replica's, and the sender is its primary: the caller has
  // checked both. Answers now, later in answer to Logged, or with an error.
  Verdict Prepare(ReplyToken token, const PrepareRequest& request);
  // The primary of this ballot has committed up to `committed`, inclusive, and the last of these
  // under `committed_ballot`. nullopt: the primary does not say (2.5.0).
  Verdict LearnCommitted(Decree committed, std::optional<Ballot> committed_ballot);
  // An unregistered child's: logs what is behind its own, as far as the list has room, and commits
  // it as it is logged.
  void TakeTail(const ParentTail& tail);
  // The own log has `decree`, which is in the prepare list.
  void OnLogged(Decree decree);
  // The primary, whose term is open, had prepared everything up to `prepared`. If all of that is
  // logged here in this ballot, the replica is proven (roll_call.h).
  void NotePrimaryHolds(Decree prepared);

  // A new ballot or role: what the primary called committed stays true, requests of the old ballot
  // are never answered.
  void DropWaiting();
  // The list begins anew: what was said about it is void. Commits go up to `commit_goal` from here
  // on.
  void Restart(Decree commit_goal);
  // Answers a prepare with `err`, under the mutation's ballot if that is kOk, else under the
  // replica's own.
  void AnswerPrepare(ReplyToken token, ErrorCode err, const MutationPtr& mutation);
  // CHECKs invariants/R4 of the prepares that wait. After every step.
  void Check() const;

 private:
  // Requests for one decree whose append is under way.
  struct Waiting {
    Ballot ballot;
    std::vector<ReplyToken> tokens;
  };
  bool IsGivenUp(Decree committed, Ballot committed_ballot) const;
  void Drop(Decree decree);

  ReplicaState& s_;
  // The largest committed point that it has heard of.
  Decree commit_goal_;
  std::map<Decree, Waiting> waiting_;
};

}  // namespace arion
