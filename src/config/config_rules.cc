// SPDX-License-Identifier: Apache-2.0
#include "config/config_rules.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/status.h"
#include "config/config_value.h"
#include "env/secret_file.h"
#include "legacy/shared_log_options.h"
#include "recovery/recovery_plan.h"
#include "replica/replica_options.h"

namespace arion {
namespace {

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

template <auto Group, auto Member>
absl::Status SetInterval(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(std::invoke(Group, draft.config).*Member, ParseInterval(value));
  return absl::OkStatus();
}

// 0: without limit.
absl::Status SetMissingWait(Draft& draft, std::string_view value, const std::string&) {
  absl::Duration& limit = draft.config.replica.shared_log.missing_wait_max;
  limit = absl::InfiniteDuration();
  if (value == "0") return absl::OkStatus();
  ASSIGN_OR_RETURN(limit, ParseInterval(value));
  return absl::OkStatus();
}

absl::Status SetNewDirectories(Draft& draft, std::string_view value, const std::string&) {
  std::vector<std::string>& tags = draft.config.replica.layout.new_data_directories;
  tags = absl::StrSplit(Text(value), absl::ByAnyChar(", "), absl::SkipEmpty());
  if (tags.empty()) return absl::InvalidArgumentError("empty; write tags of data_dirs: ssd1,ssd2");
  return absl::OkStatus();
}

template <auto Group, auto Member, int64_t kFirst, int64_t kLast>
absl::Status SetNumber(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(int64_t number, ParseInteger(value, kFirst, kLast));
  std::invoke(Group, draft.config).*Member =
      static_cast<std::remove_reference_t<decltype(std::invoke(Group, draft.config).*Member)>>(
          number);
  return absl::OkStatus();
}

absl::Status SetListen(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.listen, ParseListenAddress(value));
  draft.older_port.reset();
  return absl::OkStatus();
}

absl::Status SetAdvertise(Draft& draft, std::string_view value, const std::string&) {
  draft.config.advertised = Endpoint{};
  if (value.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(draft.config.advertised, ParseAddress(value));
  return absl::OkStatus();
}

absl::Status SetJoinPegasusCluster(Draft& draft, std::string_view value,
                                   const std::string& origin) {
  // A replica server looks at a cluster before it joins, which is at its start.
  if (origin == kInOperation && !value.empty())
    return absl::InvalidArgumentError(
        "it can only be ended in operation; write it into the file and restart");
  draft.config.join_pegasus_cluster = value;
  return absl::OkStatus();
}

absl::Status SetAdminAddresses(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.access.admin_addresses, ParseAddressRanges(value));
  return absl::OkStatus();
}

absl::Status SetAdminTokenFile(Draft& draft, std::string_view value, const std::string&) {
  std::string& token = draft.config.access.admin_token;
  token.clear();
  if (value.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(token, ReadSecretFile(std::string(value)));
  return absl::OkStatus();
}

absl::Status SetThreads(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(int64_t number, ParseInteger(value, 0, 256));
  draft.config.threads = static_cast<int32_t>(number);
  return absl::OkStatus();
}

absl::Status SetLogDirectory(Draft& draft, std::string_view value, const std::string&) {
  draft.config.log_directory = value;
  return absl::OkStatus();
}

absl::Status SetLogFileSize(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(uint64_t bytes, ParseSize(value));
  uint64_t megabytes = bytes >> 20;
  if (megabytes < 1 || megabytes > 4096)
    return absl::InvalidArgumentError("out of range; write 1 MiB to 4 GiB");
  draft.config.log_file_size_mb = static_cast<int32_t>(megabytes);
  return absl::OkStatus();
}

absl::Status SetLogFilesMax(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(int64_t number, ParseInteger(value, 2, 100000));
  draft.config.log_files_max = static_cast<int32_t>(number);
  return absl::OkStatus();
}

absl::Status SetLogLevel(Draft& draft, std::string_view value, const std::string&) {
  using Level = ServerConfig::LogLevel;
  if (value != "info" && value != "warning" && value != "error")
    return absl::InvalidArgumentError("unknown; write info, warning or error");
  draft.config.log_level = value == "info"      ? Level::kInfo
                           : value == "warning" ? Level::kWarning
                                                : Level::kError;
  return absl::OkStatus();
}

absl::Status SetBalanceOnlyMoves(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.meta.balance_only_moves_primaries, ParseSwitch(value));
  return absl::OkStatus();
}

absl::Status SetPeerGeneration(Draft& draft, std::string_view value, const std::string&) {
  if (value != "25" && value != "26") return absl::InvalidArgumentError("unknown; write 25 or 26");
  PeerGeneration generation = value == "25" ? PeerGeneration::k25 : PeerGeneration::k26;
  draft.config.meta.peer_generation = generation;
  draft.config.replica.peer_generation = generation;
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

template <auto Member>
absl::Status SetServerSize(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.*Member, ParseSize(value));
  return absl::OkStatus();
}

template <auto Member>
absl::Status SetServerInterval(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.*Member, ParseInterval(value));
  return absl::OkStatus();
}

