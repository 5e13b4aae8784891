// Whether a server of an older version, which can't say of which cluster it is, has tables of another
// one. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "meta_state/cluster_state.h"

namespace arion {

// `its_tables`: those of which it holds replicas. A table is another one that has the same id, and
// was made at another time, or, where that is not known of both, is called otherwise. One whose id
// nobody has here may have been dropped long ago: it tells nothing. Empty: none is; else a sentence's
// part.
std::string WhyForeign(const ClusterState& state, const std::vector<AppInfo>& its_tables);

}  // namespace arion
