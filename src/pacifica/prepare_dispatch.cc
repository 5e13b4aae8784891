// Each prepare to each receiver is one entry until there is a verdict on it. Within its deadline it
// is sent again after a refusal that passes and after a broken connection, and as a probe when the
// receiver's oldest one stays unanswered.
// SPDX-License-Identifier: Apache-2.0
#include "pacifica/prepare_dispatch.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"

namespace arion {
namespace {

// A connection may break once by itself. The second time its receiver has failed.
constexpr int kBrokenConnectionsMax = 1;
// In units of prepare_retry_delay: a new connection to a process that has ended is refused at once.
constexpr int kReconnectDelayFactor = 2;
// Into how many parts an attempt is cut: so often it is looked whether a later prepare has become
// the oldest.
constexpr int kLooksAnAttempt = 4;

}  // namespace

void PrepareDispatch::Send(Endpoint to, int64_t signature, MutationPtr mutation) {
  CHECK(mutation != nullptr);
  CHECK(s_.role == PartitionStatus::kPrimary);
  CHECK(to.IsValid() && to != s_.options.self) << to;
  CHECK_EQ(mutation->ballot, s_.ballot) << "sent under a ballot that is not ours";
  CHECK_LE(mutation->decree, s_.list.last_prepared() + 1) << "a decree is skipped";
  const absl::Duration timeout =
      signature == 0 ? s_.options.prepare_timeout : s_.options.learner_prepare_timeout;
  const uint64_t serial = s_.next_serial++;
  Outgoing& outgoing = outgoing_[serial];
  outgoing = {.to = to,
              .signature = signature,
              .mutation = std::move(mutation),
              .deadline = s_.now + timeout,
              .sent_at = s_.now};
  SendNow(serial, outgoing);
}

void PrepareDispatch::SendNow(uint64_t serial, Outgoing& outgoing) {
  CHECK_EQ(outgoing.mutation->ballot, s_.ballot) << "replica_core/P4: sent after its term";
  outgoing.retry_at = Instant::InfiniteFuture();
  // A probe at or behind the deadline would come too late to be answered.
  const Instant probe_at = s_.now + s_.options.prepare_attempt_timeout;
  outgoing.probe_at = probe_at < outgoing.deadline ? probe_at : Instant::InfiniteFuture();
  const PartitionStatus receiver =
      outgoing.signature == 0 ? PartitionStatus::kSecondary : PartitionStatus::kPotentialSecondary;
  SendPrepare send;
  send.to = outgoing.to;
  send.serial = serial;
  send.request.pid = s_.options.pid;
  send.request.config = s_.ConfigurationFor(receiver, outgoing.signature);
  send.request.config.committed_ballot = s_.list.BallotOf(outgoing.mutation->last_committed);
  send.request.mutation = outgoing.mutation;
  send.timeout = outgoing.deadline - s_.now;
  s_.effects.send.push_back(std::move(send));
}

void PrepareDispatch::SendAgain(uint64_t serial, Outgoing& outgoing) {
  ++s_.counters.prepares_resent;
  SendNow(serial, outgoing);
}

PrepareDispatch::Verdict PrepareDispatch::Finish(uint64_t serial, Outcome outcome) {
  auto it = outgoing_.find(serial);
  CHECK(it != outgoing_.end()) << "a second verdict";
  Verdict verdict{outcome, it->second.to, it->second.mutation->decree};
  if (outcome != Outcome::kPending) outgoing_.erase(it);
  return verdict;
}

PrepareDispatch::Verdict PrepareDispatch::OnAnswer(const PrepareAcked& answer) {
  CHECK(s_.role == PartitionStatus::kPrimary) << "only a primary waits for answers";
  auto it = outgoing_.find(answer.serial);
  if (it == outgoing_.end() || it->second.to != answer.from) return {};
  Outgoing& outgoing = it->second;
  const ErrorCode err = answer.rpc != ErrorCode::kOk ? answer.rpc : answer.ack.err;
  absl::Duration delay;
  switch (err) {
    case ErrorCode::kOk:
      // It acknowledges something else: whatever it has, it is not what was asked for.
      if (answer.ack.ballot != outgoing.mutation->ballot ||
          answer.ack.decree != outgoing.mutation->decree) {
        ++s_.counters.odd_messages;
        return Finish(answer.serial, Outcome::kFailed);
      }
      return Finish(answer.serial, Outcome::kAcked);
    case ErrorCode::kInactiveState:
      // After a broken connection a new process answers. It has not loaded its replica, or not
      // heard of its role, and may need seconds for it: writes do not wait for that.
      if (outgoing.broken_connections > 0) return Finish(answer.serial, Outcome::kFailed);
      [[fallthrough]];
    case ErrorCode::kTryAgain:
      delay = s_.options.prepare_retry_delay;
      break;
    case ErrorCode::kTimeout:
      // Each sending has the time that is left, so the whole time is over.
      return Finish(answer.serial, Outcome::kTimedOut);
    case ErrorCode::kNetworkFailure:
      // The second of two sendings over one connection: it broke once, and that was counted.
      if (outgoing.retry_at < Instant::InfiniteFuture())
        return Finish(answer.serial, Outcome::kPending);
      if (++outgoing.broken_connections > kBrokenConnectionsMax)
        return Finish(answer.serial, Outcome::kFailed);
      delay = s_.options.prepare_retry_delay * kReconnectDelayFactor;
      break;
    default:
      return Finish(answer.serial, Outcome::kFailed);
  }
  if (s_.now + delay >= outgoing.deadline) return Finish(answer.serial, Outcome::kFailed);
  outgoing.retry_at = s_.now + delay;
  outgoing.probe_at = Instant::InfiniteFuture();
  return Finish(answer.serial, Outcome::kPending);
}

void PrepareDispatch::OnTick() {
  // In the order of serials, so the first one seen of each receiver is its oldest.
  std::set<Endpoint> seen;
  for (auto& [serial, outgoing] : outgoing_) {
    const bool is_oldest = seen.insert(outgoing.to).second;
    if (outgoing.retry_at <= s_.now) {
      SendAgain(serial, outgoing);
    } else if (outgoing.probe_at <= s_.now) {
      if (is_oldest)
        SendAgain(serial, outgoing);
      else
        outgoing.probe_at = s_.now + s_.options.prepare_attempt_timeout / kLooksAnAttempt;
    }
  }
}

Instant PrepareDispatch::NextWakeup() const {
  Instant next = Instant::InfiniteFuture();
  for (const auto& [serial, outgoing] : outgoing_)
    next = std::min({next, outgoing.retry_at, outgoing.probe_at});
  return next;
}

bool PrepareDispatch::IsSilent(Endpoint node) const {
  const auto oldest = std::find_if(outgoing_.begin(), outgoing_.end(),
                                   [node](const auto& entry) { return entry.second.to == node; });
  return oldest != outgoing_.end() &&
         s_.now - oldest->second.sent_at >= oldest->second.deadline - s_.now;
}

void PrepareDispatch::Check() const {
  if (outgoing_.empty()) return;
  CHECK(s_.role == PartitionStatus::kPrimary) << "sent by no primary";
  CHECK_LT(outgoing_.rbegin()->first, s_.next_serial) << "a serial that was not given out";
  const Outgoing& oldest = outgoing_.begin()->second;
  CHECK(oldest.sent_at <= s_.now) << "sent in the future";
  CHECK(oldest.sent_at < oldest.deadline) << "sent without time for an answer";
}

void PrepareDispatch::ForgetNode(Endpoint node) {
  std::erase_if(outgoing_, [node](const auto& entry) { return entry.second.to == node; });
}

}  // namespace arion
