// LogPlaces: where logs lie under what a user named: a file, a folder of log files, a replica's
// directory, or a directory with many of these in it.
//
// Shapes    Symbolic links are not followed, set-aside directories (.err .gar .tmp .ori .bak) not
//           entered unless named. Found places are ordered by path.
// Threads   Waits for the disk. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "env/file_system.h"

namespace arion::logtool {

enum class LogKind { kPrivate, kShared };

struct LogPlace {
  LogKind kind = LogKind::kPrivate;
  std::string directory;           // where the files lie
  std::string only_file;           // its name, when one file was named; else empty
  std::string replica_directory;   // of a private log; empty: the folder lies by itself
  std::optional<PartitionId> pid;  // of a private log: by the directory's name, else by the files
  int64_t valid_start_offset = 0;  // .init-info: records below are void

  std::string IdentityPath() const;   // .arion-log
  std::string DataDirectory() const;  // what a server would lock; empty: unknown
  std::string Label() const;          // the path that was found
};

struct FoundPlaces {
  std::vector<LogPlace> places;
  struct Trouble {
    std::string path;
    absl::Status status;
  };
  std::vector<Trouble> troubles;  // directories and files that could not be read
};

// Errors: InvalidArgument, a file whose name is not a log's or a directory without any log. Others:
// `path` can't be read.
absl::StatusOr<FoundPlaces> FindLogs(FileSystem& files, const std::string& path);

// "2.1.pegasus" -> 2.1
std::optional<PartitionId> ParseReplicaName(std::string_view name);

}  // namespace arion::logtool
