// SPDX-License-Identifier: Apache-2.0
#include "meta_judgement/forget_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/meta/meta_fixture.h"

namespace arion {
namespace {

using testing::HasSubstr;

constexpr Endpoint kGone{0x7f000001, 34809}, kStays{0x7f000001, 34801};
constexpr int64_t kNow = 1000;

class ForgetServerTest : public testing::Test {
 protected:
  ForgetServerTest() {
    state_.nodes[kStays].alive = true;
    state_.nodes[kGone];
    Table& table = state_.tables[1];
    table.info = {.app_name = "t", .app_id = 1, .partition_count = 1};
    table.info.status = AppStatus::kAvailable;
    table.partitions.emplace_back().config = {.pid = {1, 0}, .primary = kStays};
  }
  Partition& partition() { return state_.tables[1].partitions[0]; }
  std::string WhyNot() { return WhyNotForgotten(state_, kGone, kNow); }
  ClusterState state_;
};

TEST_F(ForgetServerTest, ADeadOneThatNobodyNeedsIsForgotten) {
  partition().config.last_drops = {kGone};
  partition().dropped.push_back({.node = kGone});
  partition().older.insert(kGone);
  EXPECT_EQ(WhyNot(), "");
  Forget(state_, kGone);
  EXPECT_EQ(state_.nodes.size(), 1u);
  EXPECT_TRUE(partition().dropped.empty() && partition().older.empty());
  EXPECT_THAT(WhyNot(), HasSubstr("no such server"));
}

TEST_F(ForgetServerTest, OneThatLivesIsNot) {
  EXPECT_THAT(WhyNotForgotten(state_, kStays, kNow), HasSubstr("alive"));
}

TEST_F(ForgetServerTest, AMemberOfAnyConfigurationIsNot) {
  partition().config.secondaries = {kGone};
  EXPECT_EQ(WhyNot(), "it is a member of partition 1.0 of t");
  partition().config.secondaries.clear();
  partition().pending = partition().config;
  partition().pending->secondaries = {kGone};
  EXPECT_THAT(WhyNot(), HasSubstr("becomes a member"));
}

TEST_F(ForgetServerTest, WhoMayHoldTheLastCopyIsNot) {
  partition().config.primary = {};
  partition().config.last_drops = {kGone};
  EXPECT_THAT(WhyNot(), HasSubstr("may hold the last copy of partition 1.0"));
}

TEST_F(ForgetServerTest, AMemberOfADroppedTableIsWhenThatCanNotBeRecalledAnyMore) {
  partition().config.secondaries = {kGone};
  AppInfo& info = state_.tables[1].info;
  info.status = AppStatus::kDropped;
  info.expire_second = kNow + 1;
  EXPECT_THAT(WhyNot(), HasSubstr("can be recalled"));
  info.expire_second = kNow;
  EXPECT_EQ(WhyNot(), "");
}

class ForgetServerRequestTest : public MetaFixture {
 protected:
  ForgetServerResponse Forget(int n) {
    return *DecodeWrapped<ForgetServerResponse>(
        AskBytes(kRpcForgetServer, EncodeWrapped(ForgetServerRequest{ServerAt(n)}))->body);
  }
  size_t Known() {
    return DecodeWrapped<ListNodesResponse>(
               AskBytes(kRpcListNodes, EncodeWrapped(ListNodesRequest()))->body)
        ->infos.size();
  }
};

TEST_F(ForgetServerRequestTest, AServerThatIsForgottenIsKnownAgainWhenItComesBack) {
  ASSERT_TRUE(StartMeta().ok());
  StartAndSync(2);
  EXPECT_EQ(Forget(2).err, ErrorCode::kInvalidState);
  EXPECT_THAT(Forget(2).hint_message, HasSubstr("alive"));
  servers_[2].up = false;
  world_.RunFor(2 * options_.grace);
  EXPECT_EQ(Known(), 2u);
  EXPECT_EQ(Forget(2).err, ErrorCode::kOk);
  EXPECT_EQ(Known(), 1u);
  EXPECT_EQ(Forget(2).err, ErrorCode::kObjectNotFound);
  StartServer(2);
  EXPECT_EQ(Known(), 2u);
}

}  // namespace
}  // namespace arion
