// AdminClient: TableAdmin for callers that wait: the shell, the one-box script's checks.
//
// Errors   As TableAdmin.
// Threads  Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <memory>
#include <string>
#include <vector>

#include "messages/admin_messages.h"
#include "messages/meta_messages.h"

namespace arion {

class ClientRuntime;

class AdminClient {
 public:
  // `meta_servers` as "127.0.0.1:34601". `timeout` is that of one call. `admin_token`: what servers
  // with admin_token_file ask for; empty: none.
  static absl::StatusOr<std::unique_ptr<AdminClient>> Create(
      const std::vector<std::string>& meta_servers, absl::Duration timeout,
      std::string admin_token = "");
  ~AdminClient();

  absl::StatusOr<CreateAppResponse> CreateTable(const CreateAppRequest& request);
  absl::StatusOr<DropAppResponse> DropTable(const DropAppRequest& request);
  absl::StatusOr<ListAppsResponse> ListTables(const ListAppsRequest& request = {});
  absl::StatusOr<ListNodesResponse> ListNodes(const ListNodesRequest& request = {});
  absl::StatusOr<ClusterInfoResponse> ClusterInfo();
  absl::StatusOr<QueryConfigResponse> QueryTable(const std::string& name);
  absl::StatusOr<UpdateAppEnvResponse> UpdateEnvironments(const UpdateAppEnvRequest& request);
  absl::StatusOr<RecallAppResponse> RecallTable(const RecallAppRequest& request);
  absl::StatusOr<RenameAppResponse> RenameTable(const RenameAppRequest& request);
  absl::StatusOr<MaxReplicaCountResponse> GetReplicaCount(const TableNameRequest& request);
  absl::StatusOr<MaxReplicaCountResponse> SetReplicaCount(const SetMaxReplicaCountRequest& request);
  absl::StatusOr<ControlMetaResponse> ControlMeta(const ControlMetaRequest& request);
  absl::StatusOr<ProposeBalancerResponse> ProposePlan(const ProposeBalancerRequest& request);
  absl::StatusOr<StartRecoveryResponse> StartRecovery(const StartRecoveryRequest& request);
  absl::StatusOr<ForgetServerResponse> ForgetServer(const ForgetServerRequest& request);
  absl::StatusOr<DddDiagnoseResponse> DiagnoseDead(const DddDiagnoseRequest& request);
  absl::StatusOr<StartManualCompactResponse> StartCompaction(
      const StartManualCompactRequest& request);
  absl::StatusOr<QueryManualCompactResponse> QueryCompaction(const TableNameRequest& request);
  absl::StatusOr<std::string> AskServer(Endpoint server, const char* name, std::string body);

 private:
  explicit AdminClient(std::unique_ptr<ClientRuntime> runtime);
  const std::unique_ptr<ClientRuntime> runtime_;
};

}  // namespace arion
