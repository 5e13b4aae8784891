// SplitRequests: a table's partition count doubled: begun, watched, paused, taken back.
//
// Shapes    The checks are table_split.h's. What changes goes through TableChanges, and holds at
//           once: a registration that comes later is judged by it (configuration_requests.h).
// Errors    As meta/STATE.md 10 lists them; the store's as StoreGuard::ErrorOf says.
// Threads   Strand-bound.
// Lifetime  All that it uses outlives it.
// Promises  split_requests/S1  A request is answered OK only when its change is stored
//               (meta_server/M1), or nothing had to change.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "env/clock.h"
#include "meta/meta_options.h"
#include "meta_state/cluster_state.h"
#include "rpc/transport.h"

namespace arion {

class RequestCodec;
class RequestHandlers;
struct SplitJudgement;
class StoreGuard;
class TableChanges;

// The meta server's part for splits. A member of MetaServer::State, which calls AddTo before the
// first request.
class SplitRequests {
 public:
  // What it works with. Everything here outlives it.
  struct Uses {
    ClusterState& state;
    StoreGuard& store;
    TableChanges& changes;
    const MetaServerOptions& options;
    const RequestCodec& codec;
    const Clock& clock;
  };
  explicit SplitRequests(Uses uses) : uses_(std::move(uses)) {}

  void AddTo(RequestHandlers& handlers);

 private:
  void OnStart(InboundRequest& request);
  void OnQuery(InboundRequest& request);
  void OnControl(InboundRequest& request);
  // Stores what was judged, if anything, and answers with a Response.
  template <class Response>
  void Carry(SplitJudgement judgement, InboundRequest& request);

  const Uses uses_;
};

}  // namespace arion
