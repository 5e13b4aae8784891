// SPDX-License-Identifier: Apache-2.0
#include "meta_state/table_lifecycle.h"

#include <gtest/gtest.h>

#include "messages/index_definition.h"
#include "messages/table_environments.h"

namespace arion {
namespace {

class TableLifecycleTest : public testing::Test {
 protected:
  TableLifecycleTest() {
    for (uint32_t i = 1; i <= 3; ++i) state_.nodes[{i, 34801}].alive = true;
    create_ = {"t", {.partition_count = 8, .replica_count = 3, .app_type = "pegasus"}};
  }
  CreateJudgement Create() {
    return JudgeCreate(state_, FunctionLevel::kSteady, {}, being_created_, create_, 1000);
  }
  DropJudgement Drop(DropAppOptions options = {}) {
    return JudgeDrop(state_, {}, being_created_, {"t", options}, 1000);
  }
  void Existing(AppStatus status) {
    state_.tables[1] = *JudgeCreate({state_}, FunctionLevel::kSteady, {}, {}, create_, 1000).table;
    state_.tables[1].info.status = status;
  }

  ClusterState state_;
  std::set<std::string> being_created_;
  CreateAppRequest create_;
};

TEST_F(TableLifecycleTest, ANewTableHasItsPartitionsWithBallotZeroAndNobody) {
  CreateJudgement judgement = Create();
  EXPECT_EQ(judgement.error, ErrorCode::kOk);
  ASSERT_TRUE(judgement.table);
  const AppInfo& info = judgement.table->info;
  EXPECT_EQ(info.app_id, 1);
  EXPECT_EQ(info.status, AppStatus::kAvailable);
  EXPECT_TRUE(info.is_stateful);
  EXPECT_EQ(info.create_second, 1000);
  EXPECT_EQ(info.init_partition_count, 8);
  ASSERT_EQ(judgement.table->partitions.size(), 8u);
  EXPECT_EQ(judgement.table->partitions[7].config,
            (PartitionConfiguration{.pid = {1, 7}, .max_replica_count = 3}));
}

TEST_F(TableLifecycleTest, ANewTableMayHaveIndexesFromTheBeginning) {
  create_.options.envs = {{"index.city", "$.city"}};
  EXPECT_EQ(Create().error, ErrorCode::kOk);
  create_.options.envs["index.city"] = "city";
  EXPECT_EQ(Create().error, ErrorCode::kInvalidParameters);
  create_.options.envs.clear();
  for (size_t i = 0; i < kIndexesMax; ++i)
    create_.options.envs[IndexEnvKey(std::to_string(i))] = "value";
  EXPECT_EQ(Create().error, ErrorCode::kOk);
  create_.options.envs["index.more"] = "value";
  EXPECT_EQ(Create().error, ErrorCode::kInvalidParameters);
}

TEST_F(TableLifecycleTest, PowersOfTwoAreAdviceAndNumbersOutOfRangeErrors) {
  auto with_count = [&](int32_t count) {
    create_.options.partition_count = count;
    return Create().error;
  };
  EXPECT_EQ(with_count(3), ErrorCode::kOk);
  EXPECT_EQ(with_count(1), ErrorCode::kOk);
  for (int32_t count : {0, -1, INT32_MIN, INT32_MAX, kPartitionCountMax + 1}) {
    EXPECT_EQ(with_count(count), ErrorCode::kInvalidParameters) << count;
  }
  create_.options.partition_count = 4;
  auto with_replicas = [&](int32_t count) {
    create_.options.replica_count = count;
    return Create().error;
  };
  EXPECT_EQ(with_replicas(1), ErrorCode::kOk);
  for (int32_t count : {0, -3, 4, 6, INT32_MAX}) {
    EXPECT_EQ(with_replicas(count), ErrorCode::kInvalidParameters) << count;
  }
}

TEST_F(TableLifecycleTest, NamesAndRocksDbVariablesAreChecked) {
  for (const char* name : {"", "a b", "a/b", "\n", "t\xc3\xa4"}) {
    create_.app_name = name;
    EXPECT_EQ(Create().error, ErrorCode::kInvalidParameters) << name;
  }
  create_.app_name = std::string(10000, 'a');
  EXPECT_EQ(Create().error, ErrorCode::kInvalidParameters);
  create_.app_name = "Az_9.:";
  EXPECT_EQ(Create().error, ErrorCode::kOk);
  create_.options.envs = {{"rocksdb.num_levels", "7"}, {"default_ttl", "whatever"}};
  EXPECT_EQ(Create().error, ErrorCode::kOk);
  for (const char* key : {"rocksdb.num_levels", "rocksdb.write_buffer_size", "rocksdb.unknown",
                          "rocksdb.allow_ingest_behind", "rocksdb.usage_scenario"}) {
    create_.options.envs = {{key, "1000x"}};
    EXPECT_EQ(Create().error, ErrorCode::kInvalidParameters) << key;
  }
}

TEST_F(TableLifecycleTest, AnExistingTableIsSuccessOnlyWhenEqualAndAskedFor) {
  Existing(AppStatus::kAvailable);
  EXPECT_EQ(Create().error, ErrorCode::kAppExist);
  create_.options.success_if_exist = true;
  EXPECT_EQ(Create().error, ErrorCode::kOk);
  EXPECT_EQ(Create().app_id, 1);
  EXPECT_FALSE(Create().table);
  create_.options.partition_count = 4;
  EXPECT_EQ(Create().error, ErrorCode::kInvalidParameters);
}

TEST_F(TableLifecycleTest, AFollowersCreateIsRepeatedUntilItHasBegun) {
  create_.options.envs = {{kEnvMasterCluster, "source"},
                          {kEnvMasterMetas, "10.0.0.1:34601"},
                          {"rocksdb.only_the_source_knows", "7"}};
  const CreateJudgement made = Create();
  ASSERT_EQ(made.error, ErrorCode::kOk) << "what its own cluster took is taken";
  EXPECT_EQ(made.table->info.envs, create_.options.envs);
  state_.tables[made.app_id] = *made.table;
  const CreateJudgement again = Create();
  EXPECT_EQ(again.error, ErrorCode::kOk) << "the answer was lost";
  EXPECT_EQ(again.app_id, made.app_id);
  EXPECT_FALSE(again.table);
  ++create_.options.partition_count;
  EXPECT_EQ(Create().error, ErrorCode::kAppExist);
  --create_.options.partition_count;
  state_.tables[made.app_id].partitions.back().config.ballot = Ballot(1);
  EXPECT_EQ(Create().error, ErrorCode::kAppExist) << "its data may be of an earlier duplication";
}

TEST_F(TableLifecycleTest, TransitionsAreBusy) {
  being_created_ = {"t"};
  EXPECT_EQ(Create().error, ErrorCode::kBusyCreating);
  EXPECT_EQ(Drop().error, ErrorCode::kBusyCreating);
  being_created_.clear();
  Existing(AppStatus::kDropping);
  EXPECT_EQ(Create().error, ErrorCode::kBusyDropping);
  EXPECT_EQ(Drop().error, ErrorCode::kBusyDropping);
  Existing(AppStatus::kDropped);
  EXPECT_EQ(Create().app_id, 2);
  EXPECT_EQ(JudgeCreate(state_, FunctionLevel::kFreezed, {}, {}, create_, 1).error,
            ErrorCode::kStateFreezed);
}

TEST_F(TableLifecycleTest, ADroppedTableIsKeptForSevenDaysOrAsLongAsAsked) {
  EXPECT_EQ(Drop().error, ErrorCode::kAppNotExist);
  EXPECT_EQ(Drop({.success_if_not_exist = true}).error, ErrorCode::kOk);
  Existing(AppStatus::kAvailable);
  EXPECT_EQ(Drop().dropped->expire_second, 1000 + 604800);
  EXPECT_EQ(Drop({.reserve_seconds = -5}).dropped->expire_second, 1000 + 604800);
  EXPECT_EQ(Drop({.reserve_seconds = 60}).dropped->expire_second, 1060);
  EXPECT_GT(Drop({.reserve_seconds = INT64_MAX}).dropped->expire_second, 1060);
  EXPECT_EQ(Drop().dropped->status, AppStatus::kDropped);
}

}  // namespace
}  // namespace arion
