// SPDX-License-Identifier: Apache-2.0
#include "meta_state/cluster_state.h"
#include "meta_state/meta_store.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

// The form of meta/STATE.md 1.2.
constexpr char kTableJson[] =
    R"({"status":"app_status::AS_AVAILABLE","app_type":"pegasus","app_name":"t","app_id":1,)"
    R"("partition_count":1,"envs":{},"is_stateful":1,"max_replica_count":3,"expire_second":0,)"
    R"("create_second":1700000000,"drop_second":0,"duplicating":0,"init_partition_count":8,)"
    R"("is_bulk_loading":0,"atomic_idempotent":0})";
constexpr char kPartitionJson[] =
    R"({"pid":"1.0","ballot":3,"max_replica_count":3,"primary":"10.0.0.1:34801",)"
    R"("secondaries":["10.0.0.2:34801"],"last_drops":[],"last_committed_decree":0,)"
    R"("partition_flags":0,"hp_primary":"h1:34801","hp_secondaries":["h2:34801"],)"
    R"("hp_last_drops":[]})";

Endpoint At(const char* text) { return Endpoint::Parse(text).value(); }

absl::StatusOr<ClusterState> Load(std::string table, std::string partition) {
  return ClusterState::Load({{"/apps/1", std::move(table)}, {"/apps/1/0", std::move(partition)}});
}

TEST(ClusterStateTest, TheDocumentedExamplesAreReadAndWrittenToTheLetter) {
  absl::StatusOr<ClusterState> state = Load(kTableJson, kPartitionJson);
  ASSERT_TRUE(state.ok()) << state.status();
  const Table& table = state->tables.at(1);
  EXPECT_EQ(table.info.app_name, "t");
  EXPECT_EQ(table.info.status, AppStatus::kAvailable);
  EXPECT_TRUE(table.info.is_stateful);
  const PartitionConfiguration& config = table.partitions.at(0).config;
  EXPECT_EQ(config.primary, At("10.0.0.1:34801"));
  EXPECT_EQ(config.secondaries, std::vector<Endpoint>{At("10.0.0.2:34801")});
  EXPECT_EQ(config.ballot, Ballot(3));

  MetaStore::Change change = state->ChangeOf(table.info);
  EXPECT_EQ(change.key, "/apps/1");
  EXPECT_EQ(*change.value, kTableJson);
  change = state->ChangeOf(config);
  EXPECT_EQ(change.key, "/apps/1/0");
  EXPECT_EQ(*change.value, kPartitionJson);
}

TEST(ClusterStateTest, TheLevelSurvivesAndAnUnknownOneIsNotGuessed) {
  for (const auto& [name, level] : kFunctionLevels) {
    const MetaStore::Change change = ClusterState::ChangeOf(level);
    EXPECT_EQ(change.value, name);
    EXPECT_EQ(ClusterState::Load({{change.key, *change.value}})->function_level, level);
    EXPECT_TRUE(absl::IsDataLoss(ClusterState::Load({{change.key, "x"}}).status()));
  }
  EXPECT_FALSE(ClusterState::Load({})->function_level);
}

TEST(ClusterStateTest, ServersThatWereListedAreAwaitedAndAKeyThatIsNoAddressIsNoGuess) {
  const MetaStore::Change change = ClusterState::ChangeOfListed(At("10.0.0.9:34801"), true);
  EXPECT_EQ(change.key, "/arion/servers/10.0.0.9:34801");
  const absl::StatusOr<ClusterState> state = ClusterState::Load({{change.key, *change.value}});
  EXPECT_EQ(state->listed, std::set{At("10.0.0.9:34801")});
  EXPECT_EQ(state->awaited, state->listed);
  EXPECT_TRUE(state->nodes.empty());
  EXPECT_FALSE(state->HaveAllTold({1, 0}));
  EXPECT_TRUE(absl::IsDataLoss(ClusterState::Load({{"/arion/servers/x", ""}}).status()));
  EXPECT_FALSE(ClusterState::ChangeOfListed(At("10.0.0.9:34801"), false).value);
}

TEST(ClusterStateTest, WhatIsKnownToBeCommittedSurvivesAndWhatIsOfOtherPartitionsIsNotGuessed) {
  absl::StatusOr<ClusterState> state = Load(kTableJson, kPartitionJson);
  Table& table = state->tables.at(1);
  table.partitions[0].committed.decree = Decree(30);
  const MetaStore::Change change = ClusterState::ChangeOfCommitted(table);
  const auto load = [&](std::string committed) {
    return ClusterState::Load(
        {{"/apps/1", kTableJson}, {"/apps/1/0", kPartitionJson}, {change.key, committed}});
  };
  EXPECT_EQ(load(*change.value)->tables.at(1).partitions[0].KnownCommitted(), Decree(30));
  const MetaStore::Change anew = ClusterState::ChangeOfCommitted(table, 0);
  EXPECT_EQ(load(*anew.value)->tables.at(1).partitions[0].committed.decree, Decree(0));
  for (const char* damaged : {"", "30,30", "x", "-1"})
    EXPECT_TRUE(absl::IsDataLoss(load(damaged).status())) << damaged;
}

