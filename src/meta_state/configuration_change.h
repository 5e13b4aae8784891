// How one partition's configuration may change: the judgement over update requests, and the changes
// the meta server makes itself. Pure.
//
// Shapes    Every change has ballot + 1 (meta_server/M2). A removed node is appended to last_drops
//           (the newest last, at most kLastDropsMax); a node that becomes a member leaves it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "meta_state/cluster_state.h"

namespace arion {

enum class UpdateVerdict {
  kApply,     // store `next`
  kRepeat,    // equals the current configuration: OK, nothing to do
  kOutdated,  // ballot is not current + 1, or the change isn't one meta allows now: the sender
              // adopts the current one
  kUnknown,   // unknown partition or node
  kFreezed,   // too few servers are alive, or an administrator says so: the members stay
  kPending,   // a change of this partition is being stored: to be judged again when it is
  kGivesWay,  // the sender, an older version's primary that began anew, shall not resume: to be judged
              // again when its group is led by nobody
};

struct UpdateJudgement {
  UpdateVerdict verdict = UpdateVerdict::kUnknown;
  PartitionConfiguration next;  // kApply
  const char* reason = "";      // for the log
};

UpdateJudgement JudgeUpdate(const ClusterState& state, FunctionLevel level,
                            const ConfigurationUpdateRequest& request);

// Ballot + 1 without a primary; the former one goes to last_drops.
PartitionConfiguration WithoutPrimary(const PartitionConfiguration& config);
// Ballot + 1 without a primary; the former one becomes the last secondary and stays a candidate.
PartitionConfiguration PrimaryAmongSecondaries(const PartitionConfiguration& config);
// Ballot + 1, all members in last_drops, the primary last.
PartitionConfiguration Vacated(const PartitionConfiguration& config);
// The same, and `node` is the last in last_drops: it leads next.
PartitionConfiguration LedBy(const PartitionConfiguration& config, Endpoint node);
// Ballot + 1, and `node`, which held everything when it left, is a secondary again.
PartitionConfiguration Rejoined(const PartitionConfiguration& config, Endpoint node);
// Vacated, and flagged dropped.
PartitionConfiguration Emptied(const PartitionConfiguration& config);

// Ballot + 1, no longer flagged; whoever was a member last is asked to serve again.
PartitionConfiguration Recalled(const PartitionConfiguration& config);

// How a change of a table changes each of its partitions. The same ballot: the members stay, and
// with them all that is known of them.
struct PartitionChange {
  ConfigType cause = ConfigType::kInvalid;
  std::function<PartitionConfiguration(const PartitionConfiguration&)> next;
};
PartitionChange WithReplicaCount(int32_t count);

// Carries the memory-only part of `partition` over from its present configuration to `next` and
// installs that. `cause` is what kind of update it was; kInvalid: meta's own.
void Install(Partition& partition, PartitionConfiguration next, ConfigType cause, Instant now);

}  // namespace arion
