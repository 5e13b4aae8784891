// What holds among all keys of a configuration, and which of several wins. SPDX-License-Identifier: Apache-2.0
#include "config/server_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/made_config.h"

namespace arion {
namespace {

TEST(ServerConfigTest, DefaultsAreDurableAndOfDecision19) {
  absl::StatusOr<ServerConfig> config = MakeReplica("");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->replica.durability, Durability::kFsync);
  EXPECT_EQ(config->replica.lease, absl::Seconds(9));
  EXPECT_EQ(config->meta.grace, absl::Seconds(10));
  EXPECT_EQ(config->listen.ToString(), "127.0.0.1:34801");
  ASSERT_EQ(config->replica.layout.data_directories.size(), 1u);
  EXPECT_EQ(config->replica.layout.data_directories[0].path, "/data/1/replica/reps");
}

TEST(ServerConfigTest, OurKeysAct) {
  absl::StatusOr<ServerConfig> config = MakeReplica(
      "durability = os\nbeacon_interval = 500ms\nlog_segment_size = 8 MiB\n"
      "[arion.server]\nlease = 2s\ngrace = 3s\nlisten = 127.0.0.1:40001\nmeta_servers = "
      "127.0.0.1:40000\n"
      "peer_generation = 26\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->replica.durability, Durability::kOs);
  EXPECT_EQ(config->replica.beacon_interval, absl::Milliseconds(500));
  EXPECT_EQ(config->replica.log_segment_bytes, 8u << 20);
  EXPECT_EQ(config->replica.lease, absl::Seconds(2));
  EXPECT_EQ(config->meta_servers[0].ToString(), "127.0.0.1:40000");
  EXPECT_EQ(config->meta.peer_generation, PeerGeneration::k26);
}

TEST(ServerConfigTest, AnUnknownKeyOfOursIsRefusedWithAGuess) {
  EXPECT_EQ(ErrorOf(MakeReplica("durabilty = os\n")),
            "a.ini:3: [arion.replica] durabilty = \"os\": there is no such key; did you mean "
            "durability?");
  EXPECT_EQ(ErrorOf(MakeReplica("lease = 2s\n")),
            "a.ini:3: [arion.replica] lease = \"2s\": there is no such key; it belongs into "
            "[arion.server]");
  EXPECT_NE(ErrorOf(MakeReplica("[arion.replcia]\nx = 1\n"))
                .find("a.ini:4: [arion.replcia]: there is no such section"),
            std::string::npos);
  EXPECT_NE(ErrorOf(MakeReplica("[arion]\nx = 1\n")).find("there is no such section"),
            std::string::npos);
}

TEST(ServerConfigTest, ABadValueNamesLineValueAndRemedy) {
  EXPECT_EQ(ErrorOf(MakeReplica("durability = maybe\n")),
            "a.ini:3: [arion.replica] durability = \"maybe\": unknown; write fsync (an "
            "acknowledged write survives a "
            "power cut) or os (it survives a killed process)");
  EXPECT_EQ(ErrorOf(MakeReplica("beacon_interval = 3\n")),
            "a.ini:3: [arion.replica] beacon_interval = \"3\": not a time; write it with its unit, "
            "as 9s, 500ms or 2m");
  EXPECT_EQ(ErrorOf(MakeReplica("mutations_in_flight_max = many\n")),
            "a.ini:3: [arion.replica] mutations_in_flight_max = \"many\": not a number; write one "
            "between 1 and 10000");
}

TEST(ServerConfigTest, AKeyThatStandsTwiceIsRefused) {
  EXPECT_NE(ErrorOf(MakeReplica("durability = os\ndurability = fsync\n")).find("a.ini:4"),
            std::string::npos);
}

TEST(ServerConfigTest, GraceMustOutlastTheLease) {
  std::string error = ErrorOf(MakeReplica("[arion.server]\nlease = 10s\ngrace = 10s\n"));
  EXPECT_NE(error.find("a.ini:5: grace = 10s is not longer than lease = 10s"), std::string::npos)
      << error;
  EXPECT_NE(ErrorOf(MakeReplica("", {{"lease", "11s"}})).find("--lease"), std::string::npos);
}

TEST(ServerConfigTest, TheBeaconMustFitIntoTheLease) {
  EXPECT_NE(ErrorOf(MakeReplica("beacon_interval = 9s\n")).find("a.ini:3: beacon_interval"),
            std::string::npos);
}

TEST(ServerConfigTest, FlagsOverrideTheFile) {
  absl::StatusOr<ServerConfig> config = MakeReplica("durability = os\n", {{"durability", "fsync"}});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->replica.durability, Durability::kFsync);
  EXPECT_EQ(ErrorOf(MakeReplica("", {{"durability", "none"}})).substr(0, 20),
            "--durability=\"none\":");
}

TEST(ServerConfigTest, AServerNeedsItsDirectory) {
  EXPECT_NE(ErrorOf(Make(ServerKind::kReplica, "[arion.server]\n")).find("data_dirs"),
            std::string::npos);
  EXPECT_NE(ErrorOf(Make(ServerKind::kMeta, "[arion.server]\n")).find("meta_data_dir"),
            std::string::npos);
}

// replica/README.md A6: a member of 2.5 ends where a mutation lies too far behind what it knows to
// be committed.
TEST(ServerConfigTest, WhoJoinsAPegasusClusterPreparesNoFurtherAheadThanItsMembersTake) {
  const auto with = [](const char* theirs, const char* ours) {
    return Make(
               ServerKind::kReplica,
               absl::StrCat("[core]\ndata_dir = /d\n[replication]\ncluster_name = prod\n", theirs,
                            "[arion.server]\njoin_pegasus_cluster = prod\n[arion.replica]\n", ours))
        .status();
  };
  EXPECT_TRUE(with("", "").ok());
  EXPECT_THAT(std::string(with("", "prepare_list_capacity = 200\n").message()),
              testing::HasSubstr("prepare_list_capacity = 200 is above 110"));
  EXPECT_TRUE(with("max_mutation_count_in_prepare_list = 200\n", "").ok())
      << "as its own members have it";
}

TEST(ServerConfigTest, AServerLooksAtNoValueThatIsTheOtherKindsOnly) {
  const std::string text =
      "[core]\ndata_dir = /d\n[replication]\ndata_dirs = no tag\nstaleness_for_commit = many\n";
  EXPECT_TRUE(Make(ServerKind::kMeta, text).ok()) << ErrorOf(Make(ServerKind::kMeta, text));
  EXPECT_NE(ErrorOf(Make(ServerKind::kReplica, text)).find("data_dirs"), std::string::npos);
  const std::string meta = "[core]\ndata_dir = /d\n[meta_server]\nlb_interval_ms = often\n";
  EXPECT_TRUE(Make(ServerKind::kReplica, meta).ok()) << ErrorOf(Make(ServerKind::kReplica, meta));
  EXPECT_NE(ErrorOf(Make(ServerKind::kMeta, meta)).find("lb_interval_ms"), std::string::npos);
}

TEST(ServerConfigTest, OurKeysWinOverOlderOnesWhereverTheyStand) {
  absl::StatusOr<ServerConfig> config =
      MakeReplica("[arion.server]\ncluster_name = ours\n[replication]\ncluster_name = old\n");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->cluster_name, "ours");
}

}  // namespace
}  // namespace arion
