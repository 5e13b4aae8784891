// SPDX-License-Identifier: Apache-2.0
#include "meta_overview/overview_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace arion {
namespace {

constexpr Endpoint kA{0x7f000001, 34801};

TEST(OverviewJsonTest, SaysWhatTheOverviewKnows) {
  ClusterOverview overview{.alive_servers = 1, .level = FunctionLevel::kLively};
  const ServerShare share{
      .primaries = 2, .secondaries = 1, .unhealthy = 3, .opening = 1, .learning = 4};
  overview.servers = {
      {.address = kA, .is_alive = true, .has_unreadable_disks = true, .share = share}};
  overview.servers[0].is_older = true;
  overview.servers[0].full_disks = {{.tag = "d0", .takes_no_writes = true}};
  overview.tables = {{.app_id = 7,
                      .name = "a \"b\"\n",
                      .replica_count = 3,
                      .partitions = {0, 0, 0, 3, 5},
                      .undecided = 2,
                      .servers = {{kA, share}},
                      .durability = {Durability::kOs, Durability::kFsync},
                      .older_servers = {kA}}};
  overview.work = {{{7, 2}, ConfigType::kAddSecondary, kA}};
  overview.warnings = {{.kind = "k", .count = 2, .what = "w", .problem = "p", .way = "y"}};
  const nlohmann::json json = nlohmann::json::parse(OverviewJson(overview, 1234));
  EXPECT_EQ(json["warnings"][0], nlohmann::json({{"kind", "k"},
                                                 {"count", 2},
                                                 {"what", "w"},
                                                 {"problem", "p"},
                                                 {"way", "y"},
                                                 {"notice", false}}));
  EXPECT_EQ(json["unix_ms"], 1234);
  EXPECT_EQ(json["health"], "reduced");
  EXPECT_EQ(json["level"], "lively");
  EXPECT_EQ(json["servers"][0]["server"], "127.0.0.1:34801");
  EXPECT_EQ(json["servers"][0]["unreadable_disks"], true);
  EXPECT_EQ(json["servers"][0]["full_disks"], nlohmann::json::array({"d0"}));
  const nlohmann::json& table = json["tables"][0];
  EXPECT_EQ(table["name"], "a \"b\"\n");
  EXPECT_EQ(table["partitions"]["writable_ill"], 3);
  EXPECT_EQ(table["partitions"]["healthy"], 5);
  EXPECT_EQ(table["undecided"], 2);
  EXPECT_EQ(table["durability"], nlohmann::json({"os", "fsync"}));
  EXPECT_EQ(table["older_servers"], nlohmann::json::array({"127.0.0.1:34801"}));
  EXPECT_TRUE(table["split"].is_null());
  EXPECT_EQ(json["servers"][0]["older"], true);
  EXPECT_EQ(table["shares"][0]["learning"], 4);
  EXPECT_EQ(
      json["work"][0],
      (nlohmann::json{{"partition", "7.2"}, {"step", "make copy"}, {"server", "127.0.0.1:34801"}}));
}

TEST(OverviewJsonTest, ShowsHowFarASplitIs) {
  ClusterOverview overview;
  overview.tables = {
      {.app_id = 1,
       .split = SplitOverview{
           .from = 300, .to = 600, .registered = 1, .paused = 1, .progress = {{7, "paused"}}}}};
  const auto split = [&] {
    return nlohmann::json::parse(OverviewJson(overview, 0))["tables"][0]["split"];
  };
  EXPECT_EQ(split(), nlohmann::json::parse(R"({"from":300,"to":600,"registered":1,"paused":1,
      "seconds_left":null,"parents":[{"partition":7,"progress":"paused"}]})"));
  overview.tables[0].split->seconds_left = 40;
  for (int32_t i = 0; i < 299; ++i) overview.tables[0].split->progress[i] = "x";
  EXPECT_EQ(split()["seconds_left"], 40);
  EXPECT_EQ(split()["parents"].size(), 200u);
}

TEST(OverviewJsonTest, ListsSoManyStepsAndCountsAll) {
  ClusterOverview overview;
  for (int32_t i = 0; i < 300; ++i)
    overview.work.push_back({{1, i}, ConfigType::kUpgradeToPrimary, kA});
  const nlohmann::json json = nlohmann::json::parse(OverviewJson(overview, 0));
  EXPECT_EQ(json["work_total"], 300);
  EXPECT_EQ(json["work"].size(), 200u);
}

}  // namespace
}  // namespace arion
