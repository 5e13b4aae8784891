// What there is to know where servers of an older version (Apache Pegasus) take part: which servers
// let them in, which they are, and which tables are less durable because of them.
//
// Errors    A server that does not answer is left out: that is reported elsewhere.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <set>
#include <string>
#include <vector>

#include "tools/shell/session.h"

namespace arion::shell {

// Whether the server answers for its version and has no numbers of ours. `samples`: what asking it
// for these gave. A server that answers nothing is not asked again.
bool IsOlder(Endpoint server, const absl::Status& samples);

// A server that lets in others which name no cluster (join_pegasus_cluster).
struct Joining {
  // "server 127.0.0.1:34801"
  std::string who;
  std::string what, way;
};
// Of the meta servers and of those `nodes` that live and are not `silent`.
std::vector<Joining> WhoJoins(Session& session, const std::vector<NodeState>& nodes,
                              const std::set<Endpoint>& silent = {});

// Those of `nodes` that, by their own settings, serve as long after their last beacon as the meta
// server waits before another takes over, or longer: two could lead. Servers of one version make
// sure of it by beacons.
std::vector<Joining> WhoLeadsTooLong(Session& session, const std::vector<NodeState>& nodes,
                                     const std::set<Endpoint>& silent);

// A table of which an acknowledged write does not survive a power cut, with the reason.
struct WeakTable {
  std::string name, why;
};
// By the meta server's page; where it has none, by what each member says.
std::vector<WeakTable> WeakTables(Session& session, const std::vector<TableState>& tables);
// Adds a list of them to *answer; nothing where there are none.
void AddWeakTables(Session& session, const std::vector<TableState>& tables, Answer* answer);

}  // namespace arion::shell
