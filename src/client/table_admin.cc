// SPDX-License-Identifier: Apache-2.0
#include "client/table_admin.h"

#include <utility>

#include "base/status.h"
#include "client/retry_policy.h"

namespace arion {

TableAdmin::TableAdmin(Environment& environment, Transport& transport, StrandPtr strand,
                       MetaCallerOptions options, absl::Duration timeout)
    : environment_(environment),
      timeout_(timeout),
      meta_(std::make_shared<MetaCaller>(environment, transport, std::move(strand),
                                         std::move(options))) {}

template <class Response, class Request>
void TableAdmin::Call(const char* name, const Request& request, std::string what,
                      Callback<Response> done) {
  meta_->Call<Response>(
      name, request, environment_.clock().Now() + timeout_,
      [what = std::move(what), done = std::move(done)](absl::StatusOr<Response> answer) mutable {
        if (answer.ok() && answer->err != ErrorCode::kOk) {
          return done(StatusOfMetaError(answer->err, what));
        }
        done(std::move(answer));
      });
}

void TableAdmin::CreateTable(const CreateAppRequest& request, Callback<CreateAppResponse> done) {
  Call(kRpcCreateApp, request, absl::StrCat("create table ", request.app_name), std::move(done));
}

void TableAdmin::DropTable(const DropAppRequest& request, Callback<DropAppResponse> done) {
  Call(kRpcDropApp, request, absl::StrCat("drop table ", request.app_name), std::move(done));
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

}  // namespace arion
