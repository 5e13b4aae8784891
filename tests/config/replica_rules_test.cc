// Keys of [arion.replica].
// SPDX-License-Identifier: Apache-2.0
#include "config/config_rules.h"

#include <gtest/gtest.h>

#include "recovery/recovery_plan.h"
#include "tests/config/made_config.h"

namespace arion {
namespace {

TEST(ReplicaRulesTest, NewDataDirectoriesAreTagsAndTheWaitForMissingReplicasMayHaveNoLimit) {
  const auto config = MakeReplica("new_data_directories = d1\nshared_log_missing_wait_max = 0\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->replica.layout.new_data_directories, std::vector<std::string>{"d1"});
  EXPECT_EQ(config->replica.shared_log.missing_wait_max, absl::InfiniteDuration());
  EXPECT_EQ(MakeReplica("shared_log_missing_wait_max = 36h\n")->replica.shared_log.missing_wait_max,
            absl::Hours(36));
  EXPECT_NE(ErrorOf(MakeReplica("new_data_directories = d1,d7\n")).find("d7"), std::string::npos);
}

TEST(ReplicaRulesTest, DiskAndLogKeysAct) {
  absl::StatusOr<ServerConfig> config = MakeReplica(
      "disk_space_min = 2 MiB\ndisk_reserve_size = 0\ndisk_slow_sync = 20ms\n"
      "replay_seconds_max = 3\nlog_reserve_size = 1 GiB\nlog_reserve_time = 10h\n"
      "slow_member_ratio = 9\nslow_member_pause_max = 5m\nlog_reserve_files = "
      "7\nlog_for_member_size = 3 GiB\nlog_for_member_time = 2h\n"
      "log_for_member_files = 9\nlog_keep_duplicated = false\nduplicate_lag_max = 7s\n"
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
  EXPECT_EQ(config->replica.duplicate_lag_max, absl::Seconds(7));
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

TEST(ReplicaRulesTest, RecoveryKeysAct) {
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

TEST(ReplicaRulesTest, BadDiskAndLogKeysNameLineValueAndRemedy) {
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

TEST(ReplicaRulesTest, LogPlacementAndItsDirectoryBelongTogether) {
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

}  // namespace
}  // namespace arion
