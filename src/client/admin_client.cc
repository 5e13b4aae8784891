// SPDX-License-Identifier: Apache-2.0
#include "client/admin_client.h"

#include <utility>

#include "base/status.h"
#include "client/client_threads.h"

namespace arion {

absl::StatusOr<std::unique_ptr<AdminClient>> AdminClient::Create(
    const std::vector<std::string>& meta_servers, absl::Duration timeout, std::string admin_token) {
  ASSIGN_OR_RETURN(std::vector<Endpoint> endpoints, ClientThreads::ParseEndpoints(meta_servers));
  return std::unique_ptr<AdminClient>(new AdminClient(
      // One thread is enough: each caller waits for its answer.
      std::make_unique<ClientThreads>(ClusterClientOptions{.meta_servers = std::move(endpoints),
                                                           .timeout = timeout,
                                                           .admin_token = std::move(admin_token)},
                                      1)));
}

AdminClient::AdminClient(std::unique_ptr<ClientThreads> threads) : threads_(std::move(threads)) {}

AdminClient::~AdminClient() = default;

// Requests are captured by reference everywhere below: they are encoded before their callback runs,
// and RunAndWait waits for that.
absl::StatusOr<CreateAppResponse> AdminClient::CreateTable(const CreateAppRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<CreateAppResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.CreateTable(request, std::move(done));
      });
}

absl::StatusOr<DropAppResponse> AdminClient::DropTable(const DropAppRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<DropAppResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.DropTable(request, std::move(done));
      });
}

absl::StatusOr<ListAppsResponse> AdminClient::ListTables(const ListAppsRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<ListAppsResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.ListTables(request, std::move(done));
      });
}

absl::StatusOr<ListNodesResponse> AdminClient::ListNodes(const ListNodesRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<ListNodesResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.ListNodes(request, std::move(done));
      });
}

absl::StatusOr<ClusterInfoResponse> AdminClient::ClusterInfo() {
  return threads_->RunAndWait<absl::StatusOr<ClusterInfoResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) { admin.ClusterInfo(std::move(done)); });
}

absl::StatusOr<QueryConfigResponse> AdminClient::QueryTable(const std::string& name) {
  return threads_->RunAndWait<absl::StatusOr<QueryConfigResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.QueryTable({.app_name = name}, std::move(done));
      });
}

absl::StatusOr<UpdateAppEnvResponse> AdminClient::UpdateEnvironments(
    const UpdateAppEnvRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<UpdateAppEnvResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.UpdateEnvironments(request, std::move(done));
      });
}

absl::StatusOr<RecallAppResponse> AdminClient::RecallTable(const RecallAppRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<RecallAppResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.RecallTable(request, std::move(done));
      });
}

absl::StatusOr<RenameAppResponse> AdminClient::RenameTable(const RenameAppRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<RenameAppResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.RenameTable(request, std::move(done));
      });
}

absl::StatusOr<MaxReplicaCountResponse> AdminClient::GetReplicaCount(
    const TableNameRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<MaxReplicaCountResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.GetReplicaCount(request, std::move(done));
      });
}

absl::StatusOr<MaxReplicaCountResponse> AdminClient::SetReplicaCount(
    const SetMaxReplicaCountRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<MaxReplicaCountResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.SetReplicaCount(request, std::move(done));
      });
}

absl::StatusOr<ControlMetaResponse> AdminClient::ControlMeta(const ControlMetaRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<ControlMetaResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.ControlMeta(request, std::move(done));
      });
}

absl::StatusOr<ProposeBalancerResponse> AdminClient::ProposePlan(
    const ProposeBalancerRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<ProposeBalancerResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.ProposePlan(request, std::move(done));
      });
}

absl::StatusOr<StartRecoveryResponse> AdminClient::StartRecovery(
    const StartRecoveryRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<StartRecoveryResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.StartRecovery(request, std::move(done));
      });
}

absl::StatusOr<ForgetServerResponse> AdminClient::ForgetServer(const ForgetServerRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<ForgetServerResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.ForgetServer(request, std::move(done));
      });
}

absl::StatusOr<DddDiagnoseResponse> AdminClient::DiagnoseDead(const DddDiagnoseRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<DddDiagnoseResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.DiagnoseDead(request, std::move(done));
      });
}

absl::StatusOr<StartManualCompactResponse> AdminClient::StartCompaction(
    const StartManualCompactRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<StartManualCompactResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.StartCompaction(request, std::move(done));
      });
}

absl::StatusOr<QueryManualCompactResponse> AdminClient::QueryCompaction(
    const TableNameRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<QueryManualCompactResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.QueryCompaction(request, std::move(done));
      });
}

absl::StatusOr<StartSplitResponse> AdminClient::StartSplit(const StartSplitRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<StartSplitResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.StartSplit(request, std::move(done));
      });
}

absl::StatusOr<QuerySplitResponse> AdminClient::QuerySplit(const QuerySplitRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<QuerySplitResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.QuerySplit(request, std::move(done));
      });
}

absl::StatusOr<ControlSplitResponse> AdminClient::ControlSplit(const ControlSplitRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<ControlSplitResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.ControlSplit(request, std::move(done));
      });
}

absl::StatusOr<AddDuplicationResponse> AdminClient::AddDuplication(
    const AddDuplicationRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<AddDuplicationResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.AddDuplication(request, std::move(done));
      });
}

absl::StatusOr<ModifyDuplicationResponse> AdminClient::ModifyDuplication(
    const ModifyDuplicationRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<ModifyDuplicationResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.ModifyDuplication(request, std::move(done));
      });
}

absl::StatusOr<QueryDuplicationResponse> AdminClient::QueryDuplication(
    const QueryDuplicationRequest& request) {
  return threads_->RunAndWait<absl::StatusOr<QueryDuplicationResponse>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.QueryDuplication(request, std::move(done));
      });
}

absl::StatusOr<std::string> AdminClient::AskServer(Endpoint server, const char* name,
                                                   std::string body) {
  return threads_->RunAndWait<absl::StatusOr<std::string>>(
      [&](ClusterClient&, TableAdmin& admin, auto done) {
        admin.AskServer(server, name, std::move(body), std::move(done));
      });
}

}  // namespace arion
