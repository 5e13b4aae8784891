// SPDX-License-Identifier: Apache-2.0
#include "meta/recovery_requests.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/log.h"
#include "base/status.h"
#include "messages/tool_messages.h"
#include "meta/meta_options.h"
#include "meta/owner_life.h"
#include "meta/request_codec.h"
#include "meta/request_handlers.h"
#include "meta/store_guard.h"
#include "meta/table_changes.h"
#include "meta_state/failure_detector.h"
#include "meta_state/replica_reports.h"
#include "meta_state/report_numbers.h"
#include "meta_state/unix_seconds.h"

namespace arion {
namespace {

// A server that needs longer is named in the report. The other bounds keep a request, and its
// answer, from filling the memory.
constexpr absl::Duration kRecoveryQuestionTimeout = absl::Seconds(5);
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

// By id; an error: one is there twice.
absl::StatusOr<std::map<int32_t, AppInfo>> ById(std::vector<AppInfo> tables) {
  std::map<int32_t, AppInfo> known;
  for (AppInfo& table : tables) {
    const int32_t app_id = table.app_id;
    if (!known.emplace(app_id, std::move(table)).second)
      return absl::InvalidArgumentError(
          absl::StrCat("the list of tables has table ", app_id, " twice"));
  }
  return known;
}

}  // namespace

void RecoveryRequests::AddTo(RequestHandlers& handlers) {
  handlers.Add(kRpcStartRecovery, this, &RecoveryRequests::OnStart);
}

std::optional<StartRecoveryResponse> RecoveryRequests::WhyNot(
    const std::set<Endpoint>& nodes) const {
  if (!uses_.state.tables.empty() || !uses_.changes.reserved_names().empty())
    return StartRecoveryResponse{ErrorCode::kServiceAlreadyRunning,
                                 "this meta server has tables and serves them; there is nothing to "
                                 "recover from replica servers"};
  if (uses_.store.is_failed())
    return StartRecoveryResponse{ErrorCode::kFileOperationFailed, "the state can't be stored"};
  const bool all_valid = std::all_of(
      nodes.begin(), nodes.end(), [](Endpoint node) { return node.IsValid() && node.port != 0; });
  if (nodes.empty() || nodes.size() > kServersMax || !all_valid)
    return StartRecoveryResponse{ErrorCode::kInvalidParameters, "name the replica servers to ask"};
  return std::nullopt;
}

void RecoveryRequests::OnStart(InboundRequest& request) {
  auto start = RequestCodec::Decode<StartRecoveryRequest>(request);
  if (!start) return;
  // A tool whose call timed out asks again. It waits for the same recovery instead of being
  // refused.
  if (recovery_ != nullptr) {
    // More than that are dropped; they run into their timeouts and ask again.
    if (recovery_->askers.size() < kAskersMax) recovery_->askers.push_back(std::move(request));
    return;
  }
  // A set: a server that is named twice is asked once.
  const std::set<Endpoint> nodes(start->recovery_nodes.begin(), start->recovery_nodes.end());
  if (const auto why_not = WhyNot(nodes)) return uses_.codec.Answer(request, *why_not);
  std::optional<std::map<int32_t, AppInfo>> known;
  if (start->known_tables) {
    auto by_id = ById(*std::move(start->known_tables));
    if (!by_id.ok())
      return uses_.codec.Answer(request,
                                StartRecoveryResponse{ErrorCode::kInvalidParameters,
                                                      std::string(by_id.status().message())});
    known = *std::move(by_id);
  }
  LOG(WARNING) << "meta: recovers its state from " << nodes.size() << " replica servers, says "
               << request.header.from;
  if (uses_.options.before_recovery) {
    const absl::Status may = uses_.options.before_recovery(nodes, uses_.state.AliveCount());
    if (!may.ok())
      return uses_.codec.Answer(
          request, StartRecoveryResponse{ErrorCode::kInvalidState, std::string(may.message())});
  }
  recovery_ = std::make_shared<Recovery>();
  recovery_->options.servers = start->skip_bad_nodes ? Incomplete::kSkip : Incomplete::kRefuse;
  recovery_->options.partitions =
      start->skip_lost_partitions ? Incomplete::kSkip : Incomplete::kRefuse;
  recovery_->options.known = std::move(known);
  recovery_->askers.push_back(std::move(request));
  events_.begun();
  for (Endpoint node : nodes) recovery_->held.push_back({.node = node});
  // Each server gets two questions (AskServers).
  recovery_->answers_missing = 2 * nodes.size();
  const absl::Duration wait = events_.leases_end() - uses_.clock.Now();
  // Until then a former primary may still acknowledge writes that its report would lack.
  if (wait <= absl::ZeroDuration()) return AskServers();
  uses_.strand->PostAfter(wait, uses_.life.While([this] {
    if (!is_stopped_) AskServers();
  }));
}

void RecoveryRequests::AskServers() {
  for (size_t i = 0; i < recovery_->held.size(); ++i) {
    const Endpoint node = recovery_->held[i].node;
    AskServer<QueryAppInfoResponse>(i, kRpcQueryAppInfo,
                                    QueryAppInfoRequest{.meta_server = uses_.transport.local()},
                                    [](HeldByServer& held, QueryAppInfoResponse answer) {
                                      held.tables = std::move(answer.apps);
                                    });
    AskServer<QueryReplicaInfoResponse>(
        i, kRpcQueryReplicaInfo, QueryReplicaInfoRequest{.node = node},
        [](HeldByServer& held, QueryReplicaInfoResponse answer) {
          held.replicas = std::move(answer.replicas);
          held.unreadable_disks =
              std::move(answer.unreadable_disks).value_or(std::vector<std::string>());
        });
  }
}

template <class Response, class Request, class Take>
void RecoveryRequests::AskServer(size_t index, const char* name, const Request& request,
                                 Take take) {
  uses_.transport.Call(
      recovery_->held[index].node,
      {.name = name, .body = uses_.codec.Encode(request), .timeout = kRecoveryQuestionTimeout},
      uses_.strand,
      uses_.life.While([this, recovery = recovery_, index, take](const RpcResult& result) {
        if (is_stopped_) return;
        HeldByServer& held = recovery->held[index];
        absl::StatusOr<Response> answer = ParseAnswer<Response>(result);
        if (answer.ok())
          take(held, *std::move(answer));
        else
          held.failure = std::string(answer.status().message());
        if (--recovery->answers_missing == 0) Store();
      }));
}

void RecoveryRequests::Store() {
  for (HeldByServer& held : recovery_->held) {
    if (held.failure.empty()) continue;
    // Half an answer counts as none: tables without their replicas would be made anew, empty.
    held.tables.clear();
    held.replicas.clear();
  }
  recovery_->options.unix_seconds = UnixSeconds(uses_.clock);
  RecoveredCluster recovered = RecoverCluster(recovery_->held, recovery_->options);
  for (const std::string& line : recovered.report) LOG(WARNING) << "meta: recovery: " << line;
  StartRecoveryResponse response{recovered.error, ReportText(recovered.report)};
  if (recovered.error != ErrorCode::kOk) return Finish(response);
  std::vector<MetaStore::Change> batch;
  for (const auto& [app_id, table] : recovered.tables) {
    batch.push_back(uses_.state.ChangeOf(table.info));
    for (const Partition& partition : table.partitions)
      batch.push_back(uses_.state.ChangeOf(partition.config));
  }
  if (batch.empty()) return Finish(response);
  uses_.store.Commit(std::move(batch), StoreNeed::kToServe,
                     [this, recovered = std::move(recovered),
                      response = std::move(response)](const absl::Status& stored) mutable {
                       if (is_stopped_) return;
                       if (stored.ok())
                         Install(std::move(recovered));
                       else
                         response = {StoreGuard::ErrorOf(stored), "the state can't be stored"};
                       Finish(response);
                     });
}

void RecoveryRequests::Install(RecoveredCluster recovered) {
  LOG(WARNING) << "meta: recovered " << recovered.tables.size() << " tables";
  uses_.state.tables = std::move(recovered.tables);
  uses_.state.learned_back = {.at = uses_.clock.Now(), .doubts = std::move(recovered.report)};
  for (auto& [app_id, table] : uses_.state.tables) {
    for (Partition& partition : table.partitions) {
      // The guardian's patience counts from here.
      partition.headless_since = uses_.clock.Now();
      for (Endpoint node : partition.config.last_drops) partition.dropped.push_back({.node = node});
    }
  }
  for (const HeldByServer& held : recovery_->held) {
    if (!held.failure.empty()) continue;
    uses_.state.nodes[held.node].alive = true;
    uses_.detector.AssumeAlive(held.node, uses_.clock.Now());
    // As if they had reported just now: the guardian then need not wait for the next config sync.
    ConfigSyncRequest sync{.node = held.node, .stored_replicas = held.replicas};
    if (!held.unreadable_disks.empty()) sync.unreadable_disks = held.unreadable_disks;
    NoteReports(uses_.state, sync, uses_.numbers.last(), uses_.options.grace, uses_.clock.Now());
  }
}

void RecoveryRequests::Finish(const StartRecoveryResponse& response) {
  // First: an asker that is answered may begin another one.
  const auto recovery = std::move(recovery_);
  for (InboundRequest& asker : recovery->askers) uses_.codec.Answer(asker, response);
  events_.ended(response.err == ErrorCode::kOk ? End::kRecovered : End::kFailed);
}

}  // namespace arion
