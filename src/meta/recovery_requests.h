// RecoveryRequests: the meta server makes its state again from what replica servers hold, when an
// administrator tells it to. What becomes of what they say: cluster_recovery.h.
//
// Shapes    One recovery at a time, from the request to the answer; who asks again meanwhile gets
//           the same answer. The servers are asked when no lease that was granted before can still
//           be held. Meanwhile nothing else is served, no beacon answered either: so no primary of
//           before serves beside one that is chosen.
// Errors    As meta/STATE.md 11.2 lists them.
// Threads   Strand-bound; callbacks come on the strand, while the owner lives.
// Lifetime  All that it uses outlives it.
// Promises  recovery_requests/R1  Replica servers are asked only after the time that leases_end
//               said.
//           recovery_requests/R2  The state has the tables that were learned when they are stored,
//               or none (meta_server/M1).
//           recovery_requests/R3  Each `begun` is followed by one `ended`, unless it is stopped.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "env/clock.h"
#include "env/strand.h"
#include "messages/admin_messages.h"
#include "meta/cluster_recovery.h"
#include "meta_state/cluster_state.h"
#include "meta_state/configuration_change.h"
#include "rpc/transport.h"

namespace arion {

class FailureDetector;
struct MetaServerOptions;
class OwnerLife;
class ReportNumbers;
class RequestCodec;
class RequestHandlers;
class StoreGuard;
class TableChanges;

// A member of MetaServer::State, which serves nothing else between `begun` and `ended`.
class RecoveryRequests {
 public:
  struct Uses {
    ClusterState& state;
    FailureDetector& detector;
    const ReportNumbers& numbers;
    StoreGuard& store;
    const TableChanges& changes;
    const MetaServerOptions& options;
    const RequestCodec& codec;
    Transport& transport;
    const Clock& clock;
    StrandPtr strand;
    const OwnerLife& life;
  };
  // kFailed: all is as it was.
  enum class End { kRecovered, kFailed };
  struct Events {
    // When the last lease that was granted before has ended.
    std::function<Instant()> leases_end;
    // From now on nothing else is served.
    std::function<void()> begun;
    // Whoever asked has been answered.
    std::function<void(End)> ended;
  };
  RecoveryRequests(Uses uses, Events events) : uses_(std::move(uses)), events_(std::move(events)) {}

  void AddTo(RequestHandlers& handlers);
  void Stop() { is_stopped_ = true; }

 private:
  // One recovery, from the first request to the answer. Questions under way hold it: an answer that
  // comes after a stop still finds where to write.
  struct Recovery {
    RecoveryOptions options;
    std::vector<InboundRequest> askers;
    std::vector<HeldByServer> held;
    size_t answers_missing = 0;
  };
  void OnStart(InboundRequest& request);
  // Why it may not begin; nullopt: it may.
  std::optional<StartRecoveryResponse> WhyNot(const std::set<Endpoint>& nodes) const;
  void AskServers();
  template <class Response, class Request, class Take>
  void AskServer(size_t index, const char* name, const Request& request, Take take);
  void Store();
  void Install(RecoveredCluster recovered);
  void Finish(const StartRecoveryResponse& response);

  const Uses uses_;
  const Events events_;
  // While one is under way.
  std::shared_ptr<Recovery> recovery_;
  bool is_stopped_ = false;
};

}  // namespace arion
