// KeptThings: what everybody in a cluster keeps: looked at every few seconds against the bounds,
// and at the end against what is needed.
//
// Shapes    Left over is a directory that no member and no held table needs, one that was set aside
//           for longer than it is to be kept, a copy or checkpoint in the making, a request that
//           waits.
// Threads   One: the world's. Lifetime: what it is given outlives it.
// Demands   kept_things/K1  What nobody needs leaves the disks within 60 s of a lively meta server.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "meta_state/cluster_state.h"
#include "sim/sim_transport.h"
#include "sim/sim_world.h"
#include "sim_checkers/checked_engine.h"
#include "sim_cluster/cluster_settings.h"
#include "sim_cluster/run_checkers.h"
#include "sim_cluster/server_lives.h"

namespace arion {
struct DiskSnapshot;
}

namespace arion::sim {

// A member of SimCluster.
class KeptThings {
 public:
  KeptThings(const ClusterSettings& settings, SimWorld& world, const SimNetwork& network,
             ServerLives& lives, const OpenEngines& engines, RunCheckers& checkers);

  // From now on.
  void WatchBounds();
  // Of a cluster that is healthy.
  void AwaitTidiness();
  // Of the fullest server, now.
  uint64_t DiskBytesMax() const;

 private:
  void Note(SimServer& server);
  void NoteDisk(SimServer& server);
  void NoteReplicas(SimServer& server);
  std::string WhatIsLeftOver() const;
  std::string WhatIsLeftOver(const SimServer& server, const ClusterState& state) const;
  std::string LeftOverOn(const DiskSnapshot& disk, const SimServer& server,
                         const ClusterState& state) const;
  bool IsNeeded(PartitionId pid, const SimServer& server, const ClusterState& state) const;
  bool IsKeptStill(const std::string& set_aside, const SimServer& server) const;

  const ClusterSettings& settings_;
  SimWorld& world_;
  const SimNetwork& network_;
  ServerLives& lives_;
  const OpenEngines& engines_;
  RunCheckers& checkers_;
};

}  // namespace arion::sim
