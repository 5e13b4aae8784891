// A ClusterOverview as JSON, for the dashboard. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "meta_overview/cluster_overview.h"

namespace arion {

// The JSON, with the cluster's health. `unix_ms`: when it was asked for.
std::string OverviewJson(const ClusterOverview& overview, int64_t unix_ms);

}  // namespace arion
