// Forgetting a dead server that comes back no more. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "meta_state/cluster_state.h"

namespace arion {

// Why a configuration needs `server`; empty: none does. Those of dropped tables that can't be
// recalled any more need nobody.
std::string WhyNeeded(const ClusterState& state, Endpoint server, int64_t unix_seconds);
// Why it can't be forgotten; empty: it can.
std::string WhyNotForgotten(const ClusterState& state, Endpoint server, int64_t unix_seconds);
// One that can be forgotten is unknown then; who sends beacons again is known again.
void Forget(ClusterState& state, Endpoint server);

}  // namespace arion
