// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/network_watch.h"

#include <absl/strings/str_cat.h>

#include <optional>
#include <utility>

#include "base/mutation.h"
#include "messages/meta_messages.h"
#include "rpc/thrift_codec.h"
#include "sim_cluster/server_lives.h"

namespace arion::sim {
namespace {

// A read; or a write that looks first, and is answered at once when it then changes nothing. For
// any other every member of the group has logged it.
bool MayAnswerFromWhatItHolds(std::string_view request) {
  const std::optional<WriteCode> code = FindWriteCode(request);
  return !code || *code == WriteCode::kIncr || *code == WriteCode::kCheckAndSet ||
         *code == WriteCode::kCheckAndMutate;
}

}  // namespace

NetworkWatch::NetworkWatch(SimWorld& world, SimNetwork& network, ServerLives& lives,
                           const FullDisks& full_disks, RunCheckers& checkers)
    : world_(world), lives_(lives), full_disks_(full_disks), checkers_(checkers) {
  network.on_request = [this](Endpoint from, Endpoint to, const OutboundRequest& request) {
    NoteRequest(from, to, request);
  };
  network.on_answer = [this](Endpoint server, const OutboundRequest& request, ErrorCode error,
                             const std::string& body) { NoteAnswer(server, request, error, body); };
  network.told = {kRpcBeacon, [this](Endpoint caller, Instant sent, const RpcResult& result) {
                    NoteBeacon(caller, sent, result);
                  }};
  network.is_withheld = [this](Endpoint endpoint, const OutboundRequest& request) {
    return IsWithheld(endpoint, request);
  };
}

void NetworkWatch::NoteRequest(Endpoint from, Endpoint to, const OutboundRequest& request) {
  if (request.name == kRpcLearn) checkers_.coverage.LearnAsked(from, request.pid);
  if (request.name == kRpcPrepare) NotePrepare(from, to, request.body);
}

void NetworkWatch::NotePrepare(Endpoint from, Endpoint to, const std::string& body) {
  if (body != last_prepare_.body) {  // all secondaries get the same
    absl::StatusOr<PrepareRequest> request = DecodePrepare(body);
    if (!request.ok()) return checkers_.Violate("a prepare does not decode");
    last_prepare_ = {body, *std::move(request)};
  }
  const PrepareRequest& request = last_prepare_.request;
  checkers_.coverage.Prepared(from, to, request);
  checkers_.primaries.Prepared(request.pid, request.config.ballot, from);
  checkers_.ballots.Used(request.pid, request.config.ballot);
}

void NetworkWatch::NoteAnswer(Endpoint server, const OutboundRequest& request, ErrorCode error,
                              const std::string& body) {
  if (request.pid != PartitionId{} && error == ErrorCode::kOk) {
    checkers_.primaries.Answered(
        request.pid, server,
        FindWriteCode(request.name) ? PrimaryChecker::Asked::kWrite : PrimaryChecker::Asked::kRead,
        world_.now());
  }
  NoteProgress(request, error, body);
  Coverage& coverage = checkers_.coverage;
  if (error == ErrorCode::kInvalidState || error == ErrorCode::kObjectNotFound)
    coverage.Hit(Probe::kClientSentElsewhere);
  if (error == ErrorCode::kDiskInsufficient) {
    coverage.Hit(Probe::kWriteRefusedByDisk);
    if (full_disks_.must_take_writes())
      checkers_.Violate(absl::StrCat("full_disks/F1: a write to ", request.pid.ToString(),
                                     " is refused for a full disk that should be left"));
  }
}

void NetworkWatch::NoteProgress(const OutboundRequest& request, ErrorCode error,
                                const std::string& body) {
  Coverage& coverage = checkers_.coverage;
  if (request.name == kRpcLearn && error == ErrorCode::kOk) {
    absl::StatusOr<LearnResponse> response = DecodeWrapped<LearnResponse>(body);
    if (response.ok()) coverage.LearnAnswered(*response);
  } else if (request.name == kRpcLearnCompletion) {
    coverage.Hit(Probe::kLearnCompleted);
  } else if (request.name == kRpcCopyFile) {
    coverage.Hit(Probe::kFilesCopied);
  } else if (request.name == kRpcPrepare && error == ErrorCode::kOk) {
    absl::StatusOr<PrepareAck> ack = DecodeWrapped<PrepareAck>(body);
    if (ack.ok() && ack->err != ErrorCode::kOk) coverage.Hit(Probe::kPrepareRefused);
  }
}

void NetworkWatch::NoteBeacon(Endpoint caller, Instant sent, const RpcResult& result) {
  SimServer* server = lives_.ServerAt(caller);
  if (server != nullptr && lives_.metas() != nullptr && !IsOfLeader(sent, result)) return;
  if (server != nullptr && result.error == ErrorCode::kOk && server->knows_nothing_since &&
      // A beacon that was sent before the standstill ended proves nothing: its answer may have
      // waited.
      *server->knows_nothing_since <= sent)
    server->knows_nothing_since.reset();
}

bool NetworkWatch::IsOfLeader(Instant sent, const RpcResult& result) {
  if (result.error != ErrorCode::kOk) return false;
  const auto ack = DecodeWrapped<BeaconAck>(result.body);
  if (!ack.ok() || !ack->is_master) return false;
  checkers_.leaders.AnsweredAsLeader(ack->this_node, sent);
  return true;
}

bool NetworkWatch::IsWithheld(Endpoint endpoint, const OutboundRequest& request) {
  const bool is_of_replica = request.pid != PartitionId{};
  const SimServer* server =
      is_of_replica && MayAnswerFromWhatItHolds(request.name) ? lives_.ServerAt(endpoint) : nullptr;
  return server != nullptr && server->knows_nothing_since.has_value();
}

}  // namespace arion::sim
