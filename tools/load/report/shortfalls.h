// Shortfalls: what was asked of a run and not kept, a sentence each; none: exit code 0.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tools/load/report/report.h"

namespace arion::load {

std::vector<std::string> ShortfallsOf(const Report& report);

}  // namespace arion::load
