// What tools ask of a replica server. SPDX-License-Identifier: Apache-2.0
#include "replica_server/tool_requests.h"

#include <gtest/gtest.h>

#include "messages/admin_messages.h"
#include "messages/tool_messages.h"
#include "tests/replica/server_world.h"

namespace arion {
namespace {

class ToolRequestsTest : public ReplicaServerWorld {
 protected:
  ToolRequestsTest() { meta_.SetReplicaCount(1); }
  template <class Response, class Request>
  Response Ask(Server& server, const char* name, const Request& request) {
    const RpcResult result = Call(server, name, EncodeWrapped(request), PartitionId());
    EXPECT_EQ(result.error, ErrorCode::kOk) << name;
    return DecodeWrapped<Response>(result.body).value_or(Response());
  }
  DetectHotkeyResponse Detect(Server& server, DetectAction action, PartitionId pid = kPid) {
    return Ask<DetectHotkeyResponse>(server, kRpcDetectHotkey,
                                     DetectHotkeyRequest{HotkeyType::kWrite, action, pid});
  }
};

TEST_F(ToolRequestsTest, DisksAreToldWithTheirReplicasByTable) {
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  const auto all = Ask<QueryDiskInfoResponse>(server, kRpcQueryDiskInfo, QueryDiskInfoRequest());
  ASSERT_EQ(all.disk_infos.size(), 2u);
  EXPECT_EQ(all.total_capacity_mb,
            all.disk_infos[0].disk_capacity_mb + all.disk_infos[1].disk_capacity_mb);
  size_t primaries = 0;
  for (const DiskInfo& disk : all.disk_infos)
    if (disk.holding_primary_replicas.contains(kPid.app_id))
      primaries += disk.holding_primary_replicas.at(kPid.app_id).count(kPid);
  EXPECT_EQ(primaries, 1u);
  EXPECT_EQ(
      Ask<QueryDiskInfoResponse>(server, kRpcQueryDiskInfo, QueryDiskInfoRequest{.app_name = "t"})
          .disk_infos.size(),
      2u);
  EXPECT_EQ(Ask<QueryDiskInfoResponse>(server, kRpcQueryDiskInfo,
                                       QueryDiskInfoRequest{.app_name = "nobody's"})
                .err,
            ErrorCode::kObjectNotFound);
}

TEST_F(ToolRequestsTest, ADecreeIsThePrimarysCommittedOne) {
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_EQ(Put(server, 1, "one"), ErrorCode::kOk);
  const auto known =
      Ask<QueryDecreeResponse>(server, kRpcQueryDecree, QueryDecreeRequest{.pid = kPid});
  EXPECT_EQ(known.err, ErrorCode::kOk);
  EXPECT_EQ(known.last_decree, last_decree_);
  EXPECT_EQ(
      Ask<QueryDecreeResponse>(server, kRpcQueryDecree, QueryDecreeRequest{.pid = {7, 7}}).err,
      ErrorCode::kObjectNotFound);
}

TEST_F(ToolRequestsTest, AHotKeyIsLookedForFoundAndForgotten) {
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  EXPECT_EQ(Detect(server, DetectAction::kStart, {7, 7}).err, ErrorCode::kObjectNotFound);
  EXPECT_EQ(Detect(server, DetectAction::kQuery).err, ErrorCode::kBusy);
  const DetectHotkeyResponse started = Detect(server, DetectAction::kStart);
  EXPECT_EQ(started.err, ErrorCode::kOk);
  EXPECT_EQ(started.err_hint, "starting to detect WRITE hotkey");
  EXPECT_EQ(Detect(server, DetectAction::kStart).err, ErrorCode::kBusy);
  for (int i = 0; i < 500; ++i) ASSERT_EQ(Put(server, i % 3, "v"), ErrorCode::kOk);
  const DetectHotkeyResponse found = Detect(server, DetectAction::kQuery);
  EXPECT_EQ(found.err, ErrorCode::kOk) << found.err_hint.value_or("");
  EXPECT_EQ(found.hotkey_result, "hash");
  EXPECT_EQ(Detect(server, DetectAction::kStart).err, ErrorCode::kBusy) << "a stop is needed first";
  EXPECT_EQ(Detect(server, DetectAction::kStop).err, ErrorCode::kOk);
  EXPECT_EQ(Detect(server, DetectAction::kQuery).err, ErrorCode::kBusy);
}

TEST_F(ToolRequestsTest, ASearchInVainIsGivenUp) {
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_EQ(Detect(server, DetectAction::kStart).err, ErrorCode::kOk);
  world_.RunFor(HotKeySearch::kPatience + absl::Seconds(1));
  EXPECT_EQ(Detect(server, DetectAction::kStart).err, ErrorCode::kOk);
}

TEST_F(ToolRequestsTest, WhatArionDoesNotDoSaysSoInItsAnswer) {
  Server& server = AddServer();
  for (const char* code : {"RPC_REPLICA_DISK_MIGRATE", "RPC_ADD_NEW_DISK"}) {
    const auto response = Ask<DisabledResponse>(server, code, DisabledResponse());
    EXPECT_EQ(response.err, ErrorCode::kOperationDisabled) << code;
    EXPECT_TRUE(response.hint_at_2.has_value()) << code;
  }
  for (const char* code : {"RPC_COLD_BACKUP", "RPC_BULK_LOAD"})
    EXPECT_EQ(Ask<DisabledResponse>(server, code, DisabledResponse()).err,
              ErrorCode::kOperationDisabled)
        << code;
}

TEST(FindHotKeyTest, OneThatStandsOutIsFound) {
  using Hot = HotKeys::Hot;
  const auto write = [](std::string key, double rate, double share) {
    return Hot{KeyUse::kWrite, std::move(key), rate, share};
  };
  EXPECT_EQ(FindHotKey({}, KeyUse::kWrite), std::nullopt);
  EXPECT_EQ(FindHotKey({write("a", 100, 1)}, KeyUse::kWrite), "a");
  EXPECT_EQ(FindHotKey({write("a", 100, 1)}, KeyUse::kRead), std::nullopt);
  EXPECT_EQ(
      FindHotKey({write("a", 12, .36), write("b", 11, .33), write("c", 10, .31)}, KeyUse::kWrite),
      std::nullopt);
  EXPECT_EQ(
      FindHotKey({write("a", 100, .8), write("b", 11, .1), write("c", 10, .1)}, KeyUse::kWrite),
      "a");
  EXPECT_EQ(FindHotKey({write("a", 100, .01), write("b", 1, .0001)}, KeyUse::kWrite), std::nullopt);
}

}  // namespace
}  // namespace arion
