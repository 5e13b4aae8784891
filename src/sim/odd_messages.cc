// SPDX-License-Identifier: Apache-2.0
#include "sim/odd_messages.h"

#include <memory>
#include <utility>

#include "messages/meta_messages.h"
#include "messages/replication_messages.h"
#include "rpc/thrift_codec.h"
#include "sim/sim_random.h"

namespace arion::sim {
namespace {

template <class Number>
Number Impossible(SimRandom& random) {
  // Both ends of what a number can be: sums with the one overflow, the other is below all valid
  // ones.
  return Number(random.Coin() ? INT64_MAX : -7);
}

// Each Twist makes one field say what no right server would say. The message still decodes, so the
// receiver's own checks must find it.
void Twist(PartitionConfiguration* config, SimRandom& random) {
  switch (random.Below(3)) {
    case 0:
      config->ballot = Impossible<Ballot>(random);
      return;
    case 1:
      config->secondaries.push_back(Endpoint{});
      return;
    default:
      config->secondaries.push_back(config->primary);
      config->secondaries.push_back(config->primary);
  }
}

void Twist(GroupCheckRequest* check, SimRandom& random) {
  if (random.Coin())
    check->config.ballot = Impossible<Ballot>(random);
  else
    check->last_committed_decree = Impossible<Decree>(random);
}

void Twist(ReplicaConfiguration* removal, SimRandom& random) {
  if (random.Coin())
    removal->ballot = Ballot(INT64_MAX);
  else
    removal->status = PartitionStatus::kSecondary;
}

// A learner's report.
void Twist(GroupCheckResponse* report, SimRandom& random) {
  if (random.Coin())
    report->learner_status = LearnerStatus::kWithPrepare;
  else
    report->learner_signature = -report->learner_signature;
}

void Twist(ConfigurationUpdateRequest* proposal, SimRandom& random) {
  Twist(&proposal->config, random);
}
void Twist(ConfigurationUpdateResponse* answer, SimRandom& random) {
  Twist(&answer->config, random);
}
void Twist(ConfigSyncResponse* answer, SimRandom& random) {
  for (ConfigurationUpdateRequest& partition : answer->partitions)
    if (random.Coin()) Twist(&partition.config, random);
}

void Twist(PrepareAck* ack, SimRandom& random) {
  if (random.Coin())
    ack->ballot = ack->ballot + 1;
  else
    ack->decree = ack->decree + 1;
}

void Twist(LearnResponse* answer, SimRandom& random) {
  switch (random.Below(7)) {
    case 0:
      answer->config.ballot = Impossible<Ballot>(random);
      return;
    case 1:
      answer->last_committed_decree = Impossible<Decree>(random);
      return;
    case 2:
      answer->prepare_start_decree = Decree(random.Coin() ? INT64_MAX : 0);
      return;
    case 3:
      answer->state.to_decree_included = Impossible<Decree>(random);
      return;
    case 4:
      answer->type = LearnType::kInvalid;
      return;
    case 5:
      answer->state.files.clear();
      return;
    default:
      answer->state.meta.bytes.resize(answer->state.meta.bytes.size() / 2);
  }
}

template <class Message>
std::optional<std::string> Twisted(std::string_view body, SimRandom& random) {
  absl::StatusOr<Message> message = DecodeWrapped<Message>(body);
  // Nothing odd can be made of what does not decode.
  if (!message.ok()) return std::nullopt;
  Twist(&*message, random);
  return EncodeWrapped(*message);
}

// By hand, because a prepare's body is no single struct.
std::optional<std::string> OddPrepare(std::string_view body, SimRandom& random) {
  absl::StatusOr<PrepareRequest> request = DecodePrepare(body);
  if (!request.ok()) return std::nullopt;
  Mutation mutation = *request->mutation;
  switch (random.Below(4)) {
    case 0:
      mutation.ballot = request->config.ballot = Impossible<Ballot>(random);
      break;
    case 1:
      mutation.decree = random.Coin() ? Decree(0) : Impossible<Decree>(random);
      break;
    case 2:
      mutation.last_committed = mutation.decree;
      break;
    default:
      mutation.last_committed = Decree(-7);
  }
  request->mutation = std::make_shared<const Mutation>(std::move(mutation));
  return EncodePrepare(*request);
}

}  // namespace

std::optional<std::string> OddRequest(std::string_view name, std::string_view body,
                                      SimRandom& random) {
  // There are many prepares.
  if (name == kRpcPrepare) return random.Percent(20) ? OddPrepare(body, random) : std::nullopt;
  if (name == kRpcGroupCheck || name == kRpcAddLearner)
    return Twisted<GroupCheckRequest>(body, random);
  if (name == kRpcRemoveReplica) return Twisted<ReplicaConfiguration>(body, random);
  if (name == kRpcLearnCompletion) return Twisted<GroupCheckResponse>(body, random);
  if (name == kRpcConfigProposal) return Twisted<ConfigurationUpdateRequest>(body, random);
  return std::nullopt;
}

std::optional<std::string> OddAnswer(std::string_view name, std::string_view body,
                                     SimRandom& random) {
  // Who answers so is removed: more often and nothing would be acknowledged.
  if (name == kRpcPrepare)
    return random.Percent(2) ? Twisted<PrepareAck>(body, random) : std::nullopt;
  if (name == kRpcLearn) return Twisted<LearnResponse>(body, random);
  if (name == kRpcConfigSync) return Twisted<ConfigSyncResponse>(body, random);
  if (name == kRpcUpdateConfiguration) return Twisted<ConfigurationUpdateResponse>(body, random);
  return std::nullopt;
}

}  // namespace arion::sim
