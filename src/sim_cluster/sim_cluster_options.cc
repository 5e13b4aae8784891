// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/sim_cluster_options.h"

#include <algorithm>
#include <bit>

#include "sim/sim_random.h"

namespace arion::sim {

SimClusterOptions SimClusterOptions::Swarm(uint64_t seed) {
  SimClusterOptions options;
  options.seed = seed;
  options.topology = Topology::Swarm(seed);
  options.faults = FaultMix::Swarm(seed);
  return options;
}

SimClusterOptions SimClusterOptions::LyingDisks(uint64_t seed) {
  SimClusterOptions options = Swarm(seed);
  options.faults = FaultMix::None();
  options.faults.kinds = {Fault::kCrashAll};
  options.faults.length_max = absl::Seconds(4);  // up again before the next: what was lost is read
  options.disks = Disks::kForgetFlushes;
  options.durability = Durability::kFsync;  // the other promises nothing about flushes
  // What is lost is the newest, so that only a checker can tell; of holes the log itself speaks,
  // and its partition is dead.
  options.crash_mode = CrashMode::kPowerPrefix;
  options.steps_per_key = 5000;  // nearly each key is in disorder, and each costs a whole search
  return options;
}

SimClusterOptions SimClusterOptions::OlderCopyPutBack(uint64_t seed) {
  SimClusterOptions options = Swarm(seed);
  // What makes new configurations. A table that the copy does not know would be lost with it.
  options.faults.kinds = {Fault::kCrashOne, Fault::kRestart, Fault::kPause, Fault::kCutFromMeta};
  // Short, so that there are calm moments in which the copy can be put back.
  options.faults.length_max = std::min(options.faults.length_max, absl::Seconds(8));
  options.faults.interval_max = options.faults.interval_min + absl::Seconds(8);
  options.faults.balancer = FaultMix::Balancer::kOff;
  options.meta_state = MetaState::kOlderCopyPutBack;
  return options;
}

SimClusterOptions SimClusterOptions::LateReports(uint64_t seed) {
  SimClusterOptions options = Swarm(seed);
  // What makes reports untrue: replicas are loaded, and take office.
  options.faults.kinds = {Fault::kCrashOne, Fault::kCrashAll,    Fault::kCrashMeta,
                          Fault::kRestart,  Fault::kCutFromMeta, Fault::kCutFromPeer,
                          Fault::kWallJump};
  options.faults.length_max = std::min(options.faults.length_max, absl::Seconds(8));
  options.reports = Reports::kLateAgain;
  return options;
}

SimClusterOptions SimClusterOptions::OneDiskFull(uint64_t seed) {
  SimClusterOptions options = Swarm(seed);
  options.topology.copies = 3;
  options.faults = FaultMix::None();
  options.space = Space::kOneDiskFull;
  return options;
}

SimClusterOptions SimClusterOptions::Mixed(uint64_t seed, int older) {
  SimClusterOptions options = Swarm(seed);
  options.topology.older = std::min(older, options.topology.servers);
  options.faults.KeepWhatOlderServersMeet();
  return options;
}

SimClusterOptions SimClusterOptions::SeveralMetas(uint64_t seed, int metas) {
  SimClusterOptions options = Swarm(seed);
  options.topology.metas = metas;
  options.faults.MeetWhatSeveralMetasDo(seed);
  options.DrawTables();
  return options;
}

SimClusterOptions SimClusterOptions::OldMeta(uint64_t seed, int older) {
  SimClusterOptions options = older > 0 ? Mixed(seed, older) : Swarm(seed);
  options.topology.has_old_meta = true;
  options.faults.KeepWhatAnOldMetaServerMeets();
  return options;
}

SimClusterOptions SimClusterOptions::Drawn(uint64_t seed) {
  SimClusterOptions options = DrawnVersions(seed);
  options.DrawTables();
  return options;
}

void SimClusterOptions::DrawTables() {
  SimRandom random(seed ^ 0x14de7);
  // A 2.5.0 server knows of none.
  if (random.Percent(20) && topology.older == 0 && !topology.has_old_meta)
    indexes = static_cast<int>(random.Between(1, 3));
  SimRandom splits_random(seed ^ 0x5b11);
  const bool may_split = std::has_single_bit(static_cast<uint32_t>(topology.partitions)) &&
                         topology.older == 0 && !topology.has_old_meta;
  // What an older state of the meta server does not know of a split a person must know
  // (meta/STATE.md 9.4).
  const bool is_put_back = faults.Has(Fault::kMetaPutBack);
  splits = may_split && !is_put_back && splits_random.Percent(60);
}

SimClusterOptions SimClusterOptions::DrawnVersions(uint64_t seed) {
  // Apart: all other seeds stay what they were.
  SimRandom random(seed ^ 0x250), meta_random(seed ^ 0x250e7a);
  const SimClusterOptions swarm = Swarm(seed);
  int older = 0;
  if (random.Percent(20))
    older = 1 + static_cast<int>(random.Below(static_cast<uint64_t>(swarm.topology.servers) - 1));
  if (meta_random.Percent(5)) return OldMeta(seed, older);
  return older > 0 ? Mixed(seed, older) : swarm;
}

}  // namespace arion::sim
