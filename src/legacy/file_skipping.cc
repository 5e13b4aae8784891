// SPDX-License-Identifier: Apache-2.0
#include "legacy/file_skipping.h"

#include <algorithm>

#include "legacy/shared_log_catalog.h"

namespace arion {

size_t FirstFileToRead(absl::Span<const SharedLogFile> files,
                       absl::Span<const PrivateLogReach> replicas) {
  if (files.empty()) return 0;
  // Maxima of file i and all older ones stand in the header of the next; so once a replica needs
  // nothing of file i, it needs nothing of any older one.
  size_t first = files.size() - 1;
  for (const PrivateLogReach& replica : replicas) {
    size_t needed = files.size() - 1;
    for (size_t i = files.size() - 1; i-- > 0;) {
      const auto max = files[i + 1].EarlierMaxOf(replica.pid);
      if (!max || *max <= replica.committed_on_disk ||
          files[i].end_offset() <= replica.valid_start_offset)
        break;
      needed = i;
    }
    first = std::min(first, needed);
  }
  return first;
}

}  // namespace arion
