// The ensemble as JSON, for the dashboard and the shell. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "meta_ensemble/ensemble_overview.h"
#include "zookeeper/server_report.h"

namespace arion {

// `zookeeper`: what its servers say of themselves.
std::string EnsembleJson(const EnsembleOverview& ensemble,
                         const std::vector<ServerReports::Entry>& zookeeper);

}  // namespace arion
