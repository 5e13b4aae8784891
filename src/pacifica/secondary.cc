// A prepare is appended to the own log at once, and answered when the log has it: until then its
// token waits under its decree. What the primary calls committed is the goal; how far the list
// commits towards it depends on what is logged.
// SPDX-License-Identifier: Apache-2.0
#include "pacifica/secondary.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace arion {

void Secondary::AnswerPrepare(ReplyToken token, ErrorCode err, const MutationPtr& mutation) {
  CHECK(mutation != nullptr);
  CHECK(err != ErrorCode::kOk || mutation->ballot <= s_.ballot)
      << "replica_core/P4: acknowledged under a ballot that is not adopted";
  PrepareAck ack;
  ack.pid = s_.options.pid;
  ack.err = err;
  ack.ballot = err == ErrorCode::kOk ? mutation->ballot : s_.ballot;
  ack.decree = mutation->decree;
  ack.last_committed_decree_in_app = s_.last_applied;
  ack.last_committed_decree_in_prepare_list = s_.list.last_committed();
  s_.Reply(token, std::move(ack));
}

// Whether this replica holds a version, of a decree up to `committed`, that is older than the
// committed one. A member that was there has logged the committed version, or one that was prepared
// again since. The same is true of everything that a mutation's primary did not know to be
// committed when it started that mutation: it prepared all of that under the mutation's own ballot.
bool Secondary::IsGivenUp(Decree committed, Ballot committed_ballot) const {
  Ballot least = committed_ballot;
  for (Decree d = committed; d > s_.list.last_committed(); d = d - 1) {
    const PrepareList::Entry* entry = s_.list.Find(d);
    CHECK(entry != nullptr) << "what is missing is not compared";
    const Mutation& held = *entry->mutation;
    if (held.ballot < least) return true;
    least = held.last_committed < d - 1 ? held.ballot : Ballot(0);
  }
  return false;
}

Secondary::Verdict Secondary::LearnCommitted(Decree committed,
                                             std::optional<Ballot> committed_ballot) {
  CHECK_GE(committed, Decree(0)) << "an impossible number was let in";
  // If one of them is missing, others behind it may be here in a version that the group gave up.
  if (s_.list.FirstMissing(committed) <= committed) return Verdict::kLostEntries;
  const bool is_unproven = s_.role == PartitionStatus::kSecondary && !s_.is_proven;
  if (is_unproven && IsGivenUp(committed, committed_ballot.value_or(Ballot(0))))
    return Verdict::kLostEntries;
  // The goal may lie behind what is logged: each Logged commits on towards it.
  commit_goal_ = std::max(commit_goal_, committed);
  s_.CommitThrough(commit_goal_);
  return Verdict::kFine;
}

Secondary::Verdict Secondary::Prepare(ReplyToken token, const PrepareRequest& request) {
  const MutationPtr& mutation = request.mutation;
  CHECK(mutation != nullptr);
  CHECK(s_.role == PartitionStatus::kSecondary || s_.role == PartitionStatus::kPotentialSecondary)
      << "invariants/R4: a prepare to no member";
  CHECK_EQ(mutation->ballot, s_.ballot);
  const Decree decree = mutation->decree;
  if (LearnCommitted(mutation->last_committed, request.config.committed_ballot) ==
      Verdict::kLostEntries) {
    AnswerPrepare(token, ErrorCode::kInvalidState, mutation);
    return Verdict::kLostEntries;
  }
  const PrepareList::Entry* entry = s_.list.Find(decree);
  if (decree <= s_.list.last_committed()) {
    ++s_.counters.duplicate_prepares;
    // The same mutation, prepared again under a larger ballot. The log must tell that ballot, as
    // the others' do: whoever chooses a primary compares them.
    if (entry != nullptr && entry->mutation->ballot < mutation->ballot) s_.Log(mutation);
    AnswerPrepare(token, ErrorCode::kOk, mutation);
    return Verdict::kFine;
  }
  if (entry != nullptr && entry->mutation->ballot == mutation->ballot) {
    ++s_.counters.duplicate_prepares;
    if (entry->log == PrepareList::LogState::kLogged) {
      AnswerPrepare(token, ErrorCode::kOk, mutation);
    } else {
      Waiting& waiting = waiting_[decree];
      waiting.ballot = mutation->ballot;
      waiting.tokens.push_back(token);
    }
    return Verdict::kFine;
  }
  // Whoever asked for an older version no longer waits: its ballot is over.
  Drop(decree);
  switch (s_.Append(mutation)) {
    case PrepareList::PutVerdict::kStored:
      waiting_[decree] = {mutation->ballot, {token}};
      break;
    default:
      ++s_.counters.odd_messages;
      AnswerPrepare(token, ErrorCode::kCapacityExceeded, mutation);
  }
  return Verdict::kFine;
}

