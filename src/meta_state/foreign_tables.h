// Whether a server of an older version, which can't say of which cluster it is, has tables of
// another one. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "meta_state/cluster_state.h"

namespace arion {

// Why a server that holds replicas of `its_tables` is another cluster's, as part of a sentence.
// Empty: nothing shows that. A table is another one if it has the same id and was made at another
// time, or, where that is not known of both, has another name. An id that is not known here may be
// of a table dropped long ago: it shows nothing.
std::string WhyForeign(const ClusterState& state, const std::vector<AppInfo>& its_tables);

}  // namespace arion
