// What administrators ask of the meta server, and what they tell it to do.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "messages/tool_messages.h"
#include "meta/balance_request.h"
#include "meta/forget_server.h"
#include "meta/meta_server_state.h"
#include "meta_overview/meta_queries.h"

namespace arion {

void MetaServer::State::OnQueryConfig(InboundRequest& request) {
  auto query = Decode<QueryConfigRequest>(request);
  if (!query) return;
  QueryAudience audience = request.header.framing == Framing::kRdsn
                               ? QueryAudience::kServersAndTools
                               : QueryAudience::kThriftClients;
  Answer(request, AnswerQueryConfig(state_, reserved_names_, *query, audience));
}

void MetaServer::State::OnListApps(InboundRequest& request) {
  if (auto list = Decode<ListAppsRequest>(request)) Answer(request, AnswerListApps(state_, *list));
}

void MetaServer::State::OnListNodes(InboundRequest& request) {
  if (auto list = Decode<ListNodesRequest>(request)) {
    Answer(request, AnswerListNodes(state_, *list));
  }
}

// A question for replica servers, which the Go client's administration asks meta servers, and where
// it is not answered again and again.
void MetaServer::State::OnQueryAppInfo(InboundRequest& request) {
  if (!Decode<QueryAppInfoRequest>(request)) return;
  Answer(request, QueryAppInfoResponse{
                      .apps = AnswerListApps(state_, {.status = AppStatus::kAvailable}).infos});
}

void MetaServer::State::OnClusterInfo(InboundRequest& request) {
  if (!Decode<ClusterInfoRequest>(request)) return;
  Answer(request, AnswerClusterInfo(state_, {.meta_server = transport_.local(),
                                             .cluster_name = options_.cluster_name,
                                             .level = Level()}));
}

void MetaServer::State::OnControlMeta(InboundRequest& request) {
  auto control = Decode<ControlMetaRequest>(request);
  if (!control) return;
  const FunctionLevel level = control->level;
  ControlMetaResponse response{.old_level = state_.SetLevel()};
  if (level == FunctionLevel::kInvalid) return Answer(request, response);  // only asks
  const bool is_level = FunctionLevelName(level) != FunctionLevelName(FunctionLevel::kInvalid);
  if (!is_level) response.err = ErrorCode::kInvalidParameters;
  if (is_level && store_.is_failed()) response.err = ErrorCode::kFileOperationFailed;
  if (response.err != ErrorCode::kOk) return Answer(request, response);
  store_.Commit({ClusterState::ChangeOf(level)}, StoreNeed::kToServe,
                [this, level, request = std::move(request)](const absl::Status& stored) mutable {
                  ControlMetaResponse response{.old_level = state_.SetLevel()};
                  response.err = StoreGuard::ErrorOf(stored);
                  if (stored.ok()) InstallLevel(level, request.header.from);
                  Answer(request, response);
                });
}

void MetaServer::State::InstallLevel(FunctionLevel level, Endpoint says) {
  LOG(INFO) << "meta: level " << FunctionLevelName(state_.SetLevel()) << " becomes "
            << FunctionLevelName(level) << ", says " << says;
  state_.function_level = level;
  if (level <= FunctionLevel::kSteady) {
    for (auto& [app_id, table] : state_.tables) {
      for (Partition& partition : table.partitions) partition.planned.clear();
    }
  }
  SchedulePlan();
}

void MetaServer::State::OnProposeBalancer(InboundRequest& request) {
  auto propose = Decode<ProposeBalancerRequest>(request);
  if (!propose) return;
  BalanceJudgement judgement = JudgeBalanceRequest(state_, Guardian(), *propose, Now());
  if (judgement.error == ErrorCode::kOk) {
    LOG(INFO) << "meta: [" << propose->pid << "] " << judgement.planned.size()
              << " steps planned by " << request.header.from;
    state_.FindPartition(propose->pid)->planned = std::move(judgement.planned);
    SchedulePlan();
  } else {
    LOG(WARNING) << "meta: [" << propose->pid << "] a plan of " << request.header.from
                 << " is refused: " << judgement.reason;
  }
  Answer(request, ProposeBalancerResponse{judgement.error});
}

// Its record in the detector stays: one that comes back hears that it was dead.
void MetaServer::State::OnForgetServer(InboundRequest& request) {
  auto forget = Decode<ForgetServerRequest>(request);
  if (!forget) return;
  const std::string why_not = WhyNotForgotten(state_, forget->node, UnixSeconds());
  if (!why_not.empty()) {
    const bool is_known = state_.FindNode(forget->node) != nullptr;
    return Answer(request,
                  ForgetServerResponse{
                      is_known ? ErrorCode::kInvalidState : ErrorCode::kObjectNotFound, why_not});
  }
  LOG(WARNING) << "meta: " << forget->node << ", which is dead, is forgotten, says "
               << request.header.from;
  Forget(state_, forget->node);
  Answer(request, ForgetServerResponse{});
}

void MetaServer::State::OnDddDiagnose(InboundRequest& request) {
  auto diagnose = Decode<DddDiagnoseRequest>(request);
  if (!diagnose) return;
  Answer(request,
         AnswerDddDiagnose(state_, Guardian(), *diagnose, Now(), env_.clock().WallMicros() / 1000));
}

void MetaServer::State::OnGetMaxReplicaCount(InboundRequest& request) {
  auto get = Decode<TableNameRequest>(request);
  if (get) Answer(request, AnswerMaxReplicaCount(state_, get->app_name));
}

void MetaServer::State::OnQueryManualCompact(InboundRequest& request) {
  auto query = Decode<TableNameRequest>(request);
  if (query) Answer(request, AnswerManualCompact(state_, query->app_name));
}

// Atomic operations are always logged as what they came to (decision 21).
void MetaServer::State::OnGetAtomicIdempotent(InboundRequest& request) {
  auto get = Decode<TableNameRequest>(request);
  if (!get) return;
  if (state_.FindTableByName(get->app_name) == nullptr) {
    return Answer(request, AtomicIdempotentResponse{ErrorCode::kAppNotExist});
  }
  Answer(request, AtomicIdempotentResponse{.atomic_idempotent = true});
}

void MetaServer::State::OnSetAtomicIdempotent(InboundRequest& request) {
  auto set = Decode<SetAtomicIdempotentRequest>(request);
  if (!set) return;
  AtomicIdempotentResponse response{.atomic_idempotent = true};
  if (state_.FindTableByName(set->app_name) == nullptr) {
    response = {ErrorCode::kAppNotExist};
  } else if (!set->atomic_idempotent) {
    response.err = ErrorCode::kOperationDisabled;
    response.hint_message = "atomic operations are always idempotent here";
  }
  Answer(request, response);
}

namespace {

struct DisabledCode {
  std::string_view code;
  int text_field;  // of its response; 0: it has none
  const char* what;
};
constexpr DisabledCode kDisabled[] = {
    {"RPC_CM_START_PARTITION_SPLIT", 2, "partition split"},
    {"RPC_CM_QUERY_PARTITION_SPLIT", 4, "partition split"},
    {"RPC_CM_CONTROL_PARTITION_SPLIT", 2, "partition split"},
    {"RPC_CM_ADD_DUPLICATION", 4, "duplication"},
    {"RPC_CM_MODIFY_DUPLICATION", 0, "duplication"},
    {"RPC_CM_QUERY_DUPLICATION", 0, "duplication"},
    {"RPC_CM_LIST_DUPLICATION", 2, "duplication"},
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

bool MetaServer::State::AnswersAsDisabled(InboundRequest& request) {
  for (const DisabledCode& disabled : kDisabled) {
    if (disabled.code != request.header.name) continue;
    const std::string text = absl::StrCat("Arion does not have ", disabled.what, " yet");
    DisabledResponse response;
    if (disabled.text_field == 2) response.hint_at_2 = text;
    if (disabled.text_field == 4) response.hint_at_4 = text;
    if (disabled.text_field == 7) response.hint_at_7 = text;
    Answer(request, response);
    return true;
  }
  return false;
}

}  // namespace arion