template <auto Group, auto Member, uint64_t kFirst, uint64_t kLast>
absl::Status SetSize(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(uint64_t bytes, ParseSize(value));
  if (bytes < kFirst || bytes > kLast) {
    return absl::InvalidArgumentError(
        absl::StrCat("out of range; write a size between ", kFirst, " and ", kLast, " bytes"));
  }
  std::invoke(Group, draft.config).*Member = bytes;
  return absl::OkStatus();
}

absl::Status SetLogPreallocate(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.replica.log_preallocate, ParseSwitch(value));
  return absl::OkStatus();
}

absl::Status SetLogKeepDuplicated(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.replica.log_keep_duplicated, ParseSwitch(value));
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

absl::Status SetLogZerosAhead(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.log_device.zeros_ahead_bytes_max, ParseSize(value));
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

// Sizes of the disk's health; 0 is allowed.
template <auto Member>
absl::Status SetDiskSize(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.replica.disk.*Member, ParseSize(value));
  return absl::OkStatus();
}

absl::Status SetMetaDiskReserve(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.meta_disk_reserve_bytes, ParseSize(value));
  return absl::OkStatus();
}

absl::Status SetSlowMemberRatio(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(const int64_t ratio, ParseInteger(value, 0, 1000));
  draft.config.replica.slow_members.ratio = static_cast<double>(ratio);
  return absl::OkStatus();
}

absl::Status SetSlowMemberPause(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.replica.slow_members.calm_max, ParseInterval(value));
  return absl::OkStatus();
}

absl::Status SetSlowSync(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.replica.disk.sync_p99_max, ParseInterval(value));
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
absl::Status SetKeep(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.replica.garbage.*Member, ParseInterval(value));
  return absl::OkStatus();
}

template <auto Member>
absl::Status SetCopyRate(Draft& draft, std::string_view value, const std::string&) {
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
  if (time < absl::Seconds(1)) return absl::InvalidArgumentError("too short; write 1s or more");
  (draft.config.replica.*Reserve).age_max_seconds = absl::ToInt64Seconds(time);
  return absl::OkStatus();
}

absl::Status SetMinReplicaCountFrom(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(int64_t number, ParseInteger(value, 0, kReplicaCountMax));
  SetMinReplicaCount(draft, number);
  return absl::OkStatus();
}

constexpr auto kMeta = &ServerConfig::meta;
constexpr auto kReplica = &ServerConfig::replica;
constexpr auto kSharedLog = [](auto& config) -> auto& { return config.replica.shared_log; };
constexpr auto kRecovery = [](auto& config) -> auto& { return config.replica.recovery; };
using M = MetaServerOptions;
using R = ReplicaServerOptions;

absl::Status SetVerifyRate(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.replica.verify_limits.disk, ParseSize(value));
  return absl::OkStatus();
}

absl::Status SetVerifyInterval(Draft& draft, std::string_view value, const std::string&) {
  if (value == "0") {
    draft.config.replica.verify_interval = absl::ZeroDuration();
    return absl::OkStatus();
  }
  return SetInterval<kReplica, &R::verify_interval>(draft, value, {});
}

absl::Status SetLease(Draft& draft, std::string_view value, const std::string& origin) {
  return SetInterval<kReplica, &R::lease>(draft, value, origin);
}

}  // namespace

absl::Status SetClusterName(Draft& draft, std::string_view value, const std::string&) {
  if (value.empty()) return absl::InvalidArgumentError("empty; write the cluster's name");
  draft.config.cluster_name = value;
  return absl::OkStatus();
}

