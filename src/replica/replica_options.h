// ReplicaServerOptions: what the operator of a replica server decides, as plain values with their
// defaults. config/replica_rules.cc fills it from the configuration file and checks it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/duplication_group.h"
#include "base/ids.h"
#include "copies/copy_throttle.h"
#include "copies/peer_pace.h"
#include "disks/disk_layout.h"
#include "disks/disk_options.h"
#include "legacy/shared_log_options.h"
#include "recovery/recovery_plan.h"
#include "rpc/thrift_codec.h"
#include "wal/log_needs.h"
#include "wal/log_opener.h"

namespace arion {

struct InboundRequest;
class OlderServers;
class OpenFileBudget;
class Transport;

// The name of a key stands above a field where it differs from the field's.
struct ReplicaServerOptions {
  DiskLayout layout;
  // At the start; SetMetaServers changes them.
  std::vector<Endpoint> meta_servers;
  // Asks servers of other clusters, as a client does; outlives the server. Null: the server's own.
  Transport* other_clusters = nullptr;
  // A beacon was in vain: they may be elsewhere. On some strand.
  std::function<void()> on_meta_unanswered;
  std::string cluster_name = "onebox";
  // Of an older version's servers, which are let in as long as it says so: then this server looks
  // at their cluster before it takes part (cluster_entry.h). Null: nothing is known of versions.
  std::shared_ptr<OlderServers> older_servers;
  Durability durability = Durability::kFsync;
  PeerGeneration peer_generation = PeerGeneration::k25;
  // Periods and timeouts of the protocol. `lease` must be shorter than the meta server's grace
  // (pacifica/PROTOCOL.md 7). A secondary that is silent for `prepare_timeout`, or a learner for
  // `learner_prepare_timeout`, is given up by its primary.
  absl::Duration beacon_interval = absl::Seconds(3);
  absl::Duration lease = absl::Seconds(9);
  absl::Duration config_sync_interval = absl::Seconds(30);
  absl::Duration group_check_interval = absl::Seconds(10);
  absl::Duration prepare_timeout = absl::Seconds(3);
  absl::Duration learner_prepare_timeout = absl::Seconds(5);
  absl::Duration checkpoint_interval = absl::Seconds(100);
  // A log whose replay would take longer asks for a checkpoint before the interval is over.
  absl::Duration replay_max = absl::Seconds(10);
  // Key gc_memory_replica_interval_ms.
  absl::Duration closed_replica_linger = absl::Minutes(10);
  // Members that must be there before a write is taken (pacifica/core_options.h).
  int32_t mutation_2pc_min_replica_count = 2;
  // Key staleness_for_commit.
  int32_t max_mutations_in_flight = 20;
  int32_t prepare_list_capacity = 110;
  uint64_t max_allowed_write_bytes = 1 << 20;
  // The clusters whose writes are taken, and what one of these may take until it is done here
  // without being counted as late.
  DuplicationGroup duplication_group;
  // Where the meta servers of another cluster are now; empty: not known. Thread-safe. Null: no
  // other cluster is.
  std::function<std::vector<Endpoint>(const std::string& cluster)> meta_servers_of;
  absl::Duration duplicate_lag_max = absl::Seconds(10);
  // Replicas whose indexes are built at a time; each is one walk over its data.
  int index_builders = 4;
  // The private log's files: their size, whether they are filled with zeros ahead of use, and what
  // is kept of them although nobody needs it.
  uint64_t log_segment_bytes = 32 << 20;
  bool log_preallocate = true;
  LogReserve log_reserve;
  // Empty: PrivateLog::Open.
  LogOpener open_log;
  // Kept at most for a member that left and may come back.
  LogReserve log_for_member{.bytes_max = uint64_t{1} << 30, .age_max_seconds = 3600};
  // Kept at most for another cluster.
  LogReserve log_for_other_cluster{.bytes_max = uint64_t{16} << 30};
  // Logs of tables that an older version duplicates are kept whole.
  bool log_keep_duplicated = true;
  // Requests that take this long are kept for displays.
  absl::Duration slow_request_after = absl::Milliseconds(100);
  // Null: they have no limit.
  std::shared_ptr<OpenFileBudget> open_files;
  DiskHealthOptions disk;
  PeerPace::Options slow_members;
  GarbageOptions garbage;
  // Of checkpoints' files, to and from other servers.
  CopyLimits send_limits, receive_limits;
  // Checkpoints copied to this server.
  int32_t max_concurrent_copies = 5;
  // For reading content that is counted.
  CopyLimits verify_limits{.disk = 20 << 20};
  // How often each partition is verified; 0: on demand only.
  absl::Duration verify_interval = absl::Hours(7 * 24);
  RecoveryOptions recovery;
  SharedLogOptions shared_log;
  // Requests that are not the replica server's (RPC_CLI_CLI_CALL); true: taken over. Any thread,
  // from the moment the transport listens.
  std::function<bool(InboundRequest&)> other_requests;
};

}  // namespace arion
