// SPDX-License-Identifier: Apache-2.0
#include "pacifica/secondary.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace arion {

void Secondary::AnswerPrepare(ReplyToken token, ErrorCode err, const MutationPtr& mutation) {
  PrepareAck ack;
  ack.pid = s_.options.pid;
  ack.err = err;
  ack.ballot = err == ErrorCode::kOk ? mutation->ballot : s_.ballot;
  ack.decree = mutation->decree;
  ack.last_committed_decree_in_app = s_.last_applied;
  ack.last_committed_decree_in_prepare_list = s_.list.last_committed();
  s_.Reply(token, std::move(ack));
}

Secondary::Verdict Secondary::LearnCommitted(Decree committed) {
  // Who lacks one of them may hold others of the end in a version that the group gave up.
  if (s_.list.FirstMissing(committed) <= committed) return Verdict::kLostEntries;
  commit_goal_ = std::max(commit_goal_, committed);
  s_.CommitThrough(commit_goal_);
  return Verdict::kFine;
}

Secondary::Verdict Secondary::Prepare(ReplyToken token, const MutationPtr& mutation) {
  CHECK_EQ(mutation->ballot, s_.ballot);
  const Decree decree = mutation->decree;
  if (LearnCommitted(std::min(mutation->last_committed, decree - 1)) == Verdict::kLostEntries) {
    AnswerPrepare(token, ErrorCode::kInvalidState, mutation);
    return Verdict::kLostEntries;
  }
  if (decree <= s_.list.last_committed()) {
    ++s_.counters.duplicate_prepares;
    AnswerPrepare(token, ErrorCode::kOk, mutation);
    return Verdict::kFine;
  }
  const PrepareList::Entry* entry = s_.list.Find(decree);
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

void Secondary::OnLogged(Decree decree) {
  auto it = waiting_.find(decree);
  if (it != waiting_.end()) {
    // Who waits for another ballot was dropped when it was overwritten, or with the ballot.
    CHECK(s_.list.IsLogged(decree)) << "R4";
    const MutationPtr& mutation = s_.list.Find(decree)->mutation;
    CHECK_EQ(mutation->ballot, it->second.ballot) << "R4";
    CHECK_EQ(mutation->ballot, s_.ballot) << "R4";
    for (ReplyToken token : it->second.tokens) AnswerPrepare(token, ErrorCode::kOk, mutation);
    waiting_.erase(it);
    if (!s_.is_proven) NotePrimaryHolds(decree);
  }
  s_.CommitThrough(commit_goal_);
}

void Secondary::NotePrimaryHolds(Decree prepared) {
  if (s_.role == PartitionStatus::kSecondary && s_.list.last_logged() >= prepared)
    s_.is_proven = true;
}

void Secondary::Check() const {
  if (waiting_.empty()) return;
  CHECK(s_.role == PartitionStatus::kSecondary || s_.role == PartitionStatus::kPotentialSecondary)
      << "R4: a primary waits for no member's answer";
  const auto& [decree, waiting] = *waiting_.begin();
  CHECK(!waiting.tokens.empty());
  CHECK_EQ(waiting.ballot, s_.ballot) << "R4";
  CHECK_GT(decree, s_.list.last_committed()) << "R4: logged, and not answered";
  const PrepareList::Entry* entry = s_.list.Find(decree);
  CHECK(entry != nullptr) << "R4: waits for what is not here";
  CHECK(entry->log == PrepareList::LogState::kPending) << "R4: logged, and not answered";
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
  DropWaiting();
  commit_goal_ = commit_goal;
}

}  // namespace arion
