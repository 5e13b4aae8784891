// AdminClient: TableAdmin for callers that wait: the shell, the one-box script's checks.
//
//   ASSIGN_OR_RETURN(auto admin, AdminClient::Create({"127.0.0.1:34601"}, absl::Seconds(10)));
//   ASSIGN_OR_RETURN(ListNodesResponse nodes, admin->ListNodes());
//
// Errors    As TableAdmin.
// Threads   Thread-safe. Each call waits for its answer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <memory>
#include <string>
#include <vector>

#include "messages/admin_messages.h"
#include "messages/duplication_messages.h"
#include "messages/meta_messages.h"
#include "messages/split_messages.h"

namespace arion {

class ClientThreads;

// Owns one client thread with its connections. Each method below is TableAdmin's of the same name.
class AdminClient {
 public:
  // `meta_servers` as "127.0.0.1:34601", at least one. `timeout` is that of one call.
  // `admin_token`: what servers with admin_token_file ask for; empty: no token is sent. Nothing is
  // sent yet. InvalidArgument: an address is not IPv4:port.
  static absl::StatusOr<std::unique_ptr<AdminClient>> Create(
      const std::vector<std::string>& meta_servers, absl::Duration timeout,
      std::string admin_token = "");
  ~AdminClient();

  // Tables: made, dropped, listed. A table's name is its present one.
  absl::StatusOr<CreateAppResponse> CreateTable(const CreateAppRequest& request);
  absl::StatusOr<DropAppResponse> DropTable(const DropAppRequest& request);
  absl::StatusOr<ListAppsResponse> ListTables(const ListAppsRequest& request = {});
  // What the meta server knows of servers and of where partitions are.
  absl::StatusOr<ListNodesResponse> ListNodes(const ListNodesRequest& request = {});
  absl::StatusOr<ClusterInfoResponse> ClusterInfo();
  absl::StatusOr<QueryConfigResponse> QueryTable(const std::string& name);
  // Changes to a table that exists (or, of RecallTable, that was dropped and is still kept).
  absl::StatusOr<UpdateAppEnvResponse> UpdateEnvironments(const UpdateAppEnvRequest& request);
  absl::StatusOr<RecallAppResponse> RecallTable(const RecallAppRequest& request);
  absl::StatusOr<RenameAppResponse> RenameTable(const RenameAppRequest& request);
  absl::StatusOr<MaxReplicaCountResponse> GetReplicaCount(const TableNameRequest& request);
  absl::StatusOr<MaxReplicaCountResponse> SetReplicaCount(const SetMaxReplicaCountRequest& request);
  // The cluster's administration.
  absl::StatusOr<ControlMetaResponse> ControlMeta(const ControlMetaRequest& request);
  absl::StatusOr<ProposeBalancerResponse> ProposePlan(const ProposeBalancerRequest& request);
  absl::StatusOr<StartRecoveryResponse> StartRecovery(const StartRecoveryRequest& request);
  absl::StatusOr<ForgetServerResponse> ForgetServer(const ForgetServerRequest& request);
  absl::StatusOr<DddDiagnoseResponse> DiagnoseDead(const DddDiagnoseRequest& request);
  // Manual compaction of one table: started, and how far it is.
  absl::StatusOr<StartManualCompactResponse> StartCompaction(
      const StartManualCompactRequest& request);
  absl::StatusOr<QueryManualCompactResponse> QueryCompaction(const TableNameRequest& request);
  // Splits of one table.
  absl::StatusOr<StartSplitResponse> StartSplit(const StartSplitRequest& request);
  absl::StatusOr<QuerySplitResponse> QuerySplit(const QuerySplitRequest& request);
  absl::StatusOr<ControlSplitResponse> ControlSplit(const ControlSplitRequest& request);
  // Duplications of one table to other clusters.
  absl::StatusOr<AddDuplicationResponse> AddDuplication(const AddDuplicationRequest& request);
  absl::StatusOr<ModifyDuplicationResponse> ModifyDuplication(
      const ModifyDuplicationRequest& request);
  absl::StatusOr<QueryDuplicationResponse> QueryDuplication(const QueryDuplicationRequest& request);
  // Sends `body` to one server, replica or meta, under the RPC code `name`; returns the answer's
  // body.
  absl::StatusOr<std::string> AskServer(Endpoint server, const char* name, std::string body);

 private:
  explicit AdminClient(std::unique_ptr<ClientThreads> threads);
  const std::unique_ptr<ClientThreads> threads_;
};

}  // namespace arion
