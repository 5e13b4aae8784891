// PartitionGuardian looks at every partition and says what should happen next: which proposals to
// send, which changes meta makes itself (meta/STATE.md 6). Pure.
//
// Shapes    One step per partition: a proposal (an Intent, kept until it happened or can't any
//           more), or a write, or waiting. Partitions with a change being stored are left alone.
//           The plan of an unchanged state is the same.
//           What was planned by others (Partition::planned) goes before a cure, one after the other,
//           while it applies; when the first of it doesn't, or nothing comes of it, all of it is
//           given up.
//           Who is to take a new replica and is not seen to do so (its disks may be full) is given
//           up after a while, and others come first (Partition::passed_over); so they do after
//           somebody failed to learn.
// Promises  partition_guardian/P1  A primary that is dead, or whose present process may not resume,
//               leaves the configuration first (a write, ballot + 1). Only then somebody is
//               upgraded.
//           partition_guardian/P2  While a member kept running only such a member is upgraded.
//               Otherwise who follows is Succession's choice (meta_judgement/succession.h), or nobody. A
//               primary whose copy may be older is judged by what it reported since its present
//               configuration was stored: before, it may have led, and written, meanwhile.
//           partition_guardian/P3  A member on a slow disk is not primary where another may be, and
//               is taken out where enough others stay; it comes back when its disk is fast again.
//               The same goes for a member whose acknowledgements its primary calls slow
//               (copies/peer_pace.h), a few at a time; another server takes its place at once. It
//               is primary of nothing while most others call it slow. Where most servers are slow
//               nobody is moved. Nor is a server with a wrong wall clock primary where another may
//               be. One that stops is not.
//           partition_guardian/P4  A member on a disk that takes no writes leaves its group where
//               those that stay are enough for writes (meta_judgement/full_disks.h); a primary hands over
//               before. Where they are not enough, another copy is made first if there is a place
//               for it. The member comes back when its disk takes writes again.
//           partition_guardian/P5  At level freezed only a primary that must go leaves (a write);
//               else nothing is done. Below that level nothing is done at all.
//           partition_guardian/P6  Where a server knows a larger ballot than is stored, nothing is
//               done but to catch up (meta_state/stale_configuration.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "meta_state/cluster_state.h"

namespace arion {

struct GuardianOptions {
  absl::Duration grace = absl::Seconds(10);
  absl::Duration replica_assign_delay_for_dropouts = absl::Minutes(10);
  int32_t mutation_2pc_min_replica_count = 2;
};

struct GuardianPlan {
  struct Step {
    PartitionId pid;
    std::optional<Intent> intent;                 // nullopt: none applies now
    std::optional<PartitionConfiguration> write;  // meta's own change
    std::optional<std::vector<Intent>> planned;   // what remains of them, where that changed
    std::optional<Endpoint> passed_over;  // it was to take a replica, and nothing came of it
    std::optional<Endpoint> older;        // its copy is older than it was
    const char* reason = "";              // of the write, or why nothing can be done

    // Whether it has no primary, and nobody can be made one.
    bool IsChoiceFailed(const PartitionConfiguration& config) const {
      return !config.primary.IsValid() && !intent && !write && *reason != '\0';
    }
  };
  // In the order to carry out; partitions whose intent stays are listed too.
  std::vector<Step> steps;
  Instant next_look = Instant::InfiniteFuture();  // when waiting ends, if nothing happens before
};

GuardianPlan PlanPartitions(const ClusterState& state, FunctionLevel level,
                            const GuardianOptions& options, Instant now);

// Whether the guardian would begin to carry out `planned`.
bool MayBePlanned(const ClusterState& state, const GuardianOptions& options,
                  const Partition& partition, const std::vector<Intent>& planned, Instant now);

}  // namespace arion
