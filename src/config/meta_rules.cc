// SPDX-License-Identifier: Apache-2.0
// The keys of [arion.meta]: the meta server's.
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include "config/config_rules.h"
#include "config/rule_setters.h"

namespace arion {
namespace {

constexpr uint8_t kChangeable = Setting::kChangeable, kAdvanced = Setting::kAdvanced;
using M = MetaServerOptions;

constexpr Rule kRules[] = {
    {{"arion.meta", "meta_data_dir", "existing directory for the meta server's state",
      "(required)"},
     SetMetaDataDirectory},
    {{"arion.meta", "state",
      "where the cluster's state is: journal, in meta_data_dir, of the only meta server; "
      "zookeeper, "
      "of several of which one leads",
      "journal"},
     SetMetaState},
    {{"arion.meta", "zookeeper_hosts", "the ZooKeeper servers: HOST:PORT,...",
      "(required with state = zookeeper)"},
     SetZooKeeperHosts},
    {{"arion.meta", "zookeeper_root", "path in ZooKeeper below which the state is",
      "/pegasus/<cluster_name>", kAdvanced},
     SetZooKeeperRoot},
    {{"arion.meta", "zookeeper_lock_root",
      "path in ZooKeeper below which the meta servers elect the one that leads",
      "<zookeeper_root>/lock", kAdvanced},
     SetZooKeeperLockRoot},
    {{"arion.meta", "zookeeper_session_timeout",
      "how long ZooKeeper waits for a meta server that it does not hear before another one leads; "
      "with less than the lease by some seconds, writes go on meanwhile",
      "4s", kAdvanced},
     SetZooKeeperTimeout},
    {{"arion.meta", "meta_disk_reserve_size",
      "size of the reserve file beside the state, at most 10 % of the disk; a full disk gives it "
      "up so that "
      "failovers can still be stored; 0: none",
      "64 MiB", kAdvanced},
     SetSize<kServer, &ServerConfig::meta_disk_reserve_bytes>},
    {{"arion.meta", "guardian_interval",
      "period in which the meta server looks after all partitions", "10s", kChangeable | kAdvanced},
     SetInterval<kMeta, &M::guardian_interval>},
    {{"arion.meta", "clock_offset_max",
      "a server whose wall clock differs from the majority's by more than this leads no partition "
      "that another "
      "server can lead",
      "5s", kAdvanced},
     SetInterval<kMeta, &M::clock_offset_max>},
    {{"arion.meta", "live_servers_min",
      "minimum number of live servers; with fewer, the meta server freezes configurations (0: "
      "min(3, servers - "
      "1), at least 1)",
      "0", kChangeable | kAdvanced},
     SetNumber<kMeta, &M::min_live_node_count_for_unfreeze, 0, 10000>},
    {{"arion.meta", "live_servers_percent_min",
      "minimum share of live servers, in percent; below it the meta server freezes configurations",
      "50", kChangeable | kAdvanced},
     SetNumber<kMeta, &M::node_live_percentage_threshold_for_update, 0, 100>},
    {{"arion.meta", "lost_member_wait",
      "how long the meta server waits for a lost member before it has another copy made", "10m",
      kChangeable},
     SetInterval<kMeta, &M::replica_assign_delay_for_dropouts>},
    {{"arion.meta", "disk_room_percent",
      "a server whose disks have less than this share left gets no new copies where others have "
      "more; with less than half of it a disk gives copies away; 0: only a disk that takes no "
      "writes does",
      "20", kAdvanced},
     SetNumber<kMeta, &M::disk_room_percent, 0, 90>},
    {{"arion.meta", "stable_after", "a server that has run for so long is not in a crash loop",
      "10m", kAdvanced},
     SetInterval<kMeta, &M::stable_running>},
    {{"arion.meta", "unstable_restarts_max",
      "restarts in a row, each before stable_after, beyond which a server is in a crash loop and "
      "gets no work; 0: "
      "crash loops are not watched for",
      "5", kAdvanced},
     SetNumber<kMeta, &M::max_successive_unstable_restarts, 0, kInt32Max>},
    {{"arion.meta", "replica_count_min", "smallest replica count a table may have", "1",
      kChangeable | kAdvanced},
     SetNumber<kMeta, &M::min_allowed_replica_count, 1, kReplicaCountMax>},
    {{"arion.meta", "replica_count_max", "largest replica count a table may have", "5",
      kChangeable | kAdvanced},
     SetNumber<kMeta, &M::max_allowed_replica_count, 1, kReplicaCountMax>},
    {{"arion.meta", "keep_dropped_tables", "how long a dropped table can be recalled", "168h",
      kChangeable},
     SetInterval<kMeta, &M::hold_dropped_app>},
    {{"arion.meta", "balance_only_moves_primaries",
      "true: at level lively only primaries change places, and no copy is made", "false",
      kChangeable | kAdvanced},
     SetSwitch<kMeta, &M::balance_only_moves_primaries>},
    {{"arion.meta", "duplication_enabled",
      "false: tables are not duplicated to other clusters (those of [pegasus.clusters]), and what "
      "is configured of that can't be looked at",
      "true", kAdvanced},
     SetSwitch<kMeta, &M::duplication_enabled>},
    {{"arion.meta", "meta_level_on_start",
      "highest level the meta server starts at: stopped, blind, freezed, steady, lively; without "
      "it, the level "
      "that set_meta_level set last",
      "(the last one; steady at first)", kAdvanced},
     SetFunctionLevel},
    {{"arion.meta", "recover_from_replica_servers",
      "true: with an empty state, serve nothing until arion_shell says recover", "false",
      kAdvanced},
     SetRecovery},
};

}  // namespace

absl::Span<const Rule> MetaRules() { return kRules; }

absl::Status SetMetaDataDirectory(Draft& draft, std::string_view value, const std::string& origin) {
  if (value.empty()) return absl::InvalidArgumentError("empty; write an existing directory");
  draft.config.meta_data_directory = value;
  // For the message where that directory is not fit to be used.
  draft.config.meta_data_directory_origin = origin;
  return absl::OkStatus();
}

absl::Status SetMetaState(Draft& draft, std::string_view value, const std::string&) {
  using MetaState = ServerConfig::MetaState;
  if (value != "journal" && value != "zookeeper")
    return absl::InvalidArgumentError("unknown; write journal or zookeeper");
  draft.config.meta_state = value == "zookeeper" ? MetaState::kZooKeeper : MetaState::kJournal;
  return absl::OkStatus();
}

absl::Status SetZooKeeperHosts(Draft& draft, std::string_view value, const std::string&) {
  const std::string_view hosts = value.substr(0, value.find('/'));
  for (const absl::string_view host :
       absl::StrSplit(absl::string_view(hosts.data(), hosts.size()), ',')) {
    const size_t colon = host.rfind(':');
    int32_t port = 0;
    if (colon == absl::string_view::npos || colon == 0 ||
        !absl::SimpleAtoi(host.substr(colon + 1), &port) || port < 1 || port > 65535)
      return absl::InvalidArgumentError(absl::StrCat(
          "'", host, "' is no HOST:PORT; write HOST:PORT,... of the ZooKeeper servers"));
  }
  draft.config.zookeeper.hosts = value;
  return absl::OkStatus();
}

namespace {

absl::Status SetPath(std::string_view value, std::string* path) {
  if (!value.starts_with('/'))
    return absl::InvalidArgumentError("no path; write one that begins with '/'");
  while (value.size() > 1 && value.ends_with('/')) value.remove_suffix(1);
  const std::string between = absl::StrCat(Text(value), "/");
  for (const std::string_view part : {"//", "/./", "/../"})
    if (value != "/" && between.find(part) != std::string::npos)
      return absl::InvalidArgumentError(
          "ZooKeeper takes no empty name, '.' or '..' in a path; write it without");
  *path = value;
  return absl::OkStatus();
}

}  // namespace

absl::Status SetZooKeeperRoot(Draft& draft, std::string_view value, const std::string&) {
  return SetPath(value, &draft.config.zookeeper.root);
}

absl::Status SetZooKeeperLockRoot(Draft& draft, std::string_view value, const std::string&) {
  return SetPath(value, &draft.config.zookeeper.lock_root);
}

absl::Status SetZooKeeperTimeout(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(const absl::Duration timeout, ParseInterval(value));
  if (timeout < absl::Seconds(1) || timeout > absl::Minutes(10))
    return absl::InvalidArgumentError("out of range; write a time between 1s and 10m");
  draft.config.zookeeper.session_timeout = timeout;
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

}  // namespace arion
