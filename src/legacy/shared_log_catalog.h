// SharedLogCatalog: the files of the shared log that an older version left in one folder, as their
// names and first blocks say (legacy/FORMAT.md 2). Looks, and changes nothing.
//
// Shapes    log.<index>.<start offset>, consecutive indexes, each with a whole first block whose
//           map says for every replica the largest decree of all *earlier* files. The newest file
//           may lack its first block (torn as it was made): it is no content, named in `ignored`.
// Errors    DataLoss: what lies there is not a whole log; file, place and remedy are named.
//           FailedPrecondition: something with a log's name that is none. Others: the disk.
// Threads   Waits for the disk. Takes any bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "wal/log_format.h"

namespace arion {

class FileSystem;

// One file of the log, as its name and first block describe it. Offsets are global: they count
// through all files.
struct SharedLogFile {
  LogFileName name;
  std::string file_name;
  uint64_t size = 0;
  // From its header: the largest decrees of all earlier files.
  std::map<PartitionId, Decree> earlier;

  // Exclusive.
  int64_t end_offset() const { return name.start_offset + static_cast<int64_t>(size); }
  // nullopt: the header does not name the replica.
  std::optional<Decree> EarlierMaxOf(PartitionId pid) const;
};

// The whole log, as it was when it was listed. Nobody writes to it any more: only its removal
// changes it.
//
//   ASSIGN_OR_RETURN(std::string directory, FindSharedLog(files, {"/data/slog", "/slog"}));
//   ASSIGN_OR_RETURN(SharedLogCatalog catalog, ListSharedLog(files, directory));
struct SharedLogCatalog {
  std::string directory;
  // Oldest first.
  std::vector<SharedLogFile> files;
  // Files that are no content, as texts: "log.8.900: ... ".
  std::vector<std::string> ignored;

  std::string PathOf(const SharedLogFile& file) const;
  // Of all files together.
  uint64_t bytes() const;
};

// The log in that folder. No files, or no such folder: an empty catalog.
absl::StatusOr<SharedLogCatalog> ListSharedLog(FileSystem& files, const std::string& directory);

// The one of these folders that holds a log's files; empty: none does. FailedPrecondition: several
// do, and which of them counts can't be known. Others: one of them can't be looked at.
absl::StatusOr<std::string> FindSharedLog(FileSystem& files,
                                          absl::Span<const std::string> directories);

}  // namespace arion
