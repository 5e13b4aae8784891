// SPDX-License-Identifier: Apache-2.0
#include "meta/older_server_vetting.h"
#include "meta_overview/cluster_overview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/tool_messages.h"
#include "tests/meta/meta_fixture.h"
#include "tests/meta/part_fixture.h"

namespace arion {
namespace {

// Beside the meta server that asks.
class OlderServersVettingTest : public MetaFixture {
 protected:
  OlderServersVettingTest() {
    options_.vets_older_servers = true;
    EXPECT_TRUE(StartMeta().ok());
    StartArionServers();
  }
  // Two of ours, which are asked nothing, with a table.
  void StartArionServers() {
    for (const int n : {1, 2}) EXPECT_TRUE(Acks(n, /*process_id=*/n));
    EXPECT_TRUE(transport_.called.empty());
    const CreateAppRequest create{
        .app_name = "t",
        .options = {
            .partition_count = 1, .replica_count = 1, .app_type = "pegasus", .is_stateful = true}};
    const auto created = Ask<CreateAppResponse>(kRpcCreateApp, create);
    ASSERT_TRUE(created && created->err == ErrorCode::kOk);
    app_id_ = created->appid;
  }
  // Whether the beacon is answered within a moment.
  bool Acks(int n, std::optional<int64_t> process_id = std::nullopt, int64_t start_time = 1) {
    return Ask<BeaconAck>(kRpcBeacon, BeaconMessage{.time = 77,
                                                    .from_node = ServerAt(n),
                                                    .to_node = transport_.local(),
                                                    .start_time = start_time,
                                                    .process_id = process_id})
        .has_value();
  }
  // What the server that was asked first says.
  void Say(RpcResult result) {
    ASSERT_FALSE(transport_.called.empty());
    RecordingTransport::Called call = std::move(transport_.called.front());
    transport_.called.pop_front();
    EXPECT_EQ(call.request.name, kRpcQueryAppInfo);
    EXPECT_EQ(call.to, ServerAt(3));
    call.reply_on->Post([done = std::make_shared<decltype(call.done)>(std::move(call.done)),
                         result] { (*done)(result); });
    world_.RunFor(absl::Milliseconds(10));
  }
  void SayTable(std::string name) {
    const QueryAppInfoResponse holds{.apps = {{.app_name = std::move(name), .app_id = app_id_}}};
    Say({.body = EncodeWrapped(holds)});
  }
  ClusterOverview Overview() {
    std::optional<ClusterOverview> seen;
    server_->Overview([&](ClusterOverview overview) { seen = std::move(overview); });
    world_.RunUntil([&] { return seen.has_value(); }, absl::Milliseconds(50));
    return seen.value_or(ClusterOverview{});
  }

  int32_t app_id_ = 0;
};

TEST_F(OlderServersVettingTest, OneThatHoldsOurTablesCountsOnceItHasSaidSo) {
  EXPECT_FALSE(Acks(3));
  EXPECT_FALSE(Acks(3));
  EXPECT_EQ(transport_.called.size(), 1u) << "asked once at a time";
  EXPECT_EQ(Overview().alive_servers, 2);
  SayTable("t");
  EXPECT_EQ(Overview().alive_servers, 3) << "by the beacon that waited";
  EXPECT_TRUE(Acks(3));
  EXPECT_TRUE(transport_.called.empty());
}

TEST_F(OlderServersVettingTest, OneThatHoldsAnotherClustersIsNotLetInAndShownWhileItKnocks) {
  EXPECT_FALSE(Acks(3));
  SayTable("another");
  EXPECT_FALSE(Acks(3));
  ClusterOverview overview = Overview();
  EXPECT_EQ(overview.alive_servers, 2);
  ASSERT_EQ(overview.warnings.size(), 1u);
  EXPECT_EQ(overview.warnings[0].kind, "foreign_servers");
  EXPECT_THAT(overview.warnings[0].problem, testing::HasSubstr("\"another\""));
  EXPECT_TRUE(transport_.called.empty()) << "not asked again at once";
  world_.RunFor(absl::Minutes(1));
  EXPECT_TRUE(Overview().warnings.empty()) << "it is gone";
}

TEST_F(OlderServersVettingTest, AnotherProcessIsAskedAnew) {
  EXPECT_FALSE(Acks(3));
  SayTable("t");
  EXPECT_TRUE(Acks(3));
  EXPECT_FALSE(Acks(3, std::nullopt, /*start_time=*/2));
  SayTable("another");
  EXPECT_FALSE(Acks(3, std::nullopt, 2));
}

TEST_F(OlderServersVettingTest, OneThatDoesNotSayIsLetInAfterThreeQuestions) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(Acks(3));
    Say({.error = ErrorCode::kTimeout});
  }
  EXPECT_TRUE(Acks(3));
}

// Alone.
class OlderServerVettingTest : public PartFixture {
 protected:
  bool MayCount(int n, int64_t start_time = 1, std::optional<int64_t> process_id = std::nullopt) {
    bool may = false;
    OnStrand([&] {
      InboundRequest request = RequestFor("beacon", "");
      may = vetting_.MayCount(
          {.from_node = ServerAt(n), .start_time = start_time, .process_id = process_id}, request);
    });
    return may;
  }
  void SayTable(int32_t app_id) {
    const QueryAppInfoResponse holds{.apps = {{.app_name = "t", .app_id = app_id}}};
    AnswerCall({.body = EncodeWrapped(holds)});
  }

  ClusterState state_;
  int fits_ = 0;
  OlderServerVetting vetting_{
      transport_, env_.clock(), strand_, owner_life_, state_, codec_, [this](InboundRequest) {
        ++fits_;
      }};
};

TEST_F(OlderServerVettingTest, OneThatNamesItsProcessIsAskedNothing) {
  EXPECT_TRUE(MayCount(1, 1, 7));
  EXPECT_TRUE(transport_.called.empty());
}

TEST_F(OlderServerVettingTest, TheLastBeaconThatWaitedIsReadOnce) {
  state_.tables[1].info = {.app_name = "t", .app_id = 1};
  EXPECT_FALSE(MayCount(1));
  EXPECT_FALSE(MayCount(1));
  SayTable(1);
  EXPECT_EQ(fits_, 1);
  EXPECT_TRUE(MayCount(1));
}

TEST_F(OlderServerVettingTest, AnAnswerOfTheProcessBeforeSaysNothing) {
  EXPECT_FALSE(MayCount(1, 1));
  EXPECT_FALSE(MayCount(1, 2));
  ASSERT_EQ(transport_.called.size(), 2u);
  AnswerCall({.body = EncodeWrapped(QueryAppInfoResponse{})});
  EXPECT_FALSE(MayCount(1, 2)) << "of the former one";
  AnswerCall({.body = EncodeWrapped(QueryAppInfoResponse{})});
  EXPECT_EQ(fits_, 1);
  EXPECT_TRUE(MayCount(1, 2));
}

TEST_F(OlderServerVettingTest, StrangersAreNotRememberedWithoutEnd) {
  for (int n = 1; n <= static_cast<int>(OlderServerVetting::kServersMax) + 1; ++n)
    EXPECT_FALSE(MayCount(n));
  EXPECT_EQ(transport_.called.size(), OlderServerVetting::kServersMax);
  EXPECT_FALSE(vetting_.Foreign().has_value());
}

}  // namespace
}  // namespace arion
