// SPDX-License-Identifier: Apache-2.0
#include "client/meta_caller.h"
#include "messages/meta_messages.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>

#include "rpc/admin_token.h"
#include "tests/client/fake_cluster.h"

namespace arion {
namespace {

constexpr char kName[] = "RPC_ASKED";
Endpoint Meta(uint16_t port) { return {.ip = 0x7f000001, .port = port}; }
const Endpoint kFirst = Meta(34601), kSecond = Meta(34602), kThird = Meta(34603);

class MetaCallerTest : public testing::Test {
 protected:
  using Answer = absl::StatusOr<ListAppsResponse>;
  // nullopt: none.
  using Script = std::deque<std::optional<RpcResult>>;

  MetaCallerTest() {
    for (const Endpoint server : {kFirst, kSecond, kThird})
      cluster_.SetServer(server, [this, server](const OutboundRequest& request) {
        asked_.push_back(server);
        last_body_ = request.body;
        Script& script = scripts_[server];
        std::optional<RpcResult> answer;
        if (script.empty()) return answer;
        answer = script.front();
        // The last one stays.
        if (script.size() > 1) script.pop_front();
        return answer;
      });
  }
  std::shared_ptr<MetaCaller> Caller(std::vector<Endpoint> servers, std::string token = {}) {
    return std::make_shared<MetaCaller>(
        cluster_, cluster_, cluster_.strand(),
        MetaCallerOptions{.meta_servers = std::move(servers), .admin_token = std::move(token)});
  }
  Answer Ask(MetaCaller& caller, MetaCaller::Again again = MetaCaller::Again::kTheSame,
             absl::Duration timeout = absl::Seconds(10)) {
    std::optional<Answer> outcome;
    asked_.clear();
    cluster_.Run([&] {
      caller.Call<ListAppsResponse>(
          kName, ListAppsRequest(), cluster_.now() + timeout,
          [&](Answer answer) {
            EXPECT_FALSE(outcome) << "called twice";
            outcome = std::move(answer);
          },
          again);
      EXPECT_FALSE(outcome) << "called inline";
    });
    return outcome.value_or(absl::UnknownError("never called"));
  }

  static RpcResult Says(ErrorCode err) { return {.body = EncodeWrapped(ListAppsResponse{err})}; }
  static RpcResult Fails(ErrorCode error) { return {.error = error}; }
  static RpcResult PointsAt(Endpoint leader) {
    return {.error = ErrorCode::kForwardToOthers, .body = EncodeWrapped(leader)};
  }

  FakeCluster cluster_;
  std::map<Endpoint, Script> scripts_;
  std::vector<Endpoint> asked_;
  std::string last_body_;
};
using Asked = std::vector<Endpoint>;

TEST_F(MetaCallerTest, BeginsWithTheOneThatAnsweredLast) {
  const auto caller = Caller({kFirst, kSecond, kThird});
  scripts_[kSecond] = {Says(ErrorCode::kOk)};
  EXPECT_TRUE(Ask(*caller).ok());
  EXPECT_EQ(asked_, (Asked{kFirst, kSecond}));
  EXPECT_TRUE(Ask(*caller).ok());
  EXPECT_EQ(asked_, Asked{kSecond});
}

TEST_F(MetaCallerTest, FollowsAFollowersHint) {
  const auto caller = Caller({kFirst, kSecond, kThird});
  scripts_[kFirst] = {PointsAt(kThird)};
  scripts_[kThird] = {Says(ErrorCode::kOk)};
  EXPECT_TRUE(Ask(*caller).ok());
  EXPECT_EQ(asked_, (Asked{kFirst, kThird}));
}

TEST_F(MetaCallerTest, FollowsALeaderThatIsInNoList) {
  const auto caller = Caller({kFirst});
  scripts_[kFirst] = {PointsAt(kThird)};
  scripts_[kThird] = {Says(ErrorCode::kOk)};
  EXPECT_TRUE(Ask(*caller).ok());
  EXPECT_EQ(asked_, (Asked{kFirst, kThird}));
}

TEST_F(MetaCallerTest, WhoPointsAtHimselfOrNowhereIsPassedOver) {
  const auto caller = Caller({kFirst, kSecond});
  scripts_[kFirst] = {PointsAt(kFirst), PointsAt({})};
  scripts_[kSecond] = {Fails(ErrorCode::kBusy), Says(ErrorCode::kOk)};
  EXPECT_TRUE(Ask(*caller).ok());
  EXPECT_EQ(asked_, (Asked{kFirst, kSecond, kFirst, kSecond}));
}

TEST_F(MetaCallerTest, AHintInsideTheAnswerIsFollowedToo) {
  const auto caller = Caller({kFirst, kSecond, kThird});
  PartitionConfiguration hint;
  hint.primary = kThird;
  scripts_[kFirst] = {RpcResult{.body = EncodeWrapped(QueryConfigResponse{
                                    .err = ErrorCode::kForwardToOthers, .partitions = {hint}})}};
  scripts_[kThird] = {RpcResult{.body = EncodeWrapped(QueryConfigResponse{.app_id = 2})}};
  absl::StatusOr<QueryConfigResponse> outcome = absl::UnknownError("never called");
  cluster_.Run([&] {
    caller->Call<QueryConfigResponse>(kRpcQueryConfig, QueryConfigRequest{.app_name = "t"},
                                      cluster_.now() + absl::Seconds(10),
                                      [&](auto answer) { outcome = std::move(answer); });
  });
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->app_id, 2);
  EXPECT_EQ(asked_, (Asked{kFirst, kThird}));
}

TEST_F(MetaCallerTest, TwoThatPointAtEachOtherAreAskedInRoundsWithPauses) {
  const auto caller = Caller({kFirst, kSecond});
  scripts_[kFirst] = {PointsAt(kSecond)};
  scripts_[kSecond] = {PointsAt(kFirst)};
  const Instant begun = cluster_.now();
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      Ask(*caller, MetaCaller::Again::kTheSame, absl::Seconds(1)).status()));
  // Three attempts a round, and 200 ms between rounds.
  EXPECT_LE(asked_.size(), 18u);
  EXPECT_GE(asked_.size(), 6u);
  for (const FakeCluster::Sent& sent : cluster_.sent())
    EXPECT_LT(sent.at, begun + absl::Seconds(1)) << "the deadline bounds all attempts";
}

