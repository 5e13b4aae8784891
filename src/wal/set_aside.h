// Setting aside what recovery takes out of a log: nothing is deleted, nothing replaced, each step
// durable and repeatable after a crash. Waits for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>

#include "env/file_system.h"

namespace arion {

// `name`, or with the first number behind it (name.1, ...) that is free.
absl::StatusOr<std::string> FreeName(FileSystem& files, const std::string& name);

// Where [begin, end) of `path` goes: <path>.tail (.tail.1, ... where another tail lies already).
struct TailPlace {
  std::string path;
  bool is_saved = false;  // it holds these bytes, since before a crash
};
absl::StatusOr<TailPlace> FindTailPlace(FileSystem& files, const std::string& path, uint64_t begin,
                                        uint64_t end);

// Copies [begin, end) of `path` to that place. The file itself stays as it is.
absl::Status SaveTail(FileSystem& files, const std::string& path, uint64_t begin, uint64_t end);

// Renames the file to <path>.removed (.removed.1, ... where that is taken).
absl::Status RenameToRemoved(FileSystem& files, const std::string& path);

}  // namespace arion