absl::Status SetMetaServers(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.meta_servers, ParseNamedAddresses(value));
  return absl::OkStatus();
}

absl::Status SetDisks(Draft& draft, std::string_view value, const std::string& origin) {
  ASSIGN_OR_RETURN(auto disks, ParseDisks(value));
  draft.config.disks.clear();
  for (auto& [tag, path] : disks) draft.config.disks.push_back({tag, path, origin});
  return absl::OkStatus();
}

absl::Status SetMetaDataDirectory(Draft& draft, std::string_view value, const std::string& origin) {
  if (value.empty()) return absl::InvalidArgumentError("empty; write an existing directory");
  draft.config.meta_data_directory = value;
  draft.config.meta_data_directory_origin = origin;
  return absl::OkStatus();
}

absl::Status SetRecovery(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.meta.recover_from_replica_servers, ParseSwitch(value));
  return absl::OkStatus();
}

absl::Status SetFunctionLevel(Draft& draft, std::string_view value, const std::string&) {
  const std::optional<FunctionLevel> level = FindFunctionLevel(value);
  if (!level)
    return absl::InvalidArgumentError("unknown; write stopped, blind, freezed, steady or lively");
  draft.config.meta.function_level_on_start = *level;
  return absl::OkStatus();
}

void SetMinReplicaCount(Draft& draft, int64_t number) {
  draft.config.meta.mutation_2pc_min_replica_count = static_cast<int32_t>(number);
  draft.config.replica.mutation_2pc_min_replica_count = static_cast<int32_t>(number);
}

