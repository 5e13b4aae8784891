// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/cluster_settings.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "sim_checkers/bounds.h"
#include "sim_older/old_meta_server.h"

namespace arion::sim {

ClusterSettings ClusterSettings::Draw(SimClusterOptions options, SimRandom& random) {
  ClusterSettings settings;
  settings.run = std::move(options);
  settings.replica_count = std::min(settings.run.topology.copies, settings.run.topology.servers);
  if (!settings.run.name.empty()) settings.KnowOtherCluster();
  settings.DrawTimers(random);
  settings.DrawLogs(random);
  settings.DrawDisks(random);
  return settings;
}

// As main makes it of [duplication-group] and [pegasus.clusters]. Each cluster's network has the
// same addresses.
void ClusterSettings::KnowOtherCluster() {
  const std::map<std::string, uint8_t>& ids = run.duplication_group;
  server.cluster_name = meta.cluster_name = run.name;
  server.duplication_group = {.ids = ids, .own_id = ids.at(run.name)};
  std::vector<std::string> others;
  for (const auto& [name, id] : ids) {
    meta.cluster_ids[name] = id;
    if (name == run.name) continue;
    others.push_back(name);
    meta.clusters[name] = {{.host = name, .port = kMetaEndpoint.port}};
  }
  meta.meta_servers_of = [others](const std::string& cluster) {
    const bool is_known = std::find(others.begin(), others.end(), cluster) != others.end();
    return is_known ? std::vector<Endpoint>{kMetaEndpoint} : std::vector<Endpoint>();
  };
  server.meta_servers_of = meta.meta_servers_of;
}

void ClusterSettings::DrawTimers(SimRandom& random) {
  // Everything is shorter than in production, in about the same proportions.
  server.beacon_interval = absl::Milliseconds(500);
  // A close race of lease and grace in half of the runs; the drift of two clocks stays within it.
  server.lease = absl::Milliseconds(2000);
  meta.grace = random.Coin() ? absl::Milliseconds(2200) : absl::Milliseconds(3000);
  server.config_sync_interval = absl::Seconds(3);
  server.slow_members.calm_max = absl::Seconds(15);  // it heals in less than a minute
  server.group_check_interval = absl::Seconds(2);
  server.prepare_timeout = absl::Milliseconds(1000);
  server.learner_prepare_timeout = absl::Milliseconds(1500);
  server.checkpoint_interval = random.Between(absl::Seconds(3), absl::Seconds(40));
  server.closed_replica_linger = absl::Seconds(5);
  server.layout.failed_directory_rest_max = absl::Seconds(8);
  server.garbage.interval = absl::Seconds(2);
  server.garbage.keep_failed = random.Between(absl::Seconds(2), absl::Seconds(10));
  server.garbage.keep_unneeded = random.Between(absl::Seconds(2), absl::Seconds(10));
  server.garbage.keep_move_target = absl::Seconds(10);
  meta.guardian_interval = absl::Seconds(2);
  meta.replica_assign_delay_for_dropouts = absl::Seconds(10);
  meta.stable_running = absl::Seconds(1);
  // Off: servers crash in each second here.
  meta.max_successive_unstable_restarts = 0;
}

void ClusterSettings::DrawLogs(SimRandom& random) {
  server.log_segment_bytes = uint64_t{64} << (10 + random.Below(3));
  // A checkpoint for 6 MB of log at the latest: a crowd with large values writes more in an
  // interval.
  server.replay_max = absl::Milliseconds(25);
  server.log_preallocate = !random.Percent(20);
  // In half of the runs members that come back get checkpoints sooner.
  server.log_for_member = {.bytes_max = run.seed % 2 == 0 ? 0u : uint64_t{4} << 20};
  if (random.Percent(10)) server.durability = Durability::kOs;
  server.durability = run.durability.value_or(server.durability);
}

void ClusterSettings::DrawDisks(SimRandom& random) {
  // Half of the runs notice a full disk before a write does, the others by the write.
  server.disk = {.available_bytes_min = random.Coin() ? uint64_t{1} << 20 : 0,
                 .reserve_bytes = random.Below(3) * (64 << 10)};
  if (run.space == SimClusterOptions::Space::kOneDiskFull)
    server.disk.available_bytes_min = uint64_t{1} << 20;
}

void ClusterSettings::DrawLayout(SimRandom& random) {
  const uint64_t directories = random.Coin() ? 1 : 2 + random.Below(2);
  for (uint64_t i = 1; i <= directories; ++i)
    server.layout.data_directories.push_back(
        {absl::StrCat("data", i), absl::StrCat("/data", i, "/replica/reps")});
  if (random.Percent(25)) server.layout.log_home_directory = "/logs";
  server.meta_servers = MetaEndpoints();
}

std::vector<Endpoint> ClusterSettings::MetaEndpoints() const {
  std::vector<Endpoint> endpoints;
  for (int i = 0; i < run.topology.metas; ++i)
    endpoints.push_back({kMetaEndpoint.ip + static_cast<uint32_t>(i), kMetaEndpoint.port});
  return endpoints;
}

SimZooKeeperOptions ClusterSettings::ZooKeeper() const {
  // Apart: only some seeds have one.
  SimRandom random(run.seed ^ 0x2007ee);
  return {.session_timeout = random.Between(absl::Seconds(3), absl::Seconds(8)),
          .tick = absl::Milliseconds(500)};
}

std::vector<std::string> ClusterSettings::DiskPaths() const {
  std::vector<std::string> paths;
  for (const DataDirectory& directory : server.layout.data_directories)
    paths.push_back(directory.path);
  if (HasLogHome()) paths.push_back(server.layout.log_home_directory);
  return paths;
}

BoundSettings ClusterSettings::Bounds() const {
  return {.prepare_list_capacity = server.prepare_list_capacity,
          .log_segment_bytes = server.log_segment_bytes,
          .log_for_member_bytes = server.log_for_member.bytes_max,
          // What was written while the other cluster could not be reached.
          .log_for_other_cluster_bytes = run.name.empty() ? 0 : uint64_t{40} << 20};
}

int64_t ClusterSettings::WallErrorSeconds(absl::Duration elapsed) const {
  const double drift = absl::ToDoubleSeconds(elapsed) * run.faults.wall_drift_percent / 100;
  return kWallErrorMicros / 1000000 + static_cast<int64_t>(drift) + 2;
}

OldMetaOptions ClusterSettings::OldMeta() const {
  // As the operator of a small cluster sets it: by default nothing is cured below three servers.
  const auto live_min = static_cast<size_t>(std::clamp(run.topology.servers - 1, 1, 3));
  return {.cluster_name = meta.cluster_name,
          .grace = meta.grace,
          .check_interval = server.beacon_interval * 2 / 3,
          .guardian_interval = meta.guardian_interval,
          .guardian = {.live_min = live_min,
                       .live_percentage_min = 50,
                       .replica_count_min = meta.mutation_2pc_min_replica_count,
                       .assign_delay = meta.replica_assign_delay_for_dropouts}};
}

OldServerOptions ClusterSettings::OldServer() const {
  return {.meta_server = kMetaEndpoint,
          .data_directory = server.layout.data_directories.front().path,
          .beacon_interval = server.beacon_interval,
          .lease = server.lease,
          .config_sync_interval = server.config_sync_interval,
          .group_check_interval = server.group_check_interval,
          .prepare_timeout = server.prepare_timeout,
          .learner_prepare_timeout = server.learner_prepare_timeout,
          .checkpoint_interval = server.checkpoint_interval,
          .closed_replica_linger = server.closed_replica_linger,
          .log_file_bytes = server.log_segment_bytes,
          .waits_when_forced = run.topology.has_old_meta};
}

absl::Duration ClusterSettings::DrawLength(SimRandom& random) const {
  return random.Between(absl::Milliseconds(200), run.faults.length_max);
}

CrashMode ClusterSettings::DrawCrashMode(SimRandom& random) const {
  // What lies in a page cache survives processes only.
  if (server.durability == Durability::kOs) return CrashMode::kProcess;
  const auto drawn = static_cast<CrashMode>(random.Below(4));
  return run.crash_mode.value_or(drawn);
}

}  // namespace arion::sim
