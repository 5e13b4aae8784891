// The meta server rebuilds its state from what replica servers hold.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_join.h>

#include <algorithm>
#include <set>
#include <utility>

#include "messages/tool_messages.h"
#include "meta/meta_server_state.h"
#include "meta_state/replica_reports.h"

namespace arion {
namespace {

constexpr absl::Duration kQuestionTimeout = absl::Seconds(5);
constexpr size_t kServersMax = 2000;
constexpr size_t kReportLinesMax = 1000;
constexpr size_t kAskersMax = 100;

using Incomplete = RecoveryOptions::Incomplete;

// The answer, or what went wrong.
template <class Response>
absl::StatusOr<Response> ParseAnswer(const RpcResult& result) {
  if (result.error != ErrorCode::kOk)
    return absl::UnavailableError(Text(ErrorCodeName(result.error)));
  ASSIGN_OR_RETURN(Response response, DecodeWrapped<Response>(result.body));
  if (response.err != ErrorCode::kOk)
    return absl::UnavailableError(Text(ErrorCodeName(response.err)));
  return response;
}

std::string ReportText(const std::vector<std::string>& lines) {
  const size_t shown = std::min(lines.size(), kReportLinesMax);
  std::string text = absl::StrJoin(lines.begin(), lines.begin() + shown, "\n");
  if (shown < lines.size()) absl::StrAppend(&text, "\nand ", lines.size() - shown, " more");
  return text;
}

}  // namespace

// One recovery, from the request to the answer.
struct MetaServer::State::Recovery {
  Phase phase_before;
  RecoveryOptions options;
  std::vector<InboundRequest> askers;  // who asks again meanwhile gets the same answer
  std::vector<HeldByServer> held;
  size_t answers_missing = 0;
};

void MetaServer::State::OnStartRecovery(InboundRequest& request) {
  auto start = codec_.Decode<StartRecoveryRequest>(request);
  if (!start) return;
  if (recovery_ != nullptr) {
    if (recovery_->askers.size() < kAskersMax) recovery_->askers.push_back(std::move(request));
    return;
  }
  if (!state_.tables.empty() || !table_changes_.reserved_names().empty())
    return codec_.Answer(
        request,
        StartRecoveryResponse{ErrorCode::kServiceAlreadyRunning,
                              "this meta server has tables and serves them; there is nothing to "
                              "recover from replica servers"});
  if (store_.is_failed())
    return codec_.Answer(request, StartRecoveryResponse{ErrorCode::kFileOperationFailed,
                                                        "the state can't be stored"});
  const std::set<Endpoint> nodes(start->recovery_nodes.begin(), start->recovery_nodes.end());
  const bool all_valid = std::all_of(
      nodes.begin(), nodes.end(), [](Endpoint node) { return node.IsValid() && node.port != 0; });
  if (nodes.empty() || nodes.size() > kServersMax || !all_valid)
    return codec_.Answer(request, StartRecoveryResponse{ErrorCode::kInvalidParameters,
                                                        "name the replica servers to ask"});
  std::optional<std::map<int32_t, AppInfo>> known;
  if (start->known_tables) {
    known.emplace();
    for (AppInfo& table : *start->known_tables) {
      const int32_t app_id = table.app_id;
      if (!known->emplace(app_id, std::move(table)).second)
        return codec_.Answer(
            request,
            StartRecoveryResponse{ErrorCode::kInvalidParameters,
                                  absl::StrCat("the list of tables has table ", app_id, " twice")});
    }
  }
  LOG(WARNING) << "meta: recovers its state from " << nodes.size() << " replica servers, says "
               << request.header.from;
  if (options_.before_recovery) {
    const absl::Status may = options_.before_recovery(nodes, state_.AliveCount());
    if (!may.ok())
      return codec_.Answer(
          request, StartRecoveryResponse{ErrorCode::kInvalidState, std::string(may.message())});
  }
  recovery_ = std::make_shared<Recovery>(Recovery{.phase_before = phase_});
  recovery_->options.servers = start->skip_bad_nodes ? Incomplete::kSkip : Incomplete::kRefuse;
  recovery_->options.partitions =
      start->skip_lost_partitions ? Incomplete::kSkip : Incomplete::kRefuse;
  recovery_->options.known = std::move(known);
  recovery_->askers.push_back(std::move(request));
  phase_ = Phase::kUnderRecovery;
  for (Endpoint node : nodes) recovery_->held.push_back({.node = node});
  recovery_->answers_missing = 2 * nodes.size();
  // No beacon is answered meanwhile, so that no primary of before serves beside one that is chosen.
  const absl::Duration wait = leases_end_ - Now();
  if (wait <= absl::ZeroDuration()) return AskReplicaServers();
  strand_->PostAfter(wait, [weak = weak_from_this()] {
    auto self = weak.lock();
    if (self && self->phase_ != Phase::kStopped) self->AskReplicaServers();
  });
}

void MetaServer::State::AskReplicaServers() {
  for (size_t i = 0; i < recovery_->held.size(); ++i) {
    const Endpoint node = recovery_->held[i].node;
    AskReplicaServer<QueryAppInfoResponse>(i, kRpcQueryAppInfo,
                                           QueryAppInfoRequest{.meta_server = transport_.local()},
                                           [](HeldByServer& held, QueryAppInfoResponse answer) {
                                             held.tables = std::move(answer.apps);
                                           });
    AskReplicaServer<QueryReplicaInfoResponse>(
        i, kRpcQueryReplicaInfo, QueryReplicaInfoRequest{.node = node},
        [](HeldByServer& held, QueryReplicaInfoResponse answer) {
          held.replicas = std::move(answer.replicas);
          held.unreadable_disks =
              std::move(answer.unreadable_disks).value_or(std::vector<std::string>());
        });
  }
}

template <class Response, class Request, class Take>
void MetaServer::State::AskReplicaServer(size_t index, const char* name, const Request& request,
                                         Take take) {
  transport_.Call(recovery_->held[index].node,
                  {.name = name, .body = codec_.Encode(request), .timeout = kQuestionTimeout},
                  strand_,
                  [weak = weak_from_this(), recovery = recovery_, index, take](RpcResult result) {
                    auto self = weak.lock();
                    if (!self || self->phase_ == Phase::kStopped) return;
                    HeldByServer& held = recovery->held[index];
                    absl::StatusOr<Response> answer = ParseAnswer<Response>(result);
                    if (answer.ok())
                      take(held, *std::move(answer));
                    else
                      held.failure = std::string(answer.status().message());
                    if (--recovery->answers_missing == 0) self->StoreRecovered();
                  });
}

void MetaServer::State::StoreRecovered() {
  for (HeldByServer& held : recovery_->held) {
    if (held.failure.empty()) continue;
    held.tables.clear();
    held.replicas.clear();
  }
  recovery_->options.unix_seconds = UnixSeconds();
  RecoveredCluster recovered = RecoverCluster(recovery_->held, recovery_->options);
  for (const std::string& line : recovered.report) LOG(WARNING) << "meta: recovery: " << line;
  StartRecoveryResponse response{recovered.error, ReportText(recovered.report)};
  if (recovered.error != ErrorCode::kOk) return FinishRecovery(response);
  std::vector<MetaStore::Change> batch;
  for (const auto& [app_id, table] : recovered.tables) {
    batch.push_back(state_.ChangeOf(table.info));
    for (const Partition& partition : table.partitions)
      batch.push_back(state_.ChangeOf(partition.config));
  }
  if (batch.empty()) return FinishRecovery(response);
  store_.Commit(std::move(batch), StoreNeed::kToServe,
                [this, recovered = std::move(recovered),
                 response = std::move(response)](const absl::Status& stored) mutable {
                  if (phase_ == Phase::kStopped) return;
                  if (stored.ok())
                    InstallRecovered(std::move(recovered));
                  else
                    response = {StoreGuard::ErrorOf(stored), "the state can't be stored"};
                  FinishRecovery(response);
                });
}

void MetaServer::State::InstallRecovered(RecoveredCluster recovered) {
  LOG(WARNING) << "meta: recovered " << recovered.tables.size() << " tables";
  state_.tables = std::move(recovered.tables);
  state_.learned_back = {.at = Now(), .doubts = std::move(recovered.report)};
  for (auto& [app_id, table] : state_.tables) {
    for (Partition& partition : table.partitions) {
      partition.headless_since = Now();
      for (Endpoint node : partition.config.last_drops) partition.dropped.push_back({.node = node});
    }
  }
  for (const HeldByServer& held : recovery_->held) {
    if (!held.failure.empty()) continue;
    state_.nodes[held.node].alive = true;
    detector_.AssumeAlive(held.node, Now());
    ConfigSyncRequest sync{.node = held.node, .stored_replicas = held.replicas};
    if (!held.unreadable_disks.empty()) sync.unreadable_disks = held.unreadable_disks;
    NoteReports(state_, sync, last_report_number_, options_.grace, Now());
  }
}

void MetaServer::State::FinishRecovery(const StartRecoveryResponse& response) {
  const bool is_done = response.err == ErrorCode::kOk;
  phase_ = is_done ? Phase::kServing : recovery_->phase_before;
  const auto recovery = std::move(recovery_);
  for (InboundRequest& asker : recovery->askers) codec_.Answer(asker, response);
  if (phase_ == Phase::kServing) RunPlan();
}

}  // namespace arion
