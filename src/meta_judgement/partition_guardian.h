// PartitionGuardian looks at every partition and says what should happen next: which proposals to
// send, which changes the meta server makes itself (meta/STATE.md 6). Pure.
//
//   GuardianPlan plan = PlanPartitions(state, level, options, now);
//   for (const GuardianPlan::Step& step : plan.steps) ...  // propose, or store
//   LookAgainAt(plan.next_look);
//
// Shapes    One step per partition: a proposal (an Intent, kept until it happened or can't any
//           more), or a write, or waiting. Partitions with a change being stored are left alone.
//           The plan of an unchanged state is the same. What was planned by others
//           (Partition::planned) goes before a cure, one after the other, while it applies. When
//           the first of it doesn't apply, or nothing comes of it, all of it is given up. A server
//           that is to take a new replica and is not seen to do so (its disks may be full) is given
//           up after a while, and others come first (Partition::passed_over). The same happens
//           after it failed to learn.
// Promises  partition_guardian/P1  A primary that is dead, or whose present process may not resume,
//               leaves the configuration first (a write, ballot + 1). Only then somebody is
//               upgraded.
//           partition_guardian/P2  While a member kept running only such a member is upgraded.
//               Otherwise the next primary is Succession's choice (meta_judgement/succession.h), or
//               nobody. A primary whose copy may be older is judged by what it reported since its
//               present configuration was stored: before, it may have led, and written, meanwhile.
//           partition_guardian/P3  A member on a slow disk is not primary where another may be, and
//               is taken out where enough others stay; it comes back when its disk is fast again.
//               The same goes for a member whose acknowledgements its primary calls slow
//               (copies/peer_pace.h), a few at a time; another server takes its place at once. It
//               is primary of nothing while most others call it slow. Where most servers are slow
//               nobody is moved. Nor is a server with a wrong wall clock primary where another may
//               be. A server that stops is primary of nothing.
//           partition_guardian/P4  A member on a disk that takes no writes leaves its group where
//               those that stay are enough for writes (meta_judgement/full_disks.h); a primary
//               hands over before. Where they are not enough, another copy is made first if there
//               is a place for it. The member comes back when its disk takes writes again.
//           partition_guardian/P5  At level freezed only a primary that must go leaves (a write);
//               else nothing is done. Below that level nothing is done at all.
//           partition_guardian/P6  Where a server knows a larger ballot than is stored, nothing is
//               done but to catch up (meta_state/stale_configuration.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "meta_state/cluster_state.h"

namespace arion {

// Settings of the meta server.
struct GuardianOptions {
  absl::Duration grace = absl::Seconds(10);
  absl::Duration replica_assign_delay_for_dropouts = absl::Minutes(10);
  int32_t mutation_2pc_min_replica_count = 2;
};

// What one look came to.
struct GuardianPlan {
  // What to do about one partition.
  struct Step {
    PartitionId pid;
    // nullopt: none applies now.
    std::optional<Intent> intent;
    // The meta server's own change.
    std::optional<PartitionConfiguration> write;
    // What remains of the planned ones, where that changed.
    std::optional<std::vector<Intent>> planned;
    // A server that was to take a replica, and nothing came of it.
    std::optional<Endpoint> passed_over;
    // A server whose copy is older than it was.
    std::optional<Endpoint> older;
    // Of the write, or why nothing can be done.
    const char* reason = "";

    // Whether the partition has no primary, and nobody can be made one.
    bool IsChoiceFailed(const PartitionConfiguration& config) const {
      return !config.primary.IsValid() && !intent && !write && *reason != '\0';
    }
  };
  // In the order to carry out; partitions whose intent stays are listed too.
  std::vector<Step> steps;
  // When waiting ends, if nothing happens before.
  Instant next_look = Instant::InfiniteFuture();
};

GuardianPlan PlanPartitions(const ClusterState& state, FunctionLevel level,
                            const GuardianOptions& options, Instant now);

// Whether the guardian would begin to carry out `planned`.
bool MayBePlanned(const ClusterState& state, const GuardianOptions& options,
                  const Partition& partition, const std::vector<Intent>& planned, Instant now);

}  // namespace arion
