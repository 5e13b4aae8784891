// SPDX-License-Identifier: Apache-2.0
#include "pacifica/promises.h"

#include <variant>

#include "base/log.h"

namespace arion {

void CheckPromises(const ReplicaState& s, LearnerStatus phase) {
  for (const PeerReply& reply : s.effects.replies) {
    const auto* ack = std::get_if<PrepareAck>(&reply.body);
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
  for (const ClientReply& reply : s.effects.client_replies) {
    if (reply.err != ErrorCode::kOk) continue;
    CHECK(s.role != PartitionStatus::kError)
        << "replica_core/P5: a client was told by a failed replica";
    CHECK_LE(reply.decree, s.last_applied)
        << "replica_core/P2: a client was told before it was applied";
  }
  for (const Envelope& envelope : s.effects.send) {
    if (const auto* prepare = std::get_if<SendPrepare>(&envelope)) {
      CHECK_EQ(prepare->request.config.ballot, s.ballot)
          << "replica_core/P4: prepared under another ballot";
      CHECK_EQ(prepare->request.mutation->ballot, s.ballot)
          << "replica_core/P4: prepared for another ballot";
    } else if (const auto* check = std::get_if<SendGroupCheck>(&envelope)) {
      CHECK_EQ(check->request.config.ballot, s.ballot)
          << "replica_core/P4: a group of another ballot";
      CHECK_LE(check->request.committed(), s.list.last_committed())
          << "replica_core/P3: told what is not committed";
    } else if (const auto* wish = std::get_if<SendConfigurationUpdate>(&envelope)) {
      CHECK_EQ(wish->request.config.ballot, s.ballot + 1)
          << "replica_core/P4: a wish for another ballot";
    }
  }
  for (const ShipState& ship : s.effects.ship) {
    CHECK_LE(ship.committed, s.list.last_committed())
        << "replica_core/P3: shipped what is not committed";
  }
}

}  // namespace arion
