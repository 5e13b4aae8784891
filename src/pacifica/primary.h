// Primary: gives clients' writes their ballot and decree, sends them to every member, and commits
// what all have logged (pacifica/PROTOCOL.md 3).
//
// Shapes    Clients' requests wait in drafts, and a draft becomes a mutation. A PUT or REMOVE joins
//           the last draft while that one is open. A draft is started when it is full, when
//           something stands behind it, or when the own log has no write in flight and waiting for
//           the mutations under way is not worth it. At most mutations_in_flight_max mutations are
//           prepared and not committed.
// Errors    A write that cannot be accepted is answered at once (WriteGate says with what). Nothing
//           here fails otherwise: faults of members are verdicts, faults of the own log end the
//           role.
// Threads   Strand-bound, as all of the core.
// Promises  A mutation commits when the own log, every secondary, and every learner that it was
//           sent to have it durable. Each client gets exactly one answer: kOk after commit and
//           apply; kTimeout when the outcome is not known; anything else means that nothing was
//           written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "pacifica/prepare_dispatch.h"
#include "pacifica/replica_state.h"

namespace arion {

class LearnerSessions;

// One object for the life of the core. A term of it begins with TakeOffice, is open from Open on,
// may be interrupted by Pause, and ends with Resign. Outside of a term it holds no client's
// request, except those whose mutation is committed and not yet applied.
//
//   primary.TakeOffice(Primary::Term::kNew);   // by RoleKeeper; the roll call begins
//   primary.Open();                            // everybody was heard
//   primary.Write({.token = 7, .updates = {...}});
//   primary.OnLogged(decree);                  // the own log has it
//   primary.OnPrepareAnswer(acked);            // a member has it: may commit
//   primary.OnApplied();                       // answers token 7
class Primary {
 public:
  Primary(ReplicaState& state, LearnerSessions& sessions)
      : s_(state), sessions_(sessions), dispatch_(state) {}

  // kOk, or what a write would be answered now: kInvalidState unless the role is PRIMARY,
  // kNotEnoughMember, kBusy when queued_bytes_max wait. A term that is not open yet takes writes
  // and lets them wait.
  ErrorCode WriteGate() const;
  // Takes a write with at least one update, and starts what may be started. A write that WriteGate
  // refuses is answered with that.
  void Write(const ClientWrite& write);
  // Starts the drafts that may be started. To be called after anything that could allow it. Only
  // while PRIMARY; does nothing before the term is open.
  void StartQueued();

  // ---- the term ----

  // kResumed: the same ballot after a pause, so what is under way goes on.
  enum class Term { kNew, kResumed };
  // The configuration of the present ballot names this replica as primary. Sends again what a
  // resumed term has under way; proposes nothing of a new one.
  void TakeOffice(Term term);
  // Before the term is open: `member` gets every decree in (known, last_committed] once more, under
  // this ballot. All of them are in the list.
  void PrepareAgainFor(Endpoint member, Decree known);
  // Everybody was heard (replica_core/P7). Prepares again what former terms left, then starts new
  // work. Once in a term, while PRIMARY.
  void Open();
  bool IsOpen() const { return is_open_; }
  // Goes on after a lost lease: reads wait until each member has logged a mutation of this term
  // anew. While PRIMARY, with an open term.
  void AffirmTerm();
  // INACTIVE for a while: nothing is sent any more, and nothing is forgotten.
  void Pause();
  // Another will be primary. Refuses what was not started with kInvalidState, and answers what was
  // started and is not committed with kTimeout.
  void Resign();
  // Answers every write that was not started with `err`, which is not kOk.
  void RefuseQueued(ErrorCode err);

  // ---- members' answers ----

  // Counts an acknowledgement and commits what it completes. A node whose verdict is kFailed or
  // kTimedOut is the caller's to remove.
  PrepareDispatch::Verdict OnPrepareAnswer(const PrepareAcked& answer);
  // The oldest prepare to `node` has had no answer for half of its time.
  bool IsSilent(Endpoint node) const { return dispatch_.IsSilent(node); }
  // The learner takes prepares from its session's prepare_start on: sends it everything that is
  // prepared and not committed. From now on these wait for it.
  void SendTailTo(Endpoint learner);
  // The learner's acknowledgements are no longer waited for. Commits what only it was missing from.
  void StopPreparesTo(Endpoint learner);

  // The own log has `decree`, which is in the prepare list.
  void OnLogged(Decree decree);
  // Commits as far as everybody has logged, in order. Does nothing unless PRIMARY with an open
  // term.
  void TryCommit();
  // The engine has advanced: answers the clients of what it has applied.
  void OnApplied();
  // Every write that was taken is committed.
  bool IsQuiet() const {
    return queue_.empty() && s_.list.last_committed() == s_.list.last_prepared();
  }
  // Repeats prepares that are due, and says when the next one is.
  void OnTick() { dispatch_.OnTick(); }
  Instant NextWakeup() const { return dispatch_.NextWakeup(); }

  // The largest committed point that the group was told in this term, by a mutation or by a group
  // check.
  Decree told_committed() const { return told_committed_; }
  // When the newest mutation was started.
  Instant last_start() const { return last_start_; }
  // A group check has told `committed`.
  void NoteTold(Decree committed) { told_committed_ = committed; }
  // See ReplicaCore::KnownToAllMembers.
  std::optional<Decree> KnownToAllMembers() const;
  // CHECKs invariants/R2, invariants/R8 and invariants/R9 of this term, and that nobody is waited
  // for who has left. After every step.
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
    // Members and learners that have not acknowledged.
    std::set<Endpoint> awaiting;
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
  // The only draft may grow, and it is better to let the mutations under way commit first.
  bool IsWorthWaiting() const;
  // Makes a mutation of a draft and gives it its place.
  MutationPtr Order(Draft draft);
  void Propose(MutationPtr mutation, std::vector<ClientToken> clients);
  void SendToAll(const MutationPtr& mutation, Proposal& proposal);
  void Answer(const std::vector<ClientToken>& clients, ErrorCode err, Decree decree);

  ReplicaState& s_;
  LearnerSessions& sessions_;
  PrepareDispatch dispatch_;
  std::deque<Draft> queue_;
  // Of all drafts in queue_.
  size_t queued_bytes_ = 0;
  // From the start of a mutation until it is applied.
  std::map<Decree, Proposal> proposals_;
  // The term has begun. Between TakeOffice and Open nothing is proposed.
  bool is_open_ = false;
  Decree told_committed_;
  Instant last_start_;
  // Typical time until the own log has a mutation, and until every member has it.
  int64_t log_nanos_ = 0;
  int64_t commit_nanos_ = 0;
  // What a member that has left knows. Set from when the group lost a member until it is whole
  // again.
  std::optional<Decree> known_to_absent_;
};

}  // namespace arion
