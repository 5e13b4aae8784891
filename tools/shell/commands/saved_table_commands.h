// What only a meta server knows of its tables (saved_tables.h): written down, and given back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include "tools/shell/session.h"

namespace arion::shell {

// Writes the file that `words` name.
absl::StatusOr<Outcome> SaveTables(Session& session, const Words& words);
// Gives the file back to a meta server that takes no list of tables as it recovers. It is planned
// from what is there now, so after an interruption it goes on where it was.
absl::StatusOr<Outcome> RestoreTables(Session& session, const Words& words);

}  // namespace arion::shell
