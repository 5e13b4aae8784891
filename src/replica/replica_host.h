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
#include "copies/copy_throttle.h"
#include "copies/foreground_pace.h"
#include "copies/peer_pace.h"
#include "disks/disk_layout.h"
#include "duplication/partition_duplications.h"
#include "indexes/index_book.h"
#include "indexes/index_upkeep.h"
#include "legacy/shared_log_stats.h"
#include "membership/join_notes.h"
#include "membership/server_lease.h"
#include "pacifica/effects.h"
#include "replica/compaction_slots.h"
#include "replica/replica_options.h"
#include "rpc/older_servers.h"
#include "stats/hot_key_search.h"
#include "stats/request_stats.h"
#include "stats/slow_requests.h"
#include "verification/verification_book.h"

namespace arion {

class Environment;
struct OpeningHost;
class ServedFiles;
class Transport;

// Made once by the ReplicaServer, before its first replica.
struct ReplicaHost {
  Environment& env;
  Transport& transport;
  // As at the start; what can change in operation lives in the parts below.
  ReplicaServerOptions options;
  // The address by which other servers know this one.
  Endpoint self;
  // Written by the failure detector; replicas read it at each act that needs it.
  std::shared_ptr<ServerLease> lease;
  std::shared_ptr<JoinNotes> join = std::make_shared<JoinNotes>();
  // Files that learners on other servers may copy from here.
  std::shared_ptr<ServedFiles> served;
  std::shared_ptr<const ServerDisks> disks;
  // What openings of replicas share.
  std::shared_ptr<const OpeningHost> opening;
  // Files of checkpoints, by the data directory they are read from or written to.
  std::shared_ptr<CopyThrottle> sending = nullptr;
  std::shared_ptr<CopyThrottle> receiving = nullptr;
  // What builds of indexes read.
  std::shared_ptr<CopyThrottle> building = nullptr;
  // Content that is counted (content_count.h).
  std::shared_ptr<CopyThrottle> verifying = nullptr;
  std::shared_ptr<VerificationBook> verifications = std::make_shared<VerificationBook>();
  // Checkpoints that are being copied to this server.
  std::shared_ptr<std::atomic<int>> copies = std::make_shared<std::atomic<int>>(0);

  // How long clients wait, and which members acknowledge slowly.
  std::shared_ptr<ForegroundPace> foreground = std::make_shared<ForegroundPace>();
  std::shared_ptr<PeerPace> peers = std::make_shared<PeerPace>(options.slow_members);
  // Figures for displays.
  std::shared_ptr<RequestBook> requests = std::make_shared<RequestBook>();
  std::shared_ptr<SlowRequests> slow_requests = std::make_shared<SlowRequests>();

  std::shared_ptr<HotKeySearch> hot_key_search = std::make_shared<HotKeySearch>();
  std::shared_ptr<CompactionSlots> compactions = std::make_shared<CompactionSlots>();
  std::shared_ptr<IndexBook> indexes = std::make_shared<IndexBook>();
  std::shared_ptr<IndexSlots> index_slots = std::make_shared<IndexSlots>(options.index_builders);

  std::shared_ptr<DuplicationTargets> duplication = std::make_shared<DuplicationTargets>(
      env, options.other_clusters != nullptr ? *options.other_clusters : transport,
      static_cast<int8_t>(options.duplication_group.own_id), options.meta_servers_of);

  // Partitions that are being split by their primaries here.
  std::shared_ptr<std::atomic<int>> splits = std::make_shared<std::atomic<int>>(0);
  // Null: enough of them are.
  std::shared_ptr<void> TakeSplitPlace() const {
    constexpr int kSplitsMax = 1;
    if (++*splits > kSplitsMax) {
      --*splits;
      return nullptr;
    }
    return {splits.get(), [counter = splits](void*) { --*counter; }};
  }

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
};

}  // namespace arion
