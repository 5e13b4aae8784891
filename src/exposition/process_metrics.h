// What /metrics says of any server process: which build, since when, CPU, memory, files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "metrics/metric_registry.h"

namespace arion {

class OpenFileBudget;

// The metrics stay registered as long as these are held.
using MetricRegistrations = std::vector<MetricRegistry::Registration>;

// Memory of this process in bytes, from /proc; 0 where that can't be read.
double ResidentBytes();
double VirtualBytes();

// Build, start time, CPU, memory, files and threads.
MetricRegistrations RegisterProcess(MetricRegistry& registry);
// The limit of open files and what it carries. `budget` outlives what is returned.
MetricRegistrations RegisterOpenFiles(MetricRegistry& registry, const OpenFileBudget& budget);

}  // namespace arion
