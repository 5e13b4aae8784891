// FaultInjector: the troubles of one run, drawn from its mix while they are on, and how all of them
// end.
//
//   FaultInjector faults(...);
//   faults.Begin();
//   world.RunFor(absl::Minutes(2));
//   faults.HealAll();
//
// Shapes    Each kind of fault is carried out by one of the parts; this one draws, counts and
//           shares out.
// Threads   One: the world's. Lifetime: what it is given outlives it.
// Promises  fault_injector/J1  A fault that is left out throws its dice all the same, so that those
//               which are left stay what they were.
//           fault_injector/J2  After HealAll nothing is in trouble, and whatever was down is
//               started.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "sim/sim_transport.h"
#include "sim/sim_world.h"
#include "sim_cluster/cluster_settings.h"
#include "sim_cluster/full_disks.h"
#include "sim_cluster/groups.h"
#include "sim_cluster/lost_copies.h"
#include "sim_cluster/network_faults.h"
#include "sim_cluster/node_faults.h"
#include "sim_cluster/older_disks.h"
#include "sim_cluster/older_states.h"
#include "sim_cluster/run_checkers.h"
#include "sim_cluster/server_lives.h"
#include "sim_cluster/silent_changes.h"
#include "sim_cluster/troubles.h"
#include "sim_metas/ensemble_faults.h"
#include "sim_workloads/table_churn.h"

namespace arion::sim {

// A member of SimCluster. It owns the parts that carry faults out.
class FaultInjector {
 public:
  FaultInjector(const ClusterSettings& settings, SimWorld& world, SimNetwork& network,
                ServerLives& lives, Groups& groups, TableChurn& churn, RunCheckers& checkers);

  void Begin();
  void HealAll();

  const Troubles& troubles() const { return troubles_; }
  const FullDisks& full_disks() const { return full_disks_; }
  OlderStates& older_states() { return older_states_; }

 private:
  void ScheduleNext();
  // One of the mix, at some server, for some time.
  void Inject(Fault fault);
  void Carry(Fault fault, SimServer& server, absl::Duration length);
  void CarryAtMetas(Fault fault, absl::Duration length);
  void RemoveLock();

  const ClusterSettings& settings_;
  SimWorld& world_;
  ServerLives& lives_;
  TableChurn& churn_;
  Troubles troubles_;
  // Nullopt: there is one meta server.
  std::optional<EnsembleFaults> ensemble_faults_;
  NetworkFaults network_faults_;
  NodeFaults node_faults_;
  FullDisks full_disks_;
  OlderDisks older_disks_;
  OlderStates older_states_;
  SilentChanges silent_changes_;
  LostCopies lost_copies_;
};

}  // namespace arion::sim
