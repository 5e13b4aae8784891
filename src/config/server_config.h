// ServerConfig: what a configuration file and the flags say, checked, as the options of our
// servers.
//
// Shapes    Sections [arion.server], [arion.meta], [arion.replica] are ours; keys in Settings().
//           Other sections are an older version's: the keys known from there act, the rest is
//           listed once as a warning (decision 26); [duplication-group] is a list of clusters, and
//           acts where no duplication_group replaces it. Order: defaults, older keys, our keys,
//           flags; a later one wins. Whatever the order in the file.
// Errors    InvalidArgument: "file:line: [section] key = value: what is wrong; what to do".
// Threads   Immutable after construction.
// Promises  server_config/K1  An unknown key or a bad value in our sections is never passed over.
//           server_config/K2  No older key ever lowers durability (decision 5).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "config/access_rules.h"
#include "env/named_address.h"
#include "meta/meta_options.h"
#include "posix/posix_log_device.h"
#include "replica/replica_options.h"

namespace arion {

class IniFile;

// The two server programs, arion_meta and arion_replica.
enum class ServerKind { kMeta, kReplica };

// One data directory as it was configured.
struct ConfiguredDisk {
  std::string tag;
  // As configured; replicas lie in <path>/replica/reps.
  std::string path;
  // "file:line" or "--data_dirs", for messages.
  std::string origin;
};

// Everything a server program starts with. Fields have the defaults of their keys.
struct ServerConfig {
  std::string cluster_name = "onebox";
  // ip 0: every address of this machine.
  Endpoint listen;
  // What others reach this server by.
  Endpoint advertised;
  std::vector<NamedAddress> meta_servers;
  // Servers of this Apache Pegasus cluster, which name no cluster, are let in; empty: none are.
  std::string join_pegasus_cluster;
  AccessRules access;
  // Event loops; 0: one for each core, at most 8.
  int32_t threads = 0;
  // Of the text log; empty: standard error.
  std::string log_directory;
  enum class LogLevel { kInfo, kWarning, kError } log_level = LogLevel::kInfo;
  int32_t log_file_size_mb = 64;
  // Of each severity.
  int32_t log_files_max = 16;
  // Of a clean stop.
  absl::Duration stop_time_max = absl::Minutes(2);
  // At the start: how long a disk may take to answer.
  absl::Duration disk_answer_max = absl::Seconds(10);
  // How long a loop, or a disk's work, may not move before it counts as stuck.
  absl::Duration stuck_after = absl::Seconds(10);

  MetaServerOptions meta;
  // Where a meta server keeps its state; and where that was set, for messages.
  std::string meta_data_directory;
  std::string meta_data_directory_origin;
  uint64_t meta_disk_reserve_bytes = 64 << 20;
  // Where the meta server's state is: in that directory, of the only meta server; or in ZooKeeper,
  // of several of which one leads.
  enum class MetaState { kJournal, kZooKeeper } meta_state = MetaState::kJournal;
  struct ZooKeeperPlace {
    // HOST:PORT,... and perhaps a path that all others are below.
    std::string hosts;
    // Paths; empty until the configuration is put together: /pegasus/<cluster_name>, and that
    // followed by /lock.
    std::string root, lock_root;
    // Shorter than the lease: servers find the next leader before theirs ends.
    absl::Duration session_timeout = absl::Seconds(4);
  } zookeeper;

  // Its data_directories are filled from `disks`.
  ReplicaServerOptions replica;
  // How private logs are written.
  LogDeviceOptions log_device;
  // Whether each log lies beside its data, or all of them in the log home.
  enum class LogPlacement { kData, kHome } log_placement = LogPlacement::kData;
  // "file:line" or the flag; the directory is in `replica`.
  std::string log_home_directory_origin;
  std::vector<ConfiguredDisk> disks;
  // 0: the engine's default; the same goes for write_buffer_bytes.
  uint64_t block_cache_bytes = 0;
  uint64_t write_buffer_bytes = 0;

  // One line each.
  std::vector<std::string> warnings;
  // What was written somewhere, by key; older versions' keys too.
  struct Given {
    std::string section, value, origin;
  };
  std::map<std::string, Given> given;
};

// One key of ours: "--<key>" on the command line, "<key> = " in [<section>].
struct Setting {
  std::string_view section;
  std::string_view key;
  std::string_view help;
  std::string_view default_text;
  // kChangeable: also while the server runs (live_settings.h). kAdvanced: its default suits nearly
  // everybody.
  static constexpr uint8_t kChangeable = 1, kAdvanced = 2;
  uint8_t marks = 0;

  bool is_changeable() const { return (marks & kChangeable) != 0; }
  bool is_advanced() const { return (marks & kAdvanced) != 0; }
};
// All of our keys, by section.
const std::vector<Setting>& Settings();

// Checks what no single key can tell. `origins`: where each key of ours was set; `otherwise` for
// the rest.
absl::Status CheckTogether(ServerKind kind, const std::string& otherwise,
                           const std::map<std::string, std::string>& origins,
                           const ServerConfig& config);

// Puts the configuration together. `flags`: key -> value given on the command line.
absl::StatusOr<ServerConfig> MakeServerConfig(ServerKind kind, const IniFile& file,
                                              const std::map<std::string, std::string>& flags);

}  // namespace arion
