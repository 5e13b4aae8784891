// SPDX-License-Identifier: Apache-2.0
#include "meta_overview/cluster_health.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

using Grade = ClusterHealth::Grade;
constexpr Endpoint kA{0x7f000001, 34801}, kB{0x7f000001, 34802}, kC{0x7f000001, 34803};

// Three servers, one table of eight partitions.
ClusterOverview Healthy() {
  ClusterOverview overview{.alive_servers = 3};
  for (Endpoint server : {kA, kB, kC}) overview.servers.push_back({server, true, false, {}});
  overview.tables.push_back(
      {.app_id = 1, .name = "t", .replica_count = 3, .partitions = {0, 0, 0, 0, 8}});
  return overview;
}

void Kill(ClusterOverview* overview, size_t server) {
  overview->servers[server].is_alive = false;
  --overview->alive_servers;
  ++overview->dead_servers;
}

TEST(ClusterHealthTest, SaysThatAllIsWell) {
  const ClusterHealth health = HealthOf(Healthy());
  EXPECT_EQ(health.grade, Grade::kHealthy);
  EXPECT_EQ(health.wrong, "All 8 partitions of 1 table are healthy on 3 servers.");
  EXPECT_EQ(health.doing, "");
}

TEST(ClusterHealthTest, SaysThatThereIsNothingYet) {
  EXPECT_EQ(HealthOf(ClusterOverview()).wrong, "No replica server has reported yet.");
  EXPECT_EQ(HealthOf(ClusterOverview()).grade, Grade::kReduced);
  // One that follows knows nothing of servers, and nothing is wrong with that.
  ClusterOverview follower;
  follower.leadership = {.is_one_of_several = true, .is_leader = false, .leader = {1, 2}};
  EXPECT_EQ(HealthOf(follower).grade, Grade::kHealthy);
  EXPECT_NE(HealthOf(follower).wrong.find("follows 0.0.0.1:2"), std::string::npos);
  follower.leadership.leader = {};
  EXPECT_EQ(HealthOf(follower).grade, Grade::kReduced);
  ClusterOverview empty = Healthy();
  empty.tables.clear();
  EXPECT_EQ(HealthOf(empty).wrong, "No table yet; 3 servers are ready.");
  EXPECT_EQ(HealthOf(empty).grade, Grade::kHealthy);
}

TEST(ClusterHealthTest, ATableThatIsBeingSplitIsHealthyAndIsNamed) {
  ClusterOverview overview = Healthy();
  overview.tables[0].split = SplitOverview{.from = 6, .to = 12, .registered = 2, .paused = 1};
  ClusterHealth health = HealthOf(overview);
  EXPECT_EQ(health.grade, Grade::kHealthy);
  EXPECT_EQ(health.doing, "Table t is being split from 6 to 12 partitions, 2 of 6 done, 1 paused.");
  overview.tables[0].split->paused = 0;
  overview.tables[0].split->seconds_left = 90;
  overview.tables[0].partitions = {0, 0, 0, 1, 7};
  Kill(&overview, 1);
  health = HealthOf(overview);
  EXPECT_EQ(health.doing,
            "Silent servers get time to come back before copies are made elsewhere. Table t is "
            "being split from 6 to 12 partitions, 2 of 6 done, about 1m30s left.");
}

TEST(ClusterHealthTest, NamesSilentServersAndWhatIsWaitedFor) {
  ClusterOverview overview = Healthy();
  Kill(&overview, 1);
  overview.tables[0].partitions = {0, 0, 0, 5, 3};
  const ClusterHealth health = HealthOf(overview);
  EXPECT_EQ(health.grade, Grade::kReduced);
  EXPECT_EQ(health.wrong,
            "5 of 8 partitions have fewer copies than asked for; 1 of 3 servers is silent "
            "(127.0.0.1:34802).");
  EXPECT_EQ(health.doing, "Silent servers get time to come back before copies are made elsewhere.");
}

TEST(ClusterHealthTest, NamesWhoseLimitOfOpenFilesCarriesNoMore) {
  ClusterOverview overview = Healthy();
  overview.servers[1].lacks_open_files = true;
  overview.servers[1].open_files_max = 1024;
  overview.servers[1].replicas_max = 42;
  const ClusterHealth health = HealthOf(overview);
  EXPECT_EQ(health.grade, Grade::kReduced);
  EXPECT_EQ(health.wrong,
            "127.0.0.1:34802 takes no more copies: open files, of which its limit of 1024 carries "
            "42 copies (raise LimitNOFILE= of its service).");
}

