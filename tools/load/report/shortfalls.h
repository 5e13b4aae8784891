// Shortfalls: what was asked of a run and not kept.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tools/load/report/report.h"

namespace arion::load {

// A sentence for each. None: the exit code is 0.
std::vector<std::string> ShortfallsOf(const Report& report);

}  // namespace arion::load
