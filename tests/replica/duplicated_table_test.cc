// Writes of another cluster on whole servers: what is acknowledged of them is there after a crash,
// at a member that learns, and at all members alike, whatever their configurations are.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/error_code.h"
#include "messages/duplicate_messages.h"
#include "messages/verification_messages.h"
#include "rpc/thrift_codec.h"
#include "tests/replica/server_world.h"

namespace arion {
namespace {

class DuplicatedTableTest : public ReplicaServerWorld {
 protected:
  DuplicatedTableTest() {
    options_.duplication_group = {.ids = {{"here", 1}, {"there", 2}}, .own_id = 1};
    hash_key_ = "g";  // of this partition
  }

  template <class Request>
  DuplicateEntry Entry(WriteCode code, const Request& request) {
    return {.timestamp_us = ++source_time_us_,
            .task_code = Blob(WriteCodeName(code)),
            .raw_message = Blob(EncodeWrapped(request)),
            .cluster_id = int8_t{2}};
  }
  DuplicateEntry PutEntry(int i, std::string value) {
    return Entry(WriteCode::kPut, UpdateRequest{Key(i), std::move(value), 0});
  }
  // "ok", the hint, or the RPC's error.
  std::string Duplicate(Server& server, std::vector<DuplicateEntry> entries) {
    const RpcResult result =
        Call(server, kRpcDuplicate, EncodeWrapped(DuplicateRequest{std::move(entries)}));
    if (result.error != ErrorCode::kOk) return std::string(ErrorCodeName(result.error));
    const auto response = DecodeWrapped<DuplicateResponse>(result.body);
    EXPECT_TRUE(response.ok()) << response.status();
    if (!response.ok()) return "no answer";
    return response->error == 0 ? "ok" : response->error_hint.value_or("no hint");
  }
  // How many copies there are, all equal at one decree; -1: they differ.
  int EqualCopies(Server& primary) {
    const auto ask = [&](VerifyAction action) {
      const RpcResult result =
          Call(primary, kRpcVerifyReplicas,
               EncodeWrapped(VerifyReplicasRequest{.pid = kPid, .action = action}));
      return DecodeWrapped<VerifyReplicasResponse>(result.body).value_or(VerifyReplicasResponse{});
    };
    const int64_t before = ask(VerifyAction::kQuery).run;
    ask(VerifyAction::kStart);
    for (int i = 0; i < 600; ++i) {
      world_.RunFor(absl::Milliseconds(100));
      const VerifyReplicasResponse now = ask(VerifyAction::kQuery);
      if (now.state != VerificationState::kDone || now.run == before) continue;
      return now.verdict == ContentVerdictKind::kEqual ? static_cast<int>(now.members.size()) : -1;
    }
    return -1;
  }

