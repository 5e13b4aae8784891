// SPDX-License-Identifier: Apache-2.0
#include "sim_two_clusters/cluster_pair_options.h"

#include <absl/strings/str_cat.h>

#include "sim/sim_random.h"

namespace arion::sim {
namespace {

// Those that lose nothing and let all monotonic clocks go on: what a machine that stood still with
// its clock sends when it goes on is a request that comes late.
constexpr Fault kFaults[] = {
    Fault::kCrashOne, Fault::kCrashAll,    Fault::kCrashMeta,   Fault::kRestart,
    Fault::kPause,    Fault::kCutFromMeta, Fault::kCutFromPeer, Fault::kCutOneWay,
    Fault::kSplit,    Fault::kWeather,     Fault::kSlowDisk,    Fault::kReset,
    Fault::kLag,      Fault::kDiskFull,    Fault::kTableChurn,  Fault::kWallJump};

FaultMix DrawFaults(SimRandom& random) {
  FaultMix mix;
  for (const Fault fault : kFaults)
    if (random.Coin()) mix.kinds.push_back(fault);
  if (mix.kinds.empty()) mix.kinds.push_back(Fault::kCrashOne);
  mix.interval_min = absl::Seconds(1);
  mix.interval_max = random.Between(absl::Seconds(4), absl::Seconds(12));
  mix.length_max = random.Between(absl::Seconds(3), absl::Seconds(15));
  mix.clock_drift_percent = random.Coin() ? 0 : 4;
  if (random.Percent(40)) mix.balancer = FaultMix::Balancer::kOn;
  return mix;
}

SimClusterOptions OptionsOf(const char* name, uint64_t seed, SimRandom& random) {
  SimClusterOptions options;
  options.seed = seed;
  options.name = name;
  options.duplication_group = {
      {ClusterPairOptions::kSourceName, ClusterPairOptions::kSourceId},
      {ClusterPairOptions::kReceiverName, ClusterPairOptions::kReceiverId}};
  options.topology.servers = static_cast<int>(random.Between(3, 5));
  options.topology.copies = random.Percent(80) ? 3 : 2;
  options.faults = DrawFaults(random);
  return options;
}

}  // namespace

ClusterPairOptions ClusterPairOptions::Swarm(uint64_t seed) {
  SimRandom random(seed ^ 0x2c1);
  ClusterPairOptions options;
  options.seed = seed;
  options.source = OptionsOf(kSourceName, seed, random);
  options.receiver = OptionsOf(kReceiverName, seed, random);
  options.source.topology.tables = static_cast<int>(random.Between(1, 2));
  options.receiver.topology.tables = options.source.topology.tables + 1;
  options.source.topology.partitions = static_cast<int>(random.Between(1, 3));
  options.receiver.topology.partitions = options.source.topology.partitions;
  options.receiver.received_tables = options.source.topology.tables;
  options.link_trouble_every = random.Between(absl::Seconds(3), absl::Seconds(15));
  options.link_trouble_max = random.Between(absl::Seconds(5), absl::Seconds(25));
  SimRandom ways(seed ^ 0xb07);
  if (ways.Percent(40))
    options.SendBothWays();
  else if (ways.Percent(40))
    options.BeginWithCheckpoints(ways.Between(absl::Seconds(2), absl::Seconds(30)));
  options.pauses = ways.Percent(40);
  return options;
}

void ClusterPairOptions::SendBothWays() {
  both_ways = true;
  source.topology.tables = receiver.topology.tables;
  source.received_tables = receiver.received_tables;
}

void ClusterPairOptions::BeginWithCheckpoints(absl::Duration after) {
  duplicated_after = after;
  receiver.makes_received_tables_late = true;
}

std::string ClusterPairOptions::ReplayOptions() const { return " --two_clusters"; }

}  // namespace arion::sim
