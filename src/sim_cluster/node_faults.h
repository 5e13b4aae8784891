// NodeFaults: what befalls a node while its disk keeps what it holds: crashes, stops, pauses, tasks
// that are late, calls about names that fail for a while, a slow disk, a wall clock that leaps.
//
// Threads   One: the world's. Lifetime: what it is given outlives it.
// Promises  node_faults/W1  No replica is fenced because its server lacked descriptors, memory or
//               permission for a while.
//           node_faults/W2  One wall clock is wrong at a time: of two that agree with each other
//               nobody can tell that both are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "sim/sim_world.h"
#include "sim_cluster/cluster_settings.h"
#include "sim_cluster/run_checkers.h"
#include "sim_cluster/server_lives.h"
#include "sim_cluster/troubles.h"
#include "sim_metas/ensemble_faults.h"

namespace arion::sim {

// A member of FaultInjector.
class NodeFaults {
 public:
  // `ensemble`: null where there is one meta server.
  NodeFaults(const ClusterSettings& settings, SimWorld& world, ServerLives& lives,
             Troubles& troubles, RunCheckers& checkers, EnsembleFaults* ensemble);

  void CrashOne(SimServer& server, absl::Duration length);
  void CrashAll();
  // Of several one, now and then all.
  void CrashMeta(absl::Duration length);
  // Of several meta servers, one of them in its place now and then.
  void Restart(SimServer& server);

  // Of these each befalls the server, or now and then the meta server.
  void Pause(SimServer& server, absl::Duration length);
  // Together with its clock.
  void PauseMachine(SimServer& server, absl::Duration length);
  void SlowDisk(SimServer& server, absl::Duration length);
  void Lag(SimServer& server, absl::Duration length);
  void FailCallsForWant(SimServer& server, absl::Duration length);
  void JumpWall(SimServer& server);

  void FailCalls(SimNode& node, DiskTrouble trouble, absl::Duration length);
  // Everything works again, at all nodes.
  void End();

 private:
  // Starts it after `delay` and crashes it between two steps of its recovery.
  void CrashInRecovery(SimServer& server, absl::Duration delay, CrashMode mode);
  // The meta server's node with that chance, else the server's.
  SimNode& MetaOr(double percent, SimServer& server);
  void CheckNobodyIsFenced(SimServer& server, absl::Duration after);

  const ClusterSettings& settings_;
  SimWorld& world_;
  ServerLives& lives_;
  Troubles& troubles_;
  RunCheckers& checkers_;
  EnsembleFaults* const ensemble_;
  // The one whose wall clock is wrong.
  SimNode* leapt_ = nullptr;
};

}  // namespace arion::sim
