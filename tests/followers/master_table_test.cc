// SPDX-License-Identifier: Apache-2.0
#include "followers/master_table.h"

#include <gtest/gtest.h>

#include "messages/table_environments.h"

namespace arion {
namespace {

AppInfo With(std::map<std::string, std::string> envs) {
  return {.app_name = "t", .envs = std::move(envs)};
}

TEST(MasterTableTest, BothEnvironmentsMakeAFollower) {
  EXPECT_FALSE(FollowsMaster(With({})));
  EXPECT_FALSE(FollowsMaster(With({{kEnvMasterCluster, "c"}})));
  EXPECT_FALSE(FollowsMaster(With({{kEnvMasterMetas, "1.2.3.4:5"}})));
  EXPECT_TRUE(FollowsMaster(With({{kEnvMasterCluster, "c"}, {kEnvMasterMetas, "1.2.3.4:5"}})));
}

TEST(MasterTableTest, MetaServersAreAddressesOrNames) {
  const auto master = MasterOf(
      With({{kEnvMasterCluster, "c"}, {kEnvMasterMetas, "10.0.0.1:34601, meta.example:34602,"}}));
  ASSERT_TRUE(master.ok()) << master.status();
  EXPECT_EQ(*master, (MasterTable{.cluster = "c",
                                  .table = "t",
                                  .meta_servers = {{"10.0.0.1", 34601}, {"meta.example", 34602}}}));
}

TEST(MasterTableTest, ANewerSourceNamesItsTable) {
  EXPECT_EQ(MasterOf(With({{kEnvMasterCluster, "c"},
                           {kEnvMasterMetas, "10.0.0.1:34601"},
                           {kEnvMasterAppName, "other"}}))
                ->table,
            "other");
}

TEST(MasterTableTest, WhatCantBeUnderstoodIsAnError) {
  for (const char* metas : {"", " , ", "nonsense", "10.0.0.1", "10.0.0.1:99999", "[::1]:34601"})
    EXPECT_TRUE(absl::IsInvalidArgument(
        MasterOf(With({{kEnvMasterCluster, "c"}, {kEnvMasterMetas, metas}})).status()))
        << metas;
}

}  // namespace
}  // namespace arion
