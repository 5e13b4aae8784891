// MetaServer::State connects the parts of the meta server on its one strand: what it knows, which
// requests are answered in which phase, and the plan after every event.
//
// Threads   Strand-bound, except Start, Stop, Overview and stats.
// Lifetime  Its parts are members: what they wait for comes back only while it lives
//           (owner_life.h).
// Promises  meta_server_state/S1  Unless it serves, nothing is planned, and no request is handled
//               but one to recover.
//           meta_server_state/S2  What the guardian sees has changed: it looks again, soon.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "env/environment.h"
#include "meta/admin_requests.h"
#include "meta/configuration_requests.h"
#include "meta/duplication_requests.h"
#include "meta/learner_proof.h"
#include "meta/meta_server.h"
#include "meta/older_server_vetting.h"
#include "meta/owner_life.h"
#include "meta/recovery_requests.h"
#include "meta/request_codec.h"
#include "meta/request_handlers.h"
#include "meta/server_requests.h"
#include "meta/split_requests.h"
#include "meta/store_guard.h"
#include "meta/table_changes.h"
#include "meta/table_news.h"
#include "meta/table_requests.h"
#include "meta/told_writer.h"
#include "meta/wall_clocks.h"
#include "meta_overview/cluster_overview.h"
#include "meta_state/cluster_state.h"
#include "meta_state/failure_detector.h"
#include "meta_state/report_numbers.h"

namespace arion {

// Held by a shared_ptr, because posted tasks hold weak ones: what comes back after the MetaServer
// is gone does nothing. Members stand in the order in which they need each other.
class MetaServer::State : public std::enable_shared_from_this<MetaServer::State> {
 public:
  State(Environment& env, Transport& transport, std::shared_ptr<MetaStore> store,
        MetaServerOptions options, std::shared_ptr<MetaServerStats> stats);

  absl::Status Start();
  void Stop(std::function<void()> done);
  void Handle(InboundRequest request);
  void Reconfigure(const MetaServerOptions& options);
  void Overview(std::function<void(ClusterOverview)> done);
  const MetaServerStats& stats() const { return *stats_; }
  RequestHandler Handler();

 private:
  // kAwaitsRecovery: nothing is stored, and it was configured to be told to recover first.
  enum class Phase { kStarting, kAwaitsRecovery, kUnderRecovery, kServing, kStopped };

  // ---- what the parts are given; made before the parts that they call ----
  ServerRequests::Uses UsesOfServers();
  ServerRequests::Events EventsOfServers();
  TableChanges::Events EventsOfTableChanges();
  DuplicationRequests::Uses UsesOfDuplications();
  RecoveryRequests::Uses UsesOfRecovery();

  Instant Now() const { return env_.clock().Now(); }
  FunctionLevel Level() const { return LevelOf(state_, options_); }

  // From what was stored, or from nothing, to serving; or to a recovery, and from there to serving.
  void Begin(ClusterState loaded);
  void BeginRecovery();
  void EndRecovery(RecoveryRequests::End end);

  // Decides by the phase whether the request is handled, and passes it to its handler.
  void OnRequest(InboundRequest request);

  // ---- plans ----
  void SchedulePlan();
  // At level lively, once each interval.
  void BalanceWhenDue(Instant now);
  void RunPlan();
  // Says when it is due next.
  Instant SendWhenDue(Partition& partition, Instant now);
  void NoteStandstill();
  void WakeAt(Instant when);

  Environment& env_;
  Transport& transport_;
  // Const but for Reconfigure.
  MetaServerOptions options_;
  const RequestCodec codec_;
  RequestHandlers handlers_;
  const StrandPtr strand_;
  OwnerLife owner_life_;
  const std::shared_ptr<MetaStore> owned_store_;
  StoreGuard store_;

  const std::shared_ptr<MetaServerStats> stats_;
  Phase phase_ = Phase::kStarting;
  Phase phase_before_recovery_ = Phase::kStarting;
  ClusterState state_;
  FailureDetector detector_;
  WallClocks wall_clocks_;
  OlderServerVetting older_servers_;
  ServerRequests servers_;
  LearnerProof learners_;
  ConfigurationRequests configurations_;
  TableNews table_news_;
  TableChanges table_changes_;
  TableRequests tables_;
  SplitRequests splits_;
  DuplicationRequests duplications_;
  RecoveryRequests recovery_;
  AdminRequests admin_;
  ToldWriter told_;
  ReportNumbers numbers_;
  bool plan_is_scheduled_ = false;
  TimerId timer_ = kNoTimer;
  Instant wake_at_ = Instant::InfiniteFuture();
  // Nobody is declared dead before.
  Instant excused_until_{0};
  Instant balance_at_{0};
};

}  // namespace arion
