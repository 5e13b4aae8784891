// MetaServerOptions: how a meta server was configured, and what its judgements are given of that.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "env/named_address.h"
#include "messages/function_level.h"
#include "meta_state/cluster_state.h"
#include "rpc/thrift_codec.h"

namespace arion {

struct GuardianOptions;
struct InboundRequest;
struct KnownClusters;
struct TableLimits;
class Transport;

// A meta server's settings. main/meta_main.cc fills them from the configuration (config/README.md);
// MetaServer keeps a copy, of which Reconfigure changes those that may change in operation.
struct MetaServerOptions {
  std::string cluster_name = "onebox";
  absl::Duration grace = absl::Seconds(10);
  absl::Duration guardian_interval = absl::Seconds(10);
  // 0: min(3, servers - 1), at least 1 (decision 19).
  int32_t min_live_node_count_for_unfreeze = 0;
  int32_t node_live_percentage_threshold_for_update = 50;
  absl::Duration replica_assign_delay_for_dropouts = absl::Minutes(10);
  // ClusterState::tight_percent.
  int32_t disk_room_percent = kTightPercent;
  // Of the crash-loop guard (failure_detector.h).
  absl::Duration stable_running = absl::Minutes(10);
  // 0: guard off.
  int32_t max_successive_unstable_restarts = 5;
  int32_t mutation_2pc_min_replica_count = 2;
  int32_t min_allowed_replica_count = 1;
  int32_t max_allowed_replica_count = 5;
  absl::Duration hold_dropped_app = absl::Hours(168);
  // Where nothing is stored: serves nothing until it was told to recover (RPC_CM_START_RECOVERY).
  bool recover_from_replica_servers = false;
  // Runs on the strand before servers are asked for a lost state; how many servers live here goes
  // with it. An error refuses the recovery.
  std::function<absl::Status(const std::set<Endpoint>& servers, size_t alive)> before_recovery;
  // Servers of an older version, which can't say of which cluster they are, are asked what they
  // hold before they count (meta_state/foreign_tables.h).
  bool vets_older_servers = false;
  // nullopt: begins at the level that was set last (steady, where none was); else at the lower one.
  std::optional<FunctionLevel> function_level_on_start;
  PeerGeneration peer_generation = PeerGeneration::k25;
  bool balance_only_moves_primaries = false;
  // Of a wall clock, from what most show.
  absl::Duration clock_offset_max = absl::Seconds(5);
  // Tables may be duplicated to other clusters. Names, with what marks writes of each; ours too.
  bool duplication_enabled = true;
  std::map<std::string, int> cluster_ids;
  // The meta servers of other clusters, by its name, as they are named, and where these are now
  // (empty: not known yet). The latter is asked on the strand.
  std::map<std::string, std::vector<NamedAddress>> clusters;
  std::function<std::vector<Endpoint>(const std::string& cluster)> meta_servers_of;
  // The way to these. Servers refuse messages that carry another cluster's tag (rpc/PROTOCOL.md
  // 2.7), so it is none of ours. nullptr: the meta server's own. It outlives the server.
  Transport* to_other_clusters = nullptr;
  // Requests that are not the meta server's (RPC_CLI_CLI_CALL); true: taken over. Any thread.
  std::function<bool(InboundRequest&)> other_requests;
};

// Those settings that may change in operation, which are read anew each time.
void TakeChangeable(const MetaServerOptions& from, MetaServerOptions* to);
// The function level that holds.
FunctionLevel LevelOf(const ClusterState& state, const MetaServerOptions& options);
// `options` outlives them.
KnownClusters ClustersOf(const MetaServerOptions& options);
TableLimits LimitsOf(const MetaServerOptions& options);
GuardianOptions GuardianOf(const MetaServerOptions& options);

}  // namespace arion
