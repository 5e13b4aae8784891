// TableAdmin: what administrators ask of the meta server (rpc/PROTOCOL.md 7.2).
//
// Errors    DeadlineExceeded: no meta server answered in time, or a repetition was refused and the
//           first attempt may have been carried out; a change may or may not have been made.
//           AlreadyExists, NotFound, InvalidArgument, PermissionDenied, FailedPrecondition (its
//           state does not allow it), Unavailable (busy creating or dropping: ask again) with the
//           protocol's error name in the text, and the meta server's hint.
// Threads   Strand-bound: call on the strand given; callbacks come back on it, each once, unless
//           this is destroyed first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/meta_caller.h"
#include "messages/admin_messages.h"
#include "messages/duplication_messages.h"
#include "messages/meta_messages.h"
#include "messages/split_messages.h"

namespace arion {

class Environment;

// One method for each administrative RPC. A response that reaches `done` has err kOk: every other
// one has become a status. Requests are sent as they are; the meta server checks them.
//
//   admin.DropTable({.app_name = "temp"}, [](absl::StatusOr<DropAppResponse> answer) { ... });
class TableAdmin {
 public:
  template <class T>
  using Callback = absl::AnyInvocable<void(absl::StatusOr<T>)>;

  // `environment` and `transport` outlive it. `timeout` bounds each call, all attempts included.
  TableAdmin(Environment& environment, Transport& transport, StrandPtr strand,
             MetaCallerOptions options, absl::Duration timeout);

  // Tables.
  void CreateTable(const CreateAppRequest& request, Callback<CreateAppResponse> done);
  void DropTable(const DropAppRequest& request, Callback<DropAppResponse> done);
  void ListTables(const ListAppsRequest& request, Callback<ListAppsResponse> done);
  // What the meta server knows.
  void ListNodes(const ListNodesRequest& request, Callback<ListNodesResponse> done);
  void ClusterInfo(Callback<ClusterInfoResponse> done);
  void QueryTable(const QueryConfigRequest& request, Callback<QueryConfigResponse> done);
  // Changes to a table.
  void UpdateEnvironments(const UpdateAppEnvRequest& request, Callback<UpdateAppEnvResponse> done);
  void RecallTable(const RecallAppRequest& request, Callback<RecallAppResponse> done);
  void RenameTable(const RenameAppRequest& request, Callback<RenameAppResponse> done);
  void GetReplicaCount(const TableNameRequest& request, Callback<MaxReplicaCountResponse> done);
  void SetReplicaCount(const SetMaxReplicaCountRequest& request,
                       Callback<MaxReplicaCountResponse> done);
  // The cluster's administration.
  void ControlMeta(const ControlMetaRequest& request, Callback<ControlMetaResponse> done);
  void ProposePlan(const ProposeBalancerRequest& request, Callback<ProposeBalancerResponse> done);
  void StartRecovery(const StartRecoveryRequest& request, Callback<StartRecoveryResponse> done);
  void ForgetServer(const ForgetServerRequest& request, Callback<ForgetServerResponse> done);
  void DiagnoseDead(const DddDiagnoseRequest& request, Callback<DddDiagnoseResponse> done);
  // Manual compaction.
  void StartCompaction(const StartManualCompactRequest& request,
                       Callback<StartManualCompactResponse> done);
  void QueryCompaction(const TableNameRequest& request, Callback<QueryManualCompactResponse> done);
  // Splits: started, looked at, paused or gone on with or taken back. FailedPrecondition of
  // QuerySplit: the table is not being split.
  void StartSplit(const StartSplitRequest& request, Callback<StartSplitResponse> done);
  void QuerySplit(const QuerySplitRequest& request, Callback<QuerySplitResponse> done);
  void ControlSplit(const ControlSplitRequest& request, Callback<ControlSplitResponse> done);
  // Duplications to other clusters.
  void AddDuplication(const AddDuplicationRequest& request, Callback<AddDuplicationResponse> done);
  void ModifyDuplication(const ModifyDuplicationRequest& request,
                         Callback<ModifyDuplicationResponse> done);
  void QueryDuplication(const QueryDuplicationRequest& request,
                        Callback<QueryDuplicationResponse> done);
  // Asks one server, replica or meta, whichever it is: `done` gets the answer's body. Unavailable
  // names the server and its error. One attempt only.
  void AskServer(Endpoint server, const char* name, std::string body, Callback<std::string> done);

 private:
  // `what` names the operation in the text of an error.
  template <class Response, class Request>
  void Call(const char* name, const Request& request, std::string what, Callback<Response> done,
            MetaCaller::Again again = MetaCaller::Again::kTheSame);

  Environment& environment_;
  Transport& transport_;
  const StrandPtr strand_;
  const std::string admin_token_;
  const absl::Duration timeout_;
  const std::shared_ptr<MetaCaller> meta_;
};

}  // namespace arion
