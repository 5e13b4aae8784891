// SPDX-License-Identifier: Apache-2.0
#include "pacifica/promises.h"

#include <variant>

#include "base/log.h"

namespace arion {

void CheckPromises(const ReplicaState& s) {
  for (const PeerReply& reply : s.effects.replies) {
    const auto* ack = std::get_if<PrepareAck>(&reply.body);
    if (ack == nullptr || ack->err != ErrorCode::kOk) continue;
    CHECK_EQ(ack->ballot, s.ballot) << "P4: acknowledged under a ballot that is not ours";
    CHECK(ack->decree <= s.list.last_committed() || s.list.IsLogged(ack->decree))
        << "P1: acknowledged " << ack->decree << ", which is not logged";
  }
  for (const ClientReply& reply : s.effects.client_replies) {
    if (reply.err != ErrorCode::kOk) continue;
    CHECK_LE(reply.decree, s.last_applied) << "P2: a client was told before it was applied";
  }
}

}  // namespace arion
