// Primary: gives clients' writes their ballot and decree, sends them to every member, and commits
// what all have logged.
//
// Shapes    Clients' requests wait in drafts. A PUT or REMOVE joins the last draft while that is
//           open; an open draft is started when the log has no write in flight and it holds more
//           than what is under way (or nothing is), when it is full, or when something stands
//           behind it. At most mutations_in_flight_max mutations are uncommitted.
// Promises  A mutation commits when the own log and every secondary, and every learner it was sent
//           to, have it durable. Each client gets one answer: kOk after commit and apply; kTimeout
//           when the outcome is not known; anything else means that nothing was written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "pacifica/learner_sessions.h"
#include "pacifica/prepare_dispatch.h"
#include "pacifica/replica_state.h"

namespace arion {

class Primary {
 public:
  Primary(ReplicaState& state, LearnerSessions& sessions)
      : s_(state), sessions_(sessions), dispatch_(state) {}

  // kOk, or what a write would be answered now.
  ErrorCode WriteGate() const;
  void Write(const ClientWrite& write);
  // Starts what may be started; called after anything that could allow it.
  void StartQueued();

  // ---- the term ----
  enum class Term { kNew, kResumed };  // resumed: the same ballot after a pause
  void TakeOffice(Term term);
  // Before: a member gets what is committed behind `known` once more, under this ballot.
  void PrepareAgainFor(Endpoint member, Decree known);
  // replica_core/P7: everybody was heard. What former terms left is prepared again, new work starts.
  void Open();
  bool IsOpen() const { return is_open_; }
  void Pause();   // INACTIVE for a while: nothing is sent, nothing forgotten
  void Resign();  // another will be primary
  void RefuseQueued(ErrorCode err);

  // ---- members' answers ----
  // A failed node is the caller's to remove.
  PrepareDispatch::Verdict OnPrepareAnswer(const PrepareAcked& answer);
  bool IsSilent(Endpoint node) const { return dispatch_.IsSilent(node); }
  // What is in flight goes to a learner that takes prepares from now on.
  void SendTailTo(Endpoint learner);
  // A learner's acknowledgements are no longer waited for.
  void StopPreparesTo(Endpoint learner);

  void OnLogged(Decree decree);
  void TryCommit();
  void OnApplied();
  // Every write it was given is committed.
  bool IsQuiet() const {
    return queue_.empty() && s_.list.last_committed() == s_.list.last_prepared();
  }
  void OnTick() { dispatch_.OnTick(); }
  Instant NextWakeup() const { return dispatch_.NextWakeup(); }

  // The committed point that the newest mutation told, and when it was started.
  Decree told_committed() const { return told_committed_; }
  Instant last_start() const { return last_start_; }
  void NoteTold(Decree committed) { told_committed_ = committed; }
  // See ReplicaCore.
  std::optional<Decree> KnownToAllMembers() const;
  void Check() const;

 private:
  struct Draft {
    std::vector<ClientToken> clients;
    std::vector<Update> updates;
    size_t bytes = 0;
    int64_t received_at_us = 0;
    enum class Joining { kOpen, kClosed } joining = Joining::kClosed;
  };
  struct Proposal {
    std::vector<ClientToken> clients;
    std::set<Endpoint> awaiting;  // members and learners that have not acknowledged
    Instant sent_at;
  };

  void CheckPaused() const;
  // The configuration has as many members as the table wants.
  bool IsWhole() const;
  // Each present member knows this much to be committed.
  Decree KnownToPresentMembers() const;
  bool MayJoinLast(const ClientWrite& write) const;
  // One draft waits, and more may join it.
  bool MayGrow() const;
  // It may grow, and the mutations under way are to commit first.
  bool IsWorthWaiting() const;
  MutationPtr Order(Draft draft);  // a draft gets its place
  void Propose(MutationPtr mutation, std::vector<ClientToken> clients);
  void SendToAll(const MutationPtr& mutation, Proposal& proposal);
  void Answer(const std::vector<ClientToken>& clients, ErrorCode err, Decree decree);

  ReplicaState& s_;
  LearnerSessions& sessions_;
  PrepareDispatch dispatch_;
  std::deque<Draft> queue_;
  size_t queued_bytes_ = 0;
  std::map<Decree, Proposal> proposals_;  // from start to apply
  bool is_open_ = false;  // the term has begun: between TakeOffice and Open nothing is proposed
  Decree told_committed_;
  Instant last_start_;
  int64_t log_nanos_ = 0;                  // typically, until the own log has a mutation
  int64_t commit_nanos_ = 0;               // and every member
  std::optional<Decree> known_to_absent_;  // from when the group lost a member until it is whole
};

}  // namespace arion
