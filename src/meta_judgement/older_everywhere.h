// Partitions that nobody leads since all that is there of them ends before what was committed:
// their members' disks were put back, all of them, and no rule can tell what is lost. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "meta_state/cluster_state.h"

namespace arion {

struct ClusterWarning;

// nullopt: there is no such partition.
std::optional<ClusterWarning> OlderEverywhere(const ClusterState& state);

}  // namespace arion
