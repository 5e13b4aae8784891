// PrepareList: the recent mutations of one replica by decree: what is in flight, and what was
// committed lately (for learners).
//
// Shapes    Slots [first_kept, last_prepared]; a slot may be a hole, for prepares may overtake each
//           other. Committed ones are let go from the front when the span would exceed its limit;
//           uncommitted ones never.
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

class PrepareList {
 public:
  enum class LogState { kPending, kLogged };
  struct Entry {
    MutationPtr mutation;  // null: a hole
    LogState log = LogState::kPending;
    uint64_t append_sequence = 0;  // whose Logged makes it kLogged
    bool is_overruled = false;     // prepare_list/L4
  };
  enum class PutVerdict {
    kStored,
    kCommitted,    // decree <= last_committed: nothing to do
    kOlderBallot,  // a version of a larger ballot is there
    kTooFar,       // the span would grow beyond its limit
  };

  PrepareList(int64_t span_max, Decree committed);

  PutVerdict Put(MutationPtr mutation, LogState log, uint64_t append_sequence);
  // True: the entry of that append was waiting for it.
  bool MarkLogged(Decree decree, uint64_t append_sequence);
  // Commits every present, logged entry from last_committed + 1 up to `through`, and says which.
  std::vector<MutationPtr> CommitThrough(Decree through);
  // Forgets everything: first_kept = committed + 1, last_prepared = committed, which has that ballot;
  // 0: not known.
  void Reset(Decree committed, Ballot ballot = Ballot(0));

  // Null: no entry (never stored, hole, or let go).
  const Entry* Find(Decree decree) const;
  bool IsLogged(Decree decree) const;
  // Nullopt: no entry, nor the decree it was reset to under a known ballot.
  std::optional<Ballot> BallotOf(Decree decree) const;
  // The first decree in (last_committed, through] without an entry; through + 1 when there is none.
  Decree FirstMissing(Decree through) const;

  Decree first_kept() const { return first_; }
  Decree last_committed() const { return committed_; }
  Decree last_prepared() const { return first_ + static_cast<int64_t>(slots_.size()) - 1; }
  // Everything in (last_committed, last_logged] is logged.
  Decree last_logged() const;

  void Check() const;

 private:
  Entry* Slot(Decree decree);
  void OverruleBehind(Decree decree, Ballot through);
  void MakeRoomFor(Decree decree);

  int64_t span_max_;
  Decree first_;
  Decree committed_;
  Ballot committed_ballot_;
  Decree start_;  // where it was reset to
  Ballot start_ballot_;
  std::deque<Entry> slots_;
};

}  // namespace arion
