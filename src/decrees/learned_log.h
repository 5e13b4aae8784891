// LearnedLog: what a learner takes from another member's log files (LT_LOG with files); the
// judgement. The driver copies and reads them (copies/learned_files.h).
//
// Shapes    Feed it every mutation that is not void in log order, beginning at or before
//           applied + 1; then what the primary had not written yet; then Finish. A decree may come
//           several times: the larger ballot counts. Handed out is what a later mutation's
//           `last_committed` proves, as from an own log; the rest by Finish, on the primary's word.
//           What was logged after the answer may be among it, whatever ballot it is of.
// Errors    DataLoss: what was committed is not there, or these are no numbers of a history. What
//           was handed out before stays true.
// Promises  learned_log/N1  Handed out are consecutive decrees from applied + 1, each once, none
//               beyond `through`.
//           learned_log/N2  Their ballots never fall and are none beyond `ballot`.
//           learned_log/N3  After an error nothing is handed out.
// Memory    The tail that nothing has proven yet, as LogReplay bounds it. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <vector>

#include "base/mutation.h"
#include "decrees/log_replay.h"

namespace arion {

// What a learner may take from the log files of a primary.
struct LogTerms {
  Decree applied;  // it has this much
  Decree through;  // the primary counted this much as committed when it named the files
  Ballot ballot;   // under this one
};

class LearnedLog {
 public:
  LearnedLog(PartitionId pid, const LogTerms& terms);

  // Appends to *learned what is known to be committed by now.
  absl::Status Add(MutationPtr mutation, std::vector<MutationPtr>* learned);
  // All was added: everything up to `through` is committed.
  absl::Status Finish(std::vector<MutationPtr>* learned);

  // There is nothing more to learn from it.
  bool IsWhole() const { return last_ == terms_.through; }
  Decree last_learned() const { return last_; }

 private:
  // Of what `replay_` handed out from `first` on.
  absl::Status Take(absl::Status judged, size_t first, std::vector<MutationPtr>* learned);

  const LogTerms terms_;
  LogReplay replay_;
  Decree last_;
  Ballot last_ballot_;
  absl::Status error_;
};

}  // namespace arion
