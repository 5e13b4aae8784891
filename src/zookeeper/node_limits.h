// What ZooKeeper takes as a node, and how much at once. Asked before anything is sent: a server
// closes the connection of whoever sends it too much, and the C client ends a path at a NUL.
//
// Errors    InvalidArgument, with the path and what is wrong with it.
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <string>
#include <string_view>
#include <vector>

#include "zookeeper/zookeeper_session.h"

namespace arion {

// Whether it names a node: "/" or "/a/b", no empty names, none of "." or "..", no control
// characters.
absl::Status CheckNodePath(std::string_view path);
// Whether both fit into a request (ZooKeeperSession::kNodeBytesMax).
absl::Status CheckNode(std::string_view path, std::string_view data);
// Whether all steps fit into one, with what ZooKeeper writes around each.
absl::Status CheckTransaction(const std::vector<ZooKeeperStep>& steps);

}  // namespace arion
