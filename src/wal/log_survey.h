// LogSurvey: what a log's files hold and how each ends, read and never changed; and the verdict of
// the old versions' rule on a shared log. For tools: a server judges by RecoverLog
// (log_recovery.h).
//
// Shapes    One file: SurveyLogFile. A folder: ListLogFolder sorts its names; nothing is opened.
// Units     Positions count from a file's start, offsets are global.
// Errors    A status means that reading failed. Everything the bytes can be is in the survey.
// Threads   Waits for the disk. Takes any bytes; holds one block.
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
#include "env/file_system.h"
#include "wal/log_format.h"
#include "wal/log_reader.h"

namespace arion {

// What one partition has in a file or a log.
struct SurveyedPartition {
  int64_t mutations = 0;
  uint64_t bytes = 0;  // of mutations
  Decree min_decree;   // with mutations > 0
  Decree max_decree;
  Decree max_last_committed;
  Ballot max_ballot;

  void Add(const Mutation& mutation, size_t bytes);
  void Add(const SurveyedPartition& other);
};

struct SurveyedFile {
  LogFileName name;
  uint64_t size = 0;
  std::optional<LogFileHeader> header;  // nullopt: no first block
  uint64_t content_bytes = 0;           // whole blocks from the start
  int64_t blocks = 0;                   // the first one included
  int64_t mutations = 0;
  std::map<PartitionId, SurveyedPartition> partitions;
  LogEnd end = LogEnd::kEof;
  std::string reason;  // LogReader's

  int64_t content_end_offset() const {
    return name.start_offset + static_cast<int64_t>(content_bytes);
  }
};

// Reads a file from start to end; `on_block` sees each whole block. An error of it ends the survey.
using BlockSink = absl::FunctionRef<absl::Status(const LogBlock&)>;
absl::StatusOr<SurveyedFile> SurveyLogFile(FileSystem& files, const std::string& path,
                                           const LogFileName& name, BlockSink on_block);

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
  std::vector<Log> logs;             // by index, then offset
  std::vector<Refused> refused;      // logs' names that are no regular files, or numbers beyond i64
  std::vector<std::string> spares;   // spare.<index>
  std::vector<std::string> kept;     // log.*.tail, log.*.removed: what was set aside
  std::vector<std::string> strange;  // any other name; never read
};
absl::StatusOr<LogFolderNames> ListLogFolder(FileSystem& files, const std::string& directory);

// A whole log by the rule of wal/FORMAT.md 7.2, for any partitions: what an old
// version finds when it opens and replays it.
struct OldRuleReplay {
  enum class Verdict {
    kOk,
    kDamaged,  // a first block that is corrupt, a corrupt block, or two files that do not join
    kHole,     // indexes are not consecutive, or one is there twice
    kRefused,  // a name in it is not a regular file, or beyond 2^62
  };
  Verdict verdict = Verdict::kOk;
  std::string file_name;  // where it ended, if not kOk
  std::string reason;
  bool has_torn_tail = false;  // bytes behind the content of the newest file that has any
  std::vector<std::string> without_first_block;  // would be renamed to .removed
  // What can be read from the start up to there (an old version does not begin to read a log with a
  // hole).
  int64_t mutations = 0;
  int64_t end_offset = 0;
  std::map<PartitionId, SurveyedPartition> partitions;
};
// `on_file` sees each file's survey, replayed or not.
absl::StatusOr<OldRuleReplay> ReplayByOldRule(
    FileSystem& files, const std::string& directory, const LogFolderNames& names,
    absl::FunctionRef<absl::Status(const std::string& file_name, const SurveyedFile&)> on_file,
    absl::FunctionRef<absl::Status(const std::string& file_name, const LogBlock&)> on_block);

}  // namespace arion
