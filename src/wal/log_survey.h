// LogSurvey: what a log's files hold and how each ends, read and never changed; and what an older
// version would say of the whole log. For tools: a server judges by RecoverLog (log_recovery.h).
//
// Shapes    SurveyLogFile reads one file. ListLogFolder sorts the names of a folder and opens
//           nothing. ReplayByOldRule does both for a whole log.
// Units     Positions count bytes from a file's start, offsets are global. Minima and maxima are
//           inclusive.
// Errors    A status means that reading failed. Everything that names and bytes can be is in the
//           result.
// Memory    One block, and the counts of each partition.
// Threads   Waits for the disk. The log may be written meanwhile: the result is then of no single
//           moment.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/mutation.h"
#include "wal/log_format.h"
#include "wal/log_reader.h"

namespace arion {

class FileSystem;

// What one partition has in a file or a log.
struct SurveyedPartition {
  int64_t mutations = 0;
  // Of those mutations as the log holds them, without block headers.
  uint64_t bytes = 0;
  // These have a meaning if there are mutations.
  Decree min_decree;
  Decree max_decree;
  Decree max_last_committed;
  Ballot max_ballot;

  // Counts one mutation of this size, or all that `other` has counted.
  void Add(const Mutation& mutation, size_t bytes);
  void Add(const SurveyedPartition& other);
};

// What one log file holds.
struct SurveyedFile {
  LogFileName name;
  uint64_t size = 0;
  // nullopt: the file has no first block.
  std::optional<LogFileHeader> header;
  // Whole blocks from the file's start, in bytes.
  uint64_t content_bytes = 0;
  // The first one included.
  int64_t blocks = 0;
  int64_t mutations = 0;
  std::map<PartitionId, SurveyedPartition> partitions;
  // How the content ends, and LogReader's reason for it.
  LogEnd end = LogEnd::kEof;
  std::string reason;

  // Where the next file must start.
  int64_t content_end_offset() const {
    return name.start_offset + static_cast<int64_t>(content_bytes);
  }
};

// Reads the file `path` from its start to the end of its content. `on_block` sees each whole block,
// in order; an error that it returns ends the survey. FailedPrecondition: offsets in the file would
// exceed an i64.
using BlockSink = absl::FunctionRef<absl::Status(const LogBlock&)>;
absl::StatusOr<SurveyedFile> SurveyLogFile(FileSystem& files, const std::string& path,
                                           const LogFileName& name, BlockSink on_block);

// The names in a log's folder, sorted by what they are.
struct LogFolderNames {
  struct Log {
    LogFileName name;
    std::string file_name;
    uint64_t size = 0;
  };
  struct Refused {
    std::string file_name;
    std::string why;
  };
  // By index, then by start offset.
  std::vector<Log> logs;
  // They have logs' names, but are no regular files, or have numbers beyond an i64.
  std::vector<Refused> refused;
  // spare.<index>
  std::vector<std::string> spares;
  // log.*.tail and log.*.removed: what recovery set aside.
  std::vector<std::string> kept;
  // Any other name. Such a file is never read.
  std::vector<std::string> strange;
};
// Takes any names. An error means that the folder, or a file's status, could not be read.
absl::StatusOr<LogFolderNames> ListLogFolder(FileSystem& files, const std::string& directory);

// A whole log by the rule of wal/FORMAT.md 7.2, for any partitions: what an older version finds
// when it opens and replays it.
struct OldRuleReplay {
  enum class Verdict {
    kOk,
    // A first block that is corrupt, a corrupt block, or two files that do not join.
    kDamaged,
    // Indexes are not consecutive, or one is there twice.
    kHole,
    // A file with a log's name is not a regular file, or has numbers beyond an i64.
    kRefused,
  };
  Verdict verdict = Verdict::kOk;
  // The file at which the replay ended, and why, unless the verdict is kOk.
  std::string file_name;
  std::string reason;
  // Bytes lie behind the content of the last file that was replayed.
  bool has_torn_tail = false;
  // An older version would rename these to .removed.
  std::vector<std::string> without_first_block;
  // What can be read from the start up to there. An older version does not begin to read a log with
  // a hole.
  int64_t mutations = 0;
  int64_t end_offset = 0;
  std::map<PartitionId, SurveyedPartition> partitions;
};
// Surveys all of `names.logs` in the folder `directory`. `on_file` sees the survey of each file and
// `on_block` each block, also behind the place where the replay ended. An error of either ends it.
absl::StatusOr<OldRuleReplay> ReplayByOldRule(
    FileSystem& files, const std::string& directory, const LogFolderNames& names,
    absl::FunctionRef<absl::Status(const std::string& file_name, const SurveyedFile&)> on_file,
    absl::FunctionRef<absl::Status(const std::string& file_name, const LogBlock&)> on_block);

}  // namespace arion
