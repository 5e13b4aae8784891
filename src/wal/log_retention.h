// Which files of a private log may go (wal/FORMAT.md 8). Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/types/span.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "base/ids.h"
#include "wal/log_format.h"
#include "wal/log_index.h"

namespace arion {

// Files, counted from the newest, while every limit holds: what a log keeps although nobody needs it,
// or at most for one that may never come back.
struct LogReserve {
  uint64_t bytes_max = 0;       // 0: nothing
  int64_t files_max = 0;        // 0: no limit by count
  int64_t age_max_seconds = 0;  // since a file's last write; 0: no limit by age
};

// Who needs the log: for each the last decree it does *not* need any more.
struct LogNeeds {
  Decree checkpoint;              // what the last durable checkpoint holds
  std::optional<Decree> learner;  // nullopt: no such
  LogReserve for_learner{.bytes_max = std::numeric_limits<uint64_t>::max()};  // for it at most
  std::optional<Decree> member;  // of the group, one that is absent included
  LogReserve for_member;         // what is kept for it at most
};

// One file of a log, as far as it is known without reading it again.
struct LogFileEntry {
  LogFileName name;
  std::string file_name;  // in the log's folder; may be padded where an older version padded it
  uint64_t content_bytes = 0;     // durable content from the file's start
  Decree header_max_decree;       // largest decree of all earlier files
  int64_t last_write_unix_s = 0;  // not known of the newest while it is written
  LogIndex index;

  int64_t end_offset() const { return name.start_offset + static_cast<int64_t>(content_bytes); }
};

// CHECKs that these follow each other without a hole: indexes, and where content ends and begins.
void CheckJoined(absl::Span<const LogFileEntry> files);

// How many files at the front hold only decrees that nobody needs, or void records (below
// valid_start_offset). Never the newest; never the one that holds needs.checkpoint, the last decree
// that is both committed and durable elsewhere; none within `reserve`. Void files are of no use to a
// learner or a member, so no limit holds them. `files` oldest first.
// Headers need not rise: a learner's new beginning sets them back, and voids what was before.
size_t CountDroppable(absl::Span<const LogFileEntry> files, const LogNeeds& needs,
                      const LogReserve& reserve, int64_t valid_start_offset, int64_t now_unix_s);

// Every decree > this that was ever appended is in `files`; `max_decree` is the largest appended.
Decree RetainedAbove(absl::Span<const LogFileEntry> files, int64_t valid_start_offset,
                     Decree max_decree);

}  // namespace arion
