// Which of a table's environments act on a replica, and how. SPDX-License-Identifier: Apache-2.0
#include "data_api/table_settings.h"
#include "messages/configuration.h"

#include <gtest/gtest.h>

namespace arion {
namespace {

TableSettings Settings(std::map<std::string, std::string> envs) {
  AppInfo app;
  app.partition_count = 8;
  app.envs = std::move(envs);
  return TableSettings::From(app);
}

TEST(TableSettingsTest, ATableThatSaysNothingHasTheDefaults) {
  EXPECT_EQ(Settings({}), (TableSettings{.partition_count = 8}));
  EXPECT_EQ(Settings({{"another.key", "1"}}), (TableSettings{.partition_count = 8}));
}

TEST(TableSettingsTest, WhatCanNotBeReadCountsAsNotSet) {
  EXPECT_EQ(Settings({{kEnvDefaultTtl, "-1"},
                      {kEnvValidatePartitionHash, "perhaps"},
                      {kEnvIterationTime, "soon"},
                      {kEnvSlowQuery, "-5"},
                      {kEnvWriteThrottling, "many"},
                      {kEnvReadThrottlingBySize, "x"},
                      {kEnvDiskQuota, "x"},
                      {kEnvDenyClient, "x"}}),
            (TableSettings{.partition_count = 8}));
}

TEST(TableSettingsTest, EachKeySetsItsField) {
  const TableSettings settings = Settings({{kEnvDefaultTtl, "60"},
                                           {kEnvValidatePartitionHash, "true"},
                                           {kEnvIterationTime, "1500"},
                                           {kEnvSlowQuery, "20"},
                                           {kEnvCompactOnce, "1700000000"}});
  EXPECT_EQ(settings.default_ttl_seconds, 60u);
  EXPECT_TRUE(settings.validate_partition_hash);
  EXPECT_EQ(settings.iteration_time_max, absl::Milliseconds(1500));
  EXPECT_EQ(settings.slow_query, absl::Milliseconds(20));
  EXPECT_EQ(settings.compaction.once_seconds, 1700000000);
}

TEST(TableSettingsTest, EachThrottleHasItsKey) {
  const auto delays = [](const ThrottleRule& rule) { return rule != ThrottleRule{}; };
  const auto set = [&](const char* key) {
    const TableSettings settings = Settings({{key, "100*delay*10"}});
    return std::vector{delays(settings.write_requests), delays(settings.write_bytes),
                       delays(settings.read_requests), delays(settings.backup_requests)};
  };
  EXPECT_EQ(set(kEnvWriteThrottling), (std::vector{true, false, false, false}));
  EXPECT_EQ(set(kEnvWriteThrottlingBySize), (std::vector{false, true, false, false}));
  EXPECT_EQ(set(kEnvReadThrottling), (std::vector{false, false, true, false}));
  EXPECT_EQ(set(kEnvBackupThrottling), (std::vector{false, false, false, true}));
}

TEST(TableSettingsTest, NoTimeForAnIterationIsNoLimit) {
  EXPECT_EQ(Settings({{kEnvIterationTime, "0"}}).iteration_time_max, absl::InfiniteDuration());
}

TEST(TableSettingsTest, WhomItDeniesIsRead) {
  EXPECT_TRUE(Settings({{kEnvDenyClient, "timeout*write"}}).deny);
  EXPECT_FALSE(Settings({}).deny);
}

TEST(TableSettingsTest, KeysAreAPartitionsWhereThatIsChecked) {
  EXPECT_EQ(Settings({{kEnvValidatePartitionHash, "true"}}).KeysOf(5),
            (KeyOwnership{.index = 5, .count = 8}));
  EXPECT_TRUE(Settings({}).KeysOf(5).Owns(0xff06)) << "not checked";
}

TEST(TableSettingsTest, ATableWasSplitIfItBeganWithFewerPartitions) {
  AppInfo app{.app_name = "t", .app_id = 2, .partition_count = 8};
  EXPECT_FALSE(TableSettings::From(app).was_split);
  app.init_partition_count = 8;
  EXPECT_FALSE(TableSettings::From(app).was_split) << "begun, or cancelled";
  app.init_partition_count = 4;
  EXPECT_TRUE(TableSettings::From(app).was_split);
}

TEST(TableSettingsTest, ThePutsOwnExpiryGoesBeforeTheTables) {
  const TableSettings settings = Settings({{kEnvDefaultTtl, "60"}});
  EXPECT_EQ(settings.Expiry(0, 1000), 1060u);
  EXPECT_EQ(settings.Expiry(1005, 1000), 1005u);
  EXPECT_EQ(Settings({}).Expiry(0, 1000), 0u);
}

}  // namespace
}  // namespace arion
