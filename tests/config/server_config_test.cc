// SPDX-License-Identifier: Apache-2.0
#include "config/server_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "base/status.h"
#include "config/config_rules.h"
#include "config/older_config_rules.h"
#include "legacy/shared_log_options.h"
#include "recovery/recovery_plan.h"

namespace arion {
namespace {

using Flags = std::map<std::string, std::string>;

absl::StatusOr<ServerConfig> Make(ServerKind kind, std::string_view content,
                                  const Flags& flags = {}) {
  absl::StatusOr<IniFile> file = IniFile::Parse(content, "a.ini");
  if (!file.ok()) return file.status();
  return MakeServerConfig(kind, *file, flags);
}

absl::StatusOr<ServerConfig> MakeReplica(std::string content, const Flags& flags = {}) {
  return Make(ServerKind::kReplica, "[arion.replica]\ndata_dirs = d1:/data/1\n" + content, flags);
}

std::string ErrorOf(const absl::StatusOr<ServerConfig>& config) {
  return config.ok() ? "(no error)" : std::string(config.status().message());
}

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

TEST(ServerConfigTest, AnOlderVersionsSharedLogIsLookedForWhereItWroteIt) {
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

TEST(ServerConfigTest, LogFilesAreBoundedInNumber) {
  EXPECT_EQ(MakeReplica("")->log_files_max, 16);
  EXPECT_EQ(MakeReplica("[arion.server]\ntext_log_files_max = 3\n")->log_files_max, 3);
  EXPECT_NE(
      ErrorOf(MakeReplica("[arion.server]\ntext_log_files_max = 0\n")).find("text_log_files_max"),
      std::string::npos);
}

TEST(ServerConfigTest, WhoListensEverywhereSaysByWhichAddressOthersReachIt) {
  const std::string everywhere = "[arion.server]\nlisten = 0.0.0.0:34801\n";
  const std::string error = ErrorOf(MakeReplica(everywhere));
  EXPECT_NE(error.find("write it: advertise = "), std::string::npos) << error;
  const auto config = MakeReplica(everywhere + "advertise = 10.0.0.7:34901\n");
  EXPECT_EQ(config->listen.ip, 0u);
  EXPECT_EQ(config->advertised.ToString(), "10.0.0.7:34901");
  EXPECT_EQ(MakeReplica("[arion.server]\nlisten = 127.0.0.1:5\n")->advertised.ToString(),
            "127.0.0.1:5");
}

TEST(ServerConfigTest, TheLevelAtTheStartIsOursOrTheOlderKeys) {
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

TEST(ServerConfigTest, AnOlderFileActsAndListsTheRestOnce) {
  absl::StatusOr<ServerConfig> config =
      Make(ServerKind::kReplica,
           "[apps.meta]\nports = 34601\n"
           "[apps.replica]\nports = 34811\npools = THREAD_POOL_DEFAULT\n"
           "[meta_server]\nserver_list = 127.0.0.1:34601,127.0.0.1:34602\n"
           "[replication]\ncluster_name = old\ndata_dirs = a:/d/1,b:/d/2\n"
           "staleness_for_commit = 10\nlog_private_file_size_mb = 16\n"
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

TEST(ServerConfigTest, AnEmptyListOfAnOlderFileMeansItsDataDirectory) {
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

TEST(ServerConfigTest, OlderKeysTakeTheZerosThatTheyAlwaysTook) {
  absl::StatusOr<ServerConfig> config =
      Make(ServerKind::kMeta,
           "[core]\ndata_dir = /d\n[meta_server]\nstable_rs_min_running_seconds = 0\n"
           "replica_assign_delay_ms_for_dropouts = 0\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->meta.stable_running, absl::ZeroDuration());
  EXPECT_EQ(config->meta.replica_assign_delay_for_dropouts, absl::ZeroDuration());
}

TEST(ServerConfigTest, ThePegasusClusterThatIsJoinedIsTheOneTheServerIsOf) {
  const std::string file = "[core]\ndata_dir = /d\n[replication]\ncluster_name = prod\n";
  for (const ServerKind kind : {ServerKind::kMeta, ServerKind::kReplica}) {
    EXPECT_EQ(Make(kind, file)->join_pegasus_cluster, "");
    const auto joins = Make(kind, file + "[arion.server]\njoin_pegasus_cluster = prod\n");
    ASSERT_TRUE(joins.ok()) << joins.status();
    EXPECT_EQ(joins->join_pegasus_cluster, "prod");
    const auto other = Make(kind, file + "[arion.server]\njoin_pegasus_cluster = test\n");
    EXPECT_THAT(std::string(other.status().message()),
                testing::AllOf(testing::HasSubstr(":6: join_pegasus_cluster = test is not"),
                               testing::HasSubstr("cluster_name = prod")));
  }
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

TEST(ServerConfigTest, NoNumberOfAnOlderKeyEndsAServer) {
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

TEST(ServerConfigTest, AServerLooksAtNoValueThatIsTheOtherKindsOnly) {
  const std::string text =
      "[core]\ndata_dir = /d\n[replication]\ndata_dirs = no tag\nstaleness_for_commit = many\n";
  EXPECT_TRUE(Make(ServerKind::kMeta, text).ok()) << ErrorOf(Make(ServerKind::kMeta, text));
  EXPECT_NE(ErrorOf(Make(ServerKind::kReplica, text)).find("data_dirs"), std::string::npos);
  const std::string meta = "[core]\ndata_dir = /d\n[meta_server]\nlb_interval_ms = often\n";
  EXPECT_TRUE(Make(ServerKind::kReplica, meta).ok()) << ErrorOf(Make(ServerKind::kReplica, meta));
  EXPECT_NE(ErrorOf(Make(ServerKind::kMeta, meta)).find("lb_interval_ms"), std::string::npos);
}

TEST(ServerConfigTest, NewDataDirectoriesAreTagsAndTheWaitForMissingReplicasMayHaveNoLimit) {
  const auto config = MakeReplica("new_data_directories = d1\nshared_log_missing_wait_max = 0\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->replica.layout.new_data_directories, std::vector<std::string>{"d1"});
  EXPECT_EQ(config->replica.shared_log.missing_wait_max, absl::InfiniteDuration());
  EXPECT_EQ(MakeReplica("shared_log_missing_wait_max = 36h\n")->replica.shared_log.missing_wait_max,
            absl::Hours(36));
  EXPECT_NE(ErrorOf(MakeReplica("new_data_directories = d1,d7\n")).find("d7"), std::string::npos);
}

TEST(ServerConfigTest, DiskAndLogKeysAct) {
  absl::StatusOr<ServerConfig> config = MakeReplica(
      "disk_space_min = 2 MiB\ndisk_reserve_size = 0\ndisk_slow_sync = 20ms\n"
      "replay_seconds_max = 3\nlog_reserve_size = 1 GiB\nlog_reserve_time = 10h\n"
      "slow_member_ratio = 9\nslow_member_pause_max = 5m\nlog_reserve_files = "
      "7\nlog_for_member_size = 3 GiB\nlog_for_member_time = 2h\n"
      "log_for_member_files = 9\nlog_keep_duplicated = false\n"
      "log_method = threads\nlog_zeros_ahead_max = 64 MiB\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->replica.disk.available_bytes_min, 2u << 20);
  EXPECT_EQ(config->replica.disk.reserve_bytes, 0u);
  EXPECT_EQ(config->replica.disk.sync_p99_max, absl::Milliseconds(20));
  EXPECT_EQ(config->replica.slow_members.ratio, 9);
  EXPECT_EQ(config->replica.slow_members.calm_max, absl::Minutes(5));
  EXPECT_EQ(config->replica.replay_max, absl::Seconds(3));
  EXPECT_EQ(config->replica.log_reserve.bytes_max, 1u << 30);
  EXPECT_EQ(config->replica.log_reserve.age_max_seconds, 36000);
  EXPECT_EQ(config->replica.log_reserve.files_max, 7);
  EXPECT_EQ(config->replica.log_for_member.bytes_max, uint64_t{3} << 30);
  EXPECT_EQ(config->replica.log_for_member.age_max_seconds, 7200);
  EXPECT_EQ(config->replica.log_for_member.files_max, 9);
  EXPECT_FALSE(config->replica.log_keep_duplicated);
  EXPECT_EQ(config->log_device.method, LogDeviceOptions::Method::kThreads);
  EXPECT_EQ(config->log_device.zeros_ahead_bytes_max, 64u << 20);

  config = MakeReplica("");
  EXPECT_EQ(config->replica.disk.available_bytes_min, 256u << 20);
  EXPECT_EQ(config->replica.disk.reserve_bytes, 64u << 20);
  EXPECT_EQ(config->replica.replay_max, absl::Seconds(10));
  EXPECT_EQ(config->replica.log_reserve.bytes_max, 0u);
  EXPECT_EQ(config->replica.log_for_member.bytes_max, uint64_t{1} << 30);
  EXPECT_EQ(config->replica.log_for_member.age_max_seconds, 3600);
  EXPECT_TRUE(config->replica.log_keep_duplicated);
  EXPECT_EQ(config->log_device.method, LogDeviceOptions::Method::kBest);
}

TEST(ServerConfigTest, CopiesAndGarbageHaveKeysOldAndNew) {
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

TEST(ServerConfigTest, RecoveryKeysAct) {
  absl::StatusOr<ServerConfig> config = MakeReplica(
      "recovery = sequential\nrecovery_threads_per_disk = 5\nrecovery_memory = 256 MiB\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->replica.recovery.mode, RecoveryMode::kSequential);
  EXPECT_EQ(config->replica.recovery.threads_per_disk, 5);
  EXPECT_EQ(config->replica.recovery.memory_bytes, 256u << 20);
  config = MakeReplica("");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->replica.recovery.mode, RecoveryMode::kParallel);
  EXPECT_GE(config->replica.recovery.threads_per_disk, 2);
  EXPECT_LE(config->replica.recovery.threads_per_disk, 8);
  EXPECT_EQ(ErrorOf(MakeReplica("recovery = fast\n")),
            "a.ini:3: [arion.replica] recovery = \"fast\": unknown; write parallel (all disks at "
            "once) or sequential (one replica at a time)");
}

TEST(ServerConfigTest, BadDiskAndLogKeysNameLineValueAndRemedy) {
  EXPECT_EQ(ErrorOf(MakeReplica("log_method = uring\n")),
            "a.ini:3: [arion.replica] log_method = \"uring\": unknown; write best (io_uring where "
            "the kernel has it) or threads (pwrite and fdatasync)");
  EXPECT_EQ(ErrorOf(MakeReplica("replay_seconds_max = 0\n")),
            "a.ini:3: [arion.replica] replay_seconds_max = \"0\": out of range; write a number "
            "between 1 and 86400");
  EXPECT_EQ(ErrorOf(MakeReplica("log_reserve_time = 5ms\n")),
            "a.ini:3: [arion.replica] log_reserve_time = \"5ms\": too short; write 1s or more");
  for (const char* key : {"disk_space_min", "disk_reserve_size", "disk_slow_sync"})
    EXPECT_NE(ErrorOf(MakeReplica(std::string(key) + " = much\n"))
                  .find(std::string("a.ini:3: [arion.replica] ") + key + " = \"much\": "),
              std::string::npos);
}

TEST(ServerConfigTest, LogPlacementAndItsDirectoryBelongTogether) {
  absl::StatusOr<ServerConfig> config =
      MakeReplica("log_placement = home\nlog_home_directory = /fast\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->replica.layout.log_home_directory, "/fast");
  EXPECT_EQ(MakeReplica("log_placement = data\n")->replica.layout.log_home_directory, "");
  EXPECT_EQ(ErrorOf(MakeReplica("log_placement = home\n")),
            "a.ini:3: log_placement = home, but no log_home_directory; write one into "
            "[arion.replica]");
  EXPECT_EQ(ErrorOf(MakeReplica("log_home_directory = /fast\n")),
            "a.ini:3: log_home_directory = /fast has no effect with log_placement = data; remove "
            "it or write log_placement = home");
  EXPECT_EQ(ErrorOf(MakeReplica("log_placement = ssd\n")),
            "a.ini:3: [arion.replica] log_placement = \"ssd\": unknown; write data (each log "
            "beside its replica) or home (all in log_home_directory)");
}

TEST(ServerConfigTest, OlderDiskAndReserveKeysAct) {
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

TEST(ServerConfigTest, OurKeysWinOverOlderOnesWhereverTheyStand) {
  absl::StatusOr<ServerConfig> config =
      MakeReplica("[arion.server]\ncluster_name = ours\n[replication]\ncluster_name = old\n");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->cluster_name, "ours");
}

TEST(ServerConfigTest, NoOlderKeyLowersDurability) {
  absl::StatusOr<ServerConfig> config = MakeReplica("[replication]\nplog_force_flush = false\n");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->replica.durability, Durability::kFsync);
  ASSERT_EQ(config->warnings.size(), 1u);
  EXPECT_NE(config->warnings[0].find("plog_force_flush"), std::string::npos);
  config = MakeReplica("durability = os\n[replication]\nplog_force_flush = true\n");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->replica.durability, Durability::kOs);
}

TEST(ServerConfigTest, NoKeyStandsInTwoSections) {
  std::set<std::string_view> keys;
  for (const Setting& setting : Settings())
    EXPECT_TRUE(keys.insert(setting.key).second) << setting.key;
}

}  // namespace
// Each key that no other test names, with a value that is not its default, and whether it got to where it acts.
TEST(ServerConfigTest, AKeyGetsToWhatItIsOf) {
  struct Row {
    ServerKind kind;
    const char* text;
    std::function<bool(const ServerConfig&)> acts;
  };
  constexpr uint64_t kMiB = 1 << 20;
  const std::vector<Row> rows = {
      {ServerKind::kReplica, "[arion.server]\ntext_log_file_size = 7 MiB\n",
       [](const auto& c) { return c.log_file_size_mb == 7; }},
      {ServerKind::kMeta, "meta_disk_reserve_size = 5 MiB\n",
       [](const auto& c) { return c.meta_disk_reserve_bytes == 5 * kMiB; }},
      {ServerKind::kMeta, "clock_offset_max = 9s\n",
       [](const auto& c) { return c.meta.clock_offset_max == absl::Seconds(9); }},
      {ServerKind::kMeta, "live_servers_min = 4\n",
       [](const auto& c) { return c.meta.min_live_node_count_for_unfreeze == 4; }},
      {ServerKind::kMeta, "live_servers_percent_min = 70\n",
       [](const auto& c) { return c.meta.node_live_percentage_threshold_for_update == 70; }},
      {ServerKind::kMeta, "lost_member_wait = 3m\n",
       [](const auto& c) { return c.meta.replica_assign_delay_for_dropouts == absl::Minutes(3); }},
      {ServerKind::kMeta, "stable_after = 4m\n",
       [](const auto& c) { return c.meta.stable_running == absl::Minutes(4); }},
      {ServerKind::kMeta, "unstable_restarts_max = 8\n",
       [](const auto& c) { return c.meta.max_successive_unstable_restarts == 8; }},
      {ServerKind::kMeta, "keep_dropped_tables = 2h\n",
       [](const auto& c) { return c.meta.hold_dropped_app == absl::Hours(2); }},
      {ServerKind::kMeta, "balance_only_moves_primaries = true\n",
       [](const auto& c) { return c.meta.balance_only_moves_primaries; }},
      {ServerKind::kReplica, "learner_prepare_timeout = 6s\n",
       [](const auto& c) { return c.replica.learner_prepare_timeout == absl::Seconds(6); }},
      {ServerKind::kReplica, "keep_closed_replicas = 6m\n",
       [](const auto& c) { return c.replica.closed_replica_linger == absl::Minutes(6); }},
      {ServerKind::kReplica, "write_size_max = 3 MiB\n",
       [](const auto& c) { return c.replica.max_allowed_write_bytes == 3 * kMiB; }},
      {ServerKind::kReplica, "log_zeros_ahead_max = 6 MiB\n",
       [](const auto& c) { return c.log_device.zeros_ahead_bytes_max == 6 * kMiB; }},
      {ServerKind::kReplica, "log_reserve_files = 6\n",
       [](const auto& c) { return c.replica.log_reserve.files_max == 6; }},
      {ServerKind::kReplica, "log_for_member_size = 6 MiB\n",
       [](const auto& c) { return c.replica.log_for_member.bytes_max == 6 * kMiB; }},
      {ServerKind::kReplica, "log_for_member_time = 6m\n",
       [](const auto& c) { return c.replica.log_for_member.age_max_seconds == 360; }},
      {ServerKind::kReplica, "set_aside_damaged_shared_log = true\n",
       [](const auto& c) { return c.replica.shared_log.damaged == DamagedSharedLog::kSetAside; }},
      {ServerKind::kReplica, "shared_log_collection_interval = 6s\n",
       [](const auto& c) { return c.replica.shared_log.collection_interval == absl::Seconds(6); }},
      {ServerKind::kReplica, "shared_log_flushes_max = 6\n",
       [](const auto& c) { return c.replica.shared_log.flushes_max == 6; }},
      {ServerKind::kReplica, "recovery_threads_per_disk = 6\n",
       [](const auto& c) { return c.replica.recovery.threads_per_disk == 6; }},
      {ServerKind::kReplica, "copy_rate_per_server = 6 MiB\n",
       [](const auto& c) {
         return c.replica.send_limits.server == 6 * kMiB &&
                c.replica.receive_limits.server == 6 * kMiB;
       }},
      {ServerKind::kReplica, "copies_max = 6\n",
       [](const auto& c) { return c.replica.max_concurrent_copies == 6; }},
      {ServerKind::kReplica, "verify_rate_per_disk = 6 MiB\n",
       [](const auto& c) { return c.replica.verify_limits.disk == 6 * kMiB; }},
      {ServerKind::kReplica, "keep_unneeded_replicas = 6h\n",
       [](const auto& c) { return c.replica.garbage.keep_unneeded == absl::Hours(6); }},
  };
  for (const Row& row : rows) {
    const auto config =
        row.kind == ServerKind::kMeta
            ? Make(ServerKind::kMeta, absl::StrCat("[arion.meta]\nmeta_data_dir = /m\n", row.text))
            : MakeReplica(row.text);
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_TRUE(row.acts(*config)) << row.text;
  }
}

TEST(ServerConfigTest, AFormerNameStillActsAndIsSaidOnce) {
  const auto config =
      MakeReplica("max_mutations_in_flight = 9\n[arion.server]\nlog_level = error\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->replica.max_mutations_in_flight, 9);
  EXPECT_EQ(config->log_level, ServerConfig::LogLevel::kError);
  ASSERT_EQ(config->warnings.size(), 2u);
  EXPECT_NE(
      config->warnings[0].find("max_mutations_in_flight is called mutations_in_flight_max now"),
      std::string::npos)
      << config->warnings[0];
  EXPECT_NE(ErrorOf(MakeReplica("max_mutations_in_flight = 9\nmutations_in_flight_max = 8\n"))
                .find("stands already"),
            std::string::npos)
      << "one setting under two names";
}

TEST(ServerConfigTest, AFormerNameNamesAKeyThatIsThere) {
  for (const std::string_view former : FormerNames()) {
    const std::string_view current = CurrentName(former);
    EXPECT_TRUE(std::any_of(Rules().begin(), Rules().end(),
                            [&](const Rule& rule) { return rule.setting.key == current; }))
        << former << " -> " << current;
    EXPECT_FALSE(std::any_of(Rules().begin(), Rules().end(), [&](const Rule& rule) {
      return rule.setting.key == former;
    })) << former;
  }
}

}  // namespace arion
