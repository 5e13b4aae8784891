// What /metrics says of any server process: which build, since when, CPU, memory, files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "disks/open_file_budget.h"
#include "metrics/metric_registry.h"

namespace arion {

using MetricRegistrations = std::vector<MetricRegistry::Registration>;

double ResidentBytes();
double VirtualBytes();

MetricRegistrations RegisterProcess(MetricRegistry& registry);
// `budget` outlives them.
MetricRegistrations RegisterOpenFiles(MetricRegistry& registry, const OpenFileBudget& budget);

}  // namespace arion
