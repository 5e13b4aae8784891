// RunReport: what came of one run, and how it is run again. A value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <array>
#include <cstdint>
#include <string>

#include "sim_checkers/bounds.h"
#include "sim_checkers/checkers.h"
#include "sim_checkers/coverage.h"
#include "sim_cluster/fault_mix.h"

namespace arion::sim {

// SimCluster::Run makes one. A run is green if `violations` is empty.
struct RunReport {
  uint64_t seed = 0;
  uint64_t trace_hash = 0;
  absl::Duration simulated;
  uint64_t events = 0;
  int64_t acknowledged_writes = 0, refused_writes = 0, undecided_writes = 0, reads = 0;
  std::array<int64_t, kFaultCount> faults{};
  // How many faults were drawn, those that were left out included.
  int64_t faults_injected = 0;
  // Of several meta servers: how often one began to lead, and how often another than before.
  int64_t reigns = 0, takeovers = 0;
  // From the end of the faults to equal members.
  absl::Duration healed_after;
  // Operations that were answered, and keys that were checked by search.
  int64_t data_operations = 0, data_keys = 0;
  // Steps of the hardest key's search.
  int64_t search_steps = 0;
  // Bytes on the fullest server's disk, at the end.
  uint64_t disk_bytes = 0;
  // The most that was kept at any time.
  KeptMost kept{};
  ProbeCounts probes{};
  std::string mix;
  // What follows the seed in that command, led by a blank.
  std::string replay_options;
  Violations violations;

  std::string Summary() const;
  // The command that runs this seed again.
  std::string Replay() const;
};

}  // namespace arion::sim
