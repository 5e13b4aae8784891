// ClusterPair: two clusters in one SimWorld. Tables of the first one, the source, are duplicated to
// the second, the receiver, and in some runs those of the second to the first, too. Both have
// clients, troubles and checkers of their own, and the way between them has troubles, too.
//
//   ClusterPair pair(ClusterPairOptions::Swarm(seed));
//   RunReport report = pair.Run();
//
// Shapes    Each cluster is a SimCluster with a network of its own, in which the other one's
//           servers are clients. A run: both begin, the tables are made and duplicated; troubles
//           and clients for run_length; all heals and each must be healthy (cluster_health.h); then
//           both must hold the same. One way, clients of the source alone write what is sent; both
//           ways, clients of both write the same records.
// Threads   One: the world's.
// Demands   Those of SimCluster, of each; those of DuplicationWay, and one way of DuplicationChecker,
//           both ways of ConvergenceChecker; and
//           cluster_pair/E1  Within 120 s of both being healthy, nobody writing any more, each
//               partition holds the same at both.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "sim/sim_world.h"
#include "sim_checkers/checked_engine.h"
#include "sim_checkers/convergence_checker.h"
#include "sim_cluster/sim_cluster.h"
#include "sim_two_clusters/cluster_pair_options.h"
#include "sim_two_clusters/duplication_pauses.h"
#include "sim_two_clusters/duplication_way.h"
#include "sim_two_clusters/link_faults.h"
#include "sim_two_clusters/shared_table_clients.h"

namespace arion::sim {

struct RunReport;

// One run. Make it, call Run once, read the report.
class ClusterPair {
 public:
  explicit ClusterPair(ClusterPairOptions options);
  ~ClusterPair();

  // Of both.
  RunReport Run();
  const SimWorld& world() const { return world_; }
  // Of the source's writes at the receiver, one way.
  const DuplicationChecker& checker() const { return there_.checker(); }
  // Both ways.
  const ConvergenceChecker& convergence() const { return convergence_; }

 private:
  void WatchBoth();
  void WatchOneWay();
  void WatchBothWays();
  bool Duplicate(DuplicationWay::From from);
  void StartSharedClients();
  void MeetTroubles();
  void AwaitEqual();
  std::string WhatDiffers();
  void Judge(RunReport* report) const;
  std::string DescribeRun() const;

  const ClusterPairOptions options_;
  // What the world still has to do at its end may hold an engine.
  std::array<OpenEngines, 2> engines_;
  SimWorld world_;
  SimCluster source_, receiver_;
  DuplicationWay there_;
  // nullopt: there is no way back.
  std::optional<DuplicationWay> back_;
  ConvergenceChecker convergence_;
  LinkFaults link_;
  std::optional<LinkFaults> link_back_;
  // Both ways only, of each cluster.
  std::array<std::unique_ptr<SharedTableClients>, 2> shared_;
  // Of each direction; null: there are none.
  std::array<std::unique_ptr<DuplicationPauses>, 2> pauses_;
  absl::Duration equal_after_ = absl::InfiniteDuration();
};

}  // namespace arion::sim