TEST(ClusterStateTest, EveryFieldSurvivesStoringAndLoading) {
  AppInfo info{.status = AppStatus::kDropped,
               .app_type = "pegasus",
               .app_name = "a\"b\\c\n\x01",
               .app_id = 1,
               .partition_count = 1,
               .envs = {{"k", std::string("v\0w", 3)}, {"", "\xff\xfe"}},
               .is_stateful = true,
               .max_replica_count = 2,
               .expire_second = INT64_MAX,
               .create_second = 5,
               .drop_second = -1,
               .duplicating = true,
               .init_partition_count = -1,
               .is_bulk_loading = true,
               .atomic_idempotent = true};
  PartitionConfiguration config{.pid = {1, 0},
                                .ballot = Ballot(-1),
                                .max_replica_count = 5,
                                .primary = {},
                                .secondaries = {At("1.2.3.4:1"), At("1.2.3.4:65535")},
                                .last_drops = {At("255.255.255.255:3"), At("1.1.1.1:2")},
                                .last_committed_decree = Decree(INT64_MAX),
                                .partition_flags = 1};
  ClusterState writer;
  absl::StatusOr<ClusterState> loaded =
      Load(*writer.ChangeOf(info).value, *writer.ChangeOf(config).value);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->tables.at(1).info, info);
  EXPECT_EQ(loaded->tables.at(1).partitions.at(0).config, config);
}

TEST(ClusterStateTest, StateOfOlderVersionsWithoutHostNamesKeepsItsMembers) {
  absl::StatusOr<ClusterState> state = Load(
      kTableJson, R"({"pid":"1.0","ballot":7,"max_replica_count":3,"primary":"10.0.0.1:34801",)"
                  R"("secondaries":["10.0.0.2:34801"],"last_drops":["10.0.0.3:34801"],"new":{}})");
  ASSERT_TRUE(state.ok()) << state.status();
  const PartitionConfiguration& config = state->tables.at(1).partitions[0].config;
  EXPECT_EQ(config.MemberCount(), 2u);
  EXPECT_EQ(config.last_drops.size(), 1u);
}

TEST(ClusterStateTest, HostPortLiteralsStandInForMissingAddresses) {
  absl::StatusOr<ClusterState> state =
      Load(kTableJson, R"({"pid":"1.0","ballot":7,"primary":"invalid address",)"
                       R"("hp_primary":"10.0.0.1:34801","hp_secondaries":["10.0.0.2:34801"]})");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->tables.at(1).partitions[0].config.MemberCount(), 2u);
  // A name that can't be understood must not pass as "no member".
  EXPECT_EQ(Load(kTableJson, R"({"pid":"1.0","ballot":7,"hp_primary":"h1:34801"})").status().code(),
            absl::StatusCode::kDataLoss);
}

TEST(ClusterStateTest, WhatCannotBeUnderstoodIsRefusedWithItsKey) {
  auto refused = [](const std::map<std::string, std::string>& entries, const char* names) {
    absl::StatusOr<ClusterState> state = ClusterState::Load(entries);
    EXPECT_EQ(state.status().code(), absl::StatusCode::kDataLoss) << names;
    EXPECT_NE(state.status().message().find(names), absl::string_view::npos) << state.status();
  };
  std::string table(kTableJson), partition(kPartitionJson);
  refused({{"/apps", "lock"}}, "/apps");
  refused({{"/apps/1", table}}, "/apps/1/0");
  refused({{"/apps/1/0", partition}}, "/apps/1/0");
  refused({{"/apps/2", table}, {"/apps/2/0", partition}}, "/apps/2");
  refused({{"/apps/x", table}}, "/apps/x");
  for (const char* bad :
       {"", "[]", "{", "{\"status\":3}", "{\"status\":\"app_status::AS_OTHER\"}"}) {
    refused({{"/apps/1", bad}, {"/apps/1/0", partition}}, "/apps/1");
  }
  for (const char* bad :
       {"", "{}", R"({"pid":"1"})", R"({"pid":"1.0","ballot":"x"})", R"({"pid":"1.1"})",
        R"({"pid":"1.0","primary":"nonsense"})", R"({"pid":"1.0","secondaries":[1]})"}) {
    refused({{"/apps/1", table}, {"/apps/1/0", bad}}, "/apps/1/0");
  }
}

