// SPDX-License-Identifier: Apache-2.0
#include "decrees/learned_log.h"

#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "decrees/possible.h"

namespace arion {

LearnedLog::LearnedLog(PartitionId pid, const LogTerms& terms)
    : terms_(terms), replay_(pid, terms.applied), last_(terms.applied) {
  CHECK_LE(terms.applied, terms.through);
  CHECK_GE(terms.applied, Decree(0));
  CHECK_GE(terms.ballot, Ballot(0));
}

absl::Status LearnedLog::Add(MutationPtr mutation, std::vector<MutationPtr>* learned) {
  CHECK(mutation != nullptr && learned != nullptr);
  RETURN_IF_ERROR(error_);
  if (!IsPossible(mutation->decree) || !IsPossible(mutation->ballot) ||
      !IsPossible(mutation->last_committed)) {
    return error_ = absl::DataLossError(absl::StrCat("no mutation is (", mutation->ballot.value(),
                                                     ", ", mutation->decree.value(), ") behind ",
                                                     mutation->last_committed.value()));
  }
  // It was logged after the answer. What counted as committed then was in the log before it.
  if (mutation->ballot > terms_.ballot || IsWhole()) return absl::OkStatus();
  const size_t first = learned->size();
  absl::Status judged = replay_.Add(std::move(mutation), learned);
  return Take(std::move(judged), first, learned);
}

absl::Status LearnedLog::Finish(std::vector<MutationPtr>* learned) {
  CHECK(learned != nullptr);
  RETURN_IF_ERROR(error_);
  if (IsWhole()) return absl::OkStatus();
  const size_t first = learned->size();
  RETURN_IF_ERROR(Take(replay_.CommitThrough(terms_.through, learned), first, learned));
  CHECK(IsWhole()) << "learned_log/N1: finished before its end";
  return absl::OkStatus();
}

absl::Status LearnedLog::Take(absl::Status judged, size_t first,
                              std::vector<MutationPtr>* learned) {
  CHECK_LE(first, learned->size()) << "what others learned was taken away";
  if (!judged.ok()) {
    // What is missing may have replaced versions that are there (pacifica/PROTOCOL.md 9.8).
    learned->resize(first);
    return error_ = std::move(judged);
  }
  // A record that was logged after the answer may prove more than the primary counted then.
  while (learned->size() > first && learned->back()->decree > terms_.through) learned->pop_back();
  for (size_t i = first; i < learned->size(); ++i) {
    const Mutation& m = *(*learned)[i];
    CHECK_EQ(m.decree, last_ + 1) << "learned_log/N1";
    CHECK(m.ballot >= last_ballot_ && m.ballot <= terms_.ballot) << "learned_log/N2";
    last_ = m.decree;
    last_ballot_ = m.ballot;
  }
  CHECK_LE(last_, terms_.through) << "learned_log/N1";
  return absl::OkStatus();
}

}  // namespace arion