  int64_t source_time_us_ = 1'700'000'000'000'000;
};

TEST_F(DuplicatedTableTest, WritesOfAnotherClusterAreDoneInTheirOrderAndMoreThanOnce) {
  meta_.SetReplicaCount(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_EQ(Put(server, 1, "local"), ErrorCode::kOk);
  const std::vector<DuplicateEntry> batch = {
      PutEntry(1, "first"),
      PutEntry(1, "second"),
      PutEntry(2, "gone"),
      Entry(WriteCode::kRemove, Blob(Key(2))),
      Entry(WriteCode::kMultiPut,
            MultiPutRequest{.hash_key = "g", .kvs = {{"sort3", "3", {}}, {"sort4", "4", {}}}}),
      Entry(WriteCode::kMultiRemove, MultiRemoveRequest{.hash_key = "g", .sort_keys = {"sort4"}})};
  // The answer may have been lost.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Duplicate(server, batch), "ok");
    EXPECT_EQ(Get(server, 1), "second");
    EXPECT_EQ(Get(server, 2), std::nullopt);
    EXPECT_EQ(Get(server, 3), "3");
    EXPECT_EQ(Get(server, 4), std::nullopt);
  }
  EXPECT_EQ(Put(server, 1, "local again"), ErrorCode::kOk);
  server.Crash(sim::CrashMode::kPowerNone);
  Restart(server);
  ASSERT_TRUE(WaitFor(server, PartitionStatus::kPrimary) || MakePrimary(server));
  EXPECT_EQ(Get(server, 1), "local again");
  EXPECT_EQ(Get(server, 3), "3");
}

TEST_F(DuplicatedTableTest, WhatIsRefusedLeavesNothing) {
  meta_.SetReplicaCount(1);
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  DuplicateEntry stranger = PutEntry(2, "2");
  stranger.cluster_id = int8_t{9};
  EXPECT_EQ(Duplicate(server, {PutEntry(1, "1"), stranger}), "request cluster id is unconfigured");
  stranger.cluster_id = int8_t{1};
  EXPECT_EQ(Duplicate(server, {PutEntry(1, "1"), stranger}), "self-duplicating");
  EXPECT_EQ(Duplicate(server, {PutEntry(1, "1"), Entry(WriteCode::kIncr, IncrRequest{})}),
            "unrecognized task code RPC_RRDB_RRDB_INCR");
  EXPECT_EQ(Duplicate(server, {PutEntry(1, "1"), Entry(WriteCode::kPut, UpdateRequest{})}),
            "ERR_INVALID_DATA");
  EXPECT_EQ(Get(server, 1), std::nullopt);
  EXPECT_EQ(Snapshot(server).last_committed, Decree(0));
}

TEST_F(DuplicatedTableTest, MembersAgreeThoughTheirGroupsDiffer) {
  Server& primary = AddServer();
  options_.duplication_group = {};
  Server& secondary = AddServer();
  options_.duplication_group = {.ids = {{"here", 2}}, .own_id = 2};
  Server& learner = AddServer();
  ASSERT_TRUE(MakePrimary(primary));
  ASSERT_TRUE(AddSecondary(primary, secondary));
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(Duplicate(primary, {PutEntry(i, "v" + std::to_string(i)), PutEntry(i + 1, "x"),
                                  Entry(WriteCode::kRemove, Blob(Key(i + 2)))}),
              "ok");
  ASSERT_TRUE(AddSecondary(primary, learner));
  EXPECT_EQ(EqualCopies(primary), 3);

  secondary.Crash(sim::CrashMode::kPowerNone);
  ASSERT_EQ(Duplicate(primary, {PutEntry(1000, "while it was away")}), "ok");
  Restart(secondary);
  ASSERT_TRUE(AddSecondary(primary, secondary));
  EXPECT_EQ(EqualCopies(primary), 3);
  EXPECT_EQ(Get(primary, 7), "v7");
  EXPECT_EQ(Get(primary, 1000), "while it was away");
}

// Both clusters write the table. Whoever leads judges alike: all members have what it takes.
TEST_F(DuplicatedTableTest, WhoLeadsNextKnowsWhatWasRemovedAndWhatCameBefore) {
  meta_.app().duplicating = true;
  Server& first = AddServer();
  Server& second = AddServer();
  ASSERT_TRUE(MakePrimary(first));
  ASSERT_TRUE(AddSecondary(first, second));
  const DuplicateEntry old_put = PutEntry(1, "old"), old_other = PutEntry(2, "old");
  ASSERT_EQ(Put(first, 1, "local"), ErrorCode::kOk);
  ASSERT_EQ(Call(first, kRpcRemove, EncodeWrapped(Blob(Key(1)))).error, ErrorCode::kOk);
  source_time_us_ = sim::kWallStartMicros + absl::ToInt64Microseconds(absl::Hours(1));
  DuplicateRequest removes{{Entry(WriteCode::kRemove, Blob(Key(2))), PutEntry(3, "theirs")}};
  removes.duplication_id = 7;
  for (int i = 0; i < 2; ++i) {
    removes.entries[i].source_decree = 5;
    removes.entries[i].source_update = i + 1;
  }
  const auto send = [&](Server& to) {
    const RpcResult result = Call(to, kRpcDuplicate, EncodeWrapped(removes));
    return result.error == ErrorCode::kOk &&
           DecodeWrapped<DuplicateResponse>(result.body)->error == 0;
  };
  ASSERT_TRUE(send(first));
  ASSERT_EQ(Put(first, 3, "local, later"), ErrorCode::kOk);
  ASSERT_EQ(EqualCopies(first), 2);

  first.Crash(sim::CrashMode::kPowerNone);
  meta_.configuration().primary = Endpoint();
  meta_.configuration().ballot = meta_.configuration().ballot + 1;
  meta_.SetReplicaCount(1);
  meta_.Propose(second.address, ConfigType::kUpgradeToPrimary, second.address);
  ASSERT_TRUE(WaitFor(second, PartitionStatus::kPrimary));
  const Decree before = Snapshot(second).last_committed;
  EXPECT_EQ(Duplicate(second, {old_put, old_other}), "ok");
  EXPECT_EQ(Get(second, 1), std::nullopt) << "removed here, later";
  EXPECT_EQ(Get(second, 2), std::nullopt) << "removed there, later";
  EXPECT_TRUE(send(second));
  EXPECT_EQ(Get(second, 3), "local, later");
  EXPECT_EQ(Snapshot(second).last_committed, before) << "nothing of that is new";
  EXPECT_EQ(Duplicate(second, {PutEntry(1, "newer")}), "ok");
  EXPECT_EQ(Get(second, 1), "newer");
}

}  // namespace
}  // namespace arion
