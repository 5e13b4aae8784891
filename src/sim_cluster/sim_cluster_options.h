// SimClusterOptions: what one run is told: its seed, how large the cluster is, which troubles it
// meets, and the special conditions that a seed does not draw. A value; who draws from a seed what
// is left open is ClusterSettings.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "sim/sim_environment.h"
#include "sim_checkers/data_checker.h"
#include "sim_cluster/fault_mix.h"

namespace arion::sim {

// Designated initialisers name what differs from a usual run: {.seed = 7, .run_length =
// absl::Minutes(5)}.
struct SimClusterOptions {
  uint64_t seed = 1;
  Topology topology;
  FaultMix faults;
  // For shrinking a red seed: what is left out, though its dice are thrown. Faults are numbered
  // from 1 as they are drawn.
  std::set<Fault> without;
  std::optional<std::set<int64_t>> only;
  absl::Duration run_length = absl::Minutes(2);
  enum class Disks {
    kHonest,
    kForgetFlushes
  };  // the second: a canary that the checkers must catch
  Disks disks = Disks::kHonest;
  // The second: once, in a calm moment, the meta server's state is replaced by a copy that was made
  // when ballots were smaller (meta_state/stale_configuration.h). Then there is no trouble for a
  // while: what such a copy does not know shows by reports only.
  enum class MetaState { kKept, kOlderCopyPutBack };
  MetaState meta_state = MetaState::kKept;
  // The second: config syncs come again long after they were sent, by several graces.
  enum class Reports { kOnce, kLateAgain };
  Reports reports = Reports::kOnce;
  // The second: one server's disk takes nothing more for a minute. After 30 s of it no group may
  // need it any more, where others have room, and no write may be refused for it.
  enum class Space { kEnough, kOneDiskFull };
  Space space = Space::kEnough;
  // Indexes of each table (sim_workloads/index_workload.h).
  int indexes = 0;
  // Whether tables are split (sim_workloads/split_workload.h).
  bool splits = false;
  // One of two clusters that duplicate tables (sim_two_clusters/cluster_pair.h): its name, and by
  // names what marks the writes of each. Empty: there is no other.
  std::string name;
  std::map<std::string, uint8_t> duplication_group;
  // So many of its tables, the first ones, take what the other cluster sends: no client writes
  // there.
  int received_tables = 0;
  // The other cluster's duplication makes these, in the midst of the run.
  bool makes_received_tables_late = false;
  // Unset: as the seed draws.
  std::optional<Durability> durability;
  std::optional<CrashMode> crash_mode;
  int64_t steps_per_key = DataCheckOptions().steps_per_key;
  // A run that did less proves nothing and fails.
  int64_t acknowledged_writes_min = 20;
  int64_t data_operations_min = 30;

  static SimClusterOptions Swarm(uint64_t seed);
  // The canary: disks forget what was flushed, and all servers crash now and then.
  static SimClusterOptions LyingDisks(uint64_t seed);
  static SimClusterOptions OlderCopyPutBack(uint64_t seed);
  static SimClusterOptions LateReports(uint64_t seed);
  static SimClusterOptions OneDiskFull(uint64_t seed);
  // So many servers are of version 2.5.0.
  static SimClusterOptions Mixed(uint64_t seed, int older);
  // So many meta servers, from 2 on; indexes and splits as Drawn.
  static SimClusterOptions SeveralMetas(uint64_t seed, int metas);
  // The meta server is of version 2.5.0, and so are so many servers.
  static SimClusterOptions OldMeta(uint64_t seed, int older);
  // Mixed in a fifth of the seeds, and OldMeta in a twentieth, else as Swarm. In a fifth tables
  // have indexes, in a quarter they are split, but where a server is of version 2.5.0.
  static SimClusterOptions Drawn(uint64_t seed);
  static SimClusterOptions DrawnVersions(uint64_t seed);

 private:
  void DrawTables();
};

}  // namespace arion::sim
