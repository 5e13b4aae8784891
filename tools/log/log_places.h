// LogPlaces: where logs lie under what a user named: a file, a folder of log files, a replica's
// directory, or a directory with many of these in it.
//
// Shapes    Symbolic links are not followed, set-aside directories (.err .gar .tmp .ori .bak) not
//           entered unless named. Found places are ordered by path.
// Threads   Waits for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "env/file_system.h"

namespace arion::logtool {

// A replica's own log, or an older version's log of all replicas.
enum class LogKind { kPrivate, kShared };

// One log.
struct LogPlace {
  LogKind kind = LogKind::kPrivate;
  // Where the files lie.
  std::string directory;
  // The file's name, when one file was named; else empty.
  std::string only_file;
  // Of a private log. Empty: the folder lies by itself.
  std::string replica_directory;
  // Of a private log: by the directory's name, else by the files.
  std::optional<PartitionId> pid;
  // From .init-info: records below are void.
  int64_t valid_start_offset = 0;

  // .arion-log
  std::string IdentityPath() const;
  // What a server would lock; empty: not known.
  std::string DataDirectory() const;
  // The path that was found.
  std::string Label() const;
};

// All logs that were found, and what could not be read.
struct FoundPlaces {
  std::vector<LogPlace> places;
  struct Trouble {
    std::string path;
    absl::Status status;
  };
  // Directories and files that could not be read.
  std::vector<Trouble> troubles;
};

// InvalidArgument: a file whose name is not a log's, or a directory without any log. Others: `path`
// can't be read.
absl::StatusOr<FoundPlaces> FindLogs(FileSystem& files, const std::string& path);

// "2.1.pegasus" -> 2.1
std::optional<PartitionId> ParseReplicaName(std::string_view name);

}  // namespace arion::logtool
