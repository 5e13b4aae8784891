// LearnedLog: what a learner takes from another member's log files (LT_LOG with files); the
// judgement. The driver copies and reads the files (copies/learned_files.h).
//
// Shapes    Feed it every mutation that is not void in log order, beginning at or before applied +
//           1; then what the primary had not written yet; then Finish. A decree may come several
//           times: the larger ballot counts. Handed out is what a later mutation's `last_committed`
//           proves, as from an own log; the rest is handed out by Finish, on the primary's word.
//           What was logged after the answer may be among what is fed, whatever ballot it is of.
// Errors    DataLoss: what was committed is not there, or these are no numbers of a history. What
//           was handed out before stays true.
// Promises  learned_log/N1  Handed out are consecutive decrees from applied + 1, each once, none
//               beyond `through`.
//           learned_log/N2  Their ballots never fall and are none beyond `ballot`.
//           learned_log/N3  After an error nothing is handed out.
// Memory    The tail that nothing has proven yet, as LogReplay bounds it.
// Threads   Pure: one thread at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <vector>

#include "base/mutation.h"
#include "decrees/log_replay.h"
#include "decrees/log_terms.h"

namespace arion {

// One use a copy: construct, Add all, Finish. It owns what it has not handed out yet.
//
//   LearnedLog log(pid, terms);
//   for (MutationPtr& m : records) RETURN_IF_ERROR(log.Add(std::move(m), &learned));
//   RETURN_IF_ERROR(log.Finish(&learned));   // log.IsWhole() is true now
class LearnedLog {
 public:
  LearnedLog(PartitionId pid, const LogTerms& terms);

  // Takes the next mutation of the log, of any content. Appends to *learned what is known to be
  // committed by now. After an error every call returns the same error.
  absl::Status Add(MutationPtr mutation, std::vector<MutationPtr>* learned);
  // All was added, so everything up to `through` is committed. Appends the rest to *learned.
  absl::Status Finish(std::vector<MutationPtr>* learned);

  // Everything up to `through` was handed out: there is nothing more to learn from these files.
  bool IsWhole() const { return last_ == terms_.through; }
  // The last decree that was handed out; `applied` before the first.
  Decree last_learned() const { return last_; }

 private:
  // Accepts what `replay_` appended to *learned from index `first` on, or takes it back after an
  // error.
  absl::Status Take(absl::Status judged, size_t first, std::vector<MutationPtr>* learned);

  const LogTerms terms_;
  LogReplay replay_;
  Decree last_;
  Ballot last_ballot_;
  absl::Status error_;
};

}  // namespace arion
