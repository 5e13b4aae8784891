// ServerLife: which life of a replica server it is, of whatever version. By that one knows whether
// it has restarted, and as what. And whether it does already what its configurations say.
//
// Errors    Unavailable: it does not answer, or does not say since when it runs. IsNobodyThere
//           (server_page.h): no process has its port.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

#include "tools/shell/cluster.h"

namespace arion::shell {

// kOlder: Apache Pegasus.
enum class ServerKind { kArion, kOlder };
std::string_view KindName(ServerKind kind);

// Two are equal if the process is the same.
struct ServerLife {
  ServerKind kind = ServerKind::kArion;
  // When it began, in the server's own words.
  std::string since;
  bool operator==(const ServerLife&) const = default;
};
absl::StatusOr<ServerLife> LifeOf(Endpoint server);

// What it still has to do until it is everything that `tables` say of it; empty: nothing. A server
// that restarts faster than it is missed stays a member of its partitions before it takes part in
// them again.
std::string WhatItIsStillToDo(Cluster& cluster, const std::vector<TableState>& tables,
                              Endpoint server, ServerKind kind);

}  // namespace arion::shell
