// What the meta server stores where a server knows a larger ballot of a partition than is stored: the
// state was put back from an older copy, or that server was away while it was made again
// (meta/STATE.md 11.1).
// Proposals under the stored ballot would be ignored for ever. Pure.
//
// Shapes    The next configuration's ballot is the largest shown + 1 (meta_server/M2). Its members:
//           - Somebody serves as primary under the largest ballot: the group is that one's. Only it
//             knows who the others are, so it is asked to begin alone (no members, it is the only
//             one of last_drops), and they learn what they lack.
//           - Somebody serves under the stored configuration: that is in force, and stays; who was
//             away with a larger ballot may learn now.
//           - Nobody does, and all servers have told what they hold. No member stored knows a larger
//             ballot, and nobody has a mutation of one: whoever led a later configuration had been one
//             of them, so there was none, and the members stay, without a primary. Else as after a lost
//             state (held_replica.h).
//           - Nobody does, and somebody has not told: it waits. An outdated member must not lead.
//           A role of primary is believed because it ends with the lease: whoever has it was not
//           replaced, and nobody else is (meta_server/M3).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "meta_state/cluster_state.h"

namespace arion {

struct StaleJudgement {
  std::optional<PartitionConfiguration> next;  // to store; nullopt: something is waited for
  const char* reason = "";
};

// `partition` of `state` IsBehind.
StaleJudgement JudgeStale(const ClusterState& state, const Partition& partition);

}  // namespace arion
