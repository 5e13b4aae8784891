// SPDX-License-Identifier: Apache-2.0
#include "meta/admin_requests.h"

#include <string_view>
#include <utility>

#include "base/log.h"
#include "messages/admin_messages.h"
#include "messages/tool_messages.h"
#include "meta/meta_options.h"
#include "meta/request_codec.h"
#include "meta/store_guard.h"
#include "meta_judgement/balance_request.h"
#include "meta_judgement/forget_server.h"
#include "meta_overview/meta_queries.h"
#include "meta_state/unix_seconds.h"

namespace arion {

void AdminRequests::AddTo(RequestHandlers& handlers) {
  using Self = AdminRequests;
  handlers.Add(kRpcQueryConfig, this, &Self::OnQueryConfig);
  handlers.Add(kRpcListApps, this, &Self::OnListApps);
  handlers.Add(kRpcListNodes, this, &Self::OnListNodes);
  handlers.Add(kRpcClusterInfo, this, &Self::OnClusterInfo);
  handlers.Add(kRpcQueryAppInfo, this, &Self::OnQueryAppInfo);
  handlers.Add(kRpcControlMeta, this, &Self::OnControlMeta);
  handlers.Add(kRpcProposeBalancer, this, &Self::OnProposeBalancer);
  handlers.Add(kRpcForgetServer, this, &Self::OnForgetServer);
  handlers.Add(kRpcQueryLead, this, &Self::OnQueryLead);
  handlers.Add(kRpcHandOverLead, this, &Self::OnHandOverLead);
  handlers.Add(kRpcDddDiagnose, this, &Self::OnDddDiagnose);
  handlers.Add(kRpcGetMaxReplicaCount, this, &Self::OnGetMaxReplicaCount);
  handlers.Add(kRpcQueryManualCompact, this, &Self::OnQueryManualCompact);
  handlers.Add(kRpcGetAtomicIdempotent, this, &Self::OnGetAtomicIdempotent);
  handlers.Add(kRpcSetAtomicIdempotent, this, &Self::OnSetAtomicIdempotent);
}

void AdminRequests::OnQueryConfig(InboundRequest& request) {
  auto query = RequestCodec::Decode<QueryConfigRequest>(request);
  if (!query) return;
  // Clients and servers ask the same question and need different answers
  // (meta_overview/meta_queries.h).
  QueryAudience audience = request.header.framing == Framing::kRdsn
                               ? QueryAudience::kServersAndTools
                               : QueryAudience::kThriftClients;
  uses_.codec.Answer(request,
                     AnswerQueryConfig(uses_.state, uses_.reserved_names, *query, audience));
}

void AdminRequests::OnListApps(InboundRequest& request) {
  if (auto list = RequestCodec::Decode<ListAppsRequest>(request))
    uses_.codec.Answer(request, AnswerListApps(uses_.state, *list));
}

void AdminRequests::OnListNodes(InboundRequest& request) {
  if (auto list = RequestCodec::Decode<ListNodesRequest>(request)) {
    uses_.codec.Answer(request, AnswerListNodes(uses_.state, *list));
  }
}

// A question for replica servers, which the Go client's administration asks meta servers, and where
// it is not answered again and again.
void AdminRequests::OnQueryAppInfo(InboundRequest& request) {
  if (!RequestCodec::Decode<QueryAppInfoRequest>(request)) return;
  uses_.codec.Answer(
      request, QueryAppInfoResponse{
                   .apps = AnswerListApps(uses_.state, {.status = AppStatus::kAvailable}).infos});
}

void AdminRequests::OnClusterInfo(InboundRequest& request) {
  if (!RequestCodec::Decode<ClusterInfoRequest>(request)) return;
  uses_.codec.Answer(
      request, AnswerClusterInfo(uses_.state, {.meta_server = uses_.transport.local(),
                                               .cluster_name = uses_.options.cluster_name,
                                               .level = LevelOf(uses_.state, uses_.options)}));
}

void AdminRequests::OnControlMeta(InboundRequest& request) {
  auto control = RequestCodec::Decode<ControlMetaRequest>(request);
  if (!control) return;
  const FunctionLevel level = control->level;
  ControlMetaResponse response{.old_level = uses_.state.SetLevel()};
  if (level == FunctionLevel::kInvalid) return uses_.codec.Answer(request, response);  // only asks
  // Any number may come from the wire. One that is no level is refused before anything is stored.
  const bool is_level = FunctionLevelName(level) != FunctionLevelName(FunctionLevel::kInvalid);
  if (!is_level) response.err = ErrorCode::kInvalidParameters;
  if (is_level && uses_.store.is_failed()) response.err = ErrorCode::kFileOperationFailed;
  if (response.err != ErrorCode::kOk) return uses_.codec.Answer(request, response);
  uses_.store.Commit(
      {ClusterState::ChangeOf(level)}, StoreNeed::kToServe,
      [this, level, request = std::move(request)](const absl::Status& stored) mutable {
        // Anew: another request may have set it while this one was stored.
        ControlMetaResponse response{.old_level = uses_.state.SetLevel()};
        response.err = StoreGuard::ErrorOf(stored);
        if (stored.ok()) InstallLevel(level, request.header.from);
        uses_.codec.Answer(request, response);
      });
}

void AdminRequests::InstallLevel(FunctionLevel level, Endpoint says) {
  LOG(INFO) << "meta: level " << FunctionLevelName(uses_.state.SetLevel()) << " becomes "
            << FunctionLevelName(level) << ", says " << says;
  uses_.state.function_level = level;
  // Moves for balance are of level lively only; an administrator's plans end with them.
  if (level <= FunctionLevel::kSteady) {
    for (auto& [app_id, table] : uses_.state.tables) {
      for (Partition& partition : table.partitions) partition.planned.clear();
    }
  }
  uses_.plan();
}

void AdminRequests::OnProposeBalancer(InboundRequest& request) {
  auto propose = RequestCodec::Decode<ProposeBalancerRequest>(request);
  if (!propose) return;
  BalanceJudgement judgement =
      JudgeBalanceRequest(uses_.state, GuardianOf(uses_.options), *propose, uses_.clock.Now());
  if (judgement.error == ErrorCode::kOk) {
    LOG(INFO) << "meta: [" << propose->pid << "] " << judgement.planned.size()
              << " steps planned by " << request.header.from;
    uses_.state.FindPartition(propose->pid)->planned = std::move(judgement.planned);
    uses_.plan();
  } else {
    LOG(WARNING) << "meta: [" << propose->pid << "] a plan of " << request.header.from
                 << " is refused: " << judgement.reason;
  }
  uses_.codec.Answer(request, ProposeBalancerResponse{judgement.error});
}

// Its record in the detector stays: one that comes back hears that it was dead.
void AdminRequests::OnForgetServer(InboundRequest& request) {
  auto forget = RequestCodec::Decode<ForgetServerRequest>(request);
  if (!forget) return;
  const std::string why_not = WhyNotForgotten(uses_.state, forget->node, UnixSeconds(uses_.clock));
  if (!why_not.empty()) {
    const bool is_known = uses_.state.FindNode(forget->node) != nullptr;
    return uses_.codec.Answer(
        request, ForgetServerResponse{
                     is_known ? ErrorCode::kInvalidState : ErrorCode::kObjectNotFound, why_not});
  }
  LOG(WARNING) << "meta: " << forget->node << ", which is dead, is forgotten, says "
               << request.header.from;
  Forget(uses_.state, forget->node);
  uses_.codec.Answer(request, ForgetServerResponse{});
}

void AdminRequests::OnQueryLead(InboundRequest& request) {
  if (RequestCodec::Decode<QueryLeadRequest>(request))
    uses_.codec.Answer(
        request,
        QueryLeadResponse{.is_leader = true, .is_single = true, .leader = uses_.transport.local()});
}

void AdminRequests::OnHandOverLead(InboundRequest& request) {
  if (RequestCodec::Decode<HandOverLeadRequest>(request))
    uses_.codec.Answer(
        request,
        HandOverLeadResponse{ErrorCode::kInvalidState,
                             "this meta server is the only one: its state is in a journal of its "
                             "own (state = journal), and nobody else can lead"});
}

void AdminRequests::OnDddDiagnose(InboundRequest& request) {
  auto diagnose = RequestCodec::Decode<DddDiagnoseRequest>(request);
  if (!diagnose) return;
  uses_.codec.Answer(request,
                     AnswerDddDiagnose(uses_.state, GuardianOf(uses_.options), *diagnose,
                                       uses_.clock.Now(), uses_.clock.WallMicros() / 1000));
}

void AdminRequests::OnGetMaxReplicaCount(InboundRequest& request) {
  auto get = RequestCodec::Decode<TableNameRequest>(request);
  if (get) uses_.codec.Answer(request, AnswerMaxReplicaCount(uses_.state, get->app_name));
}

void AdminRequests::OnQueryManualCompact(InboundRequest& request) {
  auto query = RequestCodec::Decode<TableNameRequest>(request);
  if (query) uses_.codec.Answer(request, AnswerManualCompact(uses_.state, query->app_name));
}

// Atomic operations are always logged as what they came to (decision 21).
void AdminRequests::OnGetAtomicIdempotent(InboundRequest& request) {
  auto get = RequestCodec::Decode<TableNameRequest>(request);
  if (!get) return;
  if (uses_.state.FindTableByName(get->app_name) == nullptr) {
    return uses_.codec.Answer(request, AtomicIdempotentResponse{ErrorCode::kAppNotExist});
  }
  uses_.codec.Answer(request, AtomicIdempotentResponse{.atomic_idempotent = true});
}

void AdminRequests::OnSetAtomicIdempotent(InboundRequest& request) {
  auto set = RequestCodec::Decode<SetAtomicIdempotentRequest>(request);
  if (!set) return;
  AtomicIdempotentResponse response{.atomic_idempotent = true};
  if (uses_.state.FindTableByName(set->app_name) == nullptr) {
    response = {ErrorCode::kAppNotExist};
  } else if (!set->atomic_idempotent) {
    response.err = ErrorCode::kOperationDisabled;
    response.hint_message = "atomic operations are always idempotent here";
  }
  uses_.codec.Answer(request, response);
}

namespace {

struct DisabledCode {
  std::string_view code;
  int text_field;  // of its response; 0: it has none
  const char* what;
};
// Their clients show this text instead of an error code; where it goes differs by response.
constexpr DisabledCode kDisabled[] = {
    {"RPC_CM_START_BULK_LOAD", 2, "bulk load"},
    {"RPC_CM_QUERY_BULK_LOAD_STATUS", 7, "bulk load"},
    {"RPC_CM_CONTROL_BULK_LOAD", 2, "bulk load"},
    {"RPC_CM_CLEAR_BULK_LOAD", 2, "bulk load"},
    {"RPC_CM_START_BACKUP_APP", 2, "backup"},
    {"RPC_CM_QUERY_BACKUP_STATUS", 2, "backup"},
    {"RPC_CM_ADD_BACKUP_POLICY", 2, "backup"},
    {"RPC_CM_MODIFY_BACKUP_POLICY", 2, "backup"},
    {"RPC_CM_QUERY_BACKUP_POLICY", 4, "backup"},
    {"RPC_CM_START_RESTORE", 0, "restore"},
    {"RPC_CM_QUERY_RESTORE_STATUS", 0, "restore"},
};

}  // namespace

bool AdminRequests::AnswersAsDisabled(InboundRequest& request) const {
  for (const DisabledCode& disabled : kDisabled) {
    if (disabled.code != request.header.name) continue;
    const std::string text = absl::StrCat("Arion does not have ", disabled.what, " yet");
    DisabledResponse response;
    if (disabled.text_field == 2) response.hint_at_2 = text;
    if (disabled.text_field == 4) response.hint_at_4 = text;
    if (disabled.text_field == 7) response.hint_at_7 = text;
    uses_.codec.Answer(request, response);
    return true;
  }
  return false;
}

}  // namespace arion
