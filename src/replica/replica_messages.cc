// SPDX-License-Identifier: Apache-2.0
#include "replica/replica_messages.h"

#include <utility>
#include <variant>

#include "disks/disk_watch.h"
#include "engine/engine.h"
#include "env/clock.h"
#include "replica/replica_office.h"
#include "rpc/thrift_codec.h"
#include "wal/private_log.h"

namespace arion {
namespace {

// The answer of a call, or its RPC-level error; what does not decode counts as kInvalidData.
template <class T>
std::pair<ErrorCode, T> Decoded(const RpcResult& result) {
  if (result.error != ErrorCode::kOk) return {result.error, T{}};
  absl::StatusOr<T> value = DecodeWrapped<T>(result.body);
  if (!value.ok()) return {ErrorCode::kInvalidData, T{}};
  return {ErrorCode::kOk, *std::move(value)};
}

}  // namespace

ReplicaMessages::ReplicaMessages(std::shared_ptr<const ReplicaHost> host, StrandPtr strand,
                                 PartitionId pid, size_t disk, size_t log_disk,
                                 ReplicaOffice& office, std::shared_ptr<RequestStats> stats,
                                 const std::shared_ptr<Engine>& engine,
                                 const std::shared_ptr<PrivateLog>& log, Hooks hooks)
    : host_(std::move(host)),
      strand_(std::move(strand)),
      pid_(pid),
      disk_(disk),
      log_disk_(log_disk),
      office_(office),
      stats_(std::move(stats)),
      engine_(engine),
      log_(log),
      hooks_(std::move(hooks)) {}

template <class T>
std::string ReplicaMessages::Wrapped(const T& value) const {
  return EncodeWrapped(value, host_->options.peer_generation);
}

void ReplicaMessages::Call(Endpoint to, const char* name, std::string body, absl::Duration timeout,
                           OnResult on_result) {
  host_->transport.Call(
      to,
      {.name = name,
       .body = std::move(body),
       .thread_hash = std::string_view(name) == kRpcUpdateConfiguration ? 0 : pid_.thread_hash(),
       .timeout = timeout},
      strand_, [weak = hooks_.owner(), on_result = std::move(on_result)](RpcResult result) mutable {
        if (const std::shared_ptr<void> owner = weak.lock()) on_result(std::move(result));
      });
}

void ReplicaMessages::Send(Envelope envelope) {
  std::visit([this](auto& message) { SendMessage(message); }, envelope);
}

void ReplicaMessages::SendMessage(SendPrepare& m) {
  const bool is_member = m.request.config.status == PartitionStatus::kSecondary;
  Call(m.to, kRpcPrepare, EncodePrepare(m.request, host_->options.peer_generation), m.timeout,
       [this, to = m.to, serial = m.serial, is_member,
        sent = host_->env.clock().Now()](const RpcResult& result) {
         // Any answer is an event, also none: the core decides what silence means.
         auto [error, ack] = Decoded<PrepareAck>(result);
         // Only members: a learner may be slow for its own reasons.
         if (is_member && error == ErrorCode::kOk && ack.err == ErrorCode::kOk)
           host_->peers->OnAck(to, host_->env.clock().Now() - sent);
         if (error != ErrorCode::kOk || ack.err != ErrorCode::kOk)
           figures().Count(ReplicaCount::kPreparesFailed);
         hooks_.step(PrepareAcked{to, serial, error, std::move(ack)});
       });
}

void ReplicaMessages::SendMessage(SendGroupCheck& m) {
  m.request.confirmed_decree = hooks_.duplicated().value_or(Decree(-1)).value();
  Call(m.to, kRpcGroupCheck, Wrapped(m.request), m.timeout,
       [this, to = m.to, ballot = m.request.config.ballot](const RpcResult& result) {
         auto [error, response] = Decoded<GroupCheckResponse>(result);
         if (error == ErrorCode::kOk) office_.NoteSpaceOf(to, response.disk_status);
         if (error != ErrorCode::kOk || response.err != ErrorCode::kOk)
           figures().Count(ReplicaCount::kGroupChecksFailed);
         hooks_.step(GroupCheckAnswered{to, ballot, error, std::move(response)});
       });
}

void ReplicaMessages::SendMessage(SendAddLearner& m) {
  host_->transport.SendOneWay(
      m.to,
      {.name = kRpcAddLearner, .body = Wrapped(m.request), .thread_hash = pid_.thread_hash()});
}

void ReplicaMessages::SendMessage(SendRemove& m) {
  host_->transport.SendOneWay(
      m.to,
      {.name = kRpcRemoveReplica, .body = Wrapped(m.config), .thread_hash = pid_.thread_hash()});
}

void ReplicaMessages::SendMessage(SendLearn& m) {
  const bool has_none = m.request.last_committed_decree_in_prepare_list == Decree(0);
  // How far the own log no longer reaches back. 0: it is whole; -1: this learner has nothing yet.
  m.request.max_gced_decree = !log_->Covers(Decree(1)) ? engine_->last_durable().value()
                              : has_none               ? -1
                                                       : 0;
  Call(m.to, kRpcLearn, Wrapped(m.request), m.timeout,
       [this, serial = m.serial](const RpcResult& result) {
         auto [error, response] = Decoded<LearnResponse>(result);
         if (error == ErrorCode::kOk && response.err == ErrorCode::kOk) NoteLearned(response);
         hooks_.step(LearnAnswered{serial, error, std::move(response)});
       });
}

void ReplicaMessages::NoteLearned(const LearnResponse& response) {
  figures().Count(ReplicaCount::kLearnRounds);
  figures().Count(response.type == LearnType::kApp   ? ReplicaCount::kLearnedFromFiles
                  : response.type == LearnType::kLog ? ReplicaCount::kLearnedFromLog
                                                     : ReplicaCount::kLearnedFromMemory);
}

void ReplicaMessages::SendMessage(SendLearnCompletion& m) {
  Call(m.to, kRpcLearnCompletion, Wrapped(m.report), m.timeout,
       [this, signature = m.report.learner_signature](const RpcResult& result) {
         auto [error, response] = Decoded<LearnNotifyResponse>(result);
         hooks_.step(LearnCompletionAnswered{signature, error, std::move(response)});
       });
}

void ReplicaMessages::SendMessage(SendConfigurationUpdate& m) {
  const auto answered = [this, serial = m.serial](const RpcResult& result) {
    auto [error, response] = Decoded<ConfigurationUpdateResponse>(result);
    if (serial != 0) hooks_.step(ConfigurationUpdateAnswered{serial, error, std::move(response)});
  };
  // Without a meta server there is no answer to wait for; the core still needs one.
  const Endpoint meta = host_->lease->leader();
  if (meta.IsValid())
    return Call(meta, kRpcUpdateConfiguration, Wrapped(m.request), m.timeout, answered);
  // Posted, because a step must not begin within another one.
  strand_->Post([weak = hooks_.owner(), answered] {
    if (const std::shared_ptr<void> owner = weak.lock())
      answered({.error = ErrorCode::kNetworkFailure});
  });
}

std::optional<Responder> ReplicaMessages::Take(ReplyToken token) {
  const auto it = asked_.find(token);
  if (it == asked_.end()) return std::nullopt;
  std::optional<Responder> responder = std::move(it->second);
  asked_.erase(it);
  return responder;
}

void ReplicaMessages::Answer(const PeerReply& reply) {
  std::optional<Responder> responder = Take(reply.token);
  // Given up meanwhile.
  if (!responder) return;
  const auto encoded = [&](const auto& body) { return Wrapped(body); };
  if (const auto* check = std::get_if<GroupCheckResponse>(&reply.body)) {
    // The core knows nothing of disks: their state is added here.
    GroupCheckResponse told = *check;
    told.disk_status = host_->disks->watch->StateForPeers(
        host_->disks->watch->HasSpace(log_disk_) ? disk_ : log_disk_);
    return responder->Reply(ErrorCode::kOk, Wrapped(told));
  }
  responder->Reply(ErrorCode::kOk, std::visit(encoded, reply.body));
}

// A primary goes on without a member that refuses. For a member that is silent its writes would
// wait.
void ReplicaMessages::Refuse() {
  for (auto& [token, responder] : std::exchange(asked_, {}))
    responder.Reply(ErrorCode::kInvalidState);
}

}  // namespace arion
