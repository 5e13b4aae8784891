// MetaServer owns the cluster's configuration: tables, partitions, who serves them, who is alive.
//
// Threads   Start, Stop, Overview, stats: any thread; everything else on one strand. Judgement is pure
//           (cluster_state.h, failure_detector.h, partition_guardian.h).
// Lifetime  Environment, Transport and MetaStore outlive it.
// Promises  meta_server/M1  A configuration is durable in the store before memory holds it and
//               before anyone is told.
//           meta_server/M2  A partition's ballot rises by exactly one with each stored change of
//               its members; where a server shows a larger one than is stored, to the one behind
//               that.
//           meta_server/M3  A server is declared dead no earlier than one grace after its last
//               beacon arrived; grace > lease.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/counter.h"
#include "env/environment.h"
#include "messages/function_level.h"
#include "meta_overview/cluster_overview.h"
#include "meta_state/meta_store.h"
#include "rpc/thrift_codec.h"
#include "rpc/transport.h"

namespace arion {

struct MetaServerOptions {
  std::string cluster_name = "onebox";
  absl::Duration grace = absl::Seconds(10);
  absl::Duration guardian_interval = absl::Seconds(10);
  int32_t min_live_node_count_for_unfreeze = 0;  // 0: min(3, servers - 1), at least 1 (decision 19)
  int32_t node_live_percentage_threshold_for_update = 50;
  absl::Duration replica_assign_delay_for_dropouts = absl::Minutes(10);
  absl::Duration stable_running = absl::Minutes(10);  // crash-loop guard
  int32_t max_successive_unstable_restarts = 5;       // 0: guard off
  int32_t mutation_2pc_min_replica_count = 2;
  int32_t min_allowed_replica_count = 1;
  int32_t max_allowed_replica_count = 5;
  absl::Duration hold_dropped_app = absl::Hours(168);
  // Where nothing is stored: serves nothing until it was told to recover (RPC_CM_START_RECOVERY).
  bool recover_from_replica_servers = false;
  // Runs on the strand before servers are asked for a lost state; how many servers live here goes with
  // it. An error refuses the recovery.
  std::function<absl::Status(const std::set<Endpoint>& servers, size_t alive)> before_recovery;
  // Servers of an older version, which can't say of which cluster they are, are asked what they hold
  // before they count (meta_state/foreign_tables.h).
  bool vets_older_servers = false;
  // nullopt: begins at the level that was set last (steady, where none was); else at the lower one.
  std::optional<FunctionLevel> function_level_on_start;
  PeerGeneration peer_generation = PeerGeneration::k25;
  bool balance_only_moves_primaries = false;
  absl::Duration clock_offset_max = absl::Seconds(5);  // of a wall clock, from what most show
  // Requests that are not the meta server's (RPC_CLI_CLI_CALL); true: taken over. Any thread.
  std::function<bool(InboundRequest&)> other_requests;
};

struct MetaServerStats {
  Counter configuration_changes;
  Counter primary_choice_failures;  // looks at a partition of which nobody could be made primary
  Counter server_deaths;
};

class MetaServer {
 public:
  MetaServer(Environment& env, Transport& transport, MetaStore& store, MetaServerOptions options);
  ~MetaServer();

  // Reads the store, then serves. May wait for the disk. DataLoss: the store can't be understood;
  // nothing was changed.
  absl::Status Start();
  void Stop(std::function<void()> done);

  // As one that came in by the transport. Any thread.
  void Handle(InboundRequest request);
  // Takes over what is changeable in operation (config/config_rules.cc). Any thread.
  void Reconfigure(const MetaServerOptions& options);
  // Any thread; `done` runs on the strand.
  void Overview(std::function<void(ClusterOverview)> done);
  const MetaServerStats& stats() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace arion
