// AdminRequests: what administrators and clients ask of the meta server, and what administrators
// tell it to do; all but changes of tables (table_requests.h) and recovery (recovery_requests.h).
//
// Shapes    What only reads is answered at once from the state (meta_overview/meta_queries.h). The
//           function level is stored first (meta_server/M1). Plans are in memory only.
// Threads   Strand-bound.
// Lifetime  All that it uses outlives it.
// Promises  admin_requests/A1  The level that holds is the one that was stored last.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "env/clock.h"
#include "meta/request_handlers.h"
#include "meta_state/cluster_state.h"

namespace arion {

struct MetaServerOptions;
class RequestCodec;
class StoreGuard;

// The meta server's part for administrators. MetaServer::State makes it as a member, calls AddTo
// before the first request, and destroys it with itself.
class AdminRequests {
 public:
  // What it works with. Everything here outlives it.
  struct Uses {
    ClusterState& state;
    StoreGuard& store;
    // Of tables that are being stored.
    const std::set<std::string>& reserved_names;
    const MetaServerOptions& options;
    const RequestCodec& codec;
    const Clock& clock;
    const Transport& transport;
    // What the guardian sees has changed: it must look again.
    std::function<void()> plan;
  };
  explicit AdminRequests(Uses uses) : uses_(std::move(uses)) {}

  void AddTo(RequestHandlers& handlers);
  // True: it asks for what Arion does not have, and was answered so.
  bool AnswersAsDisabled(InboundRequest& request) const;

 private:
  // One handler for each request code. Those that only read the state answer at once.
  void OnQueryConfig(InboundRequest& request);
  void OnListApps(InboundRequest& request);
  void OnListNodes(InboundRequest& request);
  void OnClusterInfo(InboundRequest& request);
  void OnQueryAppInfo(InboundRequest& request);
  void OnControlMeta(InboundRequest& request);
  void InstallLevel(FunctionLevel level, Endpoint says);
  void OnProposeBalancer(InboundRequest& request);
  void OnForgetServer(InboundRequest& request);
  // These two as the only meta server answers them (meta_ensemble/meta_member.h: others).
  void OnQueryLead(InboundRequest& request);
  void OnHandOverLead(InboundRequest& request);
  void OnDddDiagnose(InboundRequest& request);
  void OnGetMaxReplicaCount(InboundRequest& request);
  void OnQueryManualCompact(InboundRequest& request);
  void OnGetAtomicIdempotent(InboundRequest& request);
  void OnSetAtomicIdempotent(InboundRequest& request);

  const Uses uses_;
};

}  // namespace arion
