// One write or sync of a workload fails, at each place in turn; or the disk is full there for a
// while.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tests/crash/enumeration.h"
#include "tests/crash/workloads.h"

namespace arion::crash {

struct FaultTally {
  int64_t writes = 0;  // places at which one failed
  int64_t syncs = 0;
  int64_t full = 0;
};

// Every place of `workload`. After a failure nothing is reported OK in that life, and what was
// reported before survives every crash; after the disk was full everything held is reported OK.
void TryFaults(const Workload& workload, uint64_t seed, const std::string& only, Tally* tally,
               FaultTally* places);

}  // namespace arion::crash
