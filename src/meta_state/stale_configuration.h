// What the meta server stores where a server knows a larger ballot of a partition than is stored:
// the state was put back from an older copy, or that server was away while it was made again
// (meta/STATE.md 11.1). Without that, proposals under the stored ballot would be ignored for ever.
// Pure.
//
// Shapes    The next configuration's ballot is the largest shown + 1 (meta_server/M2). Its members:
//           - A server is primary under the largest ballot: the group is that one's. Only it knows
//             who the others are, so it is asked to begin alone (no members, it is the only one of
//             last_drops), and they learn what they lack.
//           - A server is primary under the stored configuration: that is in force, and stays.
//             Those that were away with a larger ballot may learn now.
//           - Nobody is, and all servers have told what they hold. If no stored member knows a
//             larger ballot, and nobody has a mutation of one, there was no later primary (it would
//             have been one of them): the members stay, without a primary. Else as after a lost
//             state (held_replica.h).
//           - Nobody is, and a server has not told: it waits. An outdated member must not lead.
//           A role of primary is believed because it ends with the lease: a server that has it was
//           not replaced, and nobody else has it (meta_server/M3).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "meta_state/cluster_state.h"

namespace arion {

// What is to be done for one partition.
struct StaleJudgement {
  // To be stored; nullopt: something is waited for.
  std::optional<PartitionConfiguration> next;
  const char* reason = "";
};

// `partition` is of `state`, and IsBehind().
StaleJudgement JudgeStale(const ClusterState& state, const Partition& partition);

}  // namespace arion
