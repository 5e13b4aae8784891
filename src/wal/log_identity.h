// LogIdentity: which files of a log folder we wrote, and how (decision 9). Lies beside the folder,
// as text:
//
//   arion-log 1
//   file <inode> <birth time, ns> fsync|os   a line a file
//   clean                                    only after a clean stop, nothing written since
//   crc <8 hex digits>                       CRC-32C of everything above
//
// A file without a line is of other origin: the old versions' rules hold for it. Pure; any text may
// be parsed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "env/file_system.h"

namespace arion {

struct LogIdentity {
  struct File {
    uint64_t inode = 0;
    int64_t birth_nanos = 0;
    Durability durability = Durability::kFsync;
    bool operator==(const File&) const = default;
  };
  std::vector<File> files;
  bool clean = false;

  // How we wrote this file; nullopt: of other origin.
  std::optional<Durability> Find(const FileStatus& status) const;
  void Add(const FileStatus& status, Durability durability);
  void Remove(const FileStatus& status);

  std::string Format() const;
  static absl::StatusOr<LogIdentity> Parse(
      std::string_view text);  // DataLoss: not what Format wrote
};

// Empty when the file is not there.
absl::StatusOr<LogIdentity> ReadLogIdentity(FileSystem& files, const std::string& path);

}  // namespace arion
