// ClusterPairOptions: what a run of two clusters is told. A value; Swarm draws it from a seed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <string>

#include "sim_checkers/duplication_checker.h"
#include "sim_cluster/sim_cluster_options.h"

namespace arion::sim {

struct ClusterPairOptions {
  static constexpr char kSourceName[] = "west", kReceiverName[] = "east";
  static constexpr uint8_t kSourceId = 1, kReceiverId = 2;

  uint64_t seed = 1;
  // All tables of the source are duplicated; the receiver has one more, for clients of its own.
  SimClusterOptions source, receiver;
  absl::Duration run_length = absl::Minutes(2);
  // How often the way between the clusters is in trouble, and how long; zero: never.
  absl::Duration link_trouble_every = absl::Seconds(8);
  absl::Duration link_trouble_max = absl::Seconds(20);
  // kNever: what a sender gave up, or a server that has ceased to lead sent, reaches nobody. kArrive:
  // it may come late, and each request may come again, in any order.
  enum class Late : uint8_t { kNever, kArrive };
  Late late = Late::kNever;
  DuplicationChecker::Logs logs = DuplicationChecker::Logs::kCounted;

  static ClusterPairOptions Swarm(uint64_t seed);
  // What follows the seed in the command that runs it again, led by a blank.
  std::string ReplayOptions() const;
};

}  // namespace arion::sim
