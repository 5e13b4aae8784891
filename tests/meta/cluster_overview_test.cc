// SPDX-License-Identifier: Apache-2.0
#include "meta/cluster_overview.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace arion
