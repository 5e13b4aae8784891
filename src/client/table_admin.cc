// SPDX-License-Identifier: Apache-2.0
#include "client/table_admin.h"

#include <utility>

#include "base/status.h"
#include "client/retry_policy.h"
#include "env/clock.h"
#include "env/environment.h"
#include "rpc/admin_token.h"

namespace arion {
namespace {

// Not every answer has one; where there is one, it tells a person why.
template <class Response>
std::string HintOf(const Response& answer) {
  if constexpr (requires { answer.hint_message.empty(); }) return answer.hint_message;
  if constexpr (requires { answer.hint_msg.value_or(""); }) return answer.hint_msg.value_or("");
  if constexpr (requires { answer.hint_msg.empty(); }) return answer.hint_msg;
  if constexpr (requires { answer.hint.value_or(""); }) return answer.hint.value_or("");
  return "";
}

}  // namespace

TableAdmin::TableAdmin(Environment& environment, Transport& transport, StrandPtr strand,
                       MetaCallerOptions options, absl::Duration timeout)
    : environment_(environment),
      transport_(transport),
      strand_(strand),
      admin_token_(options.admin_token),
      timeout_(timeout),
      meta_(std::make_shared<MetaCaller>(environment, transport, std::move(strand),
                                         std::move(options))) {}

template <class Response, class Request>
void TableAdmin::Call(const char* name, const Request& request, std::string what,
                      Callback<Response> done, MetaCaller::Again again) {
  // One deadline for all attempts. MetaCaller finds the meta server that leads and tries again;
  // here an answer with an error becomes a status.
  meta_->Call<Response>(
      name, request, environment_.clock().Now() + timeout_,
      [what = std::move(what), done = std::move(done)](absl::StatusOr<Response> answer) mutable {
        if (answer.ok() && answer->err != ErrorCode::kOk) {
          absl::Status status = StatusOfMetaError(answer->err, what);
          if (const std::string hint = HintOf(*answer); !hint.empty())
            status = absl::Status(status.code(), absl::StrCat(status.message(), ": ", hint));
          return done(std::move(status));
        }
        done(std::move(answer));
      },
      again);
}

// Again::kRefusal marks changes that a meta server refuses when it has made them already. After an
// attempt without an answer such a refusal proves nothing (client/meta_caller.h).
void TableAdmin::CreateTable(const CreateAppRequest& request, Callback<CreateAppResponse> done) {
  Call(kRpcCreateApp, request, absl::StrCat("create table ", request.app_name), std::move(done),
       MetaCaller::Again::kRefusal);
}

void TableAdmin::DropTable(const DropAppRequest& request, Callback<DropAppResponse> done) {
  Call(kRpcDropApp, request, absl::StrCat("drop table ", request.app_name), std::move(done),
       MetaCaller::Again::kRefusal);
}

void TableAdmin::ListTables(const ListAppsRequest& request, Callback<ListAppsResponse> done) {
  Call(kRpcListApps, request, "list tables", std::move(done));
}

void TableAdmin::ListNodes(const ListNodesRequest& request, Callback<ListNodesResponse> done) {
  Call(kRpcListNodes, request, "list nodes", std::move(done));
}

void TableAdmin::ClusterInfo(Callback<ClusterInfoResponse> done) {
  Call(kRpcClusterInfo, ClusterInfoRequest(), "cluster info", std::move(done));
}

void TableAdmin::QueryTable(const QueryConfigRequest& request, Callback<QueryConfigResponse> done) {
  Call(kRpcQueryConfig, request, absl::StrCat("table ", request.app_name), std::move(done));
}

void TableAdmin::UpdateEnvironments(const UpdateAppEnvRequest& request,
                                    Callback<UpdateAppEnvResponse> done) {
  Call(kRpcUpdateAppEnv, request, absl::StrCat("environments of table ", request.app_name),
       std::move(done));
}

void TableAdmin::RecallTable(const RecallAppRequest& request, Callback<RecallAppResponse> done) {
  Call(kRpcRecallApp, request, absl::StrCat("recall table ", request.app_id), std::move(done),
       MetaCaller::Again::kRefusal);
}

void TableAdmin::RenameTable(const RenameAppRequest& request, Callback<RenameAppResponse> done) {
  Call(kRpcRenameApp, request, absl::StrCat("rename table ", request.old_app_name), std::move(done),
       MetaCaller::Again::kRefusal);
}

void TableAdmin::GetReplicaCount(const TableNameRequest& request,
                                 Callback<MaxReplicaCountResponse> done) {
  Call(kRpcGetMaxReplicaCount, request, absl::StrCat("replica count of table ", request.app_name),
       std::move(done));
}

void TableAdmin::SetReplicaCount(const SetMaxReplicaCountRequest& request,
                                 Callback<MaxReplicaCountResponse> done) {
  Call(kRpcSetMaxReplicaCount, request, absl::StrCat("replica count of table ", request.app_name),
       std::move(done));
}

void TableAdmin::StartCompaction(const StartManualCompactRequest& request,
                                 Callback<StartManualCompactResponse> done) {
  Call(kRpcStartManualCompact, request, absl::StrCat("compact table ", request.app_name),
       std::move(done), MetaCaller::Again::kRefusal);
}

void TableAdmin::QueryCompaction(const TableNameRequest& request,
                                 Callback<QueryManualCompactResponse> done) {
  Call(kRpcQueryManualCompact, request, absl::StrCat("compaction of table ", request.app_name),
       std::move(done));
}

void TableAdmin::StartSplit(const StartSplitRequest& request, Callback<StartSplitResponse> done) {
  Call(kRpcStartSplit, request, absl::StrCat("split table ", request.app_name), std::move(done),
       MetaCaller::Again::kRefusal);
}

void TableAdmin::QuerySplit(const QuerySplitRequest& request, Callback<QuerySplitResponse> done) {
  Call(kRpcQuerySplit, request, absl::StrCat("split of table ", request.app_name), std::move(done));
}

void TableAdmin::ControlSplit(const ControlSplitRequest& request,
                              Callback<ControlSplitResponse> done) {
  Call(kRpcControlSplit, request, absl::StrCat("split of table ", request.app_name),
       std::move(done), MetaCaller::Again::kRefusal);
}

void TableAdmin::AddDuplication(const AddDuplicationRequest& request,
                                Callback<AddDuplicationResponse> done) {
  // One that is there already is answered with its ids: a repetition does no harm.
  Call(kRpcAddDuplication, request,
       absl::StrCat("duplicate table ", request.app_name, " to ", request.remote_cluster_name),
       std::move(done));
}

void TableAdmin::ModifyDuplication(const ModifyDuplicationRequest& request,
                                   Callback<ModifyDuplicationResponse> done) {
  Call(kRpcModifyDuplication, request,
       absl::StrCat("duplication ", request.dupid, " of table ", request.app_name), std::move(done),
       MetaCaller::Again::kRefusal);
}

void TableAdmin::QueryDuplication(const QueryDuplicationRequest& request,
                                  Callback<QueryDuplicationResponse> done) {
  Call(kRpcQueryDuplication, request, absl::StrCat("duplications of table ", request.app_name),
       std::move(done));
}

void TableAdmin::AskServer(Endpoint server, const char* name, std::string body,
                           Callback<std::string> done) {
  // The meta caller adds the token to its own questions; this one goes past it, to a server that
  // the caller chose, so it is asked once and no other is tried.
  if (!admin_token_.empty()) AddAdminToken(admin_token_, &body);
  transport_.Call(server, {.name = name, .body = std::move(body), .timeout = timeout_}, strand_,
                  [server, name, done = std::move(done)](RpcResult result) mutable {
                    if (result.error == ErrorCode::kOk) return done(std::move(result.body));
                    done(absl::UnavailableError(absl::StrCat(server.ToString(), ": ", name, ": ",
                                                             Text(ErrorCodeName(result.error)))));
                  });
}

void TableAdmin::ControlMeta(const ControlMetaRequest& request,
                             Callback<ControlMetaResponse> done) {
  Call(kRpcControlMeta, request, "meta level", std::move(done));
}

void TableAdmin::ProposePlan(const ProposeBalancerRequest& request,
                             Callback<ProposeBalancerResponse> done) {
  Call(kRpcProposeBalancer, request, absl::StrCat("plan for partition ", request.pid.ToString()),
       std::move(done), MetaCaller::Again::kRefusal);
}

void TableAdmin::StartRecovery(const StartRecoveryRequest& request,
                               Callback<StartRecoveryResponse> done) {
  Call(kRpcStartRecovery, request, "recover", std::move(done));
}

void TableAdmin::ForgetServer(const ForgetServerRequest& request,
                              Callback<ForgetServerResponse> done) {
  Call(kRpcForgetServer, request, absl::StrCat("server ", request.node.ToString()),
       std::move(done));
}

void TableAdmin::DiagnoseDead(const DddDiagnoseRequest& request,
                              Callback<DddDiagnoseResponse> done) {
  Call(kRpcDddDiagnose, request, "dead partitions", std::move(done));
}

}  // namespace arion
