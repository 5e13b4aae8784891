// Keys of [arion.meta].
// SPDX-License-Identifier: Apache-2.0
#include "config/config_rules.h"

#include <gtest/gtest.h>

#include "tests/config/made_config.h"

namespace arion {
namespace {

// Of a key of ours, by its line in [arion.meta].
std::string MetaErrorOf(const std::string& line) {
  return ErrorOf(Make(ServerKind::kMeta, "[arion.meta]\nmeta_data_dir = /m\n" + line + "\n"));
}

TEST(MetaRulesTest, BadValuesNameLineValueAndRemedy) {
  for (const char* key :
       {"meta_disk_reserve_size", "clock_offset_max", "live_servers_min", "lost_member_wait",
        "replica_count_min", "replica_count_max", "keep_dropped_tables", "meta_level_on_start",
        "balance_only_moves_primaries", "recover_from_replica_servers", "state", "zookeeper_hosts",
        "zookeeper_root", "zookeeper_lock_root", "zookeeper_session_timeout"}) {
    const std::string error = MetaErrorOf(std::string(key) + " = nonsense");
    EXPECT_TRUE(
        error.starts_with(std::string("a.ini:3: [arion.meta] ") + key + " = \"nonsense\": "))
        << error;
    EXPECT_NE(error.find("write "), std::string::npos) << error;
  }
}

TEST(MetaRulesTest, TheLevelAtTheStartIsOursOrTheOlderKeys) {
  const auto level = [](const std::string& content) {
    const auto config = Make(ServerKind::kMeta, "[arion.meta]\nmeta_data_dir = /m\n" + content);
    EXPECT_TRUE(config.ok()) << config.status();
    EXPECT_TRUE(config->warnings.empty()) << config->warnings[0];
    return config->meta.function_level_on_start;
  };
  EXPECT_EQ(level(""), std::nullopt);
  EXPECT_EQ(level("meta_level_on_start = freezed\n"), FunctionLevel::kFreezed);
  EXPECT_EQ(level("[meta_server]\nmeta_function_level_on_start = lively\n"),
            FunctionLevel::kLively);
  EXPECT_NE(ErrorOf(Make(ServerKind::kMeta,
                         "[arion.meta]\nmeta_data_dir = /m\nmeta_function_level_on_start = on\n"))
                .find("write stopped, blind, freezed, steady or lively"),
            std::string::npos);
}

using MetaState = ServerConfig::MetaState;

TEST(MetaRulesTest, TheStateIsInZooKeeperWhereItIsSaid) {
  EXPECT_EQ(Make(ServerKind::kMeta, "[arion.meta]\nmeta_data_dir = /m\n")->meta_state,
            MetaState::kJournal);
  const auto config =
      Make(ServerKind::kMeta,
           "[arion.server]\ncluster_name = c\n[arion.meta]\nmeta_data_dir = /m\nstate = "
           "zookeeper\nzookeeper_hosts = z1:2181,z2:2181/below\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->warnings.empty());
  EXPECT_EQ(config->meta_state, MetaState::kZooKeeper);
  EXPECT_EQ(config->zookeeper.hosts, "z1:2181,z2:2181/below");
  EXPECT_EQ(config->zookeeper.root, "/pegasus/c");
  EXPECT_EQ(config->zookeeper.lock_root, "/pegasus/c/lock");
  EXPECT_NE(MetaErrorOf("state = zookeeper").find("write zookeeper_hosts = "), std::string::npos);
  for (const char* path : {"", "c", "/c//d", "/c/./d", "/../c"})
    EXPECT_NE(MetaErrorOf(std::string("zookeeper_root = ") + path).find("write "),
              std::string::npos)
        << path;
}

TEST(MetaRulesTest, ASessionThatOutlastsTheLeaseIsWarnedOf) {
  const auto config = Make(ServerKind::kMeta,
                           "[arion.meta]\nmeta_data_dir = /m\nstate = zookeeper\nzookeeper_hosts "
                           "= z:2181\nzookeeper_session_timeout = 10s\n");
  ASSERT_EQ(config->warnings.size(), 1u);
  EXPECT_NE(config->warnings[0].find("writes stop until the next one leads"), std::string::npos);
}

TEST(MetaRulesTest, OlderMetaServersKeysActAsTheyStand) {
  const auto config = Make(
      ServerKind::kMeta,
      "[core]\ndata_dir = /m\n[replication]\ncluster_name = c\n[meta_server]\ncluster_root = "
      "/pegasus/old\nmeta_state_service_type = meta_state_service_zookeeper\n"
      "distributed_lock_service_parameters = /pegasus/old-lock more\n[zookeeper]\nhosts_list = "
      "z1:2181\ntimeout_ms = 3000\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->meta_state, MetaState::kZooKeeper);
  EXPECT_EQ(config->zookeeper.hosts, "z1:2181");
  EXPECT_EQ(config->zookeeper.root, "/pegasus/old");
  EXPECT_EQ(config->zookeeper.lock_root, "/pegasus/old-lock");
  EXPECT_EQ(config->zookeeper.session_timeout, absl::Seconds(3));
  EXPECT_EQ(Make(ServerKind::kMeta,
                 "[core]\ndata_dir = /m\n[meta_server]\nmeta_state_service_type = "
                 "meta_state_service_simple\n")
                ->meta_state,
            MetaState::kJournal);
}

}  // namespace
}  // namespace arion
