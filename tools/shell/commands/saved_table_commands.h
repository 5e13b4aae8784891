// What only a meta server knows of its tables (saved_tables.h): written down, and given back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include "tools/shell/session.h"

namespace arion::shell {

absl::StatusOr<Outcome> SaveTables(Session& session, const Words& words);
// To a meta server that takes no list of tables as it recovers; planned from what is there now, so that it goes
// on where it was interrupted.
absl::StatusOr<Outcome> RestoreTables(Session& session, const Words& words);

}  // namespace arion::shell