TEST_F(MetaCallerTest, OneThatIsNotActiveYetIsAskedAgain) {
  const auto caller = Caller({kFirst});
  scripts_[kFirst] = {Fails(ErrorCode::kServiceNotActive), Says(ErrorCode::kServiceNotActive),
                      Says(ErrorCode::kOk)};
  EXPECT_TRUE(Ask(*caller).ok());
  EXPECT_EQ(asked_.size(), 3u);
}

TEST_F(MetaCallerTest, NobodyInTimeIsDeadlineExceededWithTheLastWord) {
  const auto caller = Caller({kFirst, kSecond});
  const absl::Status late = Ask(*caller, MetaCaller::Again::kTheSame, absl::Seconds(3)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late));
  EXPECT_NE(late.message().find("RPC_ASKED"), absl::string_view::npos) << late;
  EXPECT_NE(late.message().find("ERR_TIMEOUT"), absl::string_view::npos) << late;
  for (const FakeCluster::Sent& sent : cluster_.sent())
    EXPECT_LE(sent.request.timeout, absl::Seconds(1)) << "the next one is asked meanwhile";
}

TEST_F(MetaCallerTest, ARefusalEndsItAtOnceAndAnAnswersOwnErrorIsTheCallers) {
  const auto caller = Caller({kFirst, kSecond});
  scripts_[kFirst] = {Fails(ErrorCode::kAclDeny), Says(ErrorCode::kAppNotExist)};
  EXPECT_TRUE(absl::IsPermissionDenied(Ask(*caller).status()));
  EXPECT_EQ(asked_, Asked{kFirst});
  const Answer answer = Ask(*caller);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->err, ErrorCode::kAppNotExist);
}

TEST_F(MetaCallerTest, ARefusalAfterALostAttemptProvesNothingWhereItMayBeItsEcho) {
  const auto caller = Caller({kFirst});
  const Script lost_then_refused = {std::nullopt, Says(ErrorCode::kAppExist)};
  scripts_[kFirst] = lost_then_refused;
  EXPECT_TRUE(absl::IsDeadlineExceeded(Ask(*caller, MetaCaller::Again::kRefusal).status()));
  scripts_[kFirst] = lost_then_refused;
  EXPECT_TRUE(Ask(*caller, MetaCaller::Again::kTheSame).ok()) << "the caller sees kAppExist";
  // An attempt that never left can't have been carried out.
  scripts_[kFirst] = {RpcResult{.error = ErrorCode::kNetworkFailure, .was_never_sent = true},
                      Says(ErrorCode::kAppExist)};
  EXPECT_TRUE(Ask(*caller, MetaCaller::Again::kRefusal).ok());
}

TEST_F(MetaCallerTest, WhatCanNotBeReadIsInternal) {
  const auto caller = Caller({kFirst});
  scripts_[kFirst] = {RpcResult{.body = "?"}};
  EXPECT_TRUE(absl::IsInternal(Ask(*caller).status()));
}

TEST_F(MetaCallerTest, TheTokenGoesWithEachQuestion) {
  scripts_[kFirst] = {Says(ErrorCode::kOk)};
  EXPECT_TRUE(Ask(*Caller({kFirst}, "secret")).ok());
  EXPECT_EQ(AdminTokenOf(last_body_), "secret");
  EXPECT_TRUE(Ask(*Caller({kFirst})).ok());
  EXPECT_EQ(AdminTokenOf(last_body_), "");
}

TEST_F(MetaCallerTest, DestroyedItCallsNobody) {
  auto caller = Caller({kFirst});
  scripts_[kFirst] = {Says(ErrorCode::kOk)};
  bool called = false;
  cluster_.Run([&] {
    caller->Call<ListAppsResponse>(kName, ListAppsRequest(), cluster_.now() + absl::Seconds(10),
                                   [&](Answer) { called = true; });
    caller.reset();
  });
  EXPECT_EQ(asked_, Asked{kFirst});
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace arion