void Secondary::TakeTail(const ParentTail& tail) {
  // A configuration names it by now, or what its parent said is of an attempt that is over.
  if (s_.role != PartitionStatus::kInactive || s_.ballot != tail.ballot) return;
  for (const MutationPtr& m : tail.mutations) {
    if (m->decree <= s_.list.last_prepared()) continue;
    if (m->decree != s_.list.last_prepared() + 1) break;
    if (s_.Append(m) != PrepareList::PutVerdict::kStored) break;
  }
  if (tail.mutations.empty()) return;
  LearnCommitted(std::min(tail.mutations.back()->decree, s_.list.last_prepared()), std::nullopt);
}

void Secondary::OnLogged(Decree decree) {
  CHECK(s_.role != PartitionStatus::kPrimary) << "a primary counts its own votes";
  auto it = waiting_.find(decree);
  const bool is_asked = it != waiting_.end();
  if (is_asked) {
    // Requests of another ballot were dropped when the entry was overwritten, or when the ballot
    // changed.
    CHECK(s_.list.IsLogged(decree)) << "invariants/R4";
    const MutationPtr& mutation = s_.list.Find(decree)->mutation;
    CHECK_EQ(mutation->ballot, it->second.ballot) << "invariants/R4";
    CHECK_EQ(mutation->ballot, s_.ballot) << "invariants/R4";
    for (ReplyToken token : it->second.tokens) AnswerPrepare(token, ErrorCode::kOk, mutation);
    waiting_.erase(it);
  }
  s_.CommitThrough(commit_goal_);
  if (is_asked && !s_.is_proven) NotePrimaryHolds(decree);
}

void Secondary::NotePrimaryHolds(Decree prepared) {
  if (s_.role != PartitionStatus::kSecondary || s_.list.last_logged() < prepared) return;
  // The primary has prepared everything that is not committed under its own ballot. An older
  // version here is not the one that the primary holds.
  for (Decree d = s_.list.last_committed() + 1; d <= prepared; ++d)
    if (s_.list.Find(d)->mutation->ballot != s_.ballot) return;
  s_.is_proven = true;
}

void Secondary::Check() const {
  if (waiting_.empty()) return;
  CHECK(s_.role == PartitionStatus::kSecondary || s_.role == PartitionStatus::kPotentialSecondary)
      << "invariants/R4: a primary waits for no member's answer";
  const auto& [decree, waiting] = *waiting_.begin();
  CHECK(!waiting.tokens.empty());
  CHECK_EQ(waiting.ballot, s_.ballot) << "invariants/R4";
  CHECK_GT(decree, s_.list.last_committed()) << "invariants/R4: logged, and not answered";
  const PrepareList::Entry* entry = s_.list.Find(decree);
  CHECK(entry != nullptr) << "invariants/R4: waits for what is not here";
  CHECK(entry->log == PrepareList::LogState::kPending) << "invariants/R4: logged, and not answered";
}

void Secondary::Drop(Decree decree) {
  auto it = waiting_.find(decree);
  if (it == waiting_.end()) return;
  for (ReplyToken token : it->second.tokens) s_.effects.dropped.push_back(token);
  waiting_.erase(it);
}

void Secondary::DropWaiting() {
  while (!waiting_.empty()) Drop(waiting_.begin()->first);
}

void Secondary::Restart(Decree commit_goal) {
  CHECK_GE(commit_goal, Decree(0));
  DropWaiting();
  commit_goal_ = commit_goal;
}

}  // namespace arion
