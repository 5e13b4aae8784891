// ZooKeeper's codes as statuses: which error of ZooKeeperSession each one is.
//
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <string_view>

namespace arion {

// What an answer with this code says of `what`, a node's path for one. No code ends the process:
// one that nobody knows is Internal, with its number.
absl::Status StatusOfZooKeeper(int code, std::string_view what);
// Whether the code says nothing of the node that was asked for: it is of the connection, or of the
// session.
bool IsOfTheSession(int code);

}  // namespace arion
