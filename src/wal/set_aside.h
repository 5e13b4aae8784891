// Setting aside what recovery takes out of a log: nothing is deleted, and nothing that lies there
// is replaced.
//
// Shapes    Each function is one or more durable steps. After a crash in the middle the same call
//           goes on to the same end, and makes no second copy.
// Errors    Those of the file system. A name that cannot be looked for is not taken for a free one.
// Threads   Waits for the disk: called from the DiskPool. One caller a folder at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>

namespace arion {

class FileSystem;

// `name` if there is no such file; else the first of name.1, name.2, ... that is free.
absl::StatusOr<std::string> FreeName(FileSystem& files, const std::string& name);

// Where a cut-off tail goes: <path>.tail, or .tail.1, ... where another tail lies already.
struct TailPlace {
  std::string path;
  // The place holds exactly these bytes: an earlier call saved them before a crash.
  bool is_saved = false;
};
// The place for the bytes [begin, end) of `path`. begin < end.
absl::StatusOr<TailPlace> FindTailPlace(FileSystem& files, const std::string& path, uint64_t begin,
                                        uint64_t end);

// Copies the bytes [begin, end) of `path` to that place, durably. The file itself stays as it is.
// begin < end. DataLoss: the file became shorter meanwhile.
absl::Status SaveTail(FileSystem& files, const std::string& path, uint64_t begin, uint64_t end);

// Renames the file to <path>.removed, or .removed.1, ... where that is taken, durably.
absl::Status RenameToRemoved(FileSystem& files, const std::string& path);

}  // namespace arion
