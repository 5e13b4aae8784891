// The meta server's pages that older versions have: tables, servers, the cluster and environments
// as JSON, all values texts; a page that asks for a compaction; and, in the same form, how far a
// split is. A meta server that does not lead sends who reads them to the one that does (307).
//
// Lifetime  The server outlives the last request.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "admin/server_commands.h"

namespace arion {

class MetaService;

void AddMetaPages(const AddPage& add, MetaService& server);

}  // namespace arion
