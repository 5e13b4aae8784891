// SPDX-License-Identifier: Apache-2.0
#include "decrees/prepare_list.h"

#include <utility>

#include "base/log.h"

namespace arion {
namespace {

// Older versions prepare a mutation again without its time.
bool SaysTheSame(const Mutation& a, const Mutation& b) {
  const bool is_time_known = a.timestamp_us != 0 && b.timestamp_us != 0;
  return (!is_time_known || a.timestamp_us == b.timestamp_us) && a.updates == b.updates;
}

}  // namespace

PrepareList::PrepareList(int64_t span_max, Decree committed)
    : span_max_(span_max), first_(committed + 1), committed_(committed), start_(committed) {
  CHECK_GT(span_max, 0);
}

PrepareList::Entry* PrepareList::Slot(Decree decree) {
  // Below first_ it is a large number.
  const auto at = static_cast<size_t>(decree - first_);
  return at < slots_.size() ? &slots_[at] : nullptr;
}

const PrepareList::Entry* PrepareList::Find(Decree decree) const {
  const Entry* entry = const_cast<PrepareList*>(this)->Slot(decree);
  return entry != nullptr && entry->mutation != nullptr ? entry : nullptr;
}

bool PrepareList::IsLogged(Decree decree) const {
  const Entry* entry = Find(decree);
  return entry != nullptr && entry->log == LogState::kLogged;
}

std::optional<Ballot> PrepareList::BallotOf(Decree decree) const {
  if (const Entry* entry = Find(decree)) return entry->mutation->ballot;
  if (decree == start_ && start_ballot_ > Ballot(0)) return start_ballot_;
  return std::nullopt;
}

void PrepareList::MakeRoomFor(Decree decree) {
  while (decree - first_ >= span_max_ && first_ <= committed_) {
    slots_.pop_front();
    first_ = first_ + 1;
  }
}

PrepareList::PutVerdict PrepareList::Put(MutationPtr mutation, LogState log,
                                         uint64_t append_sequence) {
  CHECK(mutation != nullptr);
  const Decree decree = mutation->decree;
  if (decree <= committed_) return PutVerdict::kCommitted;
  // Only a log replayed at start is trusted with more than the span; a new primary prepares all of
  // it again.
  const bool makes_longer = decree > last_prepared();
  if (makes_longer && log == LogState::kPending && decree - committed_ > span_max_)
    return PutVerdict::kTooFar;
  const Entry* old = Find(decree);
  if (old != nullptr && old->mutation->ballot > mutation->ballot) return PutVerdict::kOlderBallot;
  if (old != nullptr && old->mutation->ballot < mutation->ballot &&
      !SaysTheSame(*old->mutation, *mutation))
    OverruleBehind(decree, old->mutation->ballot);
  // The same once more: an older version's shared log and private log both hold it.
  const bool stays_overruled =
      old != nullptr && old->mutation->ballot == mutation->ballot && old->is_overruled;
  MakeRoomFor(decree);
  while (last_prepared() < decree) slots_.emplace_back();
  CHECK(!makes_longer || log == LogState::kLogged || decree - first_ < span_max_)
      << "prepare_list/L3";
  *Slot(decree) = Entry{std::move(mutation), log, append_sequence, stays_overruled};
  return PutVerdict::kStored;
}

void PrepareList::OverruleBehind(Decree decree, Ballot through) {
  for (Decree d = decree + 1; d <= last_prepared(); ++d) {
    Entry* entry = Slot(d);
    if (entry->mutation != nullptr && entry->mutation->ballot <= through)
      entry->is_overruled = true;
  }
}

bool PrepareList::MarkLogged(Decree decree, uint64_t append_sequence) {
  Entry* entry = Slot(decree);
  if (entry == nullptr || entry->mutation == nullptr) return false;
  if (entry->append_sequence != append_sequence || entry->log == LogState::kLogged) return false;
  entry->log = LogState::kLogged;
  return true;
}

std::vector<MutationPtr> PrepareList::CommitThrough(Decree through) {
  std::vector<MutationPtr> committed;
  while (committed_ < through) {
    const Entry* next = Find(committed_ + 1);
    if (next == nullptr || next->log != LogState::kLogged) break;
    if (next->mutation->ballot < committed_ballot_) break;
    CHECK_EQ(next->mutation->decree, committed_ + 1) << "prepare_list/L2: another decree's slot";
    committed_ballot_ = next->mutation->ballot;
    committed_ = committed_ + 1;
    committed.push_back(next->mutation);
  }
  return committed;
}

void PrepareList::Reset(Decree committed, Ballot ballot) {
  slots_.clear();
  first_ = committed + 1;
  committed_ = start_ = committed;
  start_ballot_ = ballot;
  // The entry behind it came from elsewhere; what it was ordered under is not known here.
  committed_ballot_ = Ballot(0);
}

Decree PrepareList::FirstMissing(Decree through) const {
  for (Decree d = committed_ + 1; d <= through; ++d) {
    if (Find(d) == nullptr) return d;
  }
  return through + 1;
}

Decree PrepareList::last_logged() const {
  // Each step asks.
  const auto first = static_cast<size_t>(committed_ + 1 - first_);
  const size_t end = slots_.size();
  size_t next = first;
  while (next < end && slots_[next].log == LogState::kLogged) ++next;
  return committed_ + static_cast<int64_t>(next - first);
}

void PrepareList::Check() const {
  CHECK_LE(committed_, last_prepared());
  CHECK_LE(first_, committed_ + 1) << "an uncommitted decree was let go";
  if (last_prepared() > committed_) {
    CHECK(slots_.back().mutation != nullptr) << "the newest slot is a hole";
  }
  if (first_ <= committed_) {
    CHECK(slots_.front().log == LogState::kLogged) << "prepare_list/L2: the oldest slot is a hole";
    const Entry& last = slots_[static_cast<size_t>(committed_ - first_)];
    CHECK(last.log == LogState::kLogged) << "prepare_list/L2: committed and not logged";
    CHECK_EQ(last.mutation->ballot, committed_ballot_) << "prepare_list/L2";
  }
}

}  // namespace arion
