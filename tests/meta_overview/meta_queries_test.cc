// SPDX-License-Identifier: Apache-2.0
#include "meta_overview/meta_queries.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

constexpr Endpoint kA{1, 34801}, kB{2, 34801}, kC{3, 34801};

class MetaQueriesTest : public testing::Test {
 protected:
  MetaQueriesTest() {
    Table& table = state_.tables[1];
    table.info = {
        .status = AppStatus::kAvailable, .app_name = "t", .app_id = 1, .partition_count = 3};
    table.partitions.resize(3);
    for (int i = 0; i < 3; ++i) {
      table.partitions[static_cast<size_t>(i)].config = {
          .pid = {1, i}, .ballot = Ballot(4), .primary = kA, .secondaries = {kB, kC}};
    }
    for (Endpoint node : {kA, kB, kC}) state_.nodes[node].alive = true;
  }
  PartitionConfiguration& config(int i) {
    return state_.tables[1].partitions[static_cast<size_t>(i)].config;
  }
  QueryConfigResponse Query(std::vector<int32_t> indices = {},
                            QueryAudience audience = QueryAudience::kThriftClients) {
    return AnswerQueryConfig(state_, {}, {"t", std::move(indices)}, audience);
  }
  std::vector<std::string> List(ListAppsRequest request) {
    std::vector<std::string> names;
    for (const AppInfo& info : AnswerListApps(state_, request).infos)
      names.push_back(info.app_name);
    return names;
  }
  ClusterState state_;
};

TEST_F(MetaQueriesTest, AsksForSomePartitionsGetThoseAndNonsenseGetsAll) {
  EXPECT_EQ(Query().partitions.size(), 3u);
  EXPECT_EQ(Query({2, 99, -1, 2}).partitions.size(), 1u);
  EXPECT_EQ(Query({2}).partitions[0].pid.index, 2);
  EXPECT_EQ(Query({99}).partitions.size(), 3u);
}

TEST_F(MetaQueriesTest, IsStatefulExactlyWhenOk) {
  EXPECT_TRUE(Query().is_stateful);
  for (auto [status, error] : {std::pair(AppStatus::kCreating, ErrorCode::kBusyCreating),
                               std::pair(AppStatus::kRecalling, ErrorCode::kBusyCreating),
                               std::pair(AppStatus::kDropping, ErrorCode::kBusyDropping),
                               std::pair(AppStatus::kDropped, ErrorCode::kObjectNotFound),
                               std::pair(AppStatus::kInvalid, ErrorCode::kUnknown)}) {
    state_.tables[1].info.status = status;
    EXPECT_EQ(Query(), QueryConfigResponse{.err = error});
  }
  EXPECT_EQ(AnswerQueryConfig(state_, {"new"}, {"new"}, QueryAudience::kThriftClients).err,
            ErrorCode::kBusyCreating);
}

TEST_F(MetaQueriesTest, ThriftClientsSeeAPrimaryWhereThereWasOne) {
  config(0).primary = {};
  state_.nodes[kB].alive = false;
  EXPECT_EQ(Query({0}).partitions[0].primary, kC) << "alive, so perhaps the next";
  EXPECT_EQ(Query({0}).partitions[0].secondaries, std::vector{kB});
  EXPECT_EQ(Query({0}, QueryAudience::kServersAndTools).partitions[0], config(0));
  state_.nodes[kB].alive = true;
  state_.tables[1].partitions[0].intent = {
      .type = ConfigType::kUpgradeToPrimary, .target = kC, .node = kC};
  EXPECT_EQ(Query({0}).partitions[0].primary, kC) << "asked to be the next";
  state_.tables[1].partitions[0].intent->type = ConfigType::kAddSecondary;
  EXPECT_EQ(Query({0}).partitions[0].primary, kB);
  state_.tables[1].partitions[0].intent.reset();
  config(0).secondaries.clear();
  config(0).last_drops = {kB, kA};
  EXPECT_EQ(Query({0}).partitions[0].primary, kA);
  config(0) = {.pid = {1, 0}};
  EXPECT_EQ(Query({0}).partitions[0], config(0)) << "new: the admin clients wait for it";
}

TEST_F(MetaQueriesTest, TablesAreListedByStatusAndPattern) {
  for (const char* name : {"apple", "pineapple", "app"}) {
    int32_t id = state_.NextAppId();
    state_.tables[id].info = {.status = AppStatus::kAvailable, .app_name = name, .app_id = id};
  }
  state_.tables[1].info.status = AppStatus::kDropped;
  using Names = std::vector<std::string>;
  auto matching = [&](const char* pattern, int32_t type) {
    return List({.app_name_pattern = pattern, .match_type = type});
  };
  EXPECT_EQ(List({}), (Names{"t", "apple", "pineapple", "app"}));
  EXPECT_EQ(List({.status = AppStatus::kDropped}), Names{"t"});
  EXPECT_EQ(matching("app", 1).size(), 4u);
  EXPECT_EQ(matching("app", 2), Names{"app"});
  EXPECT_EQ(matching("eap", 3), Names{"pineapple"});
  EXPECT_EQ(matching("app", 4), (Names{"apple", "app"}));
  EXPECT_EQ(matching("apple", 5), (Names{"apple", "pineapple"}));
  EXPECT_EQ(List({.app_name_pattern = "zzz"}).size(), 4u) << "only together with a type";
  for (int32_t type : {0, 6, 7, -1}) {
    ListAppsResponse response =
        AnswerListApps(state_, {.app_name_pattern = "a", .match_type = type});
    EXPECT_EQ(response.err, ErrorCode::kNotImplemented);
    EXPECT_TRUE(response.hint_message);
  }
}

TEST_F(MetaQueriesTest, ClusterInfoHasItsKeysInOrder) {
  ClusterInfoResponse info = AnswerClusterInfo(
      state_, {.meta_server = kA, .cluster_name = "c", .level = FunctionLevel::kFreezed});
  EXPECT_EQ(info.keys,
            (std::vector<std::string>{"meta_servers", "primary_meta_server", "zookeeper_hosts",
                                      "zookeeper_root", "meta_function_level",
                                      "balance_operation_count", "primary_replica_count_stddev",
                                      "total_replica_count_stddev", "cluster_name"}));
  EXPECT_EQ(info.values[4], "freezed");
  EXPECT_EQ(info.values[6], "1.41");  // 3, 0, 0
  EXPECT_EQ(info.values[7], "0.00");
}

TEST_F(MetaQueriesTest, AServerThatHasNothingYetIsOutOfBalance) {
  state_.nodes[{4, 34801}].alive = true;
  const ClusterInfoResponse info =
      AnswerClusterInfo(state_, {.meta_server = kA, .cluster_name = "c"});
  EXPECT_EQ(info.values[6], "1.30");  // 3, 0, 0, 0
  EXPECT_EQ(info.values[7], "1.30");  // 3, 3, 3, 0
}

}  // namespace
}  // namespace arion
