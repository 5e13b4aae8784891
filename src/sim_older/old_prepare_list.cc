// SPDX-License-Identifier: Apache-2.0
#include "sim_older/old_prepare_list.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace arion::sim {

OldPrepareList::Entry* OldPrepareList::Find(Decree decree) {
  const auto it = entries_.find(decree);
  return it == entries_.end() ? nullptr : &it->second;
}

OldPrepareList::Fault OldPrepareList::Put(Entry entry) {
  const Decree decree = entry.mutation->decree;
  // Only what is committed may make room: the rest is still needed.
  while (!entries_.empty() && decree - min() >= span_max_ && min() < committed_)
    entries_.erase(entries_.begin());
  if (!entries_.empty() && decree - min() >= span_max_)
    return absl::StrCat("decree ", decree.value(), " is beyond a list that begins at ",
                        min().value());
  const Entry* old = Find(decree);
  if (old != nullptr && old->mutation->ballot > entry.mutation->ballot)
    return absl::StrCat("decree ", decree.value(), " of ballot ", entry.mutation->ballot.value(),
                        " is there under ", old->mutation->ballot.value());
  // So that CommitHard waits for the new version to be logged, and calls it no fault.
  entry.was_logged = old != nullptr && (old->is_logged || old->was_logged);
  entries_[decree] = std::move(entry);
  return std::nullopt;
}

// Ballots of committed mutations never fall.
bool OldPrepareList::MayCommit(const Entry* entry) const {
  return entry != nullptr && entry->is_logged && entry->mutation->ballot >= committed_ballot_;
}

void OldPrepareList::Commit(Entry& entry, Apply apply) {
  committed_ = entry.mutation->decree;
  committed_ballot_ = entry.mutation->ballot;
  apply(entry);
}

OldPrepareList::Fault OldPrepareList::CommitHard(Decree through, Apply apply) {
  while (committed_ < through) {
    Entry* next = Find(committed_ + 1);
    if (next != nullptr && !next->is_logged && next->was_logged) return std::nullopt;
    if (!MayCommit(next))
      return absl::StrCat("decree ", committed_.value() + 1, " is committed, through ",
                          through.value(),
                          next == nullptr    ? ", and not here"
                          : !next->is_logged ? ", and not logged here"
                                             : ", and of a smaller ballot than the one before");
    Commit(*next, apply);
  }
  return std::nullopt;
}

void OldPrepareList::CommitSoft(Decree through, Apply apply) {
  while (committed_ < through) {
    Entry* next = Find(committed_ + 1);
    if (!MayCommit(next)) return;
    Commit(*next, apply);
  }
}

void OldPrepareList::CommitReady(Apply apply) {
  for (Entry* next = Find(committed_ + 1); next != nullptr && next->IsReady() && MayCommit(next);
       next = Find(committed_ + 1))
    Commit(*next, apply);
}

void OldPrepareList::Truncate(Decree decree) {
  // What is behind stays, as prepared and not committed.
  entries_.erase(entries_.begin(), entries_.upper_bound(decree));
  committed_ = decree;
}

void OldPrepareList::Reset(Decree decree) {
  entries_.clear();
  committed_ = decree;
  // What follows begins another history, whose ballots may be smaller.
  committed_ballot_ = Ballot(0);
}

}  // namespace arion::sim
