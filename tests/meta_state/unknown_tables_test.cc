// SPDX-License-Identifier: Apache-2.0
#include "meta_state/unknown_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meta_overview/cluster_overview.h"
#include "meta_state/replica_reports.h"

namespace arion {
namespace {

using testing::HasSubstr;

constexpr Endpoint kA{0x7f000001, 34801}, kB{0x7f000001, 34802};

class UnknownTablesTest : public testing::Test {
 protected:
  void Report(Endpoint server, std::vector<PartitionId> held) {
    ConfigSyncRequest sync{.node = server};
    sync.stored_replicas.emplace();
    for (PartitionId pid : held) sync.stored_replicas->push_back({.pid = pid});
    state_.nodes[server].alive = true;
    NoteReports(state_, sync, 0, absl::Seconds(10), Instant(0));
  }
  void Know(int32_t app_id) {
    state_.tables[app_id].info = {.app_id = app_id, .partition_count = 1};
    state_.tables[app_id].partitions.push_back({.config = {.pid = {app_id, 0}}});
  }
  ClusterState state_;
};

TEST_F(UnknownTablesTest, WhatIsStoredIsKnown) {
  Know(1);
  Report(kA, {{1, 0}});
  EXPECT_FALSE(UnknownTables(state_));
}

TEST_F(UnknownTablesTest, ATableThatOnlyServersKnowIsSaidWithTheWayBack) {
  Know(1);
  Report(kA, {{1, 0}, {2, 0}, {2, 1}});
  Report(kB, {{2, 1}});
  const auto warning = UnknownTables(state_);
  ASSERT_TRUE(warning);
  EXPECT_EQ(warning->count, 1);
  EXPECT_THAT(warning->problem, HasSubstr("id 2: 3 copies; on 127.0.0.1:34801, 127.0.0.1:34802"));
  EXPECT_THAT(warning->way, HasSubstr("move meta.journal out of"));
  EXPECT_THAT(warning->way, HasSubstr("recover -s"));
  const ClusterOverview overview = OverviewOf(state_, FunctionLevel::kSteady, 2);
  EXPECT_EQ(overview.warnings, std::vector<ClusterWarning>{*warning});
}

TEST_F(UnknownTablesTest, WithoutAnyTableTheCommandAloneHelps) {
  Report(kA, {{7, 0}});
  ASSERT_TRUE(UnknownTables(state_));
  EXPECT_THAT(UnknownTables(state_)->way, HasSubstr("recover -s"));
  EXPECT_THAT(UnknownTables(state_)->way, testing::Not(HasSubstr("meta.journal")));
}

TEST_F(UnknownTablesTest, WhatIsReportedNoMoreOrByADeadServerIsGone) {
  Report(kA, {{7, 0}});
  state_.nodes[kA].alive = false;
  EXPECT_FALSE(UnknownTables(state_));
  Report(kA, {});
  EXPECT_FALSE(UnknownTables(state_));
}

TEST_F(UnknownTablesTest, ManyAreNotAllNamed) {
  std::vector<PartitionId> held;
  for (int32_t id = 1; id <= 2000; ++id) held.push_back({id, 0});
  Report(kA, held);
  ASSERT_TRUE(UnknownTables(state_));
  EXPECT_EQ(UnknownTables(state_)->count, 2000);
  EXPECT_LT(UnknownTables(state_)->problem.size(), 500u);
}

}  // namespace
}  // namespace arion
