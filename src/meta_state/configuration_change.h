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

// What the meta server does about an update request.
enum class UpdateVerdict {
  // Store `next`.
  kApply,
  // It equals the current configuration: OK, nothing to do.
  kRepeat,
  // Its ballot is not current + 1, or the change is not allowed now: the sender adopts the current
  // configuration.
  kOutdated,
  // The partition or the node is not known.
  kUnknown,
  // Too few servers are alive, or an administrator says so: the members stay.
  kFreezed,
  // A change of this partition is being stored: to be judged again when it is.
  kPending,
  // The sender, an older version's primary that began anew, is not to resume: to be judged again
  // when its group is led by nobody.
  kGivesWay,
};

// The judgement of one request.
struct UpdateJudgement {
  UpdateVerdict verdict = UpdateVerdict::kUnknown;
  // Of kApply.
  PartitionConfiguration next;
  // The same, of kRegisterChild: stored with it.
  std::optional<PartitionConfiguration> child;
  // For the log.
  const char* reason = "";
};

// Judges a member's request at `level`.
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

// Ballot + 1, no longer flagged; the servers that were members last are asked to serve again.
PartitionConfiguration Recalled(const PartitionConfiguration& config);

// How a change of a table changes each of its partitions. The ballot, the members, and all that is
// known of them, stay the same.
struct PartitionChange {
  ConfigType cause = ConfigType::kInvalid;
  std::function<PartitionConfiguration(const PartitionConfiguration&)> next;
};
// The table wants that many copies of each partition.
PartitionChange WithReplicaCount(int32_t count);

// Makes `next` the present configuration of `partition`, and carries its memory-only part over.
// `cause`: what kind of update it was; kInvalid: meta's own.
void Install(Partition& partition, PartitionConfiguration next, ConfigType cause, Instant now);

}  // namespace arion
