// Every member is awaited until it has answered well, or the time for it is over. What has to
// follow from an answer is a verdict; GroupAnswers carries it out.
// SPDX-License-Identifier: Apache-2.0
#include "pacifica/roll_call.h"

#include <algorithm>
#include <tuple>

#include "base/log.h"
#include "decrees/possible.h"

namespace arion {
namespace {

// A member that is loading or restarting answers nothing. It is asked less and less often, twice as
// late each time.
constexpr absl::Duration kFirstDelay = absl::Milliseconds(20);
constexpr absl::Duration kLongestDelay = absl::Milliseconds(500);
// In prepare timeouts. A primary that may hold less waits longer: a restarted member may hold more.
constexpr int kUnprovenPatience = 2;

}  // namespace

void RollCall::Begin(Start start) {
  CHECK(s_.role == PartitionStatus::kPrimary);
  CHECK_EQ(s_.configuration.ballot, s_.ballot)
      << "invariants/R16: another ballot's members are asked";
  if (start == Start::kAnew || !has_begun_) {
    awaited_.clear();
    for (Endpoint node : s_.configuration.secondaries) awaited_[node] = {};
    deadline_ = s_.now + Patience();
  } else {
    std::erase_if(awaited_,
                  [this](const auto& entry) { return !s_.configuration.IsSecondary(entry.first); });
  }
  // The first question is the group check that each configuration begins with.
  for (auto& [node, asked] : awaited_) asked = {s_.now + kFirstDelay, kFirstDelay, {}};
  has_begun_ = true;
}

void RollCall::End() {
  has_begun_ = false;
  awaited_.clear();
}

absl::Duration RollCall::Patience() const {
  return s_.options.prepare_timeout * (s_.is_proven ? 1 : kUnprovenPatience);
}

void RollCall::Excuse(Endpoint node) {
  CHECK(s_.role == PartitionStatus::kPrimary) << "only a primary waits for members";
  if (s_.is_proven)
    awaited_.erase(node);
  else
    deadline_ = s_.now + Patience();
}

// What is committed here is what everybody has under that decree, so it does not count. Behind
// that, the last mutations are compared by ballot and decree, as the meta server compares them when
// it chooses a primary. If one of the two cannot tell its ballot (0), the decrees alone are
// compared.
bool RollCall::HoldsMore(const GroupCheckResponse& answer) const {
  const Decree prepared =
      answer.last_prepared_decree.value_or(answer.last_committed_decree_in_prepare_list);
  if (prepared <= s_.list.last_committed()) return false;
  const Ballot theirs = answer.last_mutation_ballot.value_or(Ballot(0));
  const Ballot ours = s_.last_mutation_ballot;
  if (theirs <= Ballot(0) || ours <= Ballot(0)) return prepared > s_.list.last_prepared();
  return std::tuple(theirs, prepared) > std::tuple(ours, s_.list.last_prepared());
}

// An earlier primary may have prepared again, for some of its members, what is committed here. Who
// got a part of that holds a decree under a smaller ballot than the one before, and can't commit
// it.
bool RollCall::MayHoldLaterVersions(const GroupCheckResponse& answer) const {
  const Decree first = answer.last_committed_decree_in_prepare_list + 1;
  if (first > s_.list.last_committed()) return false;
  if (!answer.last_mutation_ballot) return true;
  std::optional<Ballot> ours = s_.list.BallotOf(first);
  if (!ours) ours = s_.list.BallotOf(s_.list.last_committed());
  return ours && *answer.last_mutation_ballot > *ours;
}

RollCall::Verdict RollCall::OnAnswer(Endpoint from, const GroupCheckResponse& answer) {
  CHECK(s_.role == PartitionStatus::kPrimary) << "only a primary hears its members";
  const bool is_answer = answer.pid == s_.options.pid && answer.err == ErrorCode::kOk;
  if (!awaited_.contains(from) || !is_answer) return Verdict::kFine;
  const Decree committed = answer.last_committed_decree_in_prepare_list;
  if (!IsPossible(committed) ||
      (answer.last_prepared_decree && !IsPossible(*answer.last_prepared_decree))) {
    ++s_.counters.odd_messages;
    return Verdict::kFine;
  }
  // The group has committed what this replica never held: its disk lost it.
  if (committed > s_.list.last_prepared()) return Verdict::kProvesMore;
  if (!s_.is_proven && HoldsMore(answer)) return Verdict::kHoldsMore;
  std::set<Decree>& lacks = awaited_.at(from).lacks;
  if (!lacks.empty()) return Verdict::kFine;
  if (MayHoldLaterVersions(answer)) {
    if (s_.list.Find(committed + 1) == nullptr) return Verdict::kIsFarBehind;
    for (Decree d = committed + 1; d <= s_.list.last_committed(); ++d) lacks.insert(d);
    return Verdict::kIsBehind;
  }
  awaited_.erase(from);
  return Verdict::kFine;
}

void RollCall::OnPreparedAgain(Endpoint node, Decree decree) {
  const auto it = awaited_.find(node);
  if (it != awaited_.end() && it->second.lacks.erase(decree) > 0 && it->second.lacks.empty())
    awaited_.erase(it);
}

std::vector<Endpoint> RollCall::TakeDue() {
  CHECK(s_.role == PartitionStatus::kPrimary) << "only a primary asks its members";
  std::vector<Endpoint> due;
  for (auto& [node, asked] : awaited_) {
    if (asked.again_at > s_.now) continue;
    asked.delay = std::min(2 * asked.delay, kLongestDelay);
    asked.again_at = s_.now + asked.delay;
    due.push_back(node);
  }
  return due;
}

std::optional<Endpoint> RollCall::Overdue() const {
  if (awaited_.empty() || s_.now < deadline_) return std::nullopt;
  return awaited_.begin()->first;
}

Instant RollCall::NextWakeup() const {
  Instant next = Instant::InfiniteFuture();
  if (awaited_.empty() || s_.role != PartitionStatus::kPrimary) return next;
  for (const auto& [node, asked] : awaited_) next = std::min(next, asked.again_at);
  return std::min(next, deadline_);
}

void RollCall::Check() const {
  CHECK(has_begun_ || awaited_.empty()) << "invariants/R16: awaited, and never asked";
  if (s_.role != PartitionStatus::kPrimary) return;
  for (const auto& [node, asked] : awaited_) {
    CHECK(s_.configuration.IsSecondary(node)) << "invariants/R16: " << node << " has left";
    CHECK(asked.delay <= kLongestDelay) << node << " would hardly be asked again";
  }
}

}  // namespace arion
