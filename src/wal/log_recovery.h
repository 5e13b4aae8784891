// LogRecovery: from whatever a crash, a clean stop or an older version left in a log folder to a
// log that can go on: replayed, durable, cut where it was torn (decision 9; wal/FORMAT.md 7).
//
// Shapes    Two halves. This one lists, reads and judges every file, and replays what is not void.
//           The other (log_repair.h) changes the folder accordingly, in durable steps that may be
//           repeated after a crash. Nothing is changed before every file has been judged, but for
//           the `.removed` of wal/FORMAT.md 7.2. After a clean stop only what the engine lacks of
//           the newest file is read; everything else is done as after any other stop.
// Promises  log_recovery/V1  The files of the result follow each other; what comes behind them is
//               not void.
//           log_recovery/V2  What is set aside lies behind all that is kept.
//           log_recovery/V3  A file of other origin is never cut. Files are dropped unread only
//               where all they hold is applied and the last of them lost its end, which was in the
//               page cache.
//           log_recovery/V4  What is written anew was read from files that are kept.
// Errors    DataLoss: durable bytes are damaged or missing. Nothing was renamed but by
//           wal/FORMAT.md 7.2, and nothing deleted. FailedPrecondition: something lies there that
//           is not this log's to judge (a symbolic link, another replica's log, a number beyond
//           2^62). PermissionDenied: the folder cannot be written. Whatever the files hold is an
//           error or a log, never a CHECK failure.
// Threads   Waits for the disk: called from the DiskPool, by whoever owns the folder alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "env/file_system.h"
#include "wal/log_identity.h"
#include "wal/log_retention.h"
#include "wal/private_log.h"

namespace arion {

// A log that can go on. All of its files are closed: what is appended starts a file of its own.
struct RecoveredLog {
  // Oldest first.
  std::vector<LogFileEntry> files;
  // Which of the files this server wrote. Not yet written to disk, unless a file was made.
  LogIdentity identity;
  // Of the next file, and the global offset at which it starts.
  int64_t next_index = 1;
  int64_t end_offset = 0;
  // The largest decree of all files, for the next file's header. At least options.applied.
  Decree max_decree;
  // Of what was read, and of what a clean stop told of the rest.
  Ballot max_ballot;
};

// Recovers the folder options.directory, which exists, and replays it into `sink`. Left out are
// void records, and files that hold nothing above options.applied. An error of the sink ends the
// recovery. Fills *summary, but for `took`.
//
//   ReplaySummary summary;
//   ASSIGN_OR_RETURN(const RecoveredLog log, RecoverLog(files, options, sink, &summary));
absl::StatusOr<RecoveredLog> RecoverLog(FileSystem& files, const PrivateLogOptions& options,
                                        PrivateLog::ReplaySink sink, ReplaySummary* summary);

// spare.<index>: a file that waits for its name as a log file. `index` is above 0.
std::string SpareName(int64_t index);
// Whether a file of that name is a spare. Takes any name.
bool IsSpareName(std::string_view name);

}  // namespace arion
