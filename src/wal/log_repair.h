// LogRepair: carries out what recovery has judged, so that the folder holds a log that can go on
// (wal/FORMAT.md 7.3 to 7.6). log_recovery.h reads and judges; this class changes files.
//
// Shapes    The order of the steps is the promise: each is durable before the next begins, and each
//           may be repeated. A crash between any two leaves a folder that the next start judges to
//           the same end.
//           1. Files that lost their end and hold nothing the engine lacks are removed, oldest
//              first.
//           2. Files without content are removed, newest first. Their bytes are kept as
//              <file>.tail.
//           3. Every other file is cut to its content and synced. What is cut is kept as
//              <file>.tail.
//           4. The folder is synced, and spares are removed.
//           5. What nothing in the log calls committed is written anew into a file of its own.
// Errors    Those of the file system, and of reading a file again. Nothing that was kept is lost:
//           the next start begins anew.
// Promises  log_recovery/V2, log_recovery/V3 and log_recovery/V4 are checked here.
// Threads   Waits for the disk: called from the DiskPool.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "env/file_system.h"
#include "wal/log_retention.h"
#include "wal/private_log.h"
#include "wal/uncommitted_tail.h"

namespace arion {

struct RecoveredLog;

// One log file with recovery's judgement of it.
struct JudgedFile {
  LogFileEntry entry;
  // The file's length when it was listed, in bytes.
  uint64_t size = 0;
  FileStatus status;
  // How this server wrote the file. nullopt: it is of other origin, and is never cut.
  std::optional<Durability> written_as;
  bool has_first_block = false;
  // The file header has an entry of this replica. Old versions wrote headers without any entry.
  bool header_names_us = false;
  // kSetAside: nothing in the file is content.
  enum class Fate { kKeep, kSetAside } fate = Fate::kKeep;
  // The bytes in [content, cut_end) are saved before the cut. What lies behind them is zeros or an
  // older log's, and is not worth saving.
  uint64_t cut_end = 0;
  // The position of the content's last block.
  uint64_t last_block = 0;

  bool is_durable() const { return written_as == Durability::kFsync; }
  bool is_ours() const { return written_as.has_value(); }
};

// A folder after judgement, before anything was changed in it.
struct JudgedLog {
  // By index, without a hole. Those that are set aside come last.
  std::vector<JudgedFile> files;
  // Files in front of those: the engine holds all that was in them, and the last of them lost its
  // end.
  std::vector<JudgedFile> outdated;
  // The names of the spares.
  std::vector<std::string> spares;
  UncommittedTail uncommitted;
};

// One use: construct, Run, drop. The arguments outlive it.
//
//   LogRepair repair(files, options, &summary);
//   RETURN_IF_ERROR(repair.Run(std::move(judged), &log));
class LogRepair {
 public:
  LogRepair(FileSystem& files, const PrivateLogOptions& options, ReplaySummary* summary)
      : files_(files), options_(options), summary_(*summary) {}

  // Fills *log, whose identity, max_decree and max_ballot are set by the caller. Sets
  // summary->cut_tail when bytes were saved. Takes options.valid_start_offset as the start of a log
  // without any file.
  absl::Status Run(JudgedLog judged, RecoveredLog* log);

 private:
  std::string PathOf(const std::string& name) const { return JoinPath(options_.directory, name); }
  std::string PathOf(const JudgedFile& file) const { return PathOf(file.entry.file_name); }
  absl::Status RemoveOutdated();
  absl::Status RemoveWithoutContent();
  absl::Status CutAndSync();
  absl::Status CutAndSync(JudgedFile& file);
  absl::Status WriteLastBlockAgain(const JudgedFile& file, WritableFile& to);
  absl::Status DropVoidFiles();
  absl::Status AppendUncommittedAnew();

  FileSystem& files_;
  const PrivateLogOptions& options_;
  ReplaySummary& summary_;
  JudgedLog judged_{.uncommitted = UncommittedTail(Decree(0))};
  RecoveredLog* log_ = nullptr;
};

}  // namespace arion
