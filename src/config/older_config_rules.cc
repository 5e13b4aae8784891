// SPDX-License-Identifier: Apache-2.0
#include "config/older_config_rules.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <type_traits>

#include "base/status.h"
#include "config/config_value.h"
#include "replica/replica_options.h"

namespace arion {
namespace {

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
constexpr int64_t kBytesMax = int64_t{1} << 50;
constexpr auto kMeta = &ServerConfig::meta;
constexpr auto kReplica = &ServerConfig::replica;
constexpr auto kSharedLog = [](auto& config) -> auto& { return config.replica.shared_log; };
using M = MetaServerOptions;
using R = ReplicaServerOptions;

// An older version takes any number for its key, so none may keep a server from starting here. A
// number out of our range becomes the nearest one within, with a warning.
absl::StatusOr<int64_t> OlderInteger(Draft& draft, std::string_view value,
                                     const std::string& origin, int64_t first, int64_t last) {
  int64_t number = 0;
  // No number at all: ParseInteger has the words for that.
  if (!absl::SimpleAtoi(Text(value), &number)) return ParseInteger(value, first, last);
  const int64_t taken = std::clamp(number, first, last);
  if (taken != number)
    draft.config.warnings.push_back(absl::StrCat(origin, ": ", number, " acts as ", taken));
  return taken;
}

template <auto Group, auto Member, int64_t kFirst, int64_t kLast>
absl::Status SetOlderNumber(Draft& draft, std::string_view value, const std::string& origin) {
  ASSIGN_OR_RETURN(int64_t number, OlderInteger(draft, value, origin, kFirst, kLast));
  std::invoke(Group, draft.config).*Member =
      static_cast<std::remove_reference_t<decltype(std::invoke(Group, draft.config).*Member)>>(
          number);
  return absl::OkStatus();
}

// An older key's number of `kUnitMillis` milliseconds each.
template <auto Group, auto Member, int64_t kUnitMillis, int64_t kFirst = 1>
absl::Status SetOlderInterval(Draft& draft, std::string_view value, const std::string& origin) {
  ASSIGN_OR_RETURN(int64_t number, OlderInteger(draft, value, origin, kFirst, kInt32Max));
  std::invoke(Group, draft.config).*Member = absl::Milliseconds(number * kUnitMillis);
  return absl::OkStatus();
}

template <auto Member>
absl::Status SetOlderSize(Draft& draft, std::string_view value, const std::string& origin) {
  ASSIGN_OR_RETURN(int64_t bytes, OlderInteger(draft, value, origin, 0, kBytesMax));
  draft.config.*Member = static_cast<uint64_t>(bytes);
  return absl::OkStatus();
}

template <auto Member>
absl::Status SetOlderKeep(Draft& draft, std::string_view value, const std::string& origin) {
  ASSIGN_OR_RETURN(int64_t seconds, OlderInteger(draft, value, origin, 0, kInt32Max));
  // 0 is allowed: removed as soon as it was seen long enough (garbage_collector.h).
  draft.config.replica.garbage.*Member = absl::Seconds(seconds);
  return absl::OkStatus();
}

template <auto Limits>
absl::Status SetOlderCopyRate(Draft& draft, std::string_view value, const std::string& origin) {
  ASSIGN_OR_RETURN(int64_t megabytes, OlderInteger(draft, value, origin, 0, kInt32Max));
  (draft.config.replica.*Limits).disk = static_cast<uint64_t>(megabytes) << 20;
  return absl::OkStatus();
}

absl::Status SetOlderMinReplicaCount(Draft& draft, std::string_view value,
                                     const std::string& origin) {
  ASSIGN_OR_RETURN(int64_t number, OlderInteger(draft, value, origin, 0, kReplicaCountMax));
  SetMinReplicaCount(draft, number);
  return absl::OkStatus();
}

// 0: without limit.
absl::Status SetOlderWriteSize(Draft& draft, std::string_view value, const std::string& origin) {
  ASSIGN_OR_RETURN(int64_t bytes, OlderInteger(draft, value, origin, 0, kWriteBytesMax));
  draft.config.replica.max_allowed_write_bytes =
      static_cast<decltype(draft.config.replica.max_allowed_write_bytes)>(
          // A limit below what is possible here is raised to that, as other numbers are.
          bytes == 0 ? kWriteBytesMax : std::max(bytes, kWriteBytesMin));
  return absl::OkStatus();
}

absl::Status SetOlderPort(Draft& draft, std::string_view value, const std::string&) {
  // Of several ports the first one, which is the RPC's.
  ASSIGN_OR_RETURN(int64_t port, ParseInteger(value.substr(0, value.find(',')), 1, 65535));
  draft.older_port = static_cast<uint16_t>(port);
  return absl::OkStatus();
}

absl::Status SetOlderInterface(Draft& draft, std::string_view value, const std::string&) {
  draft.older_interface = value;
  return absl::OkStatus();
}

absl::Status SetOlderDataDirectory(Draft& draft, std::string_view value,
                                   const std::string& origin) {
  if (value.empty()) return absl::OkStatus();
  draft.older_shared_log_homes.emplace_back(value);
  if (draft.config.disks.empty())
    // Only without data_dirs, which may come before or after this key in the file.
    draft.config.disks.push_back({"default", std::string(value), origin});
  return SetMetaDataDirectory(draft, value, origin);
}

absl::Status SetOlderDisks(Draft& draft, std::string_view value, const std::string& origin) {
  if (!value.empty()) return SetDisks(draft, value, origin);
  // An empty list means a default directory, but only if data_dir names none either; known at the
  // end.
  draft.older_no_disks_origin = origin;
  return absl::OkStatus();
}

absl::Status SetOlderSharedLogHome(Draft& draft, std::string_view value, const std::string&) {
  if (!value.empty()) draft.older_shared_log_homes.emplace_back(value);
  return absl::OkStatus();
}

absl::Status SetOlderLogFileMegabytes(Draft& draft, std::string_view value,
                                      const std::string& origin) {
  ASSIGN_OR_RETURN(int64_t megabytes, OlderInteger(draft, value, origin, 1, 2048));
  draft.config.replica.log_segment_bytes = static_cast<uint64_t>(megabytes) << 20;
  return absl::OkStatus();
}

absl::Status SetOlderReserveMegabytes(Draft& draft, std::string_view value,
                                      const std::string& origin) {
  ASSIGN_OR_RETURN(int64_t megabytes, OlderInteger(draft, value, origin, 0, kInt32Max));
  draft.older_reserve_bytes = static_cast<uint64_t>(megabytes) << 20;
  return absl::OkStatus();
}

absl::Status SetOlderReserveSeconds(Draft& draft, std::string_view value,
                                    const std::string& origin) {
  // Kept aside, as the size is: only both together mean something (KeepOlderReserve).
  ASSIGN_OR_RETURN(draft.older_reserve_seconds, OlderInteger(draft, value, origin, 0, kInt32Max));
  return absl::OkStatus();
}

absl::Status SetOlderSpaceRatio(Draft& draft, std::string_view value, const std::string& origin) {
  ASSIGN_OR_RETURN(int64_t percent, OlderInteger(draft, value, origin, 0, 100));
  draft.config.replica.disk.available_ratio_min = static_cast<double>(percent) / 100;
  return absl::OkStatus();
}

absl::Status SetOlderDurability(Draft& draft, std::string_view value, const std::string& origin) {
  // Never lowered by an older key (server_config/K2).
  if (value != "true") {
    draft.config.warnings.push_back(
        absl::StrCat(origin, ": plog_force_flush = ", Text(value),
                     " is not followed: writes are synced before they are acknowledged; durability "
                     "= os in [arion.replica] "
                     "would change that"));
  }
  return absl::OkStatus();
}

// Its local file is a journal here; there is one meta server then, as there.
absl::Status SetOlderMetaState(Draft& draft, std::string_view value, const std::string&) {
  using MetaState = ServerConfig::MetaState;
  draft.config.meta_state =
      value == "meta_state_service_zookeeper" ? MetaState::kZooKeeper : MetaState::kJournal;
  return absl::OkStatus();
}

// The first word is the path.
absl::Status SetOlderLockRoot(Draft& draft, std::string_view value, const std::string& origin) {
  const std::string_view path = value.substr(0, value.find_first_of(" ,"));
  return path.empty() ? absl::OkStatus() : SetZooKeeperLockRoot(draft, path, origin);
}

absl::Status SetOlderZooKeeperHosts(Draft& draft, std::string_view value,
                                    const std::string& origin) {
  return value.empty() ? absl::OkStatus() : SetZooKeeperHosts(draft, value, origin);
}

absl::Status SetOlderZooKeeperTimeout(Draft& draft, std::string_view value,
                                      const std::string& origin) {
  ASSIGN_OR_RETURN(const int64_t millis, OlderInteger(draft, value, origin, 1000, 600'000));
  draft.config.zookeeper.session_timeout = absl::Milliseconds(millis);
  return absl::OkStatus();
}

// As 2.5.0 reads it: nothing but "true" is true.
absl::Status SetOlderDuplication(Draft& draft, std::string_view value, const std::string&) {
  draft.config.meta.duplication_enabled = value == "true";
  return absl::OkStatus();
}

}  // namespace

const std::vector<OlderRule>& OlderRules(ServerKind kind) {
  // Built once for each kind: only the section of the port differs.
  constexpr auto kOfReplica = ServerKind::kReplica;
  constexpr auto kOfMeta = ServerKind::kMeta;
  static const std::vector<OlderRule> common = {
      {"meta_server", "server_list", SetMetaServers},
      {"meta_server", "cluster_root", SetZooKeeperRoot, kOfMeta},
      {"meta_server", "meta_state_service_type", SetOlderMetaState, kOfMeta},
      {"meta_server", "distributed_lock_service_parameters", SetOlderLockRoot, kOfMeta},
      {"zookeeper", "hosts_list", SetOlderZooKeeperHosts, kOfMeta},
      {"zookeeper", "timeout_ms", SetOlderZooKeeperTimeout, kOfMeta},
      {"replication", "cluster_name", SetClusterName},
      {"network", "primary_interface", SetOlderInterface},
      {"core", "data_dir", SetOlderDataDirectory},
      {"replication", "data_dirs", SetOlderDisks, kOfReplica},
      {"replication", "slog_dir", SetOlderSharedLogHome, kOfReplica},
      {"", "gc_interval_ms",
       SetOlderInterval<kSharedLog, &SharedLogOptions::collection_interval, 1>, kOfReplica},
      {"", "log_shared_gc_flush_replicas_limit",
       SetOlderNumber<kSharedLog, &SharedLogOptions::flushes_max, 0, 100000>, kOfReplica},
      {"", "fd_beacon_interval_seconds", SetOlderInterval<kReplica, &R::beacon_interval, 1000>},
      {"", "fd_lease_seconds", SetOlderInterval<kReplica, &R::lease, 1000>},
      {"", "fd_grace_seconds", SetOlderInterval<kMeta, &M::grace, 1000>},
      {"", "mutation_2pc_min_replica_count", SetOlderMinReplicaCount},
      {"", "staleness_for_commit", SetOlderNumber<kReplica, &R::max_mutations_in_flight, 1, 10000>,
       kOfReplica},
      {"", "max_mutation_count_in_prepare_list",
       SetOlderNumber<kReplica, &R::prepare_list_capacity, 2, 100000>, kOfReplica},
      {"", "prepare_timeout_ms_for_secondaries", SetOlderInterval<kReplica, &R::prepare_timeout, 1>,
       kOfReplica},
      {"", "prepare_timeout_ms_for_potential_secondaries",
       SetOlderInterval<kReplica, &R::learner_prepare_timeout, 1>, kOfReplica},
      {"", "group_check_interval_ms", SetOlderInterval<kReplica, &R::group_check_interval, 1>,
       kOfReplica},
      {"", "config_sync_interval_ms", SetOlderInterval<kReplica, &R::config_sync_interval, 1>,
       kOfReplica},
      {"", "checkpoint_interval_seconds", SetOlderInterval<kReplica, &R::checkpoint_interval, 1000>,
       kOfReplica},
      {"", "gc_memory_replica_interval_ms",
       SetOlderInterval<kReplica, &R::closed_replica_linger, 1>, kOfReplica},
      {"", "gc_disk_error_replica_interval_seconds", SetOlderKeep<&GarbageOptions::keep_failed>,
       kOfReplica},
      {"", "gc_disk_garbage_replica_interval_seconds", SetOlderKeep<&GarbageOptions::keep_unneeded>,
       kOfReplica},
      {"", "gc_disk_migration_tmp_replica_interval_seconds",
       SetOlderKeep<&GarbageOptions::keep_move_target>, kOfReplica},
      {"", "gc_disk_migration_origin_replica_interval_seconds",
       SetOlderKeep<&GarbageOptions::keep_move_source>, kOfReplica},
      {"", "max_copy_rate_megabytes_per_disk", SetOlderCopyRate<&R::receive_limits>, kOfReplica},
      {"", "max_send_rate_megabytes_per_disk", SetOlderCopyRate<&R::send_limits>, kOfReplica},
      {"", "learn_app_max_concurrent_count",
       SetOlderNumber<kReplica, &R::max_concurrent_copies, 1, 1000>, kOfReplica},
      {"", "max_allowed_write_size", SetOlderWriteSize, kOfReplica},
      {"", "dup_lagging_write_threshold_ms", SetOlderInterval<kReplica, &R::duplicate_lag_max, 1>,
       kOfReplica},
      {"", "log_private_file_size_mb", SetOlderLogFileMegabytes, kOfReplica},
      {"", "log_private_reserve_max_size_mb", SetOlderReserveMegabytes, kOfReplica},
      {"", "log_private_reserve_max_time_seconds", SetOlderReserveSeconds, kOfReplica},
      {"", "disk_min_available_space_ratio", SetOlderSpaceRatio, kOfReplica},
      {"", "plog_force_flush", SetOlderDurability, kOfReplica},
      {"", "rocksdb_block_cache_capacity", SetOlderSize<&ServerConfig::block_cache_bytes>,
       kOfReplica},
      {"", "rocksdb_write_buffer_size", SetOlderSize<&ServerConfig::write_buffer_bytes>,
       kOfReplica},
      {"", "lb_interval_ms", SetOlderInterval<kMeta, &M::guardian_interval, 1>, kOfMeta},
      {"", "min_live_node_count_for_unfreeze",
       SetOlderNumber<kMeta, &M::min_live_node_count_for_unfreeze, 0, 10000>, kOfMeta},
      {"", "node_live_percentage_threshold_for_update",
       SetOlderNumber<kMeta, &M::node_live_percentage_threshold_for_update, 0, 100>, kOfMeta},
      {"", "replica_assign_delay_ms_for_dropouts",
       SetOlderInterval<kMeta, &M::replica_assign_delay_for_dropouts, 1, 0>, kOfMeta},
      {"", "stable_rs_min_running_seconds", SetOlderInterval<kMeta, &M::stable_running, 1000, 0>,
       kOfMeta},
      // The spelling is the older version's.
      {"", "max_succssive_unstable_restart",
       SetOlderNumber<kMeta, &M::max_successive_unstable_restarts, 0, kInt32Max>, kOfMeta},
      {"", "min_allowed_replica_count",
       SetOlderNumber<kMeta, &M::min_allowed_replica_count, 1, 15>},
      {"", "max_allowed_replica_count",
       SetOlderNumber<kMeta, &M::max_allowed_replica_count, 1, 15>},
      {"", "hold_seconds_for_dropped_app", SetOlderInterval<kMeta, &M::hold_dropped_app, 1000>,
       kOfMeta},
      {"replication", "duplication_enabled", SetOlderDuplication, kOfMeta},
      {"", "recover_from_replica_server", SetRecovery},
      {"", "meta_function_level_on_start", SetFunctionLevel},
  };
  static const auto with_port = [](std::string_view section) {
    std::vector<OlderRule> rules = common;
    rules.push_back({section, "port", SetOlderPort});
    rules.push_back({section, "ports", SetOlderPort});
    return rules;
  };
  static const std::vector<OlderRule> meta = with_port("apps.meta");
  static const std::vector<OlderRule> replica = with_port("apps.replica");
  return kind == ServerKind::kMeta ? meta : replica;
}

}  // namespace arion
