// SPDX-License-Identifier: Apache-2.0
#include "pacifica/promises.h"

#include <variant>

#include "base/log.h"

namespace arion {

void CheckPromises(const ReplicaState& s, LearnerStatus phase) {
  for (const PeerReply& reply : s.effects.replies) {
    const auto* ack = std::get_if<PrepareAck>(&reply.body);
    if (ack == nullptr || ack->err != ErrorCode::kOk) continue;
    CHECK(s.role != PartitionStatus::kError) << "P5: acknowledged by a failed replica";
    CHECK(s.role != PartitionStatus::kPotentialSecondary || phase == LearnerStatus::kWithPrepare ||
          phase == LearnerStatus::kSucceeded)
        << "P6: acknowledged by a learner that lacks what lies below";
    CHECK_EQ(ack->ballot, s.ballot) << "P4: acknowledged under a ballot that is not ours";
    CHECK(ack->decree <= s.list.last_committed() || s.list.IsLogged(ack->decree))
        << "P1: acknowledged " << ack->decree << ", which is not logged";
  }
  for (const ClientReply& reply : s.effects.client_replies) {
    if (reply.err != ErrorCode::kOk) continue;
    CHECK(s.role != PartitionStatus::kError) << "P5: a client was told by a failed replica";
    CHECK_LE(reply.decree, s.last_applied) << "P2: a client was told before it was applied";
  }
}

}  // namespace arion
