// The page by which records are found by an index: /find, of each replica server, for the whole
// table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "admin/server_commands.h"

namespace arion {

// Asks through a client of its own, which is made with the first question: then `meta_servers` says
// where they are ("IPv4:port"), on a page's thread. Before the transport listens.
void AddFindPage(const AddPage& add, std::function<std::vector<std::string>()> meta_servers);

}  // namespace arion
