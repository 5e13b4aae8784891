// SPDX-License-Identifier: Apache-2.0
#include "decrees/log_replay.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"

namespace arion {

namespace {
// No member prepares further ahead of what is committed. It bounds the memory that a damaged number
// can claim.
constexpr int64_t kTailMax = 10'000;
}  // namespace

// The log may be far longer than a living prepare list, so the list keeps no committed mutation:
// each is handed out as soon as it is proven.
LogReplay::LogReplay(PartitionId pid, Decree last_applied) : pid_(pid), list_(1, last_applied) {
  CHECK_GE(last_applied, Decree(0));
}

absl::Status LogReplay::Add(MutationPtr mutation, std::vector<MutationPtr>* apply) {
  CHECK(mutation != nullptr && apply != nullptr);
  if (mutation->pid != pid_) {
    return absl::DataLossError(absl::StrCat("the log of ", pid_.ToString(), " holds a mutation of ",
                                            mutation->pid.ToString()));
  }
  if (mutation->decree - std::max(mutation->last_committed, list_.last_committed()) > kTailMax) {
    return absl::DataLossError(absl::StrFormat("decree %d is too far ahead of the committed %d",
                                               mutation->decree.value(),
                                               mutation->last_committed.value()));
  }
  max_ballot_ = std::max(max_ballot_, mutation->ballot);
  // What it says to be committed was logged before it. So commit first: a mutation cannot vouch for
  // itself.
  if (!Commit(mutation->last_committed, apply)) {
    return absl::DataLossError(absl::StrFormat(
        "log hole: decree %d is committed by (%d, %d) but missing",
        list_.last_committed().value() + 1, mutation->ballot.value(), mutation->decree.value()));
  }
  // Prepared again under a larger ballot after it was committed: the content is the same, the
  // ballot counts.
  if (mutation->decree == list_.last_committed())
    last_committed_ballot_ = std::max(last_committed_ballot_, mutation->ballot);
  list_.Put(std::move(mutation), PrepareList::LogState::kLogged, 0);
  list_.Check();
  return absl::OkStatus();
}

absl::Status LogReplay::CommitThrough(Decree through, std::vector<MutationPtr>* apply) {
  CHECK(apply != nullptr);
  if (Commit(through, apply)) return absl::OkStatus();
  return absl::DataLossError(absl::StrFormat("log hole: decree %d is missing, committed is %d",
                                             list_.last_committed().value() + 1, through.value()));
}

bool LogReplay::Commit(Decree through, std::vector<MutationPtr>* apply) {
  if (through <= list_.last_committed()) return true;
  for (MutationPtr& m : list_.CommitThrough(through)) {
    CHECK_EQ(m->pid, pid_) << "another replica's mutation is handed out";
    last_committed_ballot_ = m->ballot;
    apply->push_back(std::move(m));
  }
  return list_.last_committed() == through;
}

std::vector<MutationPtr> LogReplay::Uncommitted() const {
  std::vector<MutationPtr> tail;
  for (Decree d = list_.last_committed() + 1; d <= list_.last_prepared(); ++d) {
    const PrepareList::Entry* entry = list_.Find(d);
    if (entry != nullptr && !entry->is_overruled) tail.push_back(entry->mutation);
  }
  return tail;
}

}  // namespace arion