// A large table's drop or recall is several transactions in ZooKeeper, its own node first.
TEST(ClusterStateTest, ADropOrARecallThatWasInterruptedIsFinished) {
  std::string dropped(kTableJson), partition(kPartitionJson);
  dropped.replace(dropped.find("AS_AVAILABLE"), 12, "AS_DROPPED");
  const auto load = [](const std::string& table, const std::string& partition,
                       ClusterState::Lacking lacking) {
    const auto state = ClusterState::Load({{"/apps/1", table}, {"/apps/1/0", partition}}, lacking);
    EXPECT_TRUE(state.ok()) << state.status();
    return state->tables.at(1).partitions.at(0);
  };
  using Lacking = ClusterState::Lacking;
  const Partition emptied = load(dropped, partition, Lacking::kIsMade);
  EXPECT_TRUE(emptied.IsDropped());
  EXPECT_EQ(emptied.config.MemberCount(), 0u);
  EXPECT_EQ(emptied.config.ballot, Ballot(4));
  EXPECT_EQ(emptied.dropped.size(), 2u);
  // As the next one that loads it, though nothing of it is stored.
  EXPECT_EQ(load(dropped, partition, Lacking::kIsMade).config, emptied.config);
  EXPECT_FALSE(load(dropped, partition, Lacking::kIsDamage).IsDropped());

  ClusterState writer;
  const std::string stored = *writer.ChangeOf(emptied.config).value;
  EXPECT_EQ(load(dropped, stored, Lacking::kIsMade).config, emptied.config);
  const Partition recalled = load(kTableJson, stored, Lacking::kIsMade);
  EXPECT_FALSE(recalled.IsDropped());
  EXPECT_EQ(recalled.config.ballot, Ballot(5));
  EXPECT_EQ(recalled.dropped.size(), 2u);
}

TEST(ClusterStateTest, AChangeOfReplicaCountsThatWasInterruptedIsFinished) {
  std::string table(kTableJson);
  table.replace(table.find("max_replica_count\":3"), 20, "max_replica_count\":2");
  const auto count = [](const std::string& table, ClusterState::Lacking lacking) {
    const auto state =
        ClusterState::Load({{"/apps/1", table}, {"/apps/1/0", kPartitionJson}}, lacking);
    EXPECT_TRUE(state.ok()) << state.status();
    return state->tables.at(1).partitions.at(0).config.max_replica_count;
  };
  EXPECT_EQ(count(table, ClusterState::Lacking::kIsMade), 2);
  EXPECT_EQ(count(table, ClusterState::Lacking::kIsDamage), 3);
  // 2.5.0 is in the middle of one: it alone knows.
  table.replace(table.find("\"envs\":{}"), 9, "\"envs\":{\"max_replica_count.update\":\"x\"}");
  EXPECT_EQ(count(table, ClusterState::Lacking::kIsMade), 3);
}

TEST(ClusterStateTest, KeysOfOtherServicesAreLeftAlone) {
  EXPECT_TRUE(ClusterState::Load({{"/apps", "unlock"},
                                  {"/apps/1", kTableJson},
                                  {"/apps/1/0", kPartitionJson},
                                  {"/apps/1/duplication/5", "{}"},
                                  {"/backup/p", "{}"}})
                  .ok());
}

TEST(ClusterStateTest, TheLevelFollowsHowManyServersLive) {
  struct Row {
    int known, alive;
    FunctionLevel level;
  };
  for (const Row& row : {Row{0, 0, FunctionLevel::kFreezed}, Row{1, 0, FunctionLevel::kFreezed},
                         Row{1, 1, FunctionLevel::kSteady}, Row{2, 1, FunctionLevel::kSteady},
                         Row{3, 1, FunctionLevel::kFreezed}, Row{3, 2, FunctionLevel::kSteady},
                         Row{4, 2, FunctionLevel::kFreezed}, Row{4, 3, FunctionLevel::kSteady},
                         Row{9, 4, FunctionLevel::kFreezed}, Row{9, 5, FunctionLevel::kSteady}}) {
    ClusterState state;
    for (int i = 0; i < row.known; ++i) {
      state.nodes[{static_cast<uint32_t>(i + 1), 1}].alive = i < row.alive;
    }
    EXPECT_EQ(state.Level({}), row.level) << row.alive << " of " << row.known;
  }
  ClusterState state;
  state.nodes[{1, 1}].alive = true;
  EXPECT_EQ(state.Level({.min_live_node_count = 2}), FunctionLevel::kFreezed);
}

TEST(ClusterStateTest, IdsOfDroppedTablesStayTaken) {
  ClusterState state;
  EXPECT_EQ(state.NextAppId(), 1);
  state.tables[4].info.status = AppStatus::kDropped;
  EXPECT_EQ(state.NextAppId(), 5);
  state.last_reserved_app_id = 6;
  EXPECT_EQ(state.NextAppId(), 7);
}

}  // namespace
}  // namespace arion
