// What there is to know where servers of an older version (Apache Pegasus) take part: who lets them in, who
// they are, and which tables are the less durable for them.
//
// Errors    What does not answer is left out: it is said elsewhere.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <set>
#include <string>
#include <vector>

#include "tools/shell/session.h"

namespace arion::shell {

// It answers for its version and has no numbers of ours. `samples`: what asking it for these gave. One that
// answers nothing is not asked again.
bool IsOlder(Endpoint server, const absl::Status& samples);

// A server that lets others in which name no cluster (join_pegasus_cluster).
struct Joining {
  std::string who;  // "server 127.0.0.1:34801"
  std::string what, way;
};
// Of the meta servers and of those `nodes` that live and are not `silent`.
std::vector<Joining> WhoJoins(Session& session, const std::vector<NodeState>& nodes,
                              const std::set<Endpoint>& silent = {});

// Those of `nodes` that serve, by their own settings, as long after their last beacon as the meta server
// waits before another takes over, or longer: two could lead. Servers of one version tell it by beacons.
std::vector<Joining> WhoLeadsTooLong(Session& session, const std::vector<NodeState>& nodes,
                                     const std::set<Endpoint>& silent);

// Tables of which an acknowledged write does not survive a power cut, with the reason. By the meta
// server's page; where it has none, by what each member says.
struct WeakTable {
  std::string name, why;
};
std::vector<WeakTable> WeakTables(Session& session, const std::vector<TableState>& tables);
// Nothing where there are none.
void AddWeakTables(Session& session, const std::vector<TableState>& tables, Answer* answer);

}  // namespace arion::shell
