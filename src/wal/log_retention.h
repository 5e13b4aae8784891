// Which files of a private log may go (wal/FORMAT.md 8). Pure judgement: LogWriter and LogFolder
// remove them.
//
// Shapes    Files go from the front only, so a log is always a run of consecutive files. The next
//           file's header says what a file holds at most; so the newest file, behind which there is
//           none, always stays.
// Units     Decrees are inclusive. Offsets are global, times are seconds since 1970 by the wall
//           clock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/types/span.h>

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "wal/log_format.h"
#include "wal/log_index.h"

namespace arion {

struct LogNeeds;
struct LogReserve;

// One file of a log, as far as it is known without reading it again.
struct LogFileEntry {
  LogFileName name;
  // Its name in the log's folder. It may be padded with zeros, where an older version padded it.
  std::string file_name;
  // Durable content from the file's start.
  uint64_t content_bytes = 0;
  // The largest decree of all earlier files.
  Decree header_max_decree;
  // 0: not known, because the file is the newest and is being written.
  int64_t last_write_unix_s = 0;
  LogIndex index;

  // The global offset behind the content: where the next file starts.
  int64_t end_offset() const { return name.start_offset + static_cast<int64_t>(content_bytes); }
};

// CHECKs that these files, oldest first, follow each other without a hole: indexes, and where
// content ends and begins.
void CheckJoined(absl::Span<const LogFileEntry> files);

// How many files at the front may go, of `files`, oldest first: they hold only decrees that nobody
// needs, or void records (below valid_start_offset). Never counted are the newest file; the one
// that holds needs.checkpoint, which is the last decree that is both committed and durable
// elsewhere; and any within `reserve`. Void files are of no use to a learner or a member, so no
// limit keeps them. Headers need not rise: a learner's new beginning sets them back, and makes void
// what was before.
size_t CountDroppable(absl::Span<const LogFileEntry> files, const LogNeeds& needs,
                      const LogReserve& reserve, int64_t valid_start_offset, int64_t now_unix_s);

// Every decree above the result that was ever appended is in `files`, oldest first. `max_decree` is
// the largest decree that was appended; it is the result if all files are void or there is none.
Decree RetainedAbove(absl::Span<const LogFileEntry> files, int64_t valid_start_offset,
                     Decree max_decree);

}  // namespace arion
