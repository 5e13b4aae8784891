// SPDX-License-Identifier: Apache-2.0
#include "pacifica/promises.h"

#include <variant>

#include "base/log.h"

namespace arion {

void CheckPromises(const ReplicaState& s, LearnerStatus phase) {
  for (const PeerReply& reply : s.effects.replies) {
    const auto* ack = std::get_if<PrepareAck>(&reply.body);
    // Only a promise can be broken: an error promises nothing.
    if (ack == nullptr || ack->err != ErrorCode::kOk) continue;
    CHECK(s.role != PartitionStatus::kError) << "replica_core/P5: acknowledged by a failed replica";
    CHECK(s.role != PartitionStatus::kPotentialSecondary || phase == LearnerStatus::kWithPrepare ||
          phase == LearnerStatus::kSucceeded)
        << "replica_core/P6: acknowledged by a learner that lacks what lies below";
    CHECK_EQ(ack->ballot, s.ballot)
        << "replica_core/P4: acknowledged under a ballot that is not ours";
    CHECK(ack->decree <= s.list.last_committed() || s.list.IsLogged(ack->decree))
        << "replica_core/P1: acknowledged " << ack->decree << ", which is not logged";
  }
  // The engine gets one history: consecutive decrees whose ballots never fall.
  for (size_t i = 1; i < s.effects.apply.size(); ++i) {
    CHECK_EQ(s.effects.apply[i]->decree, s.effects.apply[i - 1]->decree + 1)
        << "replica_core/P3: a hole in what is handed to the engine";
  }
  CHECK(s.effects.apply.empty() || s.effects.apply.back()->decree <= s.list.last_committed())
      << "replica_core/P3: the engine is handed what is not committed";
  for (const LogAppend& append : s.effects.append) {
    CHECK(append.mutation != nullptr);
    CHECK_LT(append.sequence, s.next_sequence) << "a sequence that nobody waits for";
  }
  // A refusal promises nothing, as above.
  for (const ClientReply& reply : s.effects.client_replies) {
    if (reply.err != ErrorCode::kOk) continue;
    CHECK(s.role != PartitionStatus::kError)
        << "replica_core/P5: a client was told by a failed replica";
    CHECK_LE(reply.decree, s.last_applied)
        << "replica_core/P2: a client was told before it was applied";
  }
  for (const Envelope& envelope : s.effects.send) {
    // Both ballots: a mutation of a former term is prepared again as one of this term.
    if (const auto* prepare = std::get_if<SendPrepare>(&envelope)) {
      CHECK_EQ(prepare->request.config.ballot, s.ballot)
          << "replica_core/P4: prepared under another ballot";
      CHECK_EQ(prepare->request.mutation->ballot, s.ballot)
          << "replica_core/P4: prepared for another ballot";
    } else if (const auto* check = std::get_if<SendGroupCheck>(&envelope)) {
      CHECK_EQ(check->request.config.ballot, s.ballot)
          << "replica_core/P4: a group of another ballot";
      CHECK_NE(check->to, s.options.self) << "a group check to itself";
      CHECK_LE(check->request.committed(), s.list.last_committed())
          << "replica_core/P3: told what is not committed";
    } else if (const auto* wish = std::get_if<SendConfigurationUpdate>(&envelope)) {
      // A wish is for the configuration that would follow this one.
      CHECK_EQ(wish->request.config.ballot, s.ballot + 1)
          << "replica_core/P4: a wish for another ballot";
    } else if (const auto* invitation = std::get_if<SendAddLearner>(&envelope)) {
      CHECK_EQ(invitation->request.config.ballot, s.ballot)
          << "replica_core/P4: invited under another ballot";
    } else if (const auto* removal = std::get_if<SendRemove>(&envelope)) {
      CHECK_EQ(removal->config.ballot, s.ballot) << "replica_core/P4: removed under another ballot";
    }
  }
  for (const ShipState& ship : s.effects.ship) {
    CHECK_LE(ship.committed, s.list.last_committed())
        << "replica_core/P3: shipped what is not committed";
  }
}

}  // namespace arion
