// ServerRequests: what replica servers tell the meta server, beacons and config syncs, and who is
// alive by that.
//
// Shapes    meta/STATE.md 3 and 4. The judgement is FailureDetector's and that of
//           replica_reports.h. An answer to a config sync has the sender's partitions, its replicas
//           that nobody needs, and its children that may yet be registered (table_split.h).
// Threads   Strand-bound.
// Lifetime  All that it uses outlives it.
// Promises  meta_server/M3.
//           server_requests/S1  A beacon that is answered OK grants a lease that ends before
//               leases_end.
//           server_requests/S2  Of the reports of a server whose syncs are numbered, only the one
//               that carries the number awaited is read, and it once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>

#include "env/clock.h"
#include "meta/meta_options.h"
#include "meta_state/cluster_state.h"
#include "rpc/transport.h"

namespace arion {

class Counter;
class FailureDetector;
class OlderServerVetting;
class ReportNumbers;
class RequestCodec;
class RequestHandlers;
class WallClocks;

// The meta server's part for replica servers. A member of MetaServer::State, which calls Begin when
// the state is loaded and Expire in each plan.
class ServerRequests {
 public:
  // A stranger's beacons must not fill the memory.
  static constexpr size_t kNodesMax = 2000;

  // What it works with. Everything here outlives it.
  struct Uses {
    ClusterState& state;
    FailureDetector& detector;
    ReportNumbers& numbers;
    WallClocks& wall_clocks;
    OlderServerVetting& older_servers;
    const MetaServerOptions& options;
    const RequestCodec& codec;
    const Clock& clock;
    // Names this life among those of all meta servers.
    int64_t life;
    // Counts servers that were declared dead.
    Counter& deaths;
  };
  struct Events {
    // Beacons waited until then; nobody reads them earlier.
    std::function<Instant()> excused_until;
    // What the guardian sees has changed: it must look again.
    std::function<void()> plan;
  };
  ServerRequests(Uses uses, Events events) : uses_(std::move(uses)), events_(std::move(events)) {}

  void AddTo(RequestHandlers& handlers);
  // The state is loaded: its servers are alive until a grace from now.
  void Begin();
  // Who sent no beacon for a grace is dead.
  void Expire();
  // Until then servers that were known before may show what is not stored.
  Instant start_ends() const { return began_at_ + uses_.options.grace; }
  // Of leases that this meta server, or a former one, granted.
  Instant leases_end() const { return leases_end_; }

 private:
  void OnBeacon(InboundRequest& request);
  void OnConfigSync(InboundRequest& request);
  // False: the beacon counts for nothing and is not answered.
  bool NoteLife(const BeaconMessage& beacon);
  void CameAlive(Endpoint server, const char* what);
  void EndIncarnation(Endpoint server);
  // The sender's partitions; ERR_BUSY, and none, while one of them is pending.
  void AddPartitions(Endpoint server, ConfigSyncResponse& response);
  // Replicas that nobody needs, and children that may yet be needed.
  void AddOthers(const ConfigSyncRequest& sync, ConfigSyncResponse& response) const;
  FunctionLevel Level() const { return LevelOf(uses_.state, uses_.options); }
  Instant Now() const { return uses_.clock.Now(); }

  const Uses uses_;
  const Events events_;
  Instant began_at_{0};
  Instant leases_end_{0};
  // As this life found it. To whom leads nothing then, a former life may have given a death of
  // which it knows nothing, since its clock stood still; to be told so once more costs it nothing.
  std::set<Endpoint> led_at_begin_;
};

}  // namespace arion
