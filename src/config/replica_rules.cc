// SPDX-License-Identifier: Apache-2.0
// The keys of [arion.replica]: a replica server's.
#include <absl/strings/str_split.h>

#include "config/config_rules.h"
#include "config/rule_setters.h"
#include "legacy/shared_log_options.h"
#include "recovery/recovery_plan.h"

namespace arion {
namespace {

// 0: without limit.
absl::Status SetMissingWait(Draft& draft, std::string_view value, const std::string&) {
  // Infinite first: "0" leaves it so.
  absl::Duration& limit = draft.config.replica.shared_log.missing_wait_max;
  limit = absl::InfiniteDuration();
  if (value == "0") return absl::OkStatus();
  ASSIGN_OR_RETURN(limit, ParseInterval(value));
  return absl::OkStatus();
}

absl::Status SetNewDirectories(Draft& draft, std::string_view value, const std::string&) {
  std::vector<std::string>& tags = draft.config.replica.layout.new_data_directories;
  // Whether data_dirs has them is known when all keys are read.
  tags = absl::StrSplit(Text(value), absl::ByAnyChar(", "), absl::SkipEmpty());
  if (tags.empty()) return absl::InvalidArgumentError("empty; write tags of data_dirs: ssd1,ssd2");
  return absl::OkStatus();
}

absl::Status SetDurability(Draft& draft, std::string_view value, const std::string&) {
  if (value != "fsync" && value != "os") {
    return absl::InvalidArgumentError(
        "unknown; write fsync (an acknowledged write survives a power cut) or os (it survives a "
        "killed process)");
  }
  draft.config.replica.durability = value == "fsync" ? Durability::kFsync : Durability::kOs;
  return absl::OkStatus();
}

absl::Status SetLogMethod(Draft& draft, std::string_view value, const std::string&) {
  using Method = LogDeviceOptions::Method;
  if (value != "best" && value != "threads") {
    return absl::InvalidArgumentError(
        "unknown; write best (io_uring where the kernel has it) or threads (pwrite and fdatasync)");
  }
  draft.config.log_device.method = value == "best" ? Method::kBest : Method::kThreads;
  return absl::OkStatus();
}

absl::Status SetLogPlacement(Draft& draft, std::string_view value, const std::string&) {
  using Placement = ServerConfig::LogPlacement;
  if (value != "data" && value != "home") {
    return absl::InvalidArgumentError(
        "unknown; write data (each log beside its replica) or home (all in log_home_directory)");
  }
  draft.config.log_placement = value == "data" ? Placement::kData : Placement::kHome;
  return absl::OkStatus();
}

absl::Status SetLogHome(Draft& draft, std::string_view value, const std::string& origin) {
  if (value.empty()) return absl::InvalidArgumentError("empty; write an existing directory");
  draft.config.replica.layout.log_home_directory = value;
  // For the message where that directory is not fit to be used.
  draft.config.log_home_directory_origin = origin;
  return absl::OkStatus();
}

absl::Status SetSharedLogDirectory(Draft& draft, std::string_view value, const std::string&) {
  if (value.empty()) return absl::InvalidArgumentError("empty; write a directory");
  draft.config.replica.layout.shared_log_directories = {std::string(value)};
  return absl::OkStatus();
}

absl::Status SetDamagedSharedLog(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(const bool is_set_aside, ParseSwitch(value));
  draft.config.replica.shared_log.damaged =
      is_set_aside ? DamagedSharedLog::kSetAside : DamagedSharedLog::kRefuse;
  return absl::OkStatus();
}

absl::Status SetSlowMemberRatio(Draft& draft, std::string_view value, const std::string&) {
  // Written as a whole number; 0 turns the judgement off.
  ASSIGN_OR_RETURN(const int64_t ratio, ParseInteger(value, 0, 1000));
  draft.config.replica.slow_members.ratio = static_cast<double>(ratio);
  return absl::OkStatus();
}

absl::Status SetSlowMemberPause(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.replica.slow_members.calm_max, ParseInterval(value));
  return absl::OkStatus();
}

absl::Status SetReplayMax(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(int64_t seconds, ParseInteger(value, 1, 86400));
  draft.config.replica.replay_max = absl::Seconds(seconds);
  return absl::OkStatus();
}

absl::Status SetRecoveryMode(Draft& draft, std::string_view value, const std::string&) {
  if (value != "parallel" && value != "sequential") {
    return absl::InvalidArgumentError(
        "unknown; write parallel (all disks at once) or sequential (one replica at a time)");
  }
  draft.config.replica.recovery.mode =
      value == "parallel" ? RecoveryMode::kParallel : RecoveryMode::kSequential;
  return absl::OkStatus();
}

template <auto Member>
absl::Status SetCopyRate(Draft& draft, std::string_view value, const std::string&) {
  // One key for both directions; each has the whole rate as its own.
  ASSIGN_OR_RETURN(const uint64_t bytes, ParseSize(value));
  draft.config.replica.send_limits.*Member = bytes;
  draft.config.replica.receive_limits.*Member = bytes;
  return absl::OkStatus();
}

template <auto Reserve>
absl::Status SetReserveSize(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN((draft.config.replica.*Reserve).bytes_max, ParseSize(value));
  return absl::OkStatus();
}

template <auto Reserve>
absl::Status SetReserveFiles(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN((draft.config.replica.*Reserve).files_max, ParseInteger(value, 1, kInt32Max));
  return absl::OkStatus();
}

template <auto Reserve>
absl::Status SetReserveTime(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(absl::Duration time, ParseInterval(value));
  // Ages are kept in whole seconds: less would become 0.
  if (time < absl::Seconds(1)) return absl::InvalidArgumentError("too short; write 1s or more");
  (draft.config.replica.*Reserve).age_max_seconds = absl::ToInt64Seconds(time);
  return absl::OkStatus();
}

absl::Status SetVerifyRate(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.replica.verify_limits.disk, ParseSize(value));
  return absl::OkStatus();
}

