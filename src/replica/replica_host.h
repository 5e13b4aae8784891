// ReplicaHost: what the replicas of one server share: the outside world, the server's options,
// its lease.
//
// Threads   Immutable after construction; each part is thread-safe by itself.
// Lifetime  Environment, Transport and EngineFactory outlive it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "base/ids.h"
#include "engine/engine.h"
#include "env/environment.h"
#include "pacifica/effects.h"
#include "replica/copy_throttle.h"
#include "replica/disk_watch.h"
#include "replica/foreground_pace.h"
#include "replica/hot_key_search.h"
#include "replica/join_notes.h"
#include "replica/manual_compaction.h"
#include "replica/peer_pace.h"
#include "replica/recovery_progress.h"
#include "replica/replica_server.h"
#include "replica/request_stats.h"
#include "replica/served_files.h"
#include "replica/server_lease.h"
#include "replica/slow_requests.h"
#include "replica/verification_book.h"
#include "rpc/transport.h"

namespace arion {

struct ReplicaHost {
  Environment& env;
  Transport& transport;
  EngineFactory& engines;
  ReplicaServerOptions options;
  Endpoint self;
  std::shared_ptr<ServerLease> lease;
  std::shared_ptr<JoinNotes> join = std::make_shared<JoinNotes>();
  std::shared_ptr<ServedFiles> served;
  // By position in options.data_directories; behind them the log home, if there is one.
  std::shared_ptr<DiskWatch> disks;
  std::shared_ptr<LogReplayStats> replay = std::make_shared<LogReplayStats>();
  std::shared_ptr<RecoveryProgress> recovery = std::make_shared<RecoveryProgress>();
  // Files of checkpoints, by the data directory they are read from or written to.
  std::shared_ptr<CopyThrottle> sending = nullptr;
  std::shared_ptr<CopyThrottle> receiving = nullptr;
  // Content that is counted (content_count.h).
  std::shared_ptr<CopyThrottle> verifying = nullptr;
  std::shared_ptr<VerificationBook> verifications = std::make_shared<VerificationBook>();
  // Checkpoints that are being copied to this server.
  std::shared_ptr<std::atomic<int>> copies = std::make_shared<std::atomic<int>>(0);

  // The global offset behind an older version's shared log; 0: there is none (any more).
  std::shared_ptr<std::atomic<int64_t>> shared_log_end = std::make_shared<std::atomic<int64_t>>(0);

  std::shared_ptr<ForegroundPace> foreground = std::make_shared<ForegroundPace>();
  std::shared_ptr<PeerPace> peers = std::make_shared<PeerPace>(options.slow_members);
  std::shared_ptr<RequestBook> requests = std::make_shared<RequestBook>();
  std::shared_ptr<SlowRequests> slow_requests = std::make_shared<SlowRequests>();

  std::shared_ptr<HotKeySearch> hot_key_search = std::make_shared<HotKeySearch>();
  std::shared_ptr<CompactionSlots> compactions = std::make_shared<CompactionSlots>();

  std::shared_ptr<SharedLogStats> shared_log_stats = std::make_shared<SharedLogStats>();

  // A meta server named them: they take part, whatever their version is.
  void Meet(Endpoint server) const {
    if (options.older_servers != nullptr) options.older_servers->Introduce(server);
  }
  void MeetMembers(const PartitionConfiguration& config) const {
    Meet(config.primary);
    for (Endpoint member : config.secondaries) Meet(member);
  }
  // The cluster is an older version's, by its meta server, and this server joined it.
  bool IsGuest() const {
    return options.older_servers != nullptr && options.older_servers->are_let_in() &&
           lease->is_leader_older();
  }

  // What a replica's .init-info says of the shared log when its life begins anew: all of it is
  // void.
  int64_t SharedLogEnd() const { return shared_log_end->load(); }

  // Where the logs of the replicas in that data directory lie, for `disks`.
  size_t LogDiskOf(size_t data_directory) const {
    return options.log_home_directory.empty() ? data_directory : options.data_directories.size();
  }
};

}  // namespace arion
