// SPDX-License-Identifier: Apache-2.0
#include "wal/log_retention.h"

#include <algorithm>

namespace arion {

size_t CountDroppable(absl::Span<const LogFileEntry> files, Decree durable,
                      int64_t valid_start_offset) {
  for (size_t i = files.size(); i-- > 1;) {
    // files[i - 1] and all before it: files[i]'s header says what they hold at most.
    if (files[i].name.start_offset <= valid_start_offset || files[i].header_max_decree <= durable)
      return i;
  }
  return 0;
}

Decree RetainedAbove(absl::Span<const LogFileEntry> files, int64_t valid_start_offset,
                     Decree max_decree) {
  // The oldest file that lies wholly behind the void part: its header covers what was before it.
  for (const LogFileEntry& file : files)
    if (file.name.start_offset >= valid_start_offset) return file.header_max_decree;
  return max_decree;
}

}  // namespace arion
