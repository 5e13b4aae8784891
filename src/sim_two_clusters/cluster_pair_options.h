// ClusterPairOptions: what a run of two clusters is told. A value; Swarm draws it from a seed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <string>

#include "sim_cluster/sim_cluster_options.h"

namespace arion::sim {

struct ClusterPairOptions {
  static constexpr char kSourceName[] = "west", kReceiverName[] = "east";
  static constexpr uint8_t kSourceId = 1, kReceiverId = 2;

  uint64_t seed = 1;
  // The first tables of both, received_tables of the receiver, are duplicated. Who receives has one
  // table more, for clients of its own.
  SimClusterOptions source, receiver;
  // The receiver sends them to the source, too.
  bool both_ways = false;
  // Else the receiver's tables are made, from checkpoints, once the source was written to for so
  // long; zero: they are there from the beginning, and what is sent is all there is.
  absl::Duration duplicated_after;
  // Administrators pause duplications and start them again.
  bool pauses = false;
  absl::Duration run_length = absl::Minutes(2);
  // How often the way between the clusters is in trouble, and how long; zero: never.
  absl::Duration link_trouble_every = absl::Seconds(8);
  absl::Duration link_trouble_max = absl::Seconds(20);

  static ClusterPairOptions Swarm(uint64_t seed);
  void SendBothWays();
  void BeginWithCheckpoints(absl::Duration after);
  // What follows the seed in the command that runs it again, led by a blank.
  std::string ReplayOptions() const;
};

}  // namespace arion::sim
