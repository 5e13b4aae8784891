// Indexes of tables: made, built anew, shown. IndexCommands() has the commands, those of find too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tools/shell/session.h"

namespace arion::shell {

// Of the table, sorted; none where it can't be asked about. For completion.
std::vector<std::string> IndexNames(Cluster& cluster, const std::string& table);
Command FindCommand();

}  // namespace arion::shell
