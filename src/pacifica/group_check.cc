// A round goes out at each interval, and earlier to tell a committed point that no mutation has
// told. Answers are judged one by one: a lost one is asked for again once, and the next one lost,
// or an error, is the verdict.
// SPDX-License-Identifier: Apache-2.0
#include "pacifica/group_check.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "pacifica/learner_sessions.h"
#include "pacifica/primary.h"

namespace arion {
namespace {

// One lost answer may be the network's. The second in a row is the node's.
constexpr int kLostAnswersMax = 1;
// How soon the group is checked again while a member lacks disk space.
constexpr absl::Duration kFullMemberInterval = absl::Seconds(2);

}  // namespace

void GroupCheck::Begin() {
  CHECK(s_.role == PartitionStatus::kPrimary) << "only a primary has a group";
  // What was lost under the former ballot says nothing of this one.
  lost_.clear();
  notice_ = Instant::InfiniteFuture();
  SendAll();
}

void GroupCheck::End() {
  next_ = notice_ = Instant::InfiniteFuture();
  lost_.clear();
}

void GroupCheck::Check() const {
  if (s_.role != PartitionStatus::kPrimary) {
    CHECK(next_ == Instant::InfiniteFuture() && notice_ == Instant::InfiniteFuture());
    CHECK(lost_.empty()) << "answers to no primary";
    return;
  }
  CHECK(next_ < Instant::InfiniteFuture()) << "its group hears of it no more";
}

void GroupCheck::Send(Endpoint to, PartitionStatus role, int64_t signature) {
  CHECK(s_.role == PartitionStatus::kPrimary);
  CHECK(to.IsValid() && to != s_.options.self) << to;
  CHECK_EQ(role == PartitionStatus::kSecondary, signature == 0) << "a session is a learner's";
  SendGroupCheck send;
  send.to = to;
  send.request.app = s_.app;
  send.request.node = to;
  send.request.config = s_.ConfigurationFor(role, signature);
  send.request.last_committed_decree = s_.list.last_committed();
  send.request.config.committed_ballot = s_.list.BallotOf(s_.list.last_committed());
  // Older versions ship up to this decree to another cluster. Nothing is duplicated here.
  send.request.confirmed_decree = -1;
  // Before the roll call is over the primary does not know what its term begins with.
  if (primary_.IsOpen()) send.request.last_prepared_decree = s_.list.last_prepared();
  if (!primary_.IsOpen() && role == PartitionStatus::kSecondary)
    send.request.committed_decree = std::exchange(send.request.last_committed_decree, Decree(0));
  send.timeout = s_.options.rpc_timeout;
  s_.effects.send.push_back(std::move(send));
}

void GroupCheck::SendAll() {
  CHECK_LE(primary_.told_committed(), s_.list.last_committed())
      << "replica_core/P3: more was told than is committed";
  next_ = s_.now + s_.options.group_check_interval;
  notice_ = Instant::InfiniteFuture();
  for (Endpoint node : s_.configuration.secondaries) Send(node, PartitionStatus::kSecondary, 0);
  for (const auto& [node, session] : sessions_.all()) {
    Send(node, PartitionStatus::kPotentialSecondary, session.signature);
  }
  primary_.NoteTold(s_.list.last_committed());
}

// A committed point that no mutation has told. While mutations are under way the next one tells it,
// so only an idle primary has to.
bool GroupCheck::IsUntold() const {
  return s_.list.last_committed() > primary_.told_committed() &&
         s_.list.last_committed() == s_.list.last_prepared() &&
         !s_.configuration.secondaries.empty();
}

void GroupCheck::Watch() {
  CHECK(s_.role == PartitionStatus::kPrimary) << "only a primary has a group";
  if (!IsUntold()) {
    notice_ = Instant::InfiniteFuture();
  } else if (notice_ == Instant::InfiniteFuture()) {
    notice_ = s_.now + s_.options.commit_notice_delay;
  }
}

void GroupCheck::OnTick() {
  if (s_.role != PartitionStatus::kPrimary) return;
  if (next_ <= s_.now || notice_ <= s_.now) SendAll();
}

Instant GroupCheck::NextWakeup() const {
  return s_.role == PartitionStatus::kPrimary ? std::min(next_, notice_)
                                              : Instant::InfiniteFuture();
}

GroupCheck::Verdict GroupCheck::OnAnswer(const GroupCheckAnswered& answer) {
  const LearnerSessions::Session* session = sessions_.Find(answer.from);
  const bool is_secondary = s_.configuration.IsSecondary(answer.from);
  if (s_.role != PartitionStatus::kPrimary || answer.ballot != s_.ballot ||
      (!is_secondary && session == nullptr)) {
    ++s_.counters.stale_messages;
    return Verdict::kFine;
  }
  const Verdict failed = is_secondary ? Verdict::kMemberFailed : Verdict::kLearnerFailed;
  CHECK(!is_secondary || session == nullptr) << "invariants/R6: " << answer.from;
  // Lost: nothing is known of the node. Any other error counts as its answer.
  if (answer.rpc == ErrorCode::kTimeout || answer.rpc == ErrorCode::kNetworkFailure) {
    if (++lost_[answer.from] > kLostAnswersMax) return failed;
    is_secondary ? Send(answer.from, PartitionStatus::kSecondary, 0)
                 : Send(answer.from, PartitionStatus::kPotentialSecondary, session->signature);
    return Verdict::kFine;
  }
  lost_.erase(answer.from);
  if (answer.rpc != ErrorCode::kOk || answer.response.err != ErrorCode::kOk) return failed;
  // Writes are refused while a member lacks space, so its recovery must be noticed soon.
  if (answer.response.disk_status == DiskStatus::kSpaceInsufficient)
    next_ = std::min(next_, s_.now + kFullMemberInterval);
  if (session != nullptr && sessions_.IsIdle(*session, answer.response)) return failed;
  const bool succeeded = session != nullptr &&
                         answer.response.learner_status == LearnerStatus::kSucceeded &&
                         answer.response.learner_signature == session->signature;
  return succeeded ? Verdict::kLearnerSucceeded : Verdict::kFine;
}

}  // namespace arion
