// PrepareList: the recent mutations of one replica by decree: what is in flight, and what was
// committed lately (for learners). pacifica/PROTOCOL.md 2.
//
// Shapes    Slots [first_kept, last_prepared], both inclusive. A slot may be a hole, because
//           prepares may overtake each other; the newest slot never is. Committed mutations are let
//           go from the front when the span would exceed its limit, uncommitted ones never.
// Errors    None: what cannot be stored is a PutVerdict. A caller that breaks a contract is a CHECK
//           failure.
// Threads   Pure: one thread at a time.
// Promises  prepare_list/L1  Of two versions of a decree the larger ballot stays.
//           prepare_list/L2  Committed decrees have no hole, were all logged, and their ballots
//               never fall.
//           prepare_list/L3  last_prepared - first_kept < span_max, unless recovered from a longer
//               log.
//           prepare_list/L4  Where a version of a larger ballot says something else than the one
//               that was there, whoever proposed it held neither that one nor what came behind it
//               under the same ballot or a smaller one: none of them was committed. Those are
//               overruled: what they say was decided on a history that never was.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/mutation.h"

namespace arion {

// Shares the mutations with whoever else holds them; they are immutable.
//
//   PrepareList list(110, engine.last_applied());
//   list.Put(mutation, PrepareList::LogState::kPending, sequence);
//   list.MarkLogged(mutation->decree, sequence);                  // the own log has it
//   for (MutationPtr& m : list.CommitThrough(told)) Apply(m);     // in order, each once
class PrepareList {
 public:
  // kLogged: the own log has it durably.
  enum class LogState { kPending, kLogged };
  struct Entry {
    // Null: a hole.
    MutationPtr mutation;
    LogState log = LogState::kPending;
    // The append whose Logged makes this entry kLogged. An older append of the same decree does
    // not.
    uint64_t append_sequence = 0;
    // prepare_list/L4
    bool is_overruled = false;
  };
  enum class PutVerdict {
    kStored,
    // The decree is committed already: there is nothing to do.
    kCommitted,
    // A version of a larger ballot is there.
    kOlderBallot,
    // The span would grow beyond its limit.
    kTooFar,
  };

  // An empty list behind `committed`, at least 0. `span_max` is the number of decrees it may span,
  // above 0.
  PrepareList(int64_t span_max, Decree committed);

  // Stores a mutation, in place of a version with no larger ballot. Makes room at the front if it
  // must. An entry that is kLogged already (a log that is replayed) may make the list longer than
  // span_max.
  PutVerdict Put(MutationPtr mutation, LogState log, uint64_t append_sequence);
  // The append is durable. True if the entry of that decree was waiting for exactly this append.
  bool MarkLogged(Decree decree, uint64_t append_sequence);
  // Commits from last_committed + 1 up to `through`, inclusive, and returns what it committed.
  // Stops before the first decree that is missing, is not logged, or has a smaller ballot than the
  // one before it.
  std::vector<MutationPtr> CommitThrough(Decree through);
  // Forgets everything: the list is empty behind `committed`, which is of `ballot`; 0: not known.
  void Reset(Decree committed, Ballot ballot = Ballot(0));

  // Null: there is no entry, because the decree was never stored, is a hole, or was let go. The
  // pointer holds until the next change.
  const Entry* Find(Decree decree) const;
  bool IsLogged(Decree decree) const;
  // nullopt: there is no entry, and the decree is not the one the list was reset to under a known
  // ballot.
  std::optional<Ballot> BallotOf(Decree decree) const;
  // The first decree in (last_committed, through] without an entry; through + 1 if there is none.
  Decree FirstMissing(Decree through) const;

  // The first decree that the list may still hold; last_committed + 1 if it holds none that is
  // committed.
  Decree first_kept() const { return first_; }
  Decree last_committed() const { return committed_; }
  // The largest decree in the list; last_committed() if it is empty behind that.
  Decree last_prepared() const { return first_ + static_cast<int64_t>(slots_.size()) - 1; }
  // Everything in (last_committed, last_logged] is logged. O(that range).
  Decree last_logged() const;

  // CHECKs the promises as far as the two ends show them, in O(1).
  void Check() const;

 private:
  Entry* Slot(Decree decree);
  // Marks what lies behind `decree` under a ballot up to `through` as overruled.
  void OverruleBehind(Decree decree, Ballot through);
  void MakeRoomFor(Decree decree);

  int64_t span_max_;
  Decree first_;
  Decree committed_;
  Ballot committed_ballot_;
  // Where the list was reset to, and under which ballot.
  Decree start_;
  Ballot start_ballot_;
  std::deque<Entry> slots_;
};

}  // namespace arion
