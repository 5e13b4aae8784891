// A client's write joins the last draft of the queue, or begins one. A draft becomes a mutation
// when it may leave (StartQueued), and is then sent to everybody and appended to the own log in one
// step (Propose). A decree commits when the own log and all that it awaits have it, in order
// (TryCommit). Clients hear of it when the engine has applied it (OnApplied).
// SPDX-License-Identifier: Apache-2.0
#include "pacifica/primary.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/log.h"
#include "pacifica/invariants.h"
#include "pacifica/learner_sessions.h"
#include "pacifica/reconciliation.h"

namespace arion {
namespace {

// In bytes: a mutation that has gathered this much goes, even if others are under way.
constexpr size_t kGatheredBytes = 64 << 10;
// So many times as many requests as are under way: the mutation is worth more than they are.
constexpr size_t kGatheredFactor = 2;
// So few requests are not worth gathering.
constexpr size_t kWritersSideBySide = 2;
// Members are near while a commit takes no longer than this many writes of the own log.
constexpr int64_t kLogWritesNearby = 8;
// A log write counts as at least this long: on a fast disk the network would always be far.
constexpr int64_t kLogWriteNanosMin = 50'000;

// Makes `typical` follow what happens: an average that forgets.
void Follow(int64_t nanos, int64_t* typical) { *typical += (nanos - *typical) / 8; }

}  // namespace

ErrorCode Primary::WriteGate() const {
  if (s_.role != PartitionStatus::kPrimary) return ErrorCode::kInvalidState;
  if (static_cast<int32_t>(s_.configuration.MemberCount()) < s_.MembersMin())
    return ErrorCode::kNotEnoughMember;
  if (queued_bytes_ >= s_.options.queued_bytes_max) return ErrorCode::kBusy;
  return ErrorCode::kOk;
}

bool Primary::MayJoinLast(const ClientWrite& write) const {
  return !queue_.empty() && queue_.back().joining == Draft::Joining::kOpen &&
         IsBatchable(write.updates.front().code);
}

void Primary::Write(const ClientWrite& write) {
  if (const ErrorCode err = WriteGate(); err != ErrorCode::kOk) {
    Answer({write.token}, err, kInvalidDecree);
    return;
  }
  CHECK(s_.role == PartitionStatus::kPrimary);
  CHECK(!write.updates.empty()) << "a write without an update";
  if (!MayJoinLast(write)) {
    queue_.emplace_back();
    if (IsBatchable(write.updates.front().code)) queue_.back().joining = Draft::Joining::kOpen;
  }
  Draft& draft = queue_.back();
  draft.clients.push_back(write.token);
  size_t bytes = 0;
  for (const Update& update : write.updates) {
    bytes += update.data.size();
    draft.updates.push_back(update);
  }
  draft.bytes += bytes;
  draft.received_at_us = std::max(draft.received_at_us, write.received_at_us);
  if (draft.bytes >= s_.options.mutation_bytes_max) draft.joining = Draft::Joining::kClosed;
  queued_bytes_ += bytes;
  StartQueued();
}

bool Primary::MayGrow() const {
  return queue_.size() == 1 && queue_.front().joining == Draft::Joining::kOpen;
}

// With many writers, a mutation that leaves as soon as the log is free holds one or two updates,
// and each mutation costs every member a log write, a flush and a message. So the next one waits
// for those under way until it is worth more than they are. Two writers by turns do not wait for
// each other. The waiting mutation would commit behind those under way anyway, so waiting costs one
// way to the other members; where these are far, it is not done.
bool Primary::IsWorthWaiting() const {
  CHECK(!queue_.empty()) << "nothing waits";
  const Draft& draft = queue_.front();
  if (draft.bytes >= kGatheredBytes) return false;
  size_t under_way = 0;
  for (auto it = proposals_.upper_bound(s_.list.last_committed()); it != proposals_.end(); ++it)
    under_way += it->second.clients.size();
  const size_t waiting = draft.clients.size();
  if (under_way + waiting <= kWritersSideBySide || waiting >= kGatheredFactor * under_way)
    return false;
  return commit_nanos_ <= kLogWritesNearby * std::max(log_nanos_, kLogWriteNanosMin);
}

void Primary::OnLogged(Decree decree) {
  CHECK(s_.role == PartitionStatus::kPrimary);
  if (!is_open_) return;
  const auto it = proposals_.find(decree);
  CHECK(it != proposals_.end()) << "invariants/R2: nobody counts the votes of " << decree;
  Follow(s_.now.nanos() - it->second.sent_at.nanos(), &log_nanos_);
  TryCommit();
}

void Primary::StartQueued() {
  CHECK(s_.role == PartitionStatus::kPrimary);
  if (!is_open_) return;
  while (!queue_.empty()) {
    if (s_.list.last_prepared() - s_.list.last_committed() >= s_.options.mutations_in_flight_max)
      return;
    // A draft that may still grow waits only while something is under way, whose end comes back
    // here.
    if (MayGrow() && (s_.LogIsBusy() || IsWorthWaiting())) return;
    if (static_cast<int32_t>(s_.configuration.MemberCount()) < s_.MembersMin()) {
      RefuseQueued(ErrorCode::kNotEnoughMember);
      return;
    }
    CHECK(!queue_.front().clients.empty());
    CHECK(!queue_.front().updates.empty()) << "a mutation without an update";
    CHECK_GE(queued_bytes_, queue_.front().bytes);
    Draft draft = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= draft.bytes;
    ++s_.counters.mutations_started;
    s_.counters.client_updates_started += static_cast<int64_t>(draft.updates.size());
    std::vector<ClientToken> clients = std::move(draft.clients);
    Propose(Order(std::move(draft)), std::move(clients));
  }
}

MutationPtr Primary::Order(Draft draft) {
  Mutation m;
  m.pid = s_.options.pid;
  m.ballot = s_.ballot;
  m.decree = s_.list.last_prepared() + 1;
  m.last_committed = s_.list.last_committed();
  // Timestamps rise from mutation to mutation, even if the wall clock was set back.
  m.timestamp_us = std::max(draft.received_at_us, s_.last_timestamp_us + 1);
  m.updates = std::move(draft.updates);
  return std::make_shared<const Mutation>(std::move(m));
}

void Primary::Propose(MutationPtr mutation, std::vector<ClientToken> clients) {
  CHECK(is_open_) << "replica_core/P7";
  CHECK_EQ(mutation->pid, s_.options.pid);
  CHECK_LE(mutation->decree, s_.list.last_prepared() + 1) << "invariants/R2: a decree is skipped";
  CHECK_EQ(mutation->ballot, s_.ballot);
  CHECK_GT(mutation->decree, s_.list.last_committed());
  Proposal& proposal = proposals_[mutation->decree];
  proposal.clients = std::move(clients);
  SendToAll(mutation, proposal);
  told_committed_ = std::max(told_committed_, mutation->last_committed);
  last_start_ = s_.now;
  const PrepareList::PutVerdict verdict = s_.Append(std::move(mutation));
  CHECK(verdict == PrepareList::PutVerdict::kStored) << "a primary's own mutation finds its place";
}

void Primary::SendToAll(const MutationPtr& mutation, Proposal& proposal) {
  CHECK(s_.role == PartitionStatus::kPrimary);
  proposal.sent_at = s_.now;
  proposal.awaiting.clear();
  for (Endpoint secondary : s_.configuration.secondaries) {
    proposal.awaiting.insert(secondary);
    dispatch_.Send(secondary, 0, mutation);
  }
  for (const auto& [learner, session] : sessions_.all()) {
    if (!session.TakesPrepare(mutation->decree)) continue;
    proposal.awaiting.insert(learner);
    sessions_.NoteSent(learner, mutation->decree);
    dispatch_.Send(learner, session.signature, mutation);
  }
}

void Primary::TakeOffice(Term term) {
  CHECK(s_.role == PartitionStatus::kPrimary);
  CHECK_EQ(s_.configuration.ballot, s_.ballot) << "in office by another configuration";
  CHECK_EQ(s_.configuration.primary, s_.options.self) << "in office by nobody's configuration";
  // Answers to what was sent under a former ballot, or before a pause, no longer count.
  dispatch_.Forget();
  if (IsWhole()) {
    known_to_absent_.reset();
  } else if (!known_to_absent_) {
    // The member that is missing was present until now.
    known_to_absent_ = KnownToPresentMembers();
  }
  if (term == Term::kNew) {
    is_open_ = false;
    told_committed_ = Decree(0);
  } else if (is_open_) {
    // Everybody is asked again: answers that came during the pause were ignored.
    for (Decree d = s_.list.last_committed() + 1; d <= s_.list.last_prepared(); ++d) {
      const PrepareList::Entry* entry = s_.list.Find(d);
      CHECK(entry != nullptr && entry->mutation->ballot == s_.ballot)
          << "prepared by us in this very term";
      SendToAll(entry->mutation, proposals_[d]);
    }
  }
  TryCommit();
  StartQueued();
}

void Primary::PrepareAgainFor(Endpoint member, Decree known) {
  CHECK(s_.role == PartitionStatus::kPrimary && !is_open_);
  for (Decree d = known + 1; d <= s_.list.last_committed(); ++d)
    dispatch_.Send(member, 0, UnderBallot(*s_.list.Find(d)->mutation, s_.ballot, known));
}

void Primary::Open() {
  CHECK(s_.role == PartitionStatus::kPrimary && !is_open_);
  CHECK_EQ(s_.configuration.ballot, s_.ballot) << "replica_core/P7: another term";
  is_open_ = true;
  for (Reproposal& again : ProposeAgain(s_.list, s_.options.pid, s_.ballot)) {
    ++s_.counters.reprepared;
    if (again.origin == Reproposal::Origin::kHole) ++s_.counters.holes_filled;
    // A primary that led the term before still owes its clients an answer.
    std::vector<ClientToken> clients = std::move(proposals_[again.mutation->decree].clients);
    Propose(std::move(again.mutation), std::move(clients));
  }
  TryCommit();
  StartQueued();
}

// The meta server has said that this replica still leads, and would say so too of a state that was
// put back as it was. Members that follow another's larger ballot do not log what this one prepares.
void Primary::AffirmTerm() {
  CHECK(s_.role == PartitionStatus::kPrimary && is_open_);
  if (s_.list.last_committed() == s_.list.last_prepared()) Propose(Order({}), {});
  s_.read_barrier = s_.list.last_prepared();
}

void Primary::Pause() {
  CHECK(s_.role == PartitionStatus::kPrimary);
  dispatch_.Forget();
}

void Primary::Resign() {
  dispatch_.Forget();
  known_to_absent_.reset();
  RefuseQueued(ErrorCode::kInvalidState);
  // What is committed is still answered when it is applied. Whether the rest survives is not known
  // here.
  for (auto it = proposals_.upper_bound(s_.list.last_committed()); it != proposals_.end();) {
    Answer(it->second.clients, ErrorCode::kTimeout, kInvalidDecree);
    it = proposals_.erase(it);
  }
}

void Primary::RefuseQueued(ErrorCode err) {
  CHECK(err != ErrorCode::kOk) << "replica_core/P2: a client was told before it was applied";
  for (const Draft& draft : queue_) Answer(draft.clients, err, kInvalidDecree);
  queue_.clear();
  queued_bytes_ = 0;
}

bool Primary::IsWhole() const {
  return static_cast<int32_t>(s_.configuration.MemberCount()) >= s_.configuration.max_replica_count;
}

// A member has logged all that is committed; its log's last mutation says what was committed when
// that was proposed.
Decree Primary::KnownToPresentMembers() const {
  return std::max(Decree(0), s_.list.last_committed() - s_.options.mutations_in_flight_max);
}

std::optional<Decree> Primary::KnownToAllMembers() const {
  if (s_.configuration.primary != s_.options.self || s_.configuration.max_replica_count <= 1)
    return std::nullopt;
  return IsWhole() ? KnownToPresentMembers() : known_to_absent_;
}

PrepareDispatch::Verdict Primary::OnPrepareAnswer(const PrepareAcked& answer) {
  const PrepareDispatch::Verdict verdict = dispatch_.OnAnswer(answer);
  if (verdict.outcome == PrepareDispatch::Outcome::kAcked) {
    if (auto it = proposals_.find(verdict.decree); it != proposals_.end())
      it->second.awaiting.erase(verdict.node);
    TryCommit();
  }
  return verdict;
}

void Primary::SendTailTo(Endpoint learner) {
  const LearnerSessions::Session* session = sessions_.Find(learner);
  CHECK(session != nullptr);
  CHECK(!s_.configuration.IsMember(learner)) << "invariants/R6: " << learner;
  CHECK(s_.role == PartitionStatus::kPrimary && is_open_)
      << "replica_core/P7: teaches before its term";
  CHECK(session->TakesPrepare(s_.list.last_committed() + 1))
      << "invariants/R8: " << learner << " lacks what lies below";
  dispatch_.ForgetNode(learner);
  for (Decree d = s_.list.last_committed() + 1; d <= s_.list.last_prepared(); ++d) {
    const PrepareList::Entry* entry = s_.list.Find(d);
    CHECK(entry != nullptr) << "a primary's list has no hole";
    proposals_[d].awaiting.insert(learner);
    sessions_.NoteSent(learner, d);
    dispatch_.Send(learner, session->signature, entry->mutation);
  }
}

void Primary::StopPreparesTo(Endpoint learner) {
  CHECK(!s_.configuration.IsMember(learner)) << "a member's vote always counts: " << learner;
  dispatch_.ForgetNode(learner);
  for (auto& [decree, proposal] : proposals_) proposal.awaiting.erase(learner);
  TryCommit();
}

void Primary::TryCommit() {
  if (s_.role != PartitionStatus::kPrimary || !is_open_) return;
  Decree ready = s_.list.last_committed();
  while (s_.list.IsLogged(ready + 1)) {
    auto it = proposals_.find(ready + 1);
    CHECK(it != proposals_.end()) << "a primary counts the votes of each mutation";
    // In order: a later mutation whose votes are complete waits for this one.
    if (!it->second.awaiting.empty()) break;
    Follow(s_.now.nanos() - it->second.sent_at.nanos(), &commit_nanos_);
    ++ready;
  }
  s_.CommitThrough(ready);
  CHECK_EQ(s_.list.last_committed(), ready)
      << "replica_core/P3: all have it, and it does not commit";
}

void Primary::OnApplied() {
  CHECK(s_.role != PartitionStatus::kError) << "replica_core/P5: a failed replica answers";
  while (!proposals_.empty() && proposals_.begin()->first <= s_.last_applied) {
    CHECK(proposals_.begin()->second.awaiting.empty())
        << "replica_core/P2: " << *proposals_.begin()->second.awaiting.begin()
        << " has not logged it";
    Answer(proposals_.begin()->second.clients, ErrorCode::kOk, proposals_.begin()->first);
    proposals_.erase(proposals_.begin());
  }
}

void Primary::Answer(const std::vector<ClientToken>& clients, ErrorCode err, Decree decree) {
  for (ClientToken token : clients) s_.effects.client_replies.push_back({token, err, decree});
}

void Primary::CheckPaused() const {
  // INACTIVE may be a pause in the term: what waits is kept for its end.
  if (s_.role == PartitionStatus::kInactive) return;
  CHECK(queue_.empty()) << "a client waits for a primary that has resigned";
  CHECK(proposals_.empty() || proposals_.rbegin()->first <= s_.list.last_committed())
      << "votes are counted after the term";
}

void Primary::Check() const {
  dispatch_.Check();
  CHECK(!queue_.empty() || queued_bytes_ == 0);
  CHECK(last_start_ <= s_.now);
  CHECK_GE(log_nanos_, 0) << "time ran backwards";
  CHECK_GE(commit_nanos_, 0) << "time ran backwards";
  CHECK(proposals_.empty() || proposals_.begin()->first > s_.last_applied)
      << "a client was not told of what is applied";
  if (s_.role != PartitionStatus::kPrimary) return CheckPaused();
  CHECK_LE(told_committed_, s_.list.last_committed());
  CHECK(!known_to_absent_ || *known_to_absent_ <= s_.list.last_committed());
  if (!is_open_) return sessions_.Check(s_.list.last_prepared());
  CheckTerm(s_.list, s_.ballot);
  const auto uncommitted = proposals_.upper_bound(s_.list.last_committed());
  auto counted = uncommitted;
  for (Decree d = s_.list.last_committed() + 1; d <= s_.list.last_prepared(); ++d, ++counted) {
    CHECK(counted != proposals_.end() && counted->first == d)
        << "invariants/R2: nobody counts the votes of " << d;
  }
  CHECK(counted == proposals_.end()) << "invariants/R2: votes for what was never prepared";
  if (uncommitted != proposals_.end()) {
    for (Endpoint node : uncommitted->second.awaiting) {
      CHECK(s_.configuration.IsSecondary(node) || sessions_.Find(node) != nullptr)
          << "nothing commits without " << node << ", which has left";
    }
  }
  sessions_.Check(s_.list.last_prepared());
}

}  // namespace arion
