// TableRequests: creating, dropping, recalling and changing tables, from the request to the answer.
//
// Shapes    The checks are table_lifecycle.h's and table_environments.h's. A change that passes
//           goes through TableChanges; a new table is stored here.
// Errors    As meta/STATE.md 10 lists them; the store's as StoreGuard::ErrorOf says.
// Threads   Strand-bound.
// Lifetime  All that it uses outlives it.
// Promises  table_requests/T1  A request is answered OK only when its change is stored
//               (meta_server/M1), or nothing had to change.
//           table_requests/T2  A dropped table is recalled when each living server has heard of the
//               drop, or not at all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "env/clock.h"
#include "env/strand.h"
#include "meta/meta_options.h"
#include "meta/store_guard.h"
#include "meta_state/cluster_state.h"
#include "meta_state/table_lifecycle.h"
#include "rpc/transport.h"

namespace arion {

class OwnerLife;
class RequestCodec;
class RequestHandlers;
class TableChanges;

// The meta server's part for tables. A member of MetaServer::State, which calls AddTo before the
// first request and Stop once.
class TableRequests {
 public:
  // How long a recall waits for servers to hear of the drop, and how often it looks.
  static constexpr absl::Duration kRecallPatience = absl::Seconds(3);
  static constexpr absl::Duration kRecallLook = absl::Milliseconds(30);

  // What it works with. Everything here outlives it.
  struct Uses {
    ClusterState& state;
    StoreGuard& store;
    TableChanges& changes;
    const MetaServerOptions& options;
    const RequestCodec& codec;
    const Clock& clock;
    StrandPtr strand;
    const OwnerLife& life;
    // What the guardian sees has changed: it must look again.
    std::function<void()> plan;
  };
  explicit TableRequests(Uses uses) : uses_(std::move(uses)) {}

  void AddTo(RequestHandlers& handlers);
  // No recall is waited for any more.
  void Stop() { is_stopped_ = true; }

 private:
  void OnCreate(InboundRequest& request);
  void OnDrop(InboundRequest& request);
  void OnRecall(InboundRequest& request);
  void Recall(InboundRequest& request, Instant until);
  void OnRename(InboundRequest& request);
  void OnUpdateAppEnv(InboundRequest& request);
  void OnSetMaxReplicaCount(InboundRequest& request);
  void OnStartManualCompact(InboundRequest& request);
  void ShowCompactionQueued(int32_t app_id);

  ErrorCode WhyNoTableChange() const { return uses_.store.WhyNoTableChange(); }
  bool CanChangeTables() const { return WhyNoTableChange() == ErrorCode::kOk; }
  FunctionLevel Level() const { return LevelOf(uses_.state, uses_.options); }
  TableLimits Limits() const { return LimitsOf(uses_.options); }

  const Uses uses_;
  bool is_stopped_ = false;
};

}  // namespace arion
