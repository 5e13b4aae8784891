// SPDX-License-Identifier: Apache-2.0
#include "pacifica/learner_sessions.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace arion {

void LearnerSessions::BeginTerm() {
  last_signature_ = static_cast<int64_t>(static_cast<uint64_t>(s_.ballot.value()) << 32 | 1);
  std::erase_if(sessions_,
                [this](const auto& entry) { return s_.configuration.IsMember(entry.first); });
}

const LearnerSessions::Session& LearnerSessions::Register(Endpoint node) {
  CHECK(!s_.configuration.IsMember(node)) << node << " is a member";
  Session& session = sessions_[node];
  if (session.signature == 0) session.signature = ++last_signature_;
  return session;
}

const LearnerSessions::Session* LearnerSessions::Find(Endpoint node) const {
  auto it = sessions_.find(node);
  return it == sessions_.end() ? nullptr : &it->second;
}

void LearnerSessions::NoteSent(Endpoint node, Decree decree) {
  Session& session = sessions_.at(node);
  CHECK(session.TakesPrepare(decree)) << "R8: " << node << " is sent " << decree << " uninvited";
  CHECK_LE(decree, session.sent_through + 1) << "R8: " << node << " was not sent what lies below";
  session.sent_through = std::max(session.sent_through, decree);
}

void LearnerSessions::Check(Decree last_prepared) const {
  for (const auto& [node, session] : sessions_) {
    if (session.prepare_start == kInvalidDecree) continue;
    CHECK_EQ(session.sent_through, last_prepared) << "R8: " << node << " was not sent all";
  }
}

Decree LearnerSessions::StartOf(const LearnRequest& request) const {
  const Decree applied = request.last_committed_decree_in_app;
  if (applied < Decree(0) || applied > s_.list.last_prepared()) return Decree(1);
  return applied + 1;
}

bool LearnerSessions::CacheCovers(Decree start) const { return start >= s_.list.first_kept(); }

Decree LearnerSessions::FirstLogDecreeNeeded() const {
  Decree needed = s_.last_durable + 1;
  for (const auto& [node, session] : sessions_) {
    if (session.start != kInvalidDecree && session.prepare_start == kInvalidDecree) {
      needed = std::min(needed, session.start);
    }
  }
  return needed;
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
    // It applied what is prepared but not yet committed here: the fate of that is decided first.
    refusal.err = ErrorCode::kInconsistentState;
    s_.Reply(event.token, std::move(refusal));
    return Consequence::kNone;
  }
  session.start = start;
  LearnResponse response = AnswerTo(start);
  if (CacheCovers(start)) {
    session.prepare_start = s_.list.last_committed() + 1;
    session.sent_through = s_.list.last_committed();
    response.type = LearnType::kCache;
    response.prepare_start_decree = session.prepare_start;
    for (Decree d = start; d < session.prepare_start; ++d) {
      const PrepareList::Entry* entry = s_.list.Find(d);
      CHECK(entry != nullptr) << "committed decrees have no hole";
      AppendMutation(*entry->mutation, -1, &response.state.meta.bytes);
    }
    s_.Reply(event.token, std::move(response));
    return Consequence::kSendTail;
  }
  const bool took_prepares = session.prepare_start != kInvalidDecree;
  session.prepare_start = kInvalidDecree;
  const bool by_log = event.log_coverage == LogCoverage::kCovered;
  response.type = by_log ? LearnType::kLog : LearnType::kApp;
  s_.effects.ship.push_back({.token = event.token,
                             .what = by_log ? ShipState::What::kLog : ShipState::What::kCheckpoint,
                             .first = start,
                             .committed = s_.list.last_committed(),
                             .response = std::move(response)});
  return took_prepares ? Consequence::kStopPrepares : Consequence::kNone;
}

}  // namespace arion
