// LogReplay: what a replica's own log, read from its beginning at start, says happened; the
// judgement of replay.
//
// Shapes    Feed it every mutation in log order. Of two versions of a decree the larger ballot
//           counts. A mutation's `last_committed` proves what its writer counted as committed: that
//           much is handed out, to be applied.
// Errors    DataLoss: a committed decree is missing: the log has a hole, the replica must learn
//           anew.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <vector>

#include "base/mutation.h"
#include "decrees/prepare_list.h"

namespace arion {

class LogReplay {
 public:
  // `last_applied`: where the engine stands.
  LogReplay(PartitionId pid, Decree last_applied);

  // Appends to *apply what is now known to be committed, in order, each decree once.
  absl::Status Add(MutationPtr mutation, std::vector<MutationPtr>* apply);
  // Somebody else knows that much to be committed: appends it to *apply.
  absl::Status CommitThrough(Decree through, std::vector<MutationPtr>* apply);

  Decree last_committed() const { return list_.last_committed(); }
  // Of that mutation, the newest; 0: it lies before the log.
  Ballot last_committed_ballot() const { return last_committed_ballot_; }
  Decree last_prepared() const { return list_.last_prepared(); }
  Ballot max_ballot() const { return max_ballot_; }
  // The tail whose fate is not known, in decree order, without holes and what was overruled.
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