TEST(ClusterHealthTest, NamesDisksThatTakeNoWritesAndWhy) {
  ClusterOverview overview = Healthy();
  overview.servers[1].full_disks = {{.tag = "d0",
                                     .total_bytes = 1000 << 20,
                                     .available_bytes = 12 << 20,
                                     .available_bytes_min = 256 << 20,
                                     .takes_no_writes = true,
                                     .lacks = 0},
                                    {.tag = "d1", .takes_no_writes = true, .lacks = 1},
                                    {.tag = "d2", .takes_no_writes = true, .lacks = 77}};
  const ClusterHealth health = HealthOf(overview);
  EXPECT_EQ(health.grade, Grade::kReduced);
  EXPECT_EQ(health.wrong,
            "Disks take no writes (127.0.0.1:34802: d0 lacks space, 12 of 1000 MiB available, the "
            "bound is 256 MiB, d1 waits for open files, d2).");
}

TEST(ClusterHealthTest, AWarningIsAProblemWithItsWay) {
  ClusterOverview overview = Healthy();
  overview.warnings.push_back({.kind = "k",
                               .count = 1,
                               .what = "meta server",
                               .problem = "refuses 1 server",
                               .way = "recover -s A"});
  ClusterHealth health = HealthOf(overview);
  EXPECT_EQ(health.grade, Grade::kReduced);
  EXPECT_EQ(
      health.wrong,
      "The meta server refuses 1 server. All 8 partitions of 1 table are healthy on 3 servers.");
  EXPECT_EQ(health.doing, "What to do: recover -s A.");
  health = HealthOf({.warnings = overview.warnings});
  EXPECT_EQ(health.wrong, "The meta server refuses 1 server. No replica server has reported yet.");
}

TEST(ClusterHealthTest, ANoticeIsSaidAndNothingIsWrongByIt) {
  ClusterOverview overview = Healthy();
  overview.warnings.push_back({.kind = "k",
                               .what = "meta server",
                               .problem = "lets servers in",
                               .way = "end_join",
                               .is_notice = true});
  const ClusterHealth health = HealthOf(overview);
  EXPECT_EQ(health.grade, Grade::kHealthy);
  EXPECT_EQ(
      health.wrong,
      "All 8 partitions of 1 table are healthy on 3 servers. The meta server lets servers in.");
  EXPECT_EQ(health.doing, "What to do: end_join.");
}

TEST(ClusterHealthTest, SaysThatCopiesDiffer) {
  ClusterOverview overview = Healthy();
  overview.tables[0].undecided = 1;
  const ClusterHealth health = HealthOf(overview);
  EXPECT_EQ(health.grade, Grade::kReduced);
  EXPECT_EQ(health.wrong,
            "The copies of 1 partition differ and no majority says which is right (verify_replicas "
            "shows where).");
}

TEST(ClusterHealthTest, PutsWhatIsNotServedFirst) {
  ClusterOverview overview = Healthy();
  overview.tables[0].partitions = {1, 1, 2, 4, 0};
  const ClusterHealth health = HealthOf(overview);
  EXPECT_EQ(health.grade, Grade::kFailing);
  EXPECT_EQ(health.wrong,
            "1 of 8 partitions has no copy in service; 1 of 8 partitions has no primary; 2 of 8 "
            "partitions refuse writes: too few copies; 4 of 8 partitions have fewer copies than "
            "asked for.");
}

TEST(ClusterHealthTest, SaysWhatIsBeingDoneAndWhere) {
  ClusterOverview overview = Healthy();
  overview.tables[0].partitions = {0, 2, 0, 6, 0};
  overview.work = {{{1, 0}, ConfigType::kUpgradeToPrimary, kA},
                   {{1, 1}, ConfigType::kUpgradeToPrimary, kA},
                   {{1, 2}, ConfigType::kAddSecondary, kC},
                   {{1, 3}, ConfigType::kRemove, kB}};
  overview.servers[1].share.opening = 4;
  EXPECT_EQ(HealthOf(overview).doing,
            "2 primaries are being appointed; 1 copy is being made on 127.0.0.1:34803; 1 member is "
            "being moved or removed; 4 copies are being opened on 127.0.0.1:34802.");
}

TEST(ClusterHealthTest, NamesTheLevelAtWhichNothingIsMoved) {
  ClusterOverview overview = Healthy();
  overview.level = FunctionLevel::kFreezed;
  const ClusterHealth health = HealthOf(overview);
  EXPECT_EQ(health.grade, Grade::kReduced);
  EXPECT_EQ(health.wrong, "The cluster's level is freezed.");
  EXPECT_EQ(health.doing, "Nothing is moved at this level.");
}

TEST(ClusterHealthTest, ListsFewServersByName) {
  ClusterOverview overview;
  for (uint16_t i = 0; i < 5; ++i) {
    overview.servers.push_back({{0x7f000001, static_cast<uint16_t>(34801 + i)}, false, false, {}});
    ++overview.dead_servers;
  }
  EXPECT_EQ(HealthOf(overview).wrong,
            "5 of 5 servers are silent (127.0.0.1:34801, 127.0.0.1:34802, 127.0.0.1:34803 and 2 "
            "more).");
}

}  // namespace
}  // namespace arion
