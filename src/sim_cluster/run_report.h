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
  int64_t faults_injected = 0;                 // or left out: the largest number
  absl::Duration healed_after;                 // from the end of the faults to equal members
  int64_t data_operations = 0, data_keys = 0;  // answered; checked by search
  int64_t search_steps = 0;                    // of the hardest key
  uint64_t disk_bytes = 0;                     // of the fullest server, at the end
  KeptMost kept{};                             // at any time
  ProbeCounts probes{};
  std::string mix;
  std::string replay_options;  // behind the seed, led by a blank
  Violations violations;

  std::string Summary() const;
  std::string Replay() const;  // the command that runs this seed again
};

}  // namespace arion::sim
