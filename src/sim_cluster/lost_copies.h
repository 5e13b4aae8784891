// LostCopies: the one copy that a run may lose, and the ways to lose it: a failed sync, a disk that
// is lost, rots, can't be read, comes back older or is another one's, a server that never comes
// back.
//
// Shapes    It is lost in a calm moment only, and nothing else happens until it is there again
//           (troubles/T2).
// Threads   One: the world's. Lifetime: what it is given outlives it.
// Promises  lost_copies/C1  Of an only copy nothing is damaged that a power cut could have left so:
//               nobody could tell the two apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/sim_world.h"
#include "sim_cluster/cluster_settings.h"
#include "sim_cluster/groups.h"
#include "sim_cluster/node_faults.h"
#include "sim_cluster/older_disks.h"
#include "sim_cluster/server_lives.h"
#include "sim_cluster/troubles.h"

namespace arion::sim {

// A member of FaultInjector.
class LostCopies {
 public:
  LostCopies(const ClusterSettings& settings, SimWorld& world, ServerLives& lives,
             const Groups& groups, Troubles& troubles, NodeFaults& nodes, OlderDisks& disks);

  // Unless one was lost before, or it is not calm.
  void Lose(SimServer& server, Fault fault);

 private:
  bool MayBeLost(const SimServer& server, Fault fault) const;
  // Calls fail for a while; then its server begins anew.
  void FailDisk(SimServer& server);
  // What happens while its server is down.
  void DamageAtRest(SimServer& server, Fault fault);
  void Rot(SimServer& server);
  void FailReads(SimServer& server);
  void Replace(SimServer& server);
  // All of the data directories, or one.
  void LoseDirectories(SimServer& server);
  void LoseAllDirectories(SimServer& server);
  static void MakeEmpty(SimDisk& disk, const std::string& path);

  const ClusterSettings& settings_;
  SimWorld& world_;
  ServerLives& lives_;
  const Groups& groups_;
  Troubles& troubles_;
  NodeFaults& nodes_;
  OlderDisks& disks_;
  int replacements_ = 0;
};

}  // namespace arion::sim
