// SPDX-License-Identifier: Apache-2.0
#include "exposition/log_metrics.h"

#include <algorithm>
#include <atomic>

#include "config/server_config.h"
#include "disks/disk_snapshot.h"
#include "engine/engine_io_stats.h"
#include "engine/rocksdb_engine.h"
#include "env/environment.h"
#include "env/log_device.h"
#include "legacy/shared_log_stats.h"
#include "messages/meta_messages.h"
#include "recovery/log_replay_stats.h"
#include "replica_server/replica_server.h"

namespace arion {
namespace {

// Small whole numbers: 1, 2, 5, 10 and so on.
MetricInfo CountInfo(std::string name, std::string help) {
  return {.name = std::move(name), .help = std::move(help), .bounds = OneTwoFiveBounds(1, 5000)};
}

// The devices that hold the disks' directories, each once, with the tags that lie there.
std::vector<std::pair<LogDevice*, std::string>> DevicesOf(
    Environment& env, const std::vector<ConfiguredDisk>& disks) {
  std::vector<std::pair<LogDevice*, std::string>> devices;
  for (const ConfiguredDisk& disk : disks) {
    // Devices are few, so a linear search is enough.
    LogDevice* device = &env.log_device(disk.path);
    bool is_new = true;
    for (auto& [known, tags] : devices) {
      if (known != device) continue;
      tags += "," + disk.tag;
      is_new = false;
    }
    if (is_new) devices.emplace_back(device, disk.tag);
  }
  return devices;
}

// Prometheus' way for a state: a row for each, one of them 1.
constexpr std::string_view kDiskStates[] = {
    "normal",  "space_insufficient", "open_files_insufficient", "memory_insufficient", "refused",
    "io_error"};

// The state between servers says only that a disk takes no writes. Here each lack has its own name,
// because its remedy is another: room, a higher limit of open files, memory, rights.
std::string_view StateOf(const DiskSnapshot& disk) {
  switch (disk.state) {
    case DiskStatus::kNormal:
      return "normal";
    case DiskStatus::kSpaceInsufficient:
      return disk.lacks == Want::kSpace       ? "space_insufficient"
             : disk.lacks == Want::kOpenFiles ? "open_files_insufficient"
             : disk.lacks == Want::kMemory    ? "memory_insufficient"
                                              : "refused";
    case DiskStatus::kIoError:
      return "io_error";
  }
  return "unknown";
}

std::vector<LabeledValue> StatesOf(const std::vector<DiskSnapshot>& disks) {
  std::vector<LabeledValue> rows;
  for (const DiskSnapshot& disk : disks) {
    // All states, those at 0 included, so that a series never ends.
    for (const std::string_view state : kDiskStates)
      rows.push_back({{{"disk", disk.tag}, {"state", std::string(state)}},
                      StateOf(disk) == state ? 1.0 : 0.0});
  }
  return rows;
}

// Sums of the server under the names of older versions, for older collectors only.
void RegisterDiskSums(MetricRegistry& registry, const ReplicaServer& server,
                      MetricRegistrations* held) {
  const auto sum = [&](MetricKind kind, const char* name, const char* help,
                       int64_t DiskSnapshot::*what) {
    // Read anew at each collection.
    held->push_back(
        registry.Add({.name = name, .help = help, .is_json_only = true}, kind, {}, [&server, what] {
          int64_t all = 0;
          for (const DiskSnapshot& disk : server.Disks()) all += disk.*what;
          return static_cast<double>(all);
        }));
  };
  sum(MetricKind::kGauge, "replica_error_dirs", "As disk_failed_replicas.",
      &DiskSnapshot::failed_replicas);
  sum(MetricKind::kGauge, "replica_garbage_dirs", "As disk_unneeded_replicas.",
      &DiskSnapshot::unneeded_replicas);
  sum(MetricKind::kGauge, "replica_tmp_dirs", "Of disk_move_leftovers: *.tmp.",
      &DiskSnapshot::move_targets);
  sum(MetricKind::kGauge, "replica_origin_dirs", "Of disk_move_leftovers: *.ori.",
      &DiskSnapshot::move_sources);
  sum(MetricKind::kCounter, "nfs_server_copy_bytes", "As disk_copy_sent_bytes_total.",
      &DiskSnapshot::copy_sent_bytes);
  sum(MetricKind::kCounter, "nfs_client_copy_bytes", "As disk_copy_received_bytes_total.",
      &DiskSnapshot::copy_received_bytes);
}

}  // namespace

MetricRegistrations RegisterLogDevices(MetricRegistry& registry, Environment& env,
                                       std::vector<ConfiguredDisk> disks,
                                       const std::string& log_home) {
  MetricRegistrations held;
  // The log home is a device like the others.
  if (!log_home.empty()) disks.push_back({.tag = kLogHomeTag, .path = log_home, .origin = ""});
  // A device counts for all its directories: by directory the same writes would be shown twice.
  for (const auto& [device, tags] : DevicesOf(env, disks)) {
    const LogDeviceStats& stats = device->stats();
    auto add = [&, labels = MetricLabels{{"disk", tags}}](MetricInfo info, const auto& instrument) {
      held.push_back(registry.Add(std::move(info), labels, instrument));
    };
    add(LatencyInfo("log_append_seconds",
                    "Time of one log write from its submission to its answer."),
        stats.append_nanos);
    add(LatencyInfo("log_sync_seconds", "Time of one flush for the logs."), stats.sync_nanos);
    add(CountInfo("log_records_per_write", "Mutations in one log block."), stats.records_per_write);
    add(CountInfo("log_writes_per_sync", "Log blocks that one flush made durable."),
        stats.writes_per_sync);
    add({.name = "log_writes_total",
         .help = "Log blocks written, and blocks to probe an idle disk."},
        stats.writes);
    add({.name = "log_written_bytes_total",
         .help = "Bytes written for log blocks, rewritten pages and padding included."},
        stats.bytes);
    add({.name = "log_syncs_total", .help = "Flushes for the logs."}, stats.syncs);
    add({.name = "log_failures_total", .help = "Log writes and flushes that failed."},
        stats.failures);
    add({.name = "log_queued_writes", .help = "Log writes submitted and not yet answered."},
        stats.queued);
    // Text belongs into labels: the value says nothing.
    held.push_back(registry.Add(
        {.name = "log_info", .help = "Always 1; how logs are written to this disk."},
        MetricKind::kGauge, {{"disk", tags}, {"method", device->method()}}, [] { return 1.0; }));
  }
  return held;
}

MetricRegistrations RegisterEngineFiles(MetricRegistry& registry, Environment& env,
                                        RocksdbEngineFactory& engines,
                                        const std::vector<ConfiguredDisk>& disks) {
  MetricRegistrations held;
  for (const auto& [device, tags] : DevicesOf(env, disks)) {
    // All directories of a device share its numbers; the first one leads to them.
    const std::string first_tag = tags.substr(0, tags.find(','));
    const auto disk = std::find_if(disks.begin(), disks.end(),
                                   [&](const auto& other) { return other.tag == first_tag; });
    // The factory counts by device, and finds it by any path on it.
    const EngineIoStats& stats = engines.io_stats(disk->path);
    auto add = [&, labels = MetricLabels{{"disk", tags}}](MetricInfo info, const auto& instrument) {
      held.push_back(registry.Add(std::move(info), labels, instrument));
    };
    add({.name = "engine_reads_total", .help = "Reads of the engines' files."}, stats.reads);
    add({.name = "engine_read_bytes_total", .help = "Bytes read from the engines' files."},
        stats.read_bytes);
    add({.name = "engine_writes_total", .help = "Writes to the engines' files."}, stats.writes);
    add({.name = "engine_written_bytes_total", .help = "Bytes written to the engines' files."},
        stats.written_bytes);
    add(LatencyInfo("engine_sync_seconds", "Time of one sync of an engine's file."),
        stats.sync_nanos);
    add({.name = "engine_file_failures_total",
         .help = "Calls for the engines' files that the disk failed or had no space for."},
        stats.failures);
  }
  held.push_back(registry.Add({.name = "engine_unflushed_bytes",
                               .help = "Memory of records that are in no file of an engine yet.",
                               .old = {.name = "rdb_wbm_total_mem_usage_bytes"}},
                              MetricKind::kGauge, {}, [&engines] {
                                return static_cast<double>(engines.unflushed_bytes());
                              }));
  return held;
}

MetricRegistrations RegisterDisks(MetricRegistry& registry, const ReplicaServer& server) {
  MetricRegistrations held;
  auto add = [&](MetricKind kind, MetricInfo info, double (*of)(const DiskSnapshot&)) {
    held.push_back(registry.AddTable(std::move(info), kind, [&server, of] {
      std::vector<LabeledValue> rows;
      for (const DiskSnapshot& disk : server.Disks())
        rows.push_back({{{"disk", disk.tag}}, of(disk)});
      return rows;
    }));
  };
  held.push_back(
      registry.AddTable({.name = "disk_state", .help = "1 for the state the disk is in."},
                        MetricKind::kGauge, [&server] { return StatesOf(server.Disks()); }));
  add(MetricKind::kCounter,
      {.name = "disk_io_errors_total", .help = "I/O errors seen on the disk since the start."},
      [](const DiskSnapshot& disk) { return static_cast<double>(disk.io_errors); });
  add(MetricKind::kGauge, {.name = "disk_slow", .help = "1 while the disk is too slow for logs."},
      [](const DiskSnapshot& disk) { return disk.is_slow ? 1.0 : 0.0; });
  add(MetricKind::kGauge,
      {.name = "disk_sync_p99_seconds",
       .help = "99th percentile of the disk's flushes in the last whole second."},
      [](const DiskSnapshot& disk) { return absl::ToDoubleSeconds(disk.sync_p99); });
  add(MetricKind::kGauge,
      {.name = "disk_capacity_bytes",
       .help = "Size of the disk's file system.",
       .old = {.name = "disk_capacity_total_mb", .per_unit = 1 << 20}},
      [](const DiskSnapshot& disk) { return static_cast<double>(disk.total_bytes); });
  add(MetricKind::kGauge,
      {.name = "disk_available_bytes",
       .help = "Space left on the disk's file system.",
       .old = {.name = "disk_capacity_avail_mb", .per_unit = 1 << 20}},
      [](const DiskSnapshot& disk) { return static_cast<double>(disk.available_bytes); });
  add(MetricKind::kGauge,
      {.name = "disk_available_min_bytes", .help = "Below this much space new writes are refused."},
      [](const DiskSnapshot& disk) { return static_cast<double>(disk.available_bytes_min); });
  add(MetricKind::kGauge,
      {.name = "disk_failed_replicas", .help = "Replicas' directories set aside as failed, *.err."},
      [](const DiskSnapshot& disk) { return static_cast<double>(disk.failed_replicas); });
  add(MetricKind::kGauge,
      {.name = "disk_unneeded_replicas",
       .help = "Replicas' directories that nobody needs any more, *.gar."},
      [](const DiskSnapshot& disk) { return static_cast<double>(disk.unneeded_replicas); });
  add(MetricKind::kGauge,
      {.name = "disk_discarded_data",
       .help = "Data in replicas' directories that learners gave up, data.*.discarded."},
      [](const DiskSnapshot& disk) { return static_cast<double>(disk.discarded_data); });
  add(MetricKind::kGauge,
      {.name = "disk_move_leftovers",
       .help = "Replicas' directories left of an older version's moves between disks, "
               "*.disk.migrate.*."},
      [](const DiskSnapshot& disk) {
        return static_cast<double>(disk.move_targets + disk.move_sources);
      });
  add(MetricKind::kCounter,
      {.name = "disk_copy_sent_bytes_total", .help = "Bytes of checkpoints read for learners."},
      [](const DiskSnapshot& disk) { return static_cast<double>(disk.copy_sent_bytes); });
  add(MetricKind::kCounter,
      {.name = "disk_copy_received_bytes_total", .help = "Bytes of checkpoints copied to here."},
      [](const DiskSnapshot& disk) { return static_cast<double>(disk.copy_received_bytes); });
  add(MetricKind::kGauge, {.name = "disk_reserve_bytes", .help = "Size of the reserve file."},
      [](const DiskSnapshot& disk) { return static_cast<double>(disk.reserve_bytes); });
  add(MetricKind::kGauge,
      {.name = "log_waiting_for_space", .help = "Logs whose write waits for space."},
      [](const DiskSnapshot& disk) { return static_cast<double>(disk.logs_waiting); });
  RegisterDiskSums(registry, server, &held);
  return held;
}

// What an older version left. Files and bytes fall to 0 once no replica needs them any more.
MetricRegistrations RegisterSharedLog(MetricRegistry& registry, const ReplicaServer& server) {
  MetricRegistrations held;
  const SharedLogStats& stats = server.shared_log();
  auto add = [&](MetricKind kind, MetricInfo info, const std::atomic<int64_t>& value) {
    held.push_back(registry.Add(std::move(info), kind, {},
                                [&value] { return static_cast<double>(value.load()); }));
  };
  add(MetricKind::kGauge,
      {.name = "shared_log_files", .help = "Files left of an older version's shared log."},
      stats.files);
  add(MetricKind::kGauge,
      {.name = "shared_log_bytes",
       .help = "Bytes left of an older version's shared log.",
       .old = {.name = "shared_log_size_mb", .per_unit = 1 << 20}},
      stats.bytes);
  add(MetricKind::kCounter,
      {.name = "shared_log_read_bytes_total", .help = "Bytes of the shared log read at the start."},
      stats.bytes_read);
  add(MetricKind::kCounter,
      {.name = "shared_log_taken_mutations_total",
       .help = "Mutations that private logs lacked and got from the shared log."},
      stats.mutations_taken);
  add(MetricKind::kGauge,
      {.name = "shared_log_blocking_replicas",
       .help = "Replicas that keep files of the shared log from being removed."},
      stats.replicas_blocking);
  add(MetricKind::kGauge,
      {.name = "shared_log_missing_replicas",
       .help = "Of these, those that are in no data directory: perhaps a disk is not mounted."},
      stats.replicas_missing);
  add(MetricKind::kGauge,
      {.name = "shared_log_blocking_decrees",
       .help = "How many decrees the last of these is behind."},
      stats.decrees_behind);
  return held;
}

MetricRegistrations RegisterReplay(MetricRegistry& registry, const ReplicaServer& server) {
  MetricRegistrations held;
  const LogReplayStats& replay = server.replay();
  auto add = [&](MetricInfo info, const Counter& counter) {
    held.push_back(registry.Add(std::move(info), {}, counter));
  };
  add({.name = "log_replayed_logs_total", .help = "Logs read when replicas were opened."},
      replay.logs);
  add({.name = "log_replayed_mutations_total", .help = "Mutations found in logs at opening."},
      replay.mutations);
  add({.name = "log_replayed_bytes_total", .help = "Bytes of logs read at opening."}, replay.bytes);
  add({.name = "cache_warmed_keys_total",
       .help = "Records read because they were read before the restart."},
      replay.warmed_keys);
  // Summed over logs that are read side by side, so it may exceed the time that the start took.
  add({.name = "log_replay_seconds_total",
       .help = "Time of reading logs at opening, applying included.",
       .per_unit = 1e9},
      replay.nanos);
  held.push_back(registry.Add(
      {.name = "log_replay_bytes_per_second",
       .help = "Bytes of logs read at opening, by the time it took."},
      MetricKind::kGauge, {}, [&replay] {
        const auto nanos = static_cast<double>(replay.nanos.value());
        // No replay yet has no rate.
        return nanos <= 0 ? 0 : static_cast<double>(replay.bytes.value()) / nanos * 1e9;
      }));
  return held;
}

}  // namespace arion
