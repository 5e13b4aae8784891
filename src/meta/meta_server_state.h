// MetaServer::State: the meta server's one strand: what it knows, what is on its way to the store,
// and what it does with each request.
//
// Threads   Strand-bound, except Start, Stop, Overview and stats.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/log.h"
#include "base/status.h"
#include "messages/admin_messages.h"
#include "meta/admin_requests.h"
#include "meta/configuration_requests.h"
#include "meta/meta_server.h"
#include "meta/older_server_vetting.h"
#include "meta/owner_life.h"
#include "meta/recovery_requests.h"
#include "meta/report_numbers.h"
#include "meta/request_codec.h"
#include "meta/request_handlers.h"
#include "meta/store_guard.h"
#include "meta/table_changes.h"
#include "meta/table_news.h"
#include "meta/table_requests.h"
#include "meta/unix_seconds.h"
#include "meta/wall_clocks.h"
#include "meta_judgement/partition_guardian.h"
#include "meta_state/cluster_state.h"
#include "meta_state/failure_detector.h"

namespace arion {

class MetaServer::State : public std::enable_shared_from_this<MetaServer::State> {
 public:
  State(Environment& env, Transport& transport, MetaStore& store, MetaServerOptions options);

  absl::Status Start();
  void Stop(std::function<void()> done);
  void Handle(InboundRequest request);
  void Reconfigure(const MetaServerOptions& options);
  void Overview(std::function<void(ClusterOverview)> done);
  const MetaServerStats& stats() const { return stats_; }

 private:
  // kAwaitsRecovery: nothing is stored, and it was configured to be told to recover first.
  enum class Phase { kStarting, kAwaitsRecovery, kUnderRecovery, kServing, kStopped };

  Instant Now() const { return env_.clock().Now(); }
  FunctionLevel Level() const { return LevelOf(state_, options_); }

  void Begin(ClusterState loaded);
  void BeginRecovery();
  void EndRecovery(RecoveryRequests::End end);

  // ---- requests ----
  void OnRequest(InboundRequest request);

  // ---- servers ----
  void OnBeacon(InboundRequest& request);
  void OnConfigSync(InboundRequest& request);
  void NodeCameAlive(Endpoint endpoint, const char* what);
  void EndIncarnation(Endpoint endpoint);
  void ExpireNodes();

  void StoreWhatWasToldWhenDue(Instant now);

  // ---- plans ----
  void SchedulePlan();
  // At level lively, once each interval.
  void BalanceWhenDue(Instant now);
  void RunPlan();
  Instant SendWhenDue(Partition& partition, Instant now);  // says when it is due next
  void NoteStandstill();
  void WakeAt(Instant when);

  Environment& env_;
  Transport& transport_;
  MetaServerOptions options_;  // const but for Reconfigure
  const RequestCodec codec_;
  RequestHandlers handlers_;
  const StrandPtr strand_;
  OwnerLife owner_life_;
  StoreGuard store_;

  MetaServerStats stats_;
  Phase phase_ = Phase::kStarting;
  Phase phase_before_recovery_ = Phase::kStarting;
  ClusterState state_;
  FailureDetector detector_;
  WallClocks wall_clocks_;
  OlderServerVetting older_servers_;
  ConfigurationRequests configurations_;
  TableNews table_news_;
  TableChanges table_changes_;
  TableRequests tables_;
  RecoveryRequests recovery_;
  AdminRequests admin_;
  const int64_t life_;  // names this life among those of all meta servers
  // As this life found it. To whom leads nothing then, a former life may have given a death of which
  // it knows nothing, since its clock stood still; to be told so once more costs it nothing.
  std::set<Endpoint> led_at_begin_;
  ReportNumbers numbers_;
  Instant began_at_{0};
  Instant leases_end_{0};  // those that this meta server, or a former one, granted
  bool plan_is_scheduled_ = false;
  TimerId timer_ = kNoTimer;
  Instant wake_at_ = Instant::InfiniteFuture();
  Instant excused_until_{0};  // nobody is declared dead before
  Instant balance_at_{0};
  Instant store_told_at_{0};
};

}  // namespace arion
