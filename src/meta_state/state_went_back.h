// What an administrator is told where the state that this meta server began with was an older copy,
// and where it was learned back from replica servers: what may be lost by it, and what to do.
//
// Shapes    A server never knows a larger ballot of a partition, or a later description of a table,
//           than is stored: it is told only what is (meta_server/M1). Where one does, the state
//           went back. The ballots are caught up at once (meta_state/stale_configuration.h);
//           therefore it is remembered for a day, in memory, that it was so. Tables that are not
//           stored: meta_state/unknown_tables.h. Nobody can know a description that no running
//           server knows, since servers keep no environments on disk; nor what was dropped and
//           removed everywhere.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "meta_state/cluster_state.h"

namespace arion {

struct ClusterWarning;

// `report` of `node`, of a partition that is stored, shows it. It is logged once for each server.
void NoteWentBack(ClusterState& state, const Table& table, Endpoint node, const ReplicaInfo& report,
                  Instant now);

// nullopt: nothing has shown it within a day.
std::optional<ClusterWarning> StateWentBack(const ClusterState& state);
// nullopt: nothing of it is doubtful, or a day has passed.
std::optional<ClusterWarning> StateLearnedBack(const ClusterState& state);

// Forgets what is older than a day.
void ForgetWhatWentBack(ClusterState& state, Instant now);

}  // namespace arion
