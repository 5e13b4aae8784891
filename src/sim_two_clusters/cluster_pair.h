// ClusterPair: two clusters in one SimWorld. All tables of the first one, the source, are
// duplicated to the second, the receiver. Both have clients, troubles and checkers of their own,
// and the way between them has troubles, too.
//
//   ClusterPair pair(ClusterPairOptions::Swarm(seed));
//   RunReport report = pair.Run();
//
// Shapes    Each cluster is a SimCluster with a network of its own, in which the other one's
//           servers are clients. A run: both begin, the tables are made and duplicated; troubles
//           and clients for run_length; all heals and each must be healthy (cluster_health.h); then
//           both must hold the same.
// Threads   One: the world's.
// Demands   Those of SimCluster, of each; those of DuplicationChecker; and
//           cluster_pair/E1  Within 120 s of both being healthy, nobody writing any more, each
//               partition holds the same at both.
//           cluster_pair/E2  Once another primary of a partition is stored, its former one sends
//               nothing of it to the other cluster.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>

#include "meta_state/meta_store.h"
#include "sim/sim_world.h"
#include "sim_checkers/checked_engine.h"
#include "sim_checkers/duplication_checker.h"
#include "sim_cluster/sim_cluster.h"
#include "sim_two_clusters/cluster_pair_options.h"
#include "sim_two_clusters/link_faults.h"

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
  const DuplicationChecker& checker() const { return checker_; }

 private:
  void WatchBoth();
  // What the network tells of duplication.
  void WatchNetworks();
  void Look();
  void LookAtLogs();
  void NoteStored(const MetaStore::Change& change);
  PartitionId SourceOf(PartitionId receiver) const;
  void NoteSender(Endpoint from, PartitionId receiver);

  bool Duplicate();
  bool Add(const std::string& table);
  bool HasBegun();
  void MeetTroubles();
  void AwaitEqual();
  std::string WhatDiffers();
  std::string DescribeRun() const;

  const ClusterPairOptions options_;
  // What the world still has to do at its end may hold an engine.
  std::array<OpenEngines, 2> engines_;
  SimWorld world_;
  SimCluster source_, receiver_;
  DuplicationChecker checker_;
  LinkFaults link_;
  // Ids of the source's tables, by those of the receiver's.
  std::map<int32_t, int32_t> tables_;
  // Of the source: one sentence about each is enough.
  std::set<PartitionId> sent_by_former_;
  absl::Duration equal_after_ = absl::InfiniteDuration();
};

}  // namespace arion::sim
