// ReplicaServer hosts the replicas of one server: opens them from their data directories, routes
// requests to their strands, keeps the lease with the meta server, and closes them.
//
// Threads   Start, Stop, Snapshot, Disks: any thread. Everything else happens on strands and pools
//           of the Environment.
// Lifetime  Environment, Transport and EngineFactory outlive it. Destruction without Stop is a
//           crash (nothing flushed).
// Promises  P1  No client read or write is answered OK while the lease is lost; reads check it
//           again after reading.
//           P2  One damaged or slow replica or disk never stops another.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/counter.h"
#include "base/ids.h"
#include "engine/engine.h"
#include "env/environment.h"
#include "messages/configuration.h"
#include "messages/meta_messages.h"
#include "messages/replication_messages.h"
#include "replica/copy_throttle.h"
#include "replica/disk_health.h"
#include "replica/open_file_budget.h"
#include "replica/peer_pace.h"
#include "replica/recovery_plan.h"
#include "replica/recovery_progress.h"
#include "replica/shared_log_stats.h"
#include "rpc/older_servers.h"
#include "rpc/thrift_codec.h"
#include "rpc/transport.h"
#include "wal/log_retention.h"
#include "wal/private_log.h"

namespace arion {

struct DataDirectory {
  std::string tag;
  std::string path;     // <configured path>/replica/reps
  bool answers = true;  // false: already asked, in vain; not asked again
};

// How long what was set aside is kept, and how often it is looked for.
struct GarbageOptions {
  absl::Duration interval = absl::Minutes(10);
  absl::Duration keep_failed = absl::Hours(7 * 24);
  absl::Duration keep_unneeded = absl::Hours(24);
  absl::Duration keep_move_target = absl::Hours(24);
  absl::Duration keep_move_source = absl::Hours(7 * 24);
};

struct ReplicaServerOptions {
  std::vector<DataDirectory> data_directories;
  // Tags of those that may be empty although they, or others, were in use (known_directories.h).
  std::vector<std::string> new_data_directories;
  std::vector<Endpoint> meta_servers;  // others by SetMetaServers
  // A beacon was in vain: they may be elsewhere. On some strand.
  std::function<void()> on_meta_unanswered;
  std::string cluster_name = "onebox";
  // Of an older version's servers, which are let in as long as it says so: then this server looks at
  // their cluster before it takes part (cluster_entry.h). Null: nothing is known of versions.
  std::shared_ptr<OlderServers> older_servers;
  Durability durability = Durability::kFsync;
  PeerGeneration peer_generation = PeerGeneration::k25;
  absl::Duration beacon_interval = absl::Seconds(3);
  absl::Duration lease = absl::Seconds(9);
  absl::Duration config_sync_interval = absl::Seconds(30);
  absl::Duration group_check_interval = absl::Seconds(10);
  absl::Duration prepare_timeout = absl::Seconds(3);
  absl::Duration learner_prepare_timeout = absl::Seconds(5);
  absl::Duration checkpoint_interval = absl::Seconds(100);
  absl::Duration replay_max = absl::Seconds(10);  // a log whose replay would take longer asks for a
                                                  // checkpoint before the interval is over
  absl::Duration failed_directory_rest_max = absl::Minutes(5);  // directory_rest.h
  absl::Duration closed_replica_linger = absl::Minutes(10);     // gc_memory_replica_interval_ms
  int32_t mutation_2pc_min_replica_count = 2;
  int32_t max_mutations_in_flight = 20;  // staleness_for_commit
  int32_t prepare_list_capacity = 110;
  uint64_t max_allowed_write_bytes = 1 << 20;
  uint64_t log_segment_bytes = 32 << 20;
  bool log_preallocate = true;
  LogReserve log_reserve;
  LogOpener open_log = PrivateLog::Open;
  // Kept at most for a member that left and may come back.
  LogReserve log_for_member{.bytes_max = uint64_t{1} << 30, .age_max_seconds = 3600};
  // Logs of tables that an older version duplicates are kept whole.
  bool log_keep_duplicated = true;
  absl::Duration slow_request_after = absl::Milliseconds(100);  // kept for displays
  std::shared_ptr<OpenFileBudget> open_files;                   // null: they have no limit
  std::string log_home_directory;  // empty: each log beside its data (log_place.h)
  DiskHealthOptions disk;
  PeerPace::Options slow_members;
  GarbageOptions garbage;
  CopyLimits send_limits, receive_limits;      // of checkpoints' files, to and from other servers
  int32_t max_concurrent_copies = 5;           // checkpoints copied to this server
  CopyLimits verify_limits{.disk = 20 << 20};  // of content that is counted
  absl::Duration verify_interval = absl::Hours(7 * 24);  // of each partition; 0: on demand only
  RecoveryMode recovery_mode = RecoveryMode::kParallel;
  int32_t recovery_threads_per_disk = 2;
  uint64_t recovery_memory_bytes = uint64_t{1} << 30;  // of all disks' openings under way
  // Runs, at the start, what a disk that hangs would hold up, and says which of the jobs are done;
  // a late one goes on. Unset: one after the other, however long.
  std::function<std::vector<bool>(std::vector<std::function<void()>>)> ask_disks;
  // Where an older version's shared log may lie; all are looked at (legacy/README.md).
  std::vector<std::string> shared_log_directories;
  enum class DamagedSharedLog : uint8_t {
    kRefuse,    // the server does not start
    kSetAside,  // what can be read counts, the damaged files are kept under another name
  } damaged_shared_log = DamagedSharedLog::kRefuse;
  // How long its files are kept for replicas that are in no data directory (decision 11).
  absl::Duration shared_log_missing_wait_max = absl::InfiniteDuration();
  absl::Duration shared_log_collection_interval = absl::Seconds(30);  // gc_interval_ms
  int32_t shared_log_flushes_max = 64;  // forced at a time; 0: no limit
  // Requests that are not the replica server's (RPC_CLI_CLI_CALL); true: taken over. Any thread, from
  // the moment the transport listens.
  std::function<bool(InboundRequest&)> other_requests;
};

// What one replica looks like from outside; for displays, tests and the simulator's checkers.
struct ReplicaSnapshot {
  PartitionId pid;
  PartitionStatus status = PartitionStatus::kInvalid;
  Ballot ballot;
  Decree last_durable, last_applied, last_committed, last_logged, last_prepared;
  std::string directory;
  bool loading = false;
  int64_t log_files = 0;
  uint64_t log_bytes = 0;
  int64_t valid_start_in_shared_log = 0;
  ManualCompactStatus compaction = ManualCompactStatus::kIdle;
  std::optional<ValueSchema> data_version;  // of its engine, if it has one
};

// What was read of logs, and applied, when replicas were opened. Thread-safe.
struct LogReplayStats {
  Counter logs;
  Counter mutations;
  Counter bytes;
  Counter nanos;
  Counter warmed_keys;  // read into the cache because they were read before the restart
};

// What one data directory's (or the log home's) disk looks like from outside. Several directories
// may share a device; then sync_p99, is_slow and log_method are the device's.
struct DiskSnapshot {
  std::string tag;
  std::string path;
  DiskStatus state = DiskStatus::kNormal;
  Want lacks = Want::kSpace;  // while the state is kSpaceInsufficient: what that is
  bool is_slow = false;
  absl::Duration slow_for;  // while is_slow
  // Of the log's flushes in the last whole second, of its writes where none is flushed; 0: none.
  absl::Duration sync_p99;
  uint64_t total_bytes = 0, available_bytes = 0;  // 0: not asked yet
  uint64_t available_bytes_min = 0;               // below it new writes are refused
  uint64_t reserve_bytes = 0;                     // of the reserve file
  int64_t io_errors = 0;
  int64_t logs_waiting = 0;  // logs whose write waits for that
  std::string log_method;
  int64_t failed_replicas = 0;    // set aside here: *.err
  int64_t unneeded_replicas = 0;  // *.gar
  // What is left of an older version's moves between disks: *.disk.migrate.tmp and .ori.
  int64_t move_targets = 0, move_sources = 0;
  int64_t discarded_data = 0;  // in replicas' directories: data.*.discarded
  // Of checkpoints' files, for learners and as one, since the start.
  int64_t copy_sent_bytes = 0, copy_received_bytes = 0;
};

class JoinNotes;
class RequestBook;
class ServerLease;
class SlowRequests;
class VerificationBook;

class ReplicaServer {
 public:
  ReplicaServer(Environment& env, Transport& transport, EngineFactory& engines,
                ReplicaServerOptions options);
  ~ReplicaServer();

