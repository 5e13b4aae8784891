// Splits of tables: started, looked at, paused, gone on with, taken back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tools/shell/session.h"

namespace arion::shell {

// What may stand behind `before`, which begins with the command's name. For completion.
std::vector<std::string> SplitWords(Cluster& cluster, const Words& before);

}  // namespace arion::shell
