// How many members a partition needs for a write (decision 4): asked by its primary, shown by the
// meta server.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace arion {

// `configured`: mutation_2pc_min_replica_count; 0 means a majority (of two copies: one). Never more
// than the table has.
inline int32_t WriteMembersMin(int32_t configured, int32_t replica_count) {
  const int32_t factor = std::max(replica_count, 1);
  // Of two copies a majority would be both: then no server could be away.
  if (configured <= 0) configured = factor <= 2 ? 1 : factor / 2 + 1;
  return std::min(configured, factor);
}

}  // namespace arion
