// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/cluster_settings.h"

#include <gtest/gtest.h>

#include <set>

namespace arion::sim {
namespace {

ClusterSettings Drawn(uint64_t seed) {
  SimRandom random(seed);
  ClusterSettings settings = ClusterSettings::Draw(SimClusterOptions::Swarm(seed), random);
  settings.DrawLayout(random);
  return settings;
}

TEST(ClusterSettingsTest, EqualOptionsAndEqualDiceGiveEqualSettings) {
  const ClusterSettings one = Drawn(7), other = Drawn(7);
  EXPECT_EQ(one.meta.grace, other.meta.grace);
  EXPECT_EQ(one.server.checkpoint_interval, other.server.checkpoint_interval);
  EXPECT_EQ(one.server.log_segment_bytes, other.server.log_segment_bytes);
  EXPECT_EQ(one.DiskPaths(), other.DiskPaths());
}

TEST(ClusterSettingsTest, TheLeaseIsShorterThanTheGraceThoughClocksDriftApart) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const ClusterSettings settings = Drawn(seed);
    const double drift = settings.run.faults.clock_drift_percent / 100;
    EXPECT_LT(settings.server.lease / (1 - drift), settings.meta.grace / (1 + drift)) << seed;
  }
}

TEST(ClusterSettingsTest, ALogHomeIsADiskPathBehindTheDataDirectories) {
  std::set<bool> seen;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const ClusterSettings settings = Drawn(seed);
    const size_t directories = settings.server.layout.data_directories.size();
    seen.insert(settings.HasLogHome());
    ASSERT_EQ(settings.DiskPaths().size(), directories + (settings.HasLogHome() ? 1 : 0));
    EXPECT_EQ(settings.DiskPaths().back() == "/logs", settings.HasLogHome());
  }
  EXPECT_EQ(seen.size(), 2u) << "with one and without";
}

TEST(ClusterSettingsTest, NoPartitionHasMoreCopiesThanThereAreServers) {
  SimClusterOptions options;
  options.topology = {.servers = 2, .copies = 3};
  SimRandom random(1);
  EXPECT_EQ(ClusterSettings::Draw(options, random).replica_count, 2);
}

TEST(ClusterSettingsTest, WithoutSyncsOnlyProcessesDie) {
  SimClusterOptions options = SimClusterOptions::Swarm(1);
  options.durability = Durability::kOs;
  options.crash_mode = CrashMode::kPowerPrefix;
  SimRandom random(1);
  const ClusterSettings settings = ClusterSettings::Draw(options, random);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(settings.DrawCrashMode(random), CrashMode::kProcess);
}

}  // namespace
}  // namespace arion::sim
