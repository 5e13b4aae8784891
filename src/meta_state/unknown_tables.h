// Tables of which servers hold replicas and that are not stored: an older copy of the state was put
// back, or the state was lost. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace arion {

struct ClusterState;
struct ClusterWarning;

// By what living servers reported last; nullopt: no such tables.
std::optional<ClusterWarning> UnknownTables(const ClusterState& state);

}  // namespace arion
