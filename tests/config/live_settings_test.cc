// SPDX-License-Identifier: Apache-2.0
#include "config/live_settings.h"
#include "config/ini_file.h"

#include <gtest/gtest.h>

#include "admin/remote_commands.h"
#include "posix/posix_disk_pool.h"

namespace arion {
namespace {

ServerConfig Replica(const std::string& content) {
  const auto file = IniFile::Parse("[arion.replica]\ndata_dirs = d:/d\n" + content, "a.ini");
  return *MakeServerConfig(ServerKind::kReplica, *file, {{"threads", "3"}});
}

TEST(LiveSettingsTest, ValuesAndWhereTheyCameFrom) {
  const LiveSettings settings(
      ServerKind::kReplica,
      Replica("durability = os\n[replication]\nlearn_app_max_concurrent_count = 3\n"));
  EXPECT_EQ(settings.Find("durability")->value, "os");
  EXPECT_EQ(settings.Find("durability")->default_value, "fsync");
  EXPECT_EQ(settings.Find("durability")->origin, "a.ini:3");
  EXPECT_EQ(settings.Find("threads")->origin, "--threads");
  EXPECT_EQ(settings.Find("slow_request_after")->value, "100ms");
  EXPECT_EQ(settings.Find("slow_request_after")->origin, "");
  EXPECT_EQ(settings.Find("learn_app_max_concurrent_count")->section, "replication");
  EXPECT_FALSE(settings.Find("meta_data_dir")) << "the other kind of server's";
}

TEST(LiveSettingsTest, SecretsStayHidden) {
  const LiveSettings settings(ServerKind::kReplica, Replica("[security]\nadmin_password = x\n"));
  EXPECT_FALSE(settings.Find("admin_password")) << "nothing acts on it";
  ServerConfig config = Replica("");
  config.given["admin_token"] = {"arion.server", "sesame", "a.ini:9"};
  EXPECT_EQ(LiveSettings(ServerKind::kReplica, config).Find("admin_token")->value, "(hidden)");
}

TEST(LiveSettingsTest, AChangeableOneIsChangedToldAndReset) {
  LiveSettings settings(ServerKind::kReplica, Replica("slow_request_after = 50ms\n"));
  std::vector<absl::Duration> told;
  settings.OnChange(
      [&](const ServerConfig& config) { told.push_back(config.replica.slow_request_after); });
  EXPECT_TRUE(settings.Set("slow_request_after", "7ms").ok());
  EXPECT_EQ(settings.Find("slow_request_after")->value, "7ms");
  EXPECT_EQ(settings.Find("slow_request_after")->at_start, "50ms");
  EXPECT_TRUE(settings.Set("text_log_level", "warning").ok());
  EXPECT_TRUE(settings.Reset("slow_request_after").ok());
  EXPECT_EQ(told, (std::vector<absl::Duration>{absl::Milliseconds(7), absl::Milliseconds(7),
                                               absl::Milliseconds(50)}));
}

TEST(LiveSettingsTest, AClustersJoiningCanBeEndedButNotBegun) {
  LiveSettings settings(ServerKind::kReplica,
                        Replica("[arion.server]\njoin_pegasus_cluster = onebox\n"));
  std::vector<std::string> told;
  settings.OnChange(
      [&](const ServerConfig& config) { told.push_back(config.join_pegasus_cluster); });
  EXPECT_TRUE(settings.Set("join_pegasus_cluster", "").ok());
  EXPECT_EQ(told, std::vector<std::string>{""});
  EXPECT_TRUE(absl::IsInvalidArgument(settings.Set("join_pegasus_cluster", "onebox")));
  EXPECT_TRUE(absl::IsInvalidArgument(settings.Reset("join_pegasus_cluster")));
  EXPECT_EQ(settings.Find("join_pegasus_cluster")->value, "");
  EXPECT_EQ(settings.Find("join_pegasus_cluster")->origin, "a.ini:4");
}

TEST(LiveSettingsTest, WhatCannotBeIsRefusedAndChangesNothing) {
  LiveSettings settings(ServerKind::kReplica, Replica(""));
  settings.OnChange([](const ServerConfig&) { ADD_FAILURE(); });
  EXPECT_TRUE(absl::IsNotFound(settings.Set("slow_request_aftr", "7ms")));
  EXPECT_TRUE(absl::IsFailedPrecondition(settings.Set("durability", "os")));
  EXPECT_TRUE(absl::IsInvalidArgument(settings.Set("slow_request_after", "soon")));
  EXPECT_TRUE(absl::IsInvalidArgument(settings.Set("text_log_level", "loud\n\"")));
  EXPECT_EQ(settings.Find("durability")->value, "fsync");
  EXPECT_EQ(settings.Find("slow_request_after")->value, "100ms");
}

TEST(LiveSettingsTest, WhatHoldsBetweenSettingsHoldsAfterAChange) {
  const auto file = IniFile::Parse("[arion.meta]\nmeta_data_dir = /m\n", "a.ini");
  LiveSettings settings(ServerKind::kMeta, *MakeServerConfig(ServerKind::kMeta, *file, {}));
  const absl::Status refused = settings.Set("replica_count_min", "9");
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_TRUE(settings.Set("replica_count_max", "9").ok());
  EXPECT_TRUE(settings.Set("replica_count_min", "9").ok());
}

TEST(RemoteCommandsTest, AreNamedShownSetAndRefused) {
  PosixDiskPool pool(1);
  RemoteCommands commands(pool);
  LiveSettings settings(ServerKind::kReplica, Replica(""));
  commands.AddSetting("nfs.rate", settings, "copy_rate_per_disk", " MiB", "the rate");
  commands.AddRefused("meta.dump", "it would write a file");
  EXPECT_EQ(commands.Answer("rm -rf /", {}), "unknown command 'rm -rf /'");
  EXPECT_EQ(commands.Answer("nfs.rate", {}),
            "{\n    \"error\": \"ok\",\n    \"nfs.rate\": \"0\"\n}");
  EXPECT_EQ(commands.Answer("nfs.rate", {"20"}),
            "{\n    \"error\": \"ok\",\n    \"result\": \"OK\"\n}");
  EXPECT_EQ(settings.Find("copy_rate_per_disk")->value, "20 MiB");
  EXPECT_EQ(commands.Answer("nfs.rate", {"DEFAULT"}),
            "{\n    \"error\": \"ok\",\n    \"result\": \"OK\"\n}");
  EXPECT_EQ(settings.Find("copy_rate_per_disk")->value, "0");
  EXPECT_NE(commands.Answer("nfs.rate", {"-1"}).find("\"ERR: "), std::string::npos);
  EXPECT_NE(commands.Answer("meta.dump", {"-f", "/etc/passwd"}).find("ERR: it would write"),
            std::string::npos);
  EXPECT_NE(commands.Answer("help", {}).find("nfs.rate [value | DEFAULT] - the rate\n"),
            std::string::npos);
  EXPECT_EQ(commands.Answer("help", {"nothing"}), "unknown command 'nothing'");
}

}  // namespace
}  // namespace arion
