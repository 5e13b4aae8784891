// SPDX-License-Identifier: Apache-2.0
#include "pacifica/learner_sessions.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "pacifica/reconciliation.h"

namespace arion {
namespace {

// A copy that fails this often in a row will not succeed the next time.
constexpr int kVainRoundsMax = 10;

}  // namespace

void LearnerSessions::BeginTerm() {
  const auto first = static_cast<int64_t>(static_cast<uint64_t>(s_.ballot.value()) << 32 | 1);
  // A signature has the ballot in its upper half and a count in its lower one, so it is given once
  // only, across processes too: a process never leads under a ballot that another one led. The
  // first session gets 2.
  last_signature_ = std::max(last_signature_, first);
  std::erase_if(sessions_,
                [this](const auto& entry) { return s_.configuration.IsMember(entry.first); });
}

const LearnerSessions::Session& LearnerSessions::Register(Endpoint node) {
  CHECK(!s_.configuration.IsMember(node)) << node << " is a member";
  CHECK(node.IsValid() && node != s_.options.self) << node;
  Session& session = sessions_[node];
  if (session.signature == 0) {
    session.signature = ++last_signature_;
    CHECK_NE(session.signature, 0) << "0 names no session";
    session.moved_at = s_.now;
  }
  return session;
}

const LearnerSessions::Session* LearnerSessions::Find(Endpoint node) const {
  auto it = sessions_.find(node);
  return it == sessions_.end() ? nullptr : &it->second;
}

void LearnerSessions::NoteSent(Endpoint node, Decree decree) {
  const auto found = sessions_.find(node);
  CHECK(found != sessions_.end()) << node << " is no learner";
  Session& session = found->second;
  CHECK(session.TakesPrepare(decree))
      << "invariants/R8: " << node << " is sent " << decree << " uninvited";
  CHECK_LE(decree, session.sent_through + 1)
      << "invariants/R8: " << node << " was not sent what lies below";
  session.sent_through = std::max(session.sent_through, decree);
}

void LearnerSessions::Check(Decree last_prepared) const {
  for (const auto& [node, session] : sessions_) {
    CHECK_NE(session.signature, 0) << node;
    CHECK_LE(session.signature, last_signature_) << node << ": a name that was not given out";
    CHECK(node != s_.options.self) << "it learns from itself";
    CHECK_GE(session.vain_rounds, 0) << node;
    CHECK_LE(session.asked, session.furthest) << node;
    CHECK_LE(session.vain_rounds, kVainRoundsMax) << node << " should have been given up";
    CHECK(session.moved_at <= s_.now) << node;
    CHECK(!session.is_at_copy || session.was_given) << node << " copies what it was not given";
    CHECK(!session.shipping || !session.was_given) << node << " was given what is not shipped";
    if (session.prepare_start == kInvalidDecree) continue;
    CHECK(!session.shipping) << node << " takes prepares and lacks what lies below";
    CHECK_LE(session.prepare_start, session.sent_through + 1) << "invariants/R8: " << node;
    CHECK_EQ(session.sent_through, last_prepared)
        << "invariants/R8: " << node << " was not sent all";
  }
}

Decree LearnerSessions::StartOf(const LearnRequest& request) const {
  // More than is prepared here was never committed by this group, and a negative number by nobody.
  const Decree applied = request.last_committed_decree_in_app;
  if (applied < Decree(0) || applied > s_.list.last_prepared()) return Decree(1);
  return applied + 1;
}

// Where a log that is kept for other clusters begins, or goes on.
std::optional<Decree> LearnerSessions::KeptFrom(const LearnReceived& event, Decree start) {
  const std::optional<Decree> kept_through = event.request.kept_through;
  if (!event.kept_from || !kept_through) return std::nullopt;
  const bool goes_on = *kept_through >= *event.kept_from;
  return std::min(goes_on ? *kept_through + 1 : *event.kept_from, start);
}

bool LearnerSessions::CacheCovers(Decree start) const { return start >= s_.list.first_kept(); }

Decree LearnerSessions::FirstLogDecreeNeeded() const {
  Decree needed = s_.last_durable + 1;
  for (const auto& [node, session] : sessions_) {
    if (session.log_first != kInvalidDecree) needed = std::min(needed, session.log_first);
  }
  CHECK_GE(needed, Decree(1)) << "decrees begin at 1";
  return needed;
}

bool LearnerSessions::IsStuck(const Session& session) const {
  return session.vain_rounds > 0 ||
         (!session.is_at_copy && s_.now - session.moved_at >= s_.options.learner_patience);
}

std::optional<Endpoint> LearnerSessions::WhoGivesPlace() const {
  const std::pair<const Endpoint, Session>* chosen = nullptr;
  for (const auto& entry : sessions_) {
    if (!IsStuck(entry.second)) continue;
    if (chosen == nullptr || entry.second.moved_at < chosen->second.moved_at) chosen = &entry;
  }
  return chosen == nullptr ? std::nullopt : std::optional(chosen->first);
}

bool LearnerSessions::IsIdle(const Session& session, const GroupCheckResponse& answer) const {
  // A node that is loading, or has no lease, answers with an empty pid: it says nothing of itself.
  return answer.pid == s_.options.pid && answer.learner_status == LearnerStatus::kInvalid &&
         s_.now - session.moved_at >= s_.options.learner_patience;
}

// The learner asks from `start` on. If that is no further than before although it was given
// something, the answer was in vain.
void LearnerSessions::NoteRound(Decree start, std::optional<Decree> kept_from,
                                Session& session) const {
  CHECK_GE(start, Decree(1)) << "decrees begin at 1";
  const bool is_further = start > session.furthest;
  // A checkpoint makes a log void that was begun for others.
  if (is_further) session.furthest_kept = kInvalidDecree;
  const bool is_kept_on = kept_from && *kept_from > session.furthest_kept;
  if (is_kept_on) session.furthest_kept = *kept_from;
  if (is_further || is_kept_on) {
    session.furthest = std::max(session.furthest, start);
    session.vain_rounds = 0;
    session.moved_at = s_.now;
  } else if (session.was_given) {
    ++session.vain_rounds;
  }
  session.asked = kept_from.value_or(start);
  session.log_first = kInvalidDecree;
  session.shipping.reset();
  session.was_given = session.is_at_copy = false;
}

void LearnerSessions::OnShipped(const Shipped& event) {
  const auto it = std::find_if(sessions_.begin(), sessions_.end(), [&](const auto& entry) {
    return entry.second.shipping == event.token;
  });
  if (it == sessions_.end()) return;
  Session& session = it->second;
  session.shipping.reset();
  // The log's end, or the newest checkpoint, may lie before what was asked for: then nothing was
  // given.
  session.was_given = event.through >= session.asked;
  if (event.type != LearnType::kApp) return;
  session.is_at_copy = session.was_given;
  session.log_first = event.through + 1;
}

LearnResponse LearnerSessions::AnswerTo(Decree start) const {
  LearnResponse response;
  response.config = s_.ConfigurationFor(PartitionStatus::kPotentialSecondary, 0);
  response.last_committed_decree = s_.list.last_committed();
  response.prepare_start_decree = kInvalidDecree;
  response.learnee = s_.options.self;
  response.state.learn_start_decree = start;
  return response;
}

// LT_CACHE: everything from `start` to the committed point, out of memory. What is prepared behind
// that the learner gets as prepares from now on.
//
// A learner of an older version keeps what it held where that is of a larger ballot than what it is
// given: it may hold a part of what an earlier primary prepared again. If a smaller ballot follows
// it ends. So everything is given as prepared again in this term.
LearnResponse LearnerSessions::GiveCache(Decree start, Session& session) const {
  session.prepare_start = s_.list.last_committed() + 1;
  session.sent_through = s_.list.last_committed();
  session.was_given = true;
  CHECK_LE(start, session.prepare_start) << "invariants/R8: a gap before the first prepare";
  LearnResponse response = AnswerTo(start);
  response.type = LearnType::kCache;
  response.prepare_start_decree = session.prepare_start;
  response.prepares_all_after = true;
  std::string& carried = response.state.meta.bytes;
  for (Decree d = start; d < session.prepare_start; ++d) {
    const PrepareList::Entry* entry = s_.list.Find(d);
    CHECK(entry != nullptr) << "committed decrees have no hole";
    const Mutation& held = *entry->mutation;
    AppendMutation(*UnderBallot(held, s_.ballot, held.last_committed), -1, &carried);
  }
  return response;
}

LearnerSessions::Consequence LearnerSessions::Answer(const LearnReceived& event) {
  const LearnRequest& request = event.request;
  LearnResponse refusal;
  refusal.prepare_start_decree = kInvalidDecree;
  if (s_.role != PartitionStatus::kPrimary) {
    const bool may_return =
        s_.role == PartitionStatus::kInactive && s_.inactivity == Inactivity::kTransient;
    refusal.err = may_return ? ErrorCode::kInactiveState : ErrorCode::kInvalidState;
    s_.Reply(event.token, std::move(refusal));
    return Consequence::kNone;
  }
  auto it = sessions_.find(request.learner);
  if (it == sessions_.end()) {
    refusal.err = ErrorCode::kObjectNotFound;
    refusal.config = s_.ConfigurationFor(PartitionStatus::kInactive, 0);
    s_.Reply(event.token, std::move(refusal));
    return Consequence::kNone;
  }
  Session& session = it->second;
  if (session.signature != request.signature) {
    refusal.err = ErrorCode::kWrongChecksum;
    refusal.config = s_.ConfigurationFor(PartitionStatus::kPotentialSecondary, session.signature);
    s_.Reply(event.token, std::move(refusal));
    return Consequence::kNone;
  }
  const Decree start = StartOf(request);
  if (start > s_.list.last_committed() + 1) {
    // It has applied what is prepared and not yet committed here. The fate of that is decided
    // first.
    refusal.err = ErrorCode::kInconsistentState;
    s_.Reply(event.token, std::move(refusal));
    return Consequence::kNone;
  }
  const std::optional<Decree> kept_from = KeptFrom(event, start);
  const Decree from = kept_from.value_or(start);
  NoteRound(start, kept_from, session);
  if (session.vain_rounds > kVainRoundsMax) {
    refusal.err = ErrorCode::kObjectNotFound;
    refusal.config = s_.ConfigurationFor(PartitionStatus::kInactive, 0);
    s_.Reply(event.token, std::move(refusal));
    return Consequence::kEnd;
  }
  if (CacheCovers(from)) {
    LearnResponse response = GiveCache(from, session);
    response.kept_from = kept_from;
    s_.Reply(event.token, std::move(response));
    return Consequence::kSendTail;
  }
  LearnResponse response = AnswerTo(from);
  // It lacks more than memory holds: until it has caught up no prepare can be of use to it.
  const bool took_prepares = session.prepare_start != kInvalidDecree;
  session.prepare_start = kInvalidDecree;
  // What it has applied no checkpoint brings into its log.
  const bool by_log = from < start || event.log_coverage == LogCoverage::kCovered;
  if (by_log) {
    session.log_first = from;
    response.kept_from = kept_from;
  }
  session.shipping = event.token;
  response.type = by_log ? LearnType::kLog : LearnType::kApp;
  s_.effects.ship.push_back({.token = event.token,
                             .what = by_log ? ShipState::What::kLog : ShipState::What::kCheckpoint,
                             .first = from,
                             .committed = s_.list.last_committed(),
                             .response = std::move(response)});
  return took_prepares ? Consequence::kStopPrepares : Consequence::kNone;
}

}  // namespace arion
