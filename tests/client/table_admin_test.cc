// SPDX-License-Identifier: Apache-2.0
#include "client/table_admin.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "rpc/admin_token.h"
#include "rpc/thrift_codec.h"
#include "tests/client/fake_cluster.h"

namespace arion {
namespace {

Endpoint Node(uint16_t port) { return {.ip = 0x7f000001, .port = port}; }
const Endpoint kMeta1 = Node(34601), kMeta2 = Node(34602), kServer1 = Node(34801);

RpcResult Error(ErrorCode error) { return {.error = error}; }
template <class T>
RpcResult Ok(const T& answer) {
  return {.body = EncodeWrapped(answer)};
}

// The second attempt is answered from what the first one did.
TEST(TableAdmin, ARefusalDoesNotUndoAnEarlierAttempt) {
  FakeCluster cluster;
  std::deque<std::optional<RpcResult>> answers;
  cluster.SetServer(kMeta1, [&](const OutboundRequest&) {
    auto answer = std::move(answers.front());
    answers.pop_front();
    return answer;
  });
  TableAdmin admin(cluster, cluster, cluster.strand(), {.meta_servers = {kMeta1}},
                   absl::Seconds(5));
  const auto drop = [&] {
    absl::Status dropped;
    cluster.Run([&] {
      admin.DropTable({.app_name = "temp"}, [&](auto answer) { dropped = answer.status(); });
    });
    return dropped;
  };
  const RpcResult gone = Ok(DropAppResponse{.err = ErrorCode::kAppNotExist});
  const RpcResult done = Ok(DropAppResponse());
  const RpcResult lost = Error(ErrorCode::kNetworkFailure);
  const RpcResult unsent{.error = ErrorCode::kNetworkFailure, .was_never_sent = true};
  answers = {std::nullopt, gone};
  EXPECT_TRUE(absl::IsDeadlineExceeded(drop()));
  answers = {lost, Error(ErrorCode::kAclDeny)};
  EXPECT_TRUE(absl::IsDeadlineExceeded(drop()));
  answers = {lost, std::nullopt, done};
  EXPECT_TRUE(drop().ok());
  answers = {unsent, Error(ErrorCode::kServiceNotActive), gone};
  EXPECT_TRUE(absl::IsNotFound(drop())) << "no attempt before it can have done it";
  answers = {std::nullopt, Ok(UpdateAppEnvResponse{.err = ErrorCode::kAppNotExist})};
  absl::Status updated;
  cluster.Run([&] {
    admin.UpdateEnvironments({.app_name = "temp"}, [&](auto answer) { updated = answer.status(); });
  });
  EXPECT_TRUE(absl::IsNotFound(updated)) << "what says the same twice is answered the same";
}

TEST(TableAdmin, GivesAnswersAndNamesErrors) {
  FakeCluster cluster;
  cluster.SetServer(kMeta1, [](const OutboundRequest& request) -> std::optional<RpcResult> {
    if (request.name == kRpcCreateApp) return Ok(CreateAppResponse{.err = ErrorCode::kAppExist});
    if (request.name == kRpcListNodes) {
      return Ok(ListNodesResponse{.infos = {{.status = NodeStatus::kAlive, .node = kServer1}}});
    }
    return Error(ErrorCode::kHandlerNotFound);
  });
  TableAdmin admin(cluster, cluster, cluster.strand(), {.meta_servers = {kMeta2, kMeta1}},
                   absl::Seconds(3));
  absl::Status created, dropped;
  absl::StatusOr<ListNodesResponse> nodes = absl::UnknownError("");
  cluster.Run([&] {
    admin.CreateTable({.app_name = "temp"}, [&](auto answer) { created = answer.status(); });
    admin.ListNodes({}, [&](auto answer) { nodes = answer; });
    admin.DropTable({.app_name = "temp"}, [&](auto answer) { dropped = answer.status(); });
  });
  EXPECT_TRUE(absl::IsAlreadyExists(created));
  EXPECT_NE(created.message().find("ERR_APP_EXIST"), absl::string_view::npos);
  EXPECT_TRUE(absl::IsUnimplemented(dropped));
  ASSERT_TRUE(nodes.ok());
  EXPECT_EQ(nodes->infos.at(0).node, kServer1);
}

TEST(TableAdmin, ARefusalBringsTheMetaServersHint) {
  FakeCluster cluster;
  cluster.SetServer(kMeta1, [](const OutboundRequest&) {
    return Ok(UpdateAppEnvResponse{.err = ErrorCode::kInvalidParameters,
                                   .hint_message = "no such environment"});
  });
  TableAdmin admin(cluster, cluster, cluster.strand(), {.meta_servers = {kMeta1}},
                   absl::Seconds(3));
  absl::Status updated;
  cluster.Run([&] {
    admin.UpdateEnvironments({.app_name = "temp"}, [&](auto answer) { updated = answer.status(); });
  });
  EXPECT_TRUE(absl::IsInvalidArgument(updated));
  EXPECT_EQ(updated.message(),
            "environments of table temp: ERR_INVALID_PARAMETERS: no such environment");
}

TEST(TableAdmin, SplitsAreRefusedWithTheirHints) {
  FakeCluster cluster;
  cluster.SetServer(kMeta1, [](const OutboundRequest& request) {
    if (request.name == std::string(kRpcStartSplit))
      return Ok(StartSplitResponse{.err = ErrorCode::kBusy, .hint_msg = "it is being split"});
    if (request.name == std::string(kRpcQuerySplit))
      return Ok(QuerySplitResponse{
          .err = ErrorCode::kInvalidState, .status = {}, .hint_msg = "it is not being split"});
    return Ok(ControlSplitResponse{.err = ErrorCode::kChildRegistered, .hint_msg = "too late"});
  });
  TableAdmin admin(cluster, cluster, cluster.strand(), {.meta_servers = {kMeta1}},
                   absl::Seconds(3));
  absl::Status started, asked, controlled;
  cluster.Run([&] {
    admin.StartSplit({.app_name = "t"}, [&](auto answer) { started = answer.status(); });
    admin.QuerySplit({.app_name = "t"}, [&](auto answer) { asked = answer.status(); });
    admin.ControlSplit({.app_name = "t"}, [&](auto answer) { controlled = answer.status(); });
  });
  EXPECT_EQ(started, absl::UnavailableError("split table t: ERR_BUSY: it is being split"));
  EXPECT_EQ(asked, absl::FailedPreconditionError(
                       "split of table t: ERR_INVALID_STATE: it is not being split"));
  EXPECT_EQ(controlled,
            absl::FailedPreconditionError("split of table t: ERR_CHILD_REGISTERED: too late"));
}

// What a second attempt refuses may have been done by the first, where it isn't the same twice.
TEST(TableAdmin, WhichRefusalsProveNothingAfterALostAnswer) {
  FakeCluster cluster;
  int asked = 0;
  cluster.SetServer(kMeta1, [&](const OutboundRequest&) -> std::optional<RpcResult> {
    if (++asked % 2 == 1) return std::nullopt;
    return Error(ErrorCode::kInvalidParameters);
  });
  TableAdmin admin(cluster, cluster, cluster.strand(), {.meta_servers = {kMeta1}},
                   absl::Seconds(5));
  absl::Status status;
  const auto keep = [&](auto answer) { status = answer.status(); };
  const auto after = [&](auto ask) {
    cluster.Run(ask);
    return status.code();
  };
  using absl::StatusCode;
  EXPECT_EQ(after([&] { admin.CreateTable({}, keep); }), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(after([&] { admin.RecallTable({}, keep); }), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(after([&] { admin.RenameTable({}, keep); }), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(after([&] { admin.ProposePlan({}, keep); }), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(after([&] { admin.StartCompaction({}, keep); }), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(after([&] { admin.StartSplit({}, keep); }), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(after([&] { admin.ControlSplit({}, keep); }), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(after([&] { admin.QuerySplit({}, keep); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(after([&] { admin.SetReplicaCount({}, keep); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(after([&] { admin.ControlMeta({}, keep); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(after([&] { admin.ForgetServer({}, keep); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(after([&] { admin.ListTables({}, keep); }), StatusCode::kInvalidArgument);
}

TEST(TableAdmin, EachRequestHasItsCode) {
  FakeCluster cluster;
  std::vector<std::string> asked;
  cluster.SetServer(kMeta1, [&](const OutboundRequest& request) {
    asked.push_back(request.name);
    return Error(ErrorCode::kAclDeny);
  });
  TableAdmin admin(cluster, cluster, cluster.strand(), {.meta_servers = {kMeta1}},
                   absl::Seconds(3));
  int denied = 0;
  const auto count = [&](auto answer) { denied += absl::IsPermissionDenied(answer.status()); };
  cluster.Run([&] {
    admin.ListTables({}, count);
    admin.ClusterInfo(count);
    admin.QueryTable({}, count);
    admin.RecallTable({}, count);
    admin.RenameTable({}, count);
    admin.GetReplicaCount({}, count);
    admin.SetReplicaCount({}, count);
    admin.ControlMeta({}, count);
    admin.ProposePlan({}, count);
    admin.StartRecovery({}, count);
    admin.ForgetServer({}, count);
    admin.DiagnoseDead({}, count);
    admin.StartCompaction({}, count);
    admin.QueryCompaction({}, count);
    admin.StartSplit({}, count);
    admin.QuerySplit({}, count);
    admin.ControlSplit({}, count);
  });
  const std::vector<std::string> codes = {
      kRpcListApps,           kRpcClusterInfo,        kRpcQueryConfig,        kRpcRecallApp,
      kRpcRenameApp,          kRpcGetMaxReplicaCount, kRpcSetMaxReplicaCount, kRpcControlMeta,
      kRpcProposeBalancer,    kRpcStartRecovery,      kRpcForgetServer,       kRpcDddDiagnose,
      kRpcStartManualCompact, kRpcQueryManualCompact, kRpcStartSplit,         kRpcQuerySplit,
      kRpcControlSplit};
  EXPECT_EQ(asked, codes);
  EXPECT_EQ(denied, static_cast<int>(codes.size())) << "what changes nothing can be denied, too";
}

TEST(TableAdmin, OneServerIsAskedOnceAndNamedWhenItFails) {
  FakeCluster cluster;
  std::optional<RpcResult> answer;
  cluster.SetServer(kServer1, [&](const OutboundRequest& request) {
    EXPECT_EQ(AdminTokenOf(request.body), "secret");
    return answer;
  });
  TableAdmin admin(cluster, cluster, cluster.strand(),
                   {.meta_servers = {kMeta1}, .admin_token = "secret"}, absl::Seconds(3));
  const auto ask = [&] {
    absl::StatusOr<std::string> outcome = absl::UnknownError("never called");
    cluster.Run([&] {
      admin.AskServer(kServer1, "RPC_X", EncodeWrapped(ListAppsRequest()),
                      [&](auto said) { outcome = std::move(said); });
    });
    return outcome;
  };
  answer = RpcResult{.body = "yes"};
  EXPECT_EQ(ask().value(), "yes");
  answer = std::nullopt;
  const absl::Status lost = ask().status();
  EXPECT_TRUE(absl::IsUnavailable(lost));
  EXPECT_EQ(lost.message(), "127.0.0.1:34801: RPC_X: ERR_TIMEOUT");
  EXPECT_EQ(cluster.CountSent("RPC_X"), 2) << "one attempt each";
}

}  // namespace
}  // namespace arion
