// Which files of a private log may go (spec/disk-formats.md 6.1). Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/types/span.h>

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "wal/log_format.h"

namespace arion {

// What a log keeps although nobody needs it any more, so that a member that comes back gets the log
// instead of a checkpoint: files, counted from the newest, while every limit holds.
struct LogReserve {
  uint64_t bytes_max = 0;       // 0: nothing
  int64_t files_max = 0;        // 0: no limit by count
  int64_t age_max_seconds = 0;  // since a file's last write; 0: no limit by age
};

// One file of a log, as far as it is known without reading it again.
struct LogFileEntry {
  LogFileName name;
  std::string file_name;  // in the log's folder; may be padded where an older version padded it
  uint64_t content_bytes = 0;  // durable content from the file's start
  Decree header_max_decree;    // largest decree of all earlier files

  int64_t end_offset() const { return name.start_offset + static_cast<int64_t>(content_bytes); }
};

// How many files at the front hold only decrees <= `durable` or void records (below
// valid_start_offset). Never the newest. `files` oldest first. Headers need not rise: a learner's
// new beginning sets them back, and voids what was before.
size_t CountDroppable(absl::Span<const LogFileEntry> files, Decree durable,
                      int64_t valid_start_offset);

// Every decree > this that was ever appended is in `files`; `max_decree` is the largest appended.
Decree RetainedAbove(absl::Span<const LogFileEntry> files, int64_t valid_start_offset,
                     Decree max_decree);

}  // namespace arion
