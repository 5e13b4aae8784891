// FullDisks: a server's disk that takes nothing more for a minute while all else is calm, and the
// meta server's, for which its reserve provides.
//
// Threads   One: the world's. Lifetime: what it is given outlives it.
// Promises  full_disks/F1  Half a minute after a server's disk was filled no group needs that
//               server where others have room, and no write is refused for it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sim_world.h"
#include "sim_cluster/groups.h"
#include "sim_cluster/run_checkers.h"
#include "sim_cluster/sim_server.h"
#include "sim_cluster/troubles.h"

namespace arion::sim {

class ServerLives;

// A member of FaultInjector.
class FullDisks {
 public:
  FullDisks(SimWorld& world, ServerLives& lives, const Groups& groups, Troubles& troubles,
            RunCheckers& checkers);

  // Of one server, and judges what becomes of it.
  void FillOneAndJudge();
  // Of a server, in passing.
  void Fill(SimServer& server, absl::Duration length);
  // Once its reserve is whole: then no failover may be refused.
  void FillMeta(absl::Duration length);
  // Each partition, since a full disk is left.
  bool must_take_writes() const { return must_take_writes_; }

 private:
  void Judge(const SimServer& full);

  SimWorld& world_;
  ServerLives& lives_;
  const Groups& groups_;
  Troubles& troubles_;
  RunCheckers& checkers_;
  bool must_take_writes_ = false;
};

}  // namespace arion::sim
