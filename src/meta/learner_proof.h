// LearnerProof: whether a learner that a primary of 2.5.0 wants as a member holds all that this
// primary has prepared. Such a primary asks for it before it has committed again what it began its
// office with, which it may have acknowledged alone before its process ended (pacifica/PROTOCOL.md
// 5.3 is what ours waits for). A member without that may come to lead.
//
// Shapes    What the primary has reported while it led is enough where all of that is committed by
//           now. Else both are asked what they have prepared, the learner again and again: while
//           the primary's update is out it prepares nothing, and what it has sent arrives.
// Threads   Strand-bound; callbacks come on the strand, while the owner lives.
// Lifetime  All that it uses outlives it.
// Promises  learner_proof/L1  Of a partition one question at a time is open, for kPatience at most.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "env/clock.h"
#include "env/strand.h"
#include "messages/meta_messages.h"
#include "rpc/transport.h"

namespace arion {

struct ClusterState;
class OwnerLife;
class RequestCodec;

// A member of MetaServer::State. ConfigurationRequests asks it for each update that would be
// accepted.
class LearnerProof {
 public:
  // Then the primary goes on without the learner, and asks again after its next group check.
  static constexpr absl::Duration kPatience = absl::Seconds(1);

  struct Uses {
    const ClusterState& state;
    Transport& transport;
    const RequestCodec& codec;
    const Clock& clock;
    StrandPtr strand;
    const OwnerLife& life;
  };
  // `on_known`: it is to be asked again about that partition's update.
  LearnerProof(Uses uses, std::function<void(PartitionId)> on_known)
      : uses_(std::move(uses)), on_known_(std::move(on_known)) {}

  enum class Answer {
    kHoldsAll,  // or is nothing that needs a proof
    kAsked,     // on_known comes
    kUnknown,   // within kPatience it did not come to hold it, or to say so
  };
  Answer Judge(const ConfigurationUpdateRequest& update);

 private:
  struct Question {
    uint64_t serial = 0;
    Ballot ballot;
    Endpoint primary, learner;
    // What each has prepared.
    std::optional<Decree> primarys, learners;
    Instant since;
    bool IsAnswered() const { return primarys && learners && *learners >= *primarys; }
  };
  bool IsAllCommitted(const ConfigurationUpdateRequest& update) const;
  void Ask(PartitionId pid, Endpoint server);
  void OnAnswer(PartitionId pid, Endpoint server, const RpcResult& result);

  const Uses uses_;
  const std::function<void(PartitionId)> on_known_;
  std::map<PartitionId, Question> questions_;
  uint64_t last_serial_ = 0;
};

}  // namespace arion