absl::Status SetVerifyInterval(Draft& draft, std::string_view value, const std::string&) {
  // "0" is no interval for ParseInterval.
  if (value == "0") {
    draft.config.replica.verify_interval = absl::ZeroDuration();
    return absl::OkStatus();
  }
  return SetInterval<kReplica, &ReplicaServerOptions::verify_interval>(draft, value, {});
}

constexpr uint8_t kChangeable = Setting::kChangeable, kAdvanced = Setting::kAdvanced;
using R = ReplicaServerOptions;

constexpr Rule kRules[] = {
    // ---- data and durability ----
    {{"arion.replica", "data_dirs", "existing directories with tags: ssd1:/data/1,ssd2:/data/2",
      "(required)"},
     SetDisks},
    {{"arion.replica", "new_data_directories",
      "tags of data_dirs to be used although they are empty where data were expected",
      "(none; a disk may not be mounted)"},
     SetNewDirectories},
    {{"arion.replica", "durability",
      "what an acknowledged write survives: fsync: a power cut; os: a killed process", "fsync"},
     SetDurability},
    // ---- the protocol ----
    {{"arion.replica", "beacon_interval", "period of the beacons to the meta server", "3s",
      kAdvanced},
     SetInterval<kReplica, &R::beacon_interval>},
    {{"arion.replica", "config_sync_interval",
      "period in which the server compares its replicas with the meta server's state", "30s",
      kAdvanced},
     SetInterval<kReplica, &R::config_sync_interval>},
    {{"arion.replica", "group_check_interval",
      "period in which a primary tells its members the committed point", "10s", kAdvanced},
     SetInterval<kReplica, &R::group_check_interval>},
    {{"arion.replica", "prepare_timeout", "silence after which a primary removes a secondary", "3s",
      kAdvanced},
     SetInterval<kReplica, &R::prepare_timeout>},
    {{"arion.replica", "learner_prepare_timeout",
      "silence after which a primary gives up a learner", "5s", kAdvanced},
     SetInterval<kReplica, &R::learner_prepare_timeout>},
    {{"arion.replica", "checkpoint_interval", "period of checkpoints", "100s", kAdvanced},
     SetInterval<kReplica, &R::checkpoint_interval>},
    {{"arion.replica", "keep_closed_replicas", "how long a closed replica stays in memory", "10m",
      kAdvanced},
     SetInterval<kReplica, &R::closed_replica_linger>},
    {{"arion.replica", "mutations_in_flight_max", "mutations that a partition prepares at a time",
      "20", kAdvanced},
     SetNumber<kReplica, &R::max_mutations_in_flight, 1, 10000>},
    {{"arion.replica", "prepare_list_capacity", "decrees that a prepare list spans", "110",
      kAdvanced},
     SetNumber<kReplica, &R::prepare_list_capacity, 2, 100000>},
    {{"arion.replica", "write_size_max", "largest write request", "1 MiB"},
     SetSize<kReplica, &R::max_allowed_write_bytes, kWriteBytesMin, kWriteBytesMax>},
    {{"arion.replica", "duplicate_lag_max",
      "writes of another cluster that are done here later after they were ordered there count as "
      "late (late_duplicates_total)",
      "10s", kAdvanced},
     SetInterval<kReplica, &R::duplicate_lag_max>},
    {{"arion.replica", "index_builders",
      "replicas whose indexes are built at a time, each in one walk over its data; 1: one after "
      "the other",
      "4", kAdvanced},
     SetNumber<kReplica, &R::index_builders, 1, 1000>},
    // ---- private logs ----
    {{"arion.replica", "log_segment_size", "size of a private log's file", "32 MiB", kAdvanced},
     SetSize<kReplica, &R::log_segment_bytes, 1 << 20, uint64_t{2} << 30>},
    {{"arion.replica", "log_preallocate",
      "true: private logs' files are filled with zeros ahead of use", "true", kAdvanced},
     SetSwitch<kReplica, &R::log_preallocate>},
    {{"arion.replica", "log_method",
      "how private logs are written: best (io_uring where the kernel has it), threads", "best",
      kAdvanced},
     SetLogMethod},
    {{"arion.replica", "log_zeros_ahead_max",
      "zeros that all private logs of a disk hold ready beyond 1 MiB each, dropped files included; "
      "0: no spare "
      "files",
      "8 GiB", kAdvanced},
     SetSize<kLogDevice, &LogDeviceOptions::zeros_ahead_bytes_max>},
    {{"arion.replica", "log_placement",
      "where private logs lie: data (each beside its replica), home (all in log_home_directory)",
      "data"},
     SetLogPlacement},
    {{"arion.replica", "log_home_directory", "existing directory for all private logs",
      "(with log_placement = home)"},
     SetLogHome},
    {{"arion.replica", "log_reserve_size",
      "bytes of log files kept of each replica although nobody needs them; 0: none", "0",
      kAdvanced},
     SetReserveSize<&R::log_reserve>},
    {{"arion.replica", "log_reserve_files", "largest number of such files of each replica",
      "(any number)", kAdvanced},
     SetReserveFiles<&R::log_reserve>},
    {{"arion.replica", "log_reserve_time", "largest age of such files", "(any age)", kAdvanced},
     SetReserveTime<&R::log_reserve>},
    {{"arion.replica", "log_for_member_size",
      "bytes of log files kept of each replica for a member that left and may come back; 0: none",
      "1 GiB", kAdvanced},
     SetReserveSize<&R::log_for_member>},
    {{"arion.replica", "log_for_member_files", "largest number of such files of each replica",
      "(any number)", kAdvanced},
     SetReserveFiles<&R::log_for_member>},
    {{"arion.replica", "log_for_member_time", "largest age of such files", "1h", kAdvanced},
     SetReserveTime<&R::log_for_member>},
    {{"arion.replica", "log_keep_duplicated",
      "true: logs of tables that an older version duplicates are kept whole, so that one can go "
      "back to it",
      "true", kAdvanced},
     SetSwitch<kReplica, &R::log_keep_duplicated>},
    {{"arion.replica", "duplication_log_size_max",
      "bytes of log kept of each replica for another cluster that its table is duplicated to; "
      "beyond it the log goes, and the duplication stops",
      "16 GiB", kAdvanced},
     SetReserveSize<&R::log_for_other_cluster>},
    // ---- an older version's shared log ----
    {{"arion.replica", "shared_log_directory", "where an older version's shared log lies",
      "(replica/slog below data_dirs, data_dir and slog_dir)", kAdvanced},
     SetSharedLogDirectory},
    {{"arion.replica", "set_aside_damaged_shared_log",
      "true: start although the shared log is damaged; what can't be read of it is lost here",
      "false", kAdvanced},
     SetDamagedSharedLog},
    {{"arion.replica", "shared_log_collection_interval",
      "period in which files of the shared log that nobody needs any more are removed", "30s",
      kAdvanced},
     SetInterval<kSharedLog, &SharedLogOptions::collection_interval>},
    {{"arion.replica", "shared_log_missing_wait_max",
      "how long the shared log is kept for replicas that are in no data directory; 0: until they "
      "are back or the "
      "meta server says that nobody needs them",
      "0", kAdvanced},
     SetMissingWait},
    {{"arion.replica", "shared_log_flushes_max",
      "replicas asked to flush at a time so that the shared log can go; 0: all", "64", kAdvanced},
     SetNumber<kSharedLog, &SharedLogOptions::flushes_max, 0, 100000>},
    // ---- starts ----
    {{"arion.replica", "replay_seconds_max",
      "a checkpoint is made early where replaying the private log would take more seconds", "10",
      kAdvanced},
     SetReplayMax},
    {{"arion.replica", "recovery",
      "how a starting server opens its replicas: parallel (all disks at once, several of each), "
      "sequential (one at "
      "a time)",
      "parallel", kAdvanced},
     SetRecoveryMode},
    {{"arion.replica", "recovery_threads_per_disk",
      "replicas of a disk opened at a time; 0: cores divided by disks, at least 2 and at most 8",
      "0", kAdvanced},
     SetNumber<kRecovery, &RecoveryOptions::threads_per_disk, 0, 64>},
    {{"arion.replica", "recovery_memory",
      "memory that the openings under way may need together; each disk has its share", "1 GiB",
      kAdvanced},
     SetSize<kRecovery, &RecoveryOptions::memory_bytes, 1 << 20, uint64_t{1} << 40>},
    // ---- disks ----
    {{"arion.replica", "disk_space_min",
      "a disk with less space available takes no new writes; 0: only a write that fails counts",
      "256 MiB"},
     SetSize<kDiskHealth, &DiskHealthOptions::available_bytes_min>},
    {{"arion.replica", "disk_reserve_size",
      "size of each data directory's reserve file, at most 1 % of its disk; 0: none", "64 MiB",
      kAdvanced},
     SetSize<kDiskHealth, &DiskHealthOptions::reserve_bytes>},
    {{"arion.replica", "disk_slow_sync",
      "a disk whose flushes take longer (p99 of a second, four seconds in a row) is slow: its "
      "members leave while "
      "enough others stay",
      "500ms", kAdvanced},
     SetInterval<kDiskHealth, &DiskHealthOptions::sync_p99_max>},
    {{"arion.replica", "keep_failed_replicas",
      "how long directories of failed replicas (*.err), and data that a learner gave up "
      "(data.*.discarded), are "
      "kept",
      "168h"},
     SetInterval<kGarbage, &GarbageOptions::keep_failed>},
    {{"arion.replica", "keep_unneeded_replicas",
      "how long directories of replicas that nobody needs any more (*.gar) are kept", "24h"},
     SetInterval<kGarbage, &GarbageOptions::keep_unneeded>},
    // ---- other servers ----
    {{"arion.replica", "slow_member_ratio",
      "a server whose acknowledgements stay that many times slower than other servers' (and above "
      "50 ms, p99) is "
      "taken out of its partitions while enough others stay; 0: never",
      "5", kAdvanced},
     SetSlowMemberRatio},
    {{"arion.replica", "slow_member_pause_max",
      "longest time until such a server may come back; the first time is 30 s, each relapse "
      "doubles it",
      "16m", kAdvanced},
     SetSlowMemberPause},
    {{"arion.replica", "copy_rate_per_disk",
      "limit for replica copies per disk, bytes per second, reads and writes separately; 0: "
      "adaptive, yields to "
      "client traffic",
      "0", kChangeable},
     SetCopyRate<&CopyLimits::disk>},
    {{"arion.replica", "copy_rate_per_server",
      "limit for replica copies of the whole server, bytes per second, sent and received "
      "separately; 0: adaptive",
      "0", kChangeable},
     SetCopyRate<&CopyLimits::server>},
    {{"arion.replica", "copies_max", "replicas copied to this server at a time", "5", kAdvanced},
     SetNumber<kReplica, &R::max_concurrent_copies, 1, 1000>},
    {{"arion.replica", "verify_interval",
      "how often the copies of each partition are compared without being asked for "
      "(verify_replicas compares them "
      "at once); 0: never",
      "168h", kChangeable},
     SetVerifyInterval},
    {{"arion.replica", "verify_rate_per_disk",
      "limit for reading copies to compare them, bytes per second of a disk; client traffic lowers "
      "it; 0: only "
      "client traffic limits it",
      "20 MiB", kChangeable | kAdvanced},
     SetVerifyRate},
    // ---- memory and displays ----
    {{"arion.replica", "block_cache_size",
      "size of RocksDB's block cache, shared by all replicas; 0: the engine's default", "0"},
     SetSize<kServer, &ServerConfig::block_cache_bytes>},
    {{"arion.replica", "write_buffer_size",
      "size of RocksDB's memtable of one replica; 0: the engine's default", "0", kAdvanced},
     SetSize<kServer, &ServerConfig::write_buffer_bytes>},
    {{"arion.replica", "slow_request_after",
      "client requests that take longer are kept for display (/slow)", "100ms", kChangeable},
     SetInterval<kReplica, &R::slow_request_after>},
};

}  // namespace

absl::Span<const Rule> ReplicaRules() { return kRules; }

absl::Status SetDisks(Draft& draft, std::string_view value, const std::string& origin) {
  ASSIGN_OR_RETURN(auto disks, ParseDisks(value));
  // The last list counts as a whole: lists of two sources are not mixed.
  draft.config.disks.clear();
  for (auto& [tag, path] : disks) draft.config.disks.push_back({tag, path, origin});
  return absl::OkStatus();
}

}  // namespace arion
