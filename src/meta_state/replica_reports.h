// What a server's report about its replicas (config sync) and its restart mean for the partitions:
// who serves, who must be waited for, who could be taken back. Pure.
//
// Shapes    `unclean` speaks of how a process began; it matters until that process is known to take
//           part in a group again (Partition::serving). A replica that is loading proves that its
//           process is new, where the report was asked for after the configuration was stored under
//           which it serves: one that has no number, or an older one, may have been overtaken.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "meta_state/cluster_state.h"

namespace arion {

// The process at `node` was replaced by a new one. Where it was primary it may resume until
// `primary_deadline`.
void NoteRestart(Partition& partition, Endpoint node, Instant primary_deadline);

// `node` gave up leading because a member may hold more than it does: nothing shows any more that
// it holds all.
void NoteHoldsLess(Partition& partition, Endpoint node);
// `node` is a primary whose process is new and must not resume: another leads when one can, after
// `deadline` in any case.
void NoteGivesWay(Partition& partition, Endpoint node, Instant deadline);
// The copy at `node` lacks what its group has committed: it went back to an older state, or lost
// something.
void NoteOlderCopy(ClusterState& state, Partition& partition, Endpoint node, Instant now);

// Takes in a config sync of a known node. Of unknown partitions only the table's id is kept, which
// no new table gets. `last_number`: the last number that was given to any server for its next
// report.
void NoteReports(ClusterState& state, const ConfigSyncRequest& sync, int64_t last_number,
                 absl::Duration grace, Instant now);

}  // namespace arion
