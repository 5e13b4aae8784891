// SPDX-License-Identifier: Apache-2.0
#include "meta_overview/cluster_overview.h"

#include <gtest/gtest.h>

#include "messages/verification_messages.h"
#include "meta_overview/split_progress.h"

namespace arion {
namespace {

constexpr Endpoint kA{1, 34801}, kB{2, 34801}, kC{3, 34801};

PartitionHealth Health(Endpoint primary, std::vector<Endpoint> secondaries, int32_t write_min = 2,
                       int32_t replica_count = 3) {
  return HealthOf({.max_replica_count = replica_count,
                   .primary = primary,
                   .secondaries = std::move(secondaries)},
                  write_min);
}

TEST(PartitionHealthTest, CountsMembersAsThePrimaryDoes) {
  EXPECT_EQ(Health({}, {}), PartitionHealth::kDead);
  EXPECT_EQ(Health({}, {kB, kC}), PartitionHealth::kUnreadable);
  EXPECT_EQ(Health(kA, {}), PartitionHealth::kUnwritable);
  EXPECT_EQ(Health(kA, {}, 1), PartitionHealth::kWritableIll);
  EXPECT_EQ(Health(kA, {kB}), PartitionHealth::kWritableIll);
  EXPECT_EQ(Health(kA, {kB, kC}), PartitionHealth::kHealthy);
  EXPECT_EQ(Health(kA, {}, 2, 1), PartitionHealth::kHealthy) << "a table of one copy needs one";
  EXPECT_EQ(Health(kA, {kB}, 0, 5), PartitionHealth::kUnwritable) << "0: a majority";
  EXPECT_EQ(Health(kA, {kB, kC}, 0, 5), PartitionHealth::kWritableIll);
}

TEST(ClusterOverviewTest, CountsServersAndTheTablesThatServe) {
  ClusterState state;
  state.nodes[kA].alive = state.nodes[kB].alive = true;
  state.nodes[kC].alive = false;
  for (const int32_t id : {1, 2}) {
    Table& table = state.tables[id];
    table.info.app_name = id == 1 ? "t" : "gone";
    table.info.status = id == 1 ? AppStatus::kAvailable : AppStatus::kDropped;
    table.partitions.resize(2);
    table.partitions[0].config = {.max_replica_count = 3, .primary = kA, .secondaries = {kB}};
  }
  const ClusterOverview overview = OverviewOf(state, FunctionLevel::kLively, 2);
  EXPECT_EQ(overview.alive_servers, 2);
  EXPECT_EQ(overview.dead_servers, 1);
  EXPECT_EQ(overview.level, FunctionLevel::kLively);
  ASSERT_EQ(overview.tables.size(), 1u);
  EXPECT_EQ(overview.tables[0].name, "t");
  EXPECT_EQ(overview.tables[0].partitions, (std::array<int32_t, 5>{1, 0, 0, 1, 0}));
}

TEST(ClusterOverviewTest, ChildrenThatASplitHasNotMadeYetAreNoPartitions) {
  ClusterState state;
  state.nodes[kA].alive = true;
  Table& table = state.tables[1];
  table.info = {.status = AppStatus::kAvailable, .app_id = 1, .partition_count = 4};
  table.partitions.resize(4);
  for (int32_t i : {0, 1, 2})
    table.partitions[static_cast<size_t>(i)].config = {
        .pid = {1, i}, .max_replica_count = 1, .primary = kA};
  table.partitions[3].config = {.pid = {1, 3}, .ballot = kBallotOfUnregistered};
  table.split = TableSplit{.from = 2};
  state.nodes[kA].replicas[{1, 1}].split_progress = "waits for a disk";
  ClusterOverview overview = OverviewOf(state, FunctionLevel::kSteady, 1);
  EXPECT_EQ(overview.tables[0].partitions, (std::array<int32_t, 5>{0, 0, 0, 0, 3}));
  ASSERT_TRUE(overview.tables[0].split);
  const SplitOverview& split = *overview.tables[0].split;
  EXPECT_EQ(split.from, 2);
  EXPECT_EQ(split.to, 4);
  EXPECT_EQ(split.registered, 1);
  EXPECT_EQ(split.progress, (std::map<int32_t, std::string>{{1, "waits for a disk"}}));
  EXPECT_FALSE(split.seconds_left);
  state.nodes[kA].replicas.clear();
  EXPECT_EQ(SplitProgressOf(state, table).at(1), "0.0.0.1:34801 has not said yet");
  state.nodes[kA].alive = false;
  EXPECT_EQ(SplitProgressOf(state, table).at(1), "waits for a primary");
  table.split->registered_since = 1;
  table.split->last_registered = table.split->measured_since + absl::Seconds(3);
  AddSplitTimes(state, table.split->last_registered, &overview);
  EXPECT_EQ(overview.tables[0].split->seconds_left, 4);
}

TEST(ClusterOverviewTest, AnOlderVersionsMemberLeavesItsTableNoMoreThanItsPageCache) {
  ClusterState state;
  for (Endpoint server : {kA, kB, kC}) state.nodes[server].alive = true;
  state.nodes[kB].is_older = true;
  for (const int32_t id : {1, 2}) {
    Table& table = state.tables[id];
    table.info.status = AppStatus::kAvailable;
    table.partitions.resize(1);
    table.partitions[0].config = {
        .max_replica_count = 2, .primary = kA, .secondaries = {id == 1 ? kB : kC}};
    for (Endpoint server : {kA, kC}) {
      ReplicaInfo& told = state.nodes[server].replicas[{id, 0}];
      told.durability = static_cast<int8_t>(Durability::kFsync);
    }
  }
  const ClusterOverview overview = OverviewOf(state, FunctionLevel::kSteady, 1);
  EXPECT_EQ(overview.tables[0].durability,
            (std::set<Durability>{Durability::kOs, Durability::kFsync}));
  EXPECT_EQ(overview.tables[0].older_servers, std::set<Endpoint>{kB});
  EXPECT_EQ(overview.tables[1].durability, std::set<Durability>{Durability::kFsync});
  EXPECT_TRUE(overview.tables[1].older_servers.empty());
  EXPECT_TRUE(overview.servers[1].is_older && !overview.servers[0].is_older);
}

TEST(ClusterOverviewTest, SaysWhatEachServerHoldsOfATable) {
  ClusterState state;
  for (Endpoint server : {kA, kB, kC}) state.nodes[server].alive = true;
  state.nodes[kC].alive = false;
  Table& table = state.tables[1];
  table.info.app_name = "t";
  table.info.status = AppStatus::kAvailable;
  table.partitions.resize(2);
  table.partitions[0].config = {.max_replica_count = 2, .primary = kA, .secondaries = {kB}};
  table.partitions[1].config = {.max_replica_count = 2, .primary = kA};
  table.partitions[1].intent = Intent{.type = ConfigType::kAddSecondary, .target = kA, .node = kB};
  const auto report = [](int32_t index, Durability durability, bool loading) {
    ReplicaInfo info{.pid = {1, index}};
    info.durability = static_cast<int8_t>(durability);
    info.loading = loading;
    return info;
  };
  state.nodes[kA].replicas[{1, 0}] = report(0, Durability::kFsync, false);
  state.nodes[kB].replicas[{1, 0}] = report(0, Durability::kOs, true);
  state.nodes[kC].replicas[{1, 1}] = report(1, Durability::kOs, true);  // of old: it is silent
  // Its primary's word counts, nobody else's.
  for (const Endpoint server : {kA, kB})
    state.nodes[server].replicas[{1, 0}].content_verdict =
        static_cast<int32_t>(ContentVerdictKind::kUndecided);
  const ClusterOverview overview = OverviewOf(state, FunctionLevel::kLively, 1);
  const TableOverview& row = overview.tables.at(0);
  EXPECT_EQ(row.servers.at(kA), (ServerShare{.primaries = 2, .unhealthy = 1}));
  EXPECT_EQ(row.servers.at(kB), (ServerShare{.secondaries = 1, .opening = 1, .learning = 1}));
  EXPECT_FALSE(row.servers.contains(kC));
  EXPECT_EQ(row.durability, (std::set<Durability>{Durability::kOs, Durability::kFsync}));
  EXPECT_EQ(row.undecided, 1);
  ASSERT_EQ(overview.work.size(), 1u);
  EXPECT_EQ(overview.work[0].pid, (PartitionId{1, 1}));
  ASSERT_EQ(overview.servers.size(), 3u);
  EXPECT_EQ(overview.servers[0].share.primaries, 2);
  EXPECT_FALSE(overview.servers[2].is_alive);
}

}  // namespace
}  // namespace arion
