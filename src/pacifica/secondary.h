// Secondary: stores what the primary prepares, acknowledges it once its own log has it durable, and
// commits what the primary says is committed. A learner in its second half does the same.
//
// Shapes   Prepares may arrive in any order and more than once. The committed point rises through
// logged entries only. Promises invariants/R4: an acknowledgement leaves in answer to Logged, under
// the ballot of the mutation, never after a larger one. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "pacifica/replica_state.h"

namespace arion {

class Secondary {
 public:
  explicit Secondary(ReplicaState& state) : s_(state) {}

  enum class Verdict {
    kFine,
    // A decree that was committed with our acknowledgement is not here, or in a version that the
    // group gave up: our log lost it. The replica must leave the group.
    kLostEntries,
  };
  // The request's ballot and role are ours already.
  Verdict Prepare(ReplyToken token, const PrepareRequest& request);
  // The primary of this ballot has committed up to here, the last under that ballot.
  Verdict LearnCommitted(Decree committed, std::optional<Ballot> committed_ballot);
  void OnLogged(Decree decree);
  // Its primary, whose term has begun, had prepared so much (invariants/R16).
  void NotePrimaryHolds(Decree prepared);

  // A new ballot or role: earlier promises to commit stay true, requests of the old ballot stay
  // unanswered.
  void DropWaiting();
  // The list begins anew: what was said about it is void.
  void Restart(Decree commit_goal);
  void AnswerPrepare(ReplyToken token, ErrorCode err, const MutationPtr& mutation);
  void Check() const;  // invariants/R4, of what waits

 private:
  struct Waiting {
    Ballot ballot;
    std::vector<ReplyToken> tokens;
  };
  bool IsGivenUp(Decree committed, Ballot committed_ballot) const;
  void Drop(Decree decree);

  ReplicaState& s_;
  Decree commit_goal_;  // the largest committed point heard of
  std::map<Decree, Waiting> waiting_;
};

}  // namespace arion
