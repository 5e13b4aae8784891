// Tables of which servers hold replicas and that are not stored: an older copy of the state was put back,
// or it was lost. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "meta_state/cluster_state.h"
#include "meta_state/cluster_warning.h"

namespace arion {

// What living servers reported last; nullopt: nothing unknown.
std::optional<ClusterWarning> UnknownTables(const ClusterState& state);

}  // namespace arion
