// SPDX-License-Identifier: Apache-2.0
#include "legacy/take_over_planner.h"

#include <algorithm>

namespace arion {

void TakeOverPlanner::OnPrivate(Ballot ballot, Decree decree, Decree last_committed) {
  max_ballot_ = std::max(max_ballot_, ballot);
  Note(ballot, decree, last_committed);
}

TakeOverPlanner::Verdict TakeOverPlanner::OnShared(Ballot ballot, Decree decree,
                                                   Decree last_committed, int64_t log_offset) {
  max_ballot_ = std::max(max_ballot_, ballot);
  if (log_offset < valid_start_offset_) return Verdict::kVoid;
  max_shared_ = std::max(max_shared_, decree);
  if (decree <= committed_) return Verdict::kKnown;
  if (const auto it = tail_.find(decree); it != tail_.end() && it->second >= ballot)
    return Verdict::kKnown;
  Note(ballot, decree, last_committed);
  return Verdict::kTake;
}

void TakeOverPlanner::Note(Ballot ballot, Decree decree, Decree last_committed) {
  if (decree > committed_) {
    Ballot& held = tail_[decree];
    held = std::max(held, ballot);
  }
  if (last_committed <= committed_) return;
  committed_ = last_committed;
  tail_.erase(tail_.begin(), tail_.upper_bound(committed_));
}

}  // namespace arion
