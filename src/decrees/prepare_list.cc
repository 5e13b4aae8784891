// SPDX-License-Identifier: Apache-2.0
#include "decrees/prepare_list.h"

#include <utility>

#include "base/log.h"

namespace arion {
namespace {

// Whether two versions of a decree are one mutation. Older versions prepare a mutation again
// without its time.
bool SaysTheSame(const Mutation& a, const Mutation& b) {
  const bool is_time_known = a.timestamp_us != 0 && b.timestamp_us != 0;
  return (!is_time_known || a.timestamp_us == b.timestamp_us) && a.updates == b.updates;
}

}  // namespace

PrepareList::PrepareList(int64_t span_max, Decree committed)
    : span_max_(span_max), first_(committed + 1), committed_(committed), start_(committed) {
  CHECK_GT(span_max, 0);
  CHECK_GE(committed, Decree(0));
}

PrepareList::Entry* PrepareList::Slot(Decree decree) {
  // Below first_ the difference is negative, and as a size_t larger than any list.
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
    CHECK(!slots_.empty()) << "prepare_list/L2: a committed decree without a slot";
    slots_.pop_front();
    first_ = first_ + 1;
  }
}

PrepareList::PutVerdict PrepareList::Put(MutationPtr mutation, LogState log,
                                         uint64_t append_sequence) {
  CHECK(mutation != nullptr);
  const Decree decree = mutation->decree;
  if (decree <= committed_) return PutVerdict::kCommitted;
  // Only a log that is replayed at start may exceed the span: all of it may have been acknowledged,
  // and a new primary prepares it again.
  const bool makes_longer = decree > last_prepared();
  if (makes_longer && log == LogState::kPending && decree - committed_ > span_max_)
    return PutVerdict::kTooFar;
  const Entry* old = Find(decree);
  if (old != nullptr && old->mutation->ballot > mutation->ballot) return PutVerdict::kOlderBallot;
  if (old != nullptr && old->mutation->ballot < mutation->ballot &&
      !SaysTheSame(*old->mutation, *mutation))
    OverruleBehind(decree, old->mutation->ballot);
  // The same version once more: the shared log and the private log of an older version both hold
  // it.
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
  CHECK_GT(decree, committed_) << "prepare_list/L4: what is committed cannot be overruled";
  for (Decree d = decree + 1; d <= last_prepared(); ++d) {
    Entry* entry = Slot(d);
    if (entry->mutation != nullptr && entry->mutation->ballot <= through)
      entry->is_overruled = true;
  }
}

bool PrepareList::MarkLogged(Decree decree, uint64_t append_sequence) {
  Entry* entry = Slot(decree);
  if (entry == nullptr || entry->mutation == nullptr) return false;
  // An append that was overtaken by another of the same decree makes nothing durable that the list
  // still holds.
  if (entry->append_sequence != append_sequence || entry->log == LogState::kLogged) return false;
  entry->log = LogState::kLogged;
  return true;
}

std::vector<MutationPtr> PrepareList::CommitThrough(Decree through) {
  std::vector<MutationPtr> committed;
  while (committed_ < through) {
    const Entry* next = Find(committed_ + 1);
    if (next == nullptr || next->log != LogState::kLogged) break;
    // A smaller ballot behind a larger one is what a former primary prepared and the present one
    // gave up. The version that counts is still to come.
    if (next->mutation->ballot < committed_ballot_) break;
    CHECK_EQ(next->mutation->decree, committed_ + 1) << "prepare_list/L2: another decree's slot";
    committed_ballot_ = next->mutation->ballot;
    committed_ = committed_ + 1;
    committed.push_back(next->mutation);
  }
  return committed;
}

void PrepareList::Reset(Decree committed, Ballot ballot) {
  CHECK_GE(committed, Decree(0));
  slots_.clear();
  first_ = committed + 1;
  committed_ = start_ = committed;
  start_ballot_ = ballot;
  // What follows comes from elsewhere, and under which ballots that was ordered is not known here.
  committed_ballot_ = Ballot(0);
}

Decree PrepareList::FirstMissing(Decree through) const {
  for (Decree d = committed_ + 1; d <= through; ++d) {
    if (Find(d) == nullptr) return d;
  }
  return through + 1;
}

Decree PrepareList::last_logged() const {
  // Each step asks, so this looks at the slots directly.
  const auto first = static_cast<size_t>(committed_ + 1 - first_);
  const size_t end = slots_.size();
  size_t next = first;
  while (next < end && slots_[next].log == LogState::kLogged) ++next;
  return committed_ + static_cast<int64_t>(next - first);
}

void PrepareList::Check() const {
  CHECK_LE(committed_, last_prepared());
  CHECK_GE(committed_, start_) << "prepare_list/L2: a committed decree was given up";
  CHECK_GE(first_, Decree(1)) << "decrees begin at 1";
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
