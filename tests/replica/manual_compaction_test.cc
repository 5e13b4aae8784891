// A compaction that a table's environments ask for, or a split, runs, and is reported.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "messages/table_environments.h"
#include "tests/replica/server_world.h"

namespace arion {
namespace {

class ManualCompactionTest : public ReplicaServerWorld {
 protected:
  ManualCompactionTest() { meta_.SetReplicaCount(1); }
  ManualCompactStatus Reported(const Server& server) {
    const auto it = meta_.reports().find(server.address);
    if (it == meta_.reports().end()) return ManualCompactStatus::kIdle;
    for (const ReplicaInfo& report : it->second)
      if (report.pid == kPid)
        return static_cast<ManualCompactStatus>(report.manual_compact_status.value_or(-1));
    return ManualCompactStatus::kIdle;
  }
  void Wish(const std::string& key, const std::string& value) {
    meta_.app().envs[key] = value;
    meta_.app().version = meta_.app().version.value_or(0) + 1;
    world_.RunFor(absl::Seconds(6));  // a config sync
  }
  std::string UnixSeconds(Server& server, int64_t later = 0) {
    return std::to_string(server.node.environment().clock().WallMicros() / 1000000 + later);
  }
};

TEST_F(ManualCompactionTest, ItRunsOnceIsReportedAndRunsAgainWhenAskedAgain) {
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  ASSERT_EQ(Put(server, 1, "one"), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(6));
  EXPECT_EQ(Reported(server), ManualCompactStatus::kIdle);
  Wish(kEnvCompactOnce, UnixSeconds(server));
  world_.RunFor(absl::Seconds(6));
  EXPECT_EQ(Reported(server), ManualCompactStatus::kFinished);
  Wish(kEnvCompactOnce, UnixSeconds(server, 60));
  EXPECT_EQ(Reported(server), ManualCompactStatus::kIdle) << "its time has not come";
  world_.RunFor(absl::Seconds(80));
  EXPECT_EQ(Reported(server), ManualCompactStatus::kFinished);
  EXPECT_EQ(Get(server, 1), "one");
}

TEST_F(ManualCompactionTest, WhatIsDisabledDoesNotRun) {
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  Wish(kEnvCompactDisabled, "true");
  Wish(kEnvCompactOnce, UnixSeconds(server));
  world_.RunFor(absl::Seconds(30));
  EXPECT_EQ(Reported(server), ManualCompactStatus::kIdle);
  Wish(kEnvCompactDisabled, "false");
  world_.RunFor(absl::Seconds(20));
  EXPECT_EQ(Reported(server), ManualCompactStatus::kFinished);
}

TEST_F(ManualCompactionTest, ASplitHidesTheOtherHalfAndThenItLeavesTheFiles) {
  Server& server = AddServer();
  ASSERT_TRUE(MakePrimary(server));
  // "g" is of partition 1, be there 4 or 8; "n" of 1, and then of 5.
  const auto put = [&](const char* hash_key) {
    return Call(server, kRpcPut,
                EncodeWrapped(UpdateRequest{JoinRawKey(hash_key, "s"), "value", 0}))
        .error;
  };
  const auto get = [&](const char* hash_key) {
    return Call(server, kRpcGet, EncodeWrapped(Blob(JoinRawKey(hash_key, "s")))).error;
  };
  ASSERT_EQ(put("g"), ErrorCode::kOk);
  ASSERT_EQ(put("n"), ErrorCode::kOk);
  const auto text = [&] {
    std::map<PartitionId, std::string> texts;
    server.server->CompactionTexts([&](auto all) { texts = std::move(all); });
    world_.RunFor(absl::Seconds(1));
    return texts[kPid];
  };
  Wish(kEnvCompactDisabled, "true");
  meta_.app().init_partition_count = 4;
  meta_.app().partition_count = 8;
  Wish(kEnvValidatePartitionHash, "true");
  EXPECT_EQ(get("g"), ErrorCode::kOk);
  EXPECT_EQ(get("n"), ErrorCode::kParentPartitionMisused);
  EXPECT_EQ(put("n"), ErrorCode::kParentPartitionMisused);
  EXPECT_EQ(text().find("split"), std::string::npos) << text();
  Wish(kEnvCompactDisabled, "false");
  world_.RunFor(absl::Seconds(20));
  EXPECT_EQ(Reported(server), ManualCompactStatus::kIdle) << "nobody asked for it";
  EXPECT_EQ(text().find("split"), std::string::npos) << text();
  // Were it not checked any more, it would not be there.
  Wish(kEnvValidatePartitionHash, "false");
  const auto read = [&](const char* hash_key) {
    return DecodeWrapped<ReadResponse>(
               Call(server, kRpcGet, EncodeWrapped(Blob(JoinRawKey(hash_key, "s")))).body)
        ->error;
  };
  EXPECT_EQ(read("g"), 0);
  EXPECT_EQ(read("n"), static_cast<int32_t>(StorageError::kNotFound));
}

}  // namespace
}  // namespace arion