  // Claims the data directories (lock files), begins to load replicas in the disks' pools and to
  // send beacons; returns once the directories are listed, before replicas are loaded. Errors name
  // directory and remedy. May wait for disks.
  absl::Status Start();
  // Clean stop: no new requests, flush and close all replicas in parallel, trim logs; `done` runs
  // on some strand.
  void Stop(std::function<void(absl::Status)> done);

  // As one that came in by the transport. Any thread.
  void Handle(InboundRequest request);
  // Takes over what is changeable in operation (main/config_rules.cc). Any thread.
  void Reconfigure(const ReplicaServerOptions& options);
  // Where the meta servers are from now on; not empty. After Start; any thread.
  void SetMetaServers(std::vector<Endpoint> meta_servers);
  // The tables that replicas here belong to; `done` runs on some strand.
  void Tables(std::function<void(std::vector<AppInfo>)> done);
  // What each open replica says of its compactions on request, by partition.
  void CompactionTexts(std::function<void(std::map<PartitionId, std::string>)> done);
  // Asks every replica on its strand; `done` gets them ordered by partition.
  void Snapshot(std::function<void(std::vector<ReplicaSnapshot>)> done);
  // The disks of the data directories, in configuration order, then that of the log home, if there
  // is one, under the tag log_home. Thread-safe.
  std::vector<DiskSnapshot> Disks() const;
  // Has one replica, or all, make a checkpoint now; Snapshot tells when there is one.
  void AskForCheckpoints(std::optional<PartitionId> only);
  // How far the opening of what Start found is. Thread-safe, waits for nothing.
  RecoveryReport RecoveryNow() const;
  // These live as long as the server does.
  const LogReplayStats& replay() const;
  const SharedLogStats& shared_log() const;
  const RequestBook& requests() const;
  const SlowRequests& slow_requests() const;
  const ServerLease& lease() const;
  const VerificationBook& verifications() const;
  const JoinNotes& join() const;
  int64_t verified_bytes() const;  // of content that was counted here, since the start

  // Before Start. `refused` runs, on some strand, if after Start the shared log turns out to be one
  // that can't be taken over: nothing will be served, the process shall stop.
  void OnRefused(std::function<void(const absl::Status&)> refused);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace arion