const std::vector<Rule>& Rules() {
  static const std::vector<Rule> rules = {
      {{"arion.server", "cluster_name",
        "name shown to clients and tools; servers of another are refused", "onebox"},
       SetClusterName},
      {{"arion.server", "listen",
        "address this server listens at; 0.0.0.0: every one of this machine",
        "127.0.0.1:34601 (meta), 127.0.0.1:34801 (replica)"},
       SetListen},
      {{"arion.server", "advertise",
        "address clients and servers reach this server by, where it is another (a container's "
        "host, one of two networks)",
        "(that of listen)"},
       SetAdvertise},
      {{"arion.server", "meta_servers",
        "addresses of the meta servers, or names that have some, commas between; names are looked "
        "up until they have one, and anew when a connection fails",
        "127.0.0.1:34601"},
       SetMetaServers},
      {{"arion.server", "join_pegasus_cluster",
        "cluster_name of the Apache Pegasus cluster that this server joins, or whose servers join "
        "it: they are let in although they can't say of which cluster they are; empty: none are",
        "", true},
       SetJoinPegasusCluster},
      {{"arion.server", "admin_addresses",
        "from where tables, servers and settings may be changed: 10.1.0.0/16, 127.0.0.1; empty: "
        "everywhere",
        ""},
       SetAdminAddresses},
      {{"arion.server", "admin_token_file",
        "file with the token such changes need (mode 600 or 640); empty: none", ""},
       SetAdminTokenFile},
      {{"arion.server", "threads", "event-loop threads; 0: one a core, at most 8", "0"},
       SetThreads},
      {{"arion.server", "log_directory", "where the server's log files go; empty: standard error",
        ""},
       SetLogDirectory},
      {{"arion.server", "log_file_size", "size at which a log file is full", "64 MiB"},
       SetLogFileSize},
      {{"arion.server", "log_files_max",
        "log files kept of each severity (info, warning, error); older ones are removed", "16"},
       SetLogFilesMax},
      {{"arion.server", "log_level", "what is logged from: info, warning, error", "info", true},
       SetLogLevel},
      {{"arion.server", "stop_time_max",
        "a clean stop that takes longer is given up; the next start replays what was not closed",
        "2m"},
       SetServerInterval<&ServerConfig::stop_time_max>},
      {{"arion.server", "disk_answer_max",
        "a disk that does not answer for so long at the start is left out until the next", "10s"},
       SetServerInterval<&ServerConfig::disk_answer_max>},
      {{"arion.server", "stuck_after",
        "an event loop or a disk's work that does not move for so long is reported as stuck",
        "10s"},
       SetServerInterval<&ServerConfig::stuck_after>},
      {{"arion.server", "peer_generation", "25: peers of 2.5 and older may be present; 26: none",
        "25"},
       SetPeerGeneration},
      {{"arion.server", "lease",
        "how long a server serves after its last acknowledged beacon was sent", "9s"},
       SetLease},
      {{"arion.server", "grace",
        "silence after which the meta server takes a server for dead; longer than lease", "10s"},
       SetInterval<kMeta, &M::grace>},
      {{"arion.server", "mutation_2pc_min_replica_count",
        "members a write needs, at most the table's replica count; 0: a majority", "2"},
       SetMinReplicaCountFrom},
      {{"arion.meta", "meta_data_dir", "existing directory of the meta server's state",
        "(required)"},
       SetMetaDataDirectory},
      {{"arion.meta", "meta_disk_reserve_size",
        "size of the reserve file beside the state, which a full disk gives up for failovers, at "
        "most 10 % of the disk; 0: none",
        "64 MiB"},
       SetMetaDiskReserve},
      {{"arion.meta", "guardian_interval", "period in which partitions are looked after", "10s",
        true},
       SetInterval<kMeta, &M::guardian_interval>},
      {{"arion.meta", "clock_offset_max",
        "a wall clock further from what most show is wrong: its server leads nothing that another "
        "can",
        "5s"},
       SetInterval<kMeta, &M::clock_offset_max>},
      {{"arion.meta", "min_live_node_count_for_unfreeze",
        "below it nothing is reconfigured; 0: min(3, servers - 1), at least 1", "0", true},
       SetNumber<kMeta, &M::min_live_node_count_for_unfreeze, 0, 10000>},
      {{"arion.meta", "node_live_percentage_threshold_for_update",
        "below it nothing is reconfigured", "50", true},
       SetNumber<kMeta, &M::node_live_percentage_threshold_for_update, 0, 100>},
      {{"arion.meta", "replica_assign_delay_for_dropouts", "how long a lost member is waited for",
        "10m", true},
       SetInterval<kMeta, &M::replica_assign_delay_for_dropouts>},
      {{"arion.meta", "stable_running", "a server that ran this long is not in a crash loop",
        "10m"},
       SetInterval<kMeta, &M::stable_running>},
      {{"arion.meta", "max_successive_unstable_restarts", "more make a crash loop; 0: not watched",
        "5"},
       SetNumber<kMeta, &M::max_successive_unstable_restarts, 0, kInt32Max>},
      {{"arion.meta", "min_allowed_replica_count", "smallest replica count of a table", "1", true},
       SetNumber<kMeta, &M::min_allowed_replica_count, 1, 15>},
      {{"arion.meta", "max_allowed_replica_count", "largest replica count of a table", "5", true},
       SetNumber<kMeta, &M::max_allowed_replica_count, 1, 15>},
      {{"arion.meta", "hold_dropped_app", "how long a dropped table can be recalled", "168h", true},
       SetInterval<kMeta, &M::hold_dropped_app>},
      {{"arion.meta", "balance_only_moves_primaries",
        "true: at level lively primaries change places, but no copy is made", "false", true},
       SetBalanceOnlyMoves},
      {{"arion.meta", "meta_function_level_on_start",
        "the highest level to begin at; without it the one that set_meta_level said last",
        "(the last one; steady at first)"},
       SetFunctionLevel},
      {{"arion.meta", "recover_from_replica_servers",
        "where nothing is stored: serve nothing until arion_shell says recover", "false"},
       SetRecovery},
      {{"arion.replica", "data_dirs", "existing directories with tags: ssd1:/data/1,ssd2:/data/2",
        "(required)"},
       SetDisks},
      {{"arion.replica", "new_data_directories",
        "tags of data_dirs to be used although they are empty where data were expected",
        "(none; a disk may not be mounted)"},
       SetNewDirectories},
      {{"arion.replica", "durability",
        "fsync: acknowledged writes survive a power cut; os: a killed process", "fsync"},
       SetDurability},
      {{"arion.replica", "beacon_interval", "period of the signs of life to the meta servers",
        "3s"},
       SetInterval<kReplica, &R::beacon_interval>},
      {{"arion.replica", "config_sync_interval", "period of the comparison with the meta server",
        "30s"},
       SetInterval<kReplica, &R::config_sync_interval>},
      {{"arion.replica", "group_check_interval",
        "period in which a primary tells its members where it stands", "10s"},
       SetInterval<kReplica, &R::group_check_interval>},
      {{"arion.replica", "prepare_timeout", "silence after which a secondary has failed", "3s"},
       SetInterval<kReplica, &R::prepare_timeout>},
      {{"arion.replica", "learner_prepare_timeout", "the same for a learner", "5s"},
       SetInterval<kReplica, &R::learner_prepare_timeout>},
      {{"arion.replica", "checkpoint_interval", "period of checkpoints", "100s"},
       SetInterval<kReplica, &R::checkpoint_interval>},
      {{"arion.replica", "closed_replica_linger", "how long a closed replica stays in memory",
        "10m"},
       SetInterval<kReplica, &R::closed_replica_linger>},
      {{"arion.replica", "max_mutations_in_flight", "mutations a partition prepares at a time",
        "20"},
       SetNumber<kReplica, &R::max_mutations_in_flight, 1, 10000>},
      {{"arion.replica", "prepare_list_capacity", "mutations a prepare list holds", "110"},
       SetNumber<kReplica, &R::prepare_list_capacity, 2, 100000>},
      {{"arion.replica", "max_allowed_write_size", "largest write request", "1 MiB"},
       SetSize<kReplica, &R::max_allowed_write_bytes, kWriteBytesMin, kWriteBytesMax>},
      {{"arion.replica", "log_segment_size", "size of a private log's file", "32 MiB"},
       SetSize<kReplica, &R::log_segment_bytes, 1 << 20, uint64_t{2} << 30>},
      {{"arion.replica", "log_preallocate", "true: log files are written with zeros ahead of use",
        "true"},
       SetLogPreallocate},
      {{"arion.replica", "log_method",
        "how logs are written: best (io_uring where the kernel has it), threads", "best"},
       SetLogMethod},
      {{"arion.replica", "log_zeros_ahead_max",
        "what all logs of a disk hold ready beyond 1 MiB each, dropped files included; 0: no "
        "spares",
        "8 GiB"},
       SetLogZerosAhead},
      {{"arion.replica", "log_placement",
        "where logs lie: data (beside each replica), home (all in log_home_directory)", "data"},
       SetLogPlacement},
      {{"arion.replica", "log_home_directory", "existing directory of the logs",
        "(with log_placement = home)"},
       SetLogHome},
      {{"arion.replica", "log_reserve_size",
        "log files kept of a replica though nobody needs them; 0: none", "0"},
       SetReserveSize<&R::log_reserve>},
      {{"arion.replica", "log_reserve_files", "of these, at most so many of a replica",
        "(any number)"},
       SetReserveFiles<&R::log_reserve>},
      {{"arion.replica", "log_reserve_time", "of these, only what was written since", "(any age)"},
       SetReserveTime<&R::log_reserve>},
      {{"arion.replica", "log_for_member_size",
        "log files kept of a replica for a member that left and may come back; 0: none", "1 GiB"},
       SetReserveSize<&R::log_for_member>},
      {{"arion.replica", "log_for_member_files", "of these, at most so many of a replica",
        "(any number)"},
       SetReserveFiles<&R::log_for_member>},
      {{"arion.replica", "log_for_member_time", "of these, only what was written since", "1h"},
       SetReserveTime<&R::log_for_member>},
      {{"arion.replica", "log_keep_duplicated",
        "true: logs of tables that an older version duplicates are kept whole, for going back to "
        "it",
        "true"},
       SetLogKeepDuplicated},
      {{"arion.replica", "shared_log_directory", "where an older version's shared log lies",
        "(replica/slog below data_dirs, data_dir and slog_dir)"},
       SetSharedLogDirectory},
      {{"arion.replica", "set_aside_damaged_shared_log",
        "true: start although the shared log is damaged; what can't be read of it is lost here",
        "false"},
       SetDamagedSharedLog},
      {{"arion.replica", "shared_log_collection_interval",
        "period in which files of the shared log that nobody needs are removed", "30s"},
       SetInterval<kSharedLog, &SharedLogOptions::collection_interval>},
      {{"arion.replica", "shared_log_missing_wait_max",
        "how long the shared log is kept for replicas that are in no data directory; 0: until they "
        "are back or the meta server says that nobody needs them",
        "0"},
       SetMissingWait},
      {{"arion.replica", "shared_log_flushes_max",
        "replicas asked to flush at a time for the shared log to go; 0: all", "64"},
       SetNumber<kSharedLog, &SharedLogOptions::flushes_max, 0, 100000>},
      {{"arion.replica", "replay_seconds_max",
        "a log whose replay would take longer asks for a checkpoint", "10"},
       SetReplayMax},
      {{"arion.replica", "slow_request_after",
        "clients' requests that take longer are kept for displays (/slow)", "100ms", true},
       SetInterval<kReplica, &R::slow_request_after>},
      {{"arion.replica", "recovery",
        "how a starting server opens its replicas: parallel (all disks at once, several of each), "
        "sequential (one at a time)",
        "parallel"},
       SetRecoveryMode},
      {{"arion.replica", "recovery_threads_per_disk",
        "replicas of a disk opened at a time; 0: cores by disks, at least 2 and at most 8", "0"},
       SetNumber<kRecovery, &RecoveryOptions::threads_per_disk, 0, 64>},
      {{"arion.replica", "recovery_memory",
        "what the openings under way may need together; each disk has its share", "1 GiB"},
       SetSize<kRecovery, &RecoveryOptions::memory_bytes, 1 << 20, uint64_t{1} << 40>},
      {{"arion.replica", "disk_space_min",
        "a disk with less available takes no new writes; 0: until a write fails", "256 MiB"},
       SetDiskSize<&DiskHealthOptions::available_bytes_min>},
      {{"arion.replica", "disk_reserve_size",
        "size of each data directory's reserve file, at most 1 % of its disk; 0: none", "64 MiB"},
       SetDiskSize<&DiskHealthOptions::reserve_bytes>},
      {{"arion.replica", "disk_slow_sync",
        "a disk whose flushes take longer (p99 of a second, four in a row) is called slow; its "
        "members leave while enough others stay",
        "500ms"},
       SetSlowSync},
      {{"arion.replica", "slow_member_ratio",
        "a server whose acknowledgements stay that many times slower than other servers' (and "
        "above "
        "50 ms, p99) is taken out of its partitions while enough others stay; 0: never",
        "5"},
       SetSlowMemberRatio},
      {{"arion.replica", "slow_member_pause_max",
        "it may come back after 30 s, after each relapse twice as much; this at most", "16m"},
       SetSlowMemberPause},
      {{"arion.replica", "copy_rate_per_disk",
        "bytes a second that learners' files take of one disk, read and written each; 0: as fast "
        "as "
        "those who read and write allow",
        "0", true},
       SetCopyRate<&CopyLimits::disk>},
      {{"arion.replica", "copy_rate_per_server", "the same for the whole server, sent and received",
        "0", true},
       SetCopyRate<&CopyLimits::server>},
      {{"arion.replica", "verify_interval",
        "how often the copies of each partition are compared without being asked for "
        "(verify_replicas compares them at once); 0: never",
        "168h", true},
       SetVerifyInterval},
      {{"arion.replica", "verify_rate_per_disk",
        "bytes a second of one disk that copies are read with to be compared, or less where those "
        "who "
        "read and write would notice; 0: as fast as these allow",
        "20 MiB", true},
       SetVerifyRate},
      {{"arion.replica", "max_concurrent_copies", "checkpoints copied to this server at a time",
        "5"},
       SetNumber<kReplica, &R::max_concurrent_copies, 1, 1000>},
      {{"arion.replica", "keep_failed_replicas",
        "how long directories of replicas that failed (*.err), and data that a learner gave up "
        "(data.*.discarded), are kept",
        "168h"},
       SetKeep<&GarbageOptions::keep_failed>},
      {{"arion.replica", "keep_unneeded_replicas",
        "how long directories of replicas that nobody needs are kept (*.gar)", "24h"},
       SetKeep<&GarbageOptions::keep_unneeded>},
      {{"arion.replica", "block_cache_size",
        "RocksDB's block cache, shared by all replicas; 0: the engine's default", "0"},
       SetServerSize<&ServerConfig::block_cache_bytes>},
      {{"arion.replica", "write_buffer_size",
        "RocksDB's memtable of one replica; 0: the engine's default", "0"},
       SetServerSize<&ServerConfig::write_buffer_bytes>},
  };
  return rules;
}

}  // namespace arion
