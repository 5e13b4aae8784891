// All of our keys: each stands once, acts, and has its former names.
// SPDX-License-Identifier: Apache-2.0
#include "config/config_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "tests/config/made_config.h"

namespace arion {
namespace {

TEST(ConfigRulesTest, NoKeyStandsInTwoSections) {
  std::set<std::string_view> keys;
  for (const Setting& setting : Settings())
    EXPECT_TRUE(keys.insert(setting.key).second) << setting.key;
}

// Each key that no other test names, with a value that is not its default, and whether it got to where it acts.
TEST(ConfigRulesTest, AKeyGetsToWhatItIsOf) {
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
      {ServerKind::kMeta, "disk_room_percent = 0\n",
       [](const auto& c) { return c.meta.disk_room_percent == 0; }},
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

TEST(ConfigRulesTest, AFormerNameStillActsAndIsSaidOnce) {
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

TEST(ConfigRulesTest, AFormerNameNamesAKeyThatIsThere) {
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

}  // namespace
}  // namespace arion
