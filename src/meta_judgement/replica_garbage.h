// Which of a server's replicas nobody needs any more (meta/STATE.md 4.3). Pure.
//
// Shapes    Only what the server reported as inactive and loaded: of a dropped table whose time is
//           over, or of a partition all of whose members are alive and known to hold everything.
//           Of a table or partition the meta server doesn't know: never.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "meta_state/cluster_state.h"

namespace arion {

// What `node` may set aside, of what it reported last. Empty below level lively.
std::vector<ReplicaInfo> GarbageOf(const ClusterState& state, FunctionLevel level, Endpoint node,
                                   int64_t unix_seconds);

// Of `missing`, which have no directory at `node`: whom nobody will ask for there. By the same
// rule, but already when steady: nothing is removed by the answer alone.
std::vector<PartitionId> UnneededOf(const ClusterState& state, FunctionLevel level, Endpoint node,
                                    const std::vector<PartitionId>& missing, int64_t unix_seconds);

}  // namespace arion
