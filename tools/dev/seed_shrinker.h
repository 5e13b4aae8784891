// Shrink: makes a red seed's run smaller while it stays red: fewer kinds of faults, fewer faults,
// less time, a smaller cluster. Each attempt is a process of its own, so that one that dies counts
// as red.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim_cluster/sim_cluster.h"

namespace arion::sim {

// The first violation of a run in a process of its own; empty: none.
std::string FirstViolation(const SimClusterOptions& options);
// At most `runs_max` attempts. What is left violates the same kind of rule (the text up to ':').
SimClusterOptions Shrink(SimClusterOptions options, int runs_max);
// The command line behind "--first SEED" that makes `options` from the seed's own; led by a blank.
std::string ReplayOptions(const SimClusterOptions& options);

}  // namespace arion::sim
