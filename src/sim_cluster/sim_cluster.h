// SimCluster: a whole cluster in one SimWorld: a meta server with its journal, replica servers with
// engines in memory, real clients, the troubles of a FaultMix, and every checker.
//
//   SimCluster cluster({.seed = seed, .faults = FaultMix::Swarm(seed)});
//   RunReport report = cluster.Run();
//   EXPECT_THAT(report.violations, IsEmpty()) << report.Replay();
//
// Shapes   A run: start, create the tables, wait until they are whole; faults and clients for
//          run_length; heal everything and demand health (cluster_health.h); then that what nobody
//          needs leaves the disks (kept_things.h). Its parts know each other downwards only, and
//          none knows the whole. Of two clusters in one world each is run step by step
//          (sim_two_clusters/cluster_pair.h).
// Threads  One: the world's.
// Promises sim_cluster/W2  Equal options give equal runs: the same trace_hash, the same report.
// Demands  Those of checkers.h and bounds.h, and those that the headers of the parts state.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "sim/sim_transport.h"
#include "sim/sim_world.h"
#include "sim_checkers/checked_engine.h"
#include "sim_cluster/cluster_health.h"
#include "sim_cluster/cluster_settings.h"
#include "sim_cluster/fault_injector.h"
#include "sim_cluster/groups.h"
#include "sim_cluster/kept_things.h"
#include "sim_cluster/network_watch.h"
#include "sim_cluster/run_checkers.h"
#include "sim_cluster/server_lives.h"
#include "sim_cluster/sim_cluster_options.h"
#include "sim_workloads/index_workload.h"
#include "sim_workloads/split_workload.h"
#include "sim_workloads/table_churn.h"
#include "sim_workloads/workload.h"

namespace arion::sim {

class ProbeClient;
struct RunReport;

// One run. Make it, call Run once, read the report.
class SimCluster {
 public:
  explicit SimCluster(SimClusterOptions options);
  // One of several in a world, which ends before `engines`.
  SimCluster(SimClusterOptions options, SimWorld& world, OpenEngines& engines);
  ~SimCluster();

  RunReport Run();
  const SimWorld& world() const { return world_; }

  // What Run does, step by step, of a cluster that is not alone. All but the troubles run the
  // world. Begin: its tables are whole; false: a violation says why not.
  bool Begin();
  // Another table that is to stay; its first members begin with what another cluster holds.
  void AddCopiedTable(WorkloadTable table);
  void BeginTroubles();
  void EndTroubles();
  bool HasDoneTooLittle() const;
  void AwaitHealth();
  // That a partition waits for a person: nothing more can be asked of the run.
  bool IsLeftToOperator() const { return health_.IsLeftToOperator(); }
  void AwaitTidiness();
  RunReport Report() const;
  void EndServers() { lives_.EndAll(); }

  const ClusterSettings& settings() const { return settings_; }
  SimNetwork& network() { return network_; }
  ServerLives& lives() { return lives_; }
  const Groups& groups() const { return groups_; }
  const OpenEngines& engines() const { return engines_; }
  RunCheckers& checkers() { return checkers_; }

 private:
  // What the world still has to do at its end may hold an engine.
  struct Own {
    explicit Own(uint64_t seed) : world(seed) {}
    OpenEngines engines;
    SimWorld world;
  };
  SimCluster(SimClusterOptions options, std::unique_ptr<Own> own, SimWorld* world,
             OpenEngines* engines);
  // And draws the rest of the settings: the order of these dice is part of each seed.
  SimNode& AddMetaNode();
  bool CreateTables();
  void CreateTable(ProbeClient& admin, const StrandPtr& strand, WorkloadTable* table);
  void StartWorkload();
  WorkloadOptions DrawWorkload();
  void MeetTroubles();
  void AwaitIndexes();
  std::string Mix() const;
  // That the run proves something.
  void Demand(RunReport* report) const;

  // Null: the world is another's.
  const std::unique_ptr<Own> own_;
  OpenEngines& engines_;
  SimWorld& world_;
  SimNetwork network_;
  ClusterSettings settings_;
  const IndexPlan indexes_planned_;
  RunCheckers checkers_;
  Groups groups_;
  ServerLives lives_;
  TableChurn churn_;
  FaultInjector faults_;
  NetworkWatch watch_;
  KeptThings kept_;
  ClusterHealth health_;
  // When all troubles ended.
  Instant healing_since_{0};
  std::unique_ptr<Workload> workload_;
  // Null: there are none.
  std::unique_ptr<IndexWorkload> indexes_;
  std::unique_ptr<SplitWorkload> splits_;
};

}  // namespace arion::sim
