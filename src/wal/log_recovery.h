// LogRecovery: from whatever a crash, a clean stop or an older version left in a log folder to a
// log that can go on: replayed, durable, cut where it was torn (decision 9; wal/FORMAT.md 7).
//
// Shapes    Steps, each durable before the next and repeatable after a crash: judge and replay
//           every file; save bytes to be cut as <file>.tail and truncate, also what seems trimmed
//           already unless the stop was clean; write the last block again; sync every kept file and
//           the folder; append the uncommitted tail anew to a new file. Nothing is changed before
//           every file has been judged, but for the `.removed` of wal/FORMAT.md 7.2. After a clean
//           stop only what the engine lacks of the newest file is read; all else is done as ever.
// Promises  log_recovery/V1  The files of the result follow each other; what comes behind them is
//               not void.
//           log_recovery/V2  What is set aside lies behind all that is kept.
//           log_recovery/V3  A file of other origin is never cut. Files are dropped unread only
//               where all they hold is applied and the last of them lost its end, which was in the
//               page cache.
//           log_recovery/V4  What is written anew was read from files that are kept.
// Errors    DataLoss: durable bytes are damaged or missing: nothing renamed but by wal/FORMAT.md
//           7.2, nothing deleted. FailedPrecondition: something lies there that is not ours to
//           judge (a symbolic link, another replica's log, a number beyond 2^62).
// Threads   Waits for the disk.
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

struct RecoveredLog {
  std::vector<LogFileEntry> files;  // oldest first
  LogIdentity identity;
  int64_t next_index = 1;
  int64_t end_offset = 0;
  Decree max_decree;  // largest decree of all files, for the next file's header
  Ballot max_ballot;  // of what was read, and of what a clean stop told of the rest
};

// Recovers the folder and replays it into `sink`; void records and files not needed above
// options.applied are left out.
absl::StatusOr<RecoveredLog> RecoverLog(FileSystem& files, const PrivateLogOptions& options,
                                        PrivateLog::ReplaySink sink, ReplaySummary* summary);

// spare.<index>: a file that waits for its name.
std::string SpareName(int64_t index);
bool IsSpareName(std::string_view name);

}  // namespace arion
