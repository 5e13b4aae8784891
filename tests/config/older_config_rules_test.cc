// What an older version's configuration file comes to.
// SPDX-License-Identifier: Apache-2.0
#include "config/older_config_rules.h"

#include <gtest/gtest.h>

#include <set>

#include "config/server_config.h"
#include "legacy/shared_log_options.h"
#include "tests/config/made_config.h"

namespace arion {
namespace {

TEST(OlderConfigRulesTest, AnOlderVersionsSharedLogIsLookedForWhereItWroteIt) {
  const auto config = Make(ServerKind::kReplica,
                           "[core]\ndata_dir = /home/p\n[replication]\nslog_dir = /ssd0\n"
                           "data_dirs = a:/ssd1,b:/ssd2\nlog_shared_gc_flush_replicas_limit = 7\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->replica.layout.shared_log_directories,
            (std::vector<std::string>{"/home/p/replica/slog", "/ssd0/replica/slog",
                                      "/ssd1/replica/slog", "/ssd2/replica/slog"}));
  EXPECT_EQ(config->replica.shared_log.flushes_max, 7);
  EXPECT_EQ(config->replica.shared_log.damaged, DamagedSharedLog::kRefuse);
  const auto ours = MakeReplica("shared_log_directory = /x\nset_aside_damaged_shared_log = true\n");
  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_EQ(ours->replica.layout.shared_log_directories, std::vector<std::string>{"/x"});
  EXPECT_EQ(ours->replica.shared_log.damaged, DamagedSharedLog::kSetAside);
}

TEST(OlderConfigRulesTest, OtherClustersAreKnownByTheirNames) {
  const auto config = Make(ServerKind::kMeta,
                           "[arion.meta]\nmeta_data_dir = /m\n[replication]\n"
                           "cluster_name = here\nduplication_enabled = false\n"
                           "[duplication-group]\nhere = 1\nb = 2\n"
                           "[pegasus.clusters]\nb = 10.0.0.1:34601,meta2.b:34601\nc = x\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->meta.cluster_ids, (std::map<std::string, int>{{"here", 1}, {"b", 2}}));
  ASSERT_EQ(config->meta.clusters.size(), 1u);
  EXPECT_EQ(config->meta.clusters.at("b"),
            (std::vector<NamedAddress>{{"10.0.0.1", 34601}, {"meta2.b", 34601}}));
  EXPECT_EQ(config->warnings.size(), 1u);
  EXPECT_FALSE(config->meta.duplication_enabled);
  EXPECT_TRUE(
      Make(ServerKind::kMeta, "[arion.meta]\nmeta_data_dir = /m\n")->meta.duplication_enabled);
}

TEST(OlderConfigRulesTest, AnOlderFileActsAndListsTheRestOnce) {
  absl::StatusOr<ServerConfig> config =
      Make(ServerKind::kReplica,
           "[apps.meta]\nports = 34601\n"
           "[apps.replica]\nports = 34811\npools = THREAD_POOL_DEFAULT\n"
           "[meta_server]\nserver_list = 127.0.0.1:34601,127.0.0.1:34602\n"
           "[replication]\ncluster_name = old\ndata_dirs = a:/d/1,b:/d/2\n"
           "staleness_for_commit = 10\nlog_private_file_size_mb = 16\n"
           "dup_lagging_write_threshold_ms = 1500\n"
           "fd_lease_seconds = 20\nfd_grace_seconds = 22\n"
           "fd_check_interval_seconds = 2\ngroup_check_interval_ms = 50000\n"
           "[network]\nprimary_interface = lo\n"
           "[pegasus.server]\nrocksdb_block_cache_capacity = 1073741824\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->listen.ToString(), "127.0.0.1:34811");
  EXPECT_EQ(config->meta_servers.size(), 2u);
  EXPECT_EQ(config->cluster_name, "old");
  EXPECT_EQ(config->disks[1].path, "/d/2");
  EXPECT_EQ(config->replica.max_mutations_in_flight, 10);
  EXPECT_EQ(config->replica.duplicate_lag_max, absl::Milliseconds(1500));
  EXPECT_EQ(config->replica.log_segment_bytes, 16u << 20);
  EXPECT_EQ(config->replica.lease, absl::Seconds(20));
  EXPECT_EQ(config->meta.grace, absl::Seconds(22));
  EXPECT_EQ(config->replica.group_check_interval, absl::Seconds(50));
  EXPECT_EQ(config->block_cache_bytes, uint64_t{1} << 30);
  ASSERT_EQ(config->warnings.size(), 1u);
  EXPECT_NE(config->warnings[0].find("[apps.replica] pools (line 5)"), std::string::npos)
      << config->warnings[0];
  EXPECT_NE(config->warnings[0].find("fd_check_interval_seconds"), std::string::npos);
}

TEST(OlderConfigRulesTest, AnEmptyListOfAnOlderFileMeansItsDataDirectory) {
  const auto disk_of = [](std::string_view text) {
    absl::StatusOr<ServerConfig> config = Make(ServerKind::kReplica, std::string(text));
    EXPECT_TRUE(config.ok()) << config.status();
    if (!config.ok() || config->disks.size() != 1) return std::string();
    return config->disks[0].tag + " " + config->replica.layout.data_directories[0].path;
  };
  EXPECT_EQ(disk_of("[replication]\ndata_dirs =\n[core]\ndata_dir = /d\n"),
            "default /d/replica/reps");
  EXPECT_EQ(disk_of("[core]\ndata_dir = /d\n[replication]\ndata_dirs =\n"),
            "default /d/replica/reps");
  EXPECT_EQ(disk_of("[replication]\ndata_dirs =\n"), "default ./data/replica/reps");
  EXPECT_EQ(disk_of("[replication]\ndata_dirs =\n[arion.replica]\ndata_dirs = a:/x\n"),
            "a /x/replica/reps");
}

TEST(OlderConfigRulesTest, OlderKeysTakeTheZerosThatTheyAlwaysTook) {
  absl::StatusOr<ServerConfig> config =
      Make(ServerKind::kMeta,
           "[core]\ndata_dir = /d\n[meta_server]\nstable_rs_min_running_seconds = 0\n"
           "replica_assign_delay_ms_for_dropouts = 0\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->meta.stable_running, absl::ZeroDuration());
  EXPECT_EQ(config->meta.replica_assign_delay_for_dropouts, absl::ZeroDuration());
}

TEST(OlderConfigRulesTest, NoNumberOfAnOlderKeyEndsAServer) {
  const std::set<std::string_view> texts = {"server_list",
                                            "cluster_name",
                                            "primary_interface",
                                            "data_dir",
                                            "data_dirs",
                                            "slog_dir",
                                            "plog_force_flush",
                                            "recover_from_replica_server",
                                            "meta_function_level_on_start",
                                            "port",
                                            "ports"};
  // Each is taken, but refused where it doesn't fit another's.
  const std::set<std::string_view> fit_together = {
      "fd_beacon_interval_seconds",        "fd_lease_seconds",          "fd_grace_seconds",
      "min_allowed_replica_count",         "max_allowed_replica_count", "staleness_for_commit",
      "max_mutation_count_in_prepare_list"};
  for (const ServerKind kind : {ServerKind::kMeta, ServerKind::kReplica}) {
    for (const OlderRule& rule : OlderRules(kind)) {
      if (texts.contains(rule.key) || fit_together.contains(rule.key)) continue;
      for (const char* number : {"0", "-1", "86400", "1000000000", "9223372036854775807"}) {
        const auto config = Make(kind, absl::StrCat("[core]\ndata_dir = /d\n[replication]\n",
                                                    Text(rule.key), " = ", number));
        EXPECT_TRUE(config.ok()) << config.status();
      }
    }
  }
  const auto config =
      Make(ServerKind::kReplica,
           "[core]\ndata_dir = /d\n[replication]\n"
           "mutation_2pc_min_replica_count = 0\nlearn_app_max_concurrent_count = 0\n");
  EXPECT_EQ(config->replica.mutation_2pc_min_replica_count, 0) << "a majority";
  EXPECT_EQ(config->replica.max_concurrent_copies, 1);
  ASSERT_FALSE(config->warnings.empty());
  EXPECT_NE(config->warnings.front().find("0 acts as 1"), std::string::npos);
}

TEST(OlderConfigRulesTest, CopiesAndGarbageHaveKeysOldAndNew) {
  absl::StatusOr<ServerConfig> config = MakeReplica(
      "copy_rate_per_disk = 50 MiB\ncopy_rate_per_server = 200 MiB\nmax_concurrent_copies = 2\n"
      "keep_failed_replicas = 48h\nkeep_unneeded_replicas = 1h\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->replica.send_limits.disk, 50u << 20);
  EXPECT_EQ(config->replica.receive_limits.disk, 50u << 20);
  EXPECT_EQ(config->replica.receive_limits.server, 200u << 20);
  EXPECT_EQ(config->replica.max_concurrent_copies, 2);
  EXPECT_EQ(config->replica.garbage.keep_failed, absl::Hours(48));
  EXPECT_EQ(config->replica.garbage.keep_unneeded, absl::Hours(1));

  config = MakeReplica(
      "[nfs]\nmax_copy_rate_megabytes_per_disk = 30\nmax_send_rate_megabytes_per_disk = 40\n"
      "[replication]\ngc_disk_error_replica_interval_seconds = 100\n"
      "gc_disk_garbage_replica_interval_seconds = 200\nlearn_app_max_concurrent_count = 7\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->warnings.empty());
  EXPECT_EQ(config->replica.receive_limits.disk, 30u << 20);
  EXPECT_EQ(config->replica.send_limits.disk, 40u << 20);
  EXPECT_EQ(config->replica.garbage.keep_failed, absl::Seconds(100));
  EXPECT_EQ(config->replica.garbage.keep_unneeded, absl::Seconds(200));
  EXPECT_EQ(config->replica.max_concurrent_copies, 7);
}

TEST(OlderConfigRulesTest, OlderDiskAndReserveKeysAct) {
  absl::StatusOr<ServerConfig> config = MakeReplica(
      "[replication]\nlog_private_reserve_max_size_mb = 1000\n"
      "log_private_reserve_max_time_seconds = 36000\n"
      "disk_min_available_space_ratio = 10\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->replica.log_reserve.bytes_max, uint64_t{1000} << 20);
  EXPECT_EQ(config->replica.log_reserve.age_max_seconds, 36000);
  EXPECT_DOUBLE_EQ(config->replica.disk.available_ratio_min, 0.1);
  EXPECT_TRUE(config->warnings.empty());

  config = MakeReplica("[replication]\nlog_private_reserve_max_size_mb = 1000\n");
  EXPECT_EQ(config->replica.log_reserve.bytes_max, 0u) << "an older version wants both";
  config = MakeReplica(
      "log_reserve_size = 8 MiB\n[replication]\n"
      "log_private_reserve_max_size_mb = 1000\n"
      "log_private_reserve_max_time_seconds = 36000\n");
  EXPECT_EQ(config->replica.log_reserve.bytes_max, 8u << 20);
  config = MakeReplica("[replication]\ndisk_min_available_space_ratio = 101\n");
  EXPECT_EQ(config->replica.disk.available_ratio_min, 1);
}

TEST(OlderConfigRulesTest, NoOlderKeyLowersDurability) {
  absl::StatusOr<ServerConfig> config = MakeReplica("[replication]\nplog_force_flush = false\n");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->replica.durability, Durability::kFsync);
  ASSERT_EQ(config->warnings.size(), 1u);
  EXPECT_NE(config->warnings[0].find("plog_force_flush"), std::string::npos);
  config = MakeReplica("durability = os\n[replication]\nplog_force_flush = true\n");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->replica.durability, Durability::kOs);
}

}  // namespace
}  // namespace arion
