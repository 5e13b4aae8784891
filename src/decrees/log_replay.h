// LogReplay: what a replica's own log, read from its beginning at start, says happened; the
// judgement of replay (pacifica/PROTOCOL.md 10.2).
//
// Shapes    Feed it every mutation in log order. Of two versions of a decree the larger ballot
//           counts. A mutation's `last_committed` proves what its writer counted as committed: that
//           much is handed out, to be applied.
// Errors    DataLoss: a committed decree is missing (the log has a hole), a mutation is of another
//           partition, or a decree is too far ahead to be true. What was handed out before stays
//           true; the replica keeps it and must learn anew.
// Memory    At most 10,000 mutations that nothing has proven yet.
// Threads   Pure: one thread at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <vector>

#include "base/mutation.h"
#include "decrees/prepare_list.h"

namespace arion {

// Holds what is not proven yet and gives away the rest as it goes.
//
//   LogReplay replay(pid, engine.last_applied());
//   for (MutationPtr& m : log) RETURN_IF_ERROR(replay.Add(std::move(m), &apply));
//   engine.Apply(apply);                       // proven committed
//   list.Fill(replay.Uncommitted());           // the next primary decides
class LogReplay {
 public:
  // The engine stands at `last_applied`: decrees up to it are skipped. At least 0.
  LogReplay(PartitionId pid, Decree last_applied);

  // Takes the log's next mutation, of any content. Appends to *apply what is now known to be
  // committed, in order, each decree once.
  absl::Status Add(MutationPtr mutation, std::vector<MutationPtr>* apply);
  // Somebody else knows that everything up to `through`, inclusive, is committed: appends it to
  // *apply. After an error some of it may have been appended.
  absl::Status CommitThrough(Decree through, std::vector<MutationPtr>* apply);

  // The last decree that was handed out; `last_applied` before the first.
  Decree last_committed() const { return list_.last_committed(); }
  // The largest ballot of that decree in the log. 0: the log did not hold it.
  Ballot last_committed_ballot() const { return last_committed_ballot_; }
  // The largest decree that was added, or last_committed().
  Decree last_prepared() const { return list_.last_prepared(); }
  // The largest ballot of any mutation that was added.
  Ballot max_ballot() const { return max_ballot_; }
  // The mutations whose fate is not known, in decree order, without holes and without what was
  // overruled (prepare_list/L4).
  std::vector<MutationPtr> Uncommitted() const;

 private:
  // False: a decree up to `through` is missing.
  bool Commit(Decree through, std::vector<MutationPtr>* apply);

  PartitionId pid_;
  PrepareList list_;
  Ballot last_committed_ballot_;
  Ballot max_ballot_;
};

}  // namespace arion
