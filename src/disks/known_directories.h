// KnownDirectories: is an empty data directory a new one, or is its disk not mounted? Each data
// directory remembers all those that its server has had.
//
// Shapes    <data directory>/.arion-directories: the paths of all data directories, a line each.
//           Older versions look at folders only and pass it over.
//           Blank is a directory that is missing, or holds neither a replica (set aside ones count)
//           nor what a server of ours leaves in each (.arion-server, .arion-directories).
// Errors    As FileSystem.
// Threads   What takes a FileSystem waits for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <optional>
#include <set>
#include <string>

#include "base/ids.h"
#include "env/file_system.h"

namespace arion {

// What one data directory holds.
struct DirectoryLook {
  std::string path;
  bool is_blank = false;
  // The paths it remembers. nullopt: no server of ours wrote them down.
  std::optional<std::set<std::string>> known;
  // Those that have a directory here, readable or not.
  std::set<PartitionId> replicas;
  // Those with a directory ending in .err or .gar.
  std::set<PartitionId> set_aside;
};
// Lists the directory; changes nothing. A directory that is missing is blank, and no error.
absl::StatusOr<DirectoryLook> LookAtDirectory(FileSystem& files, const std::string& path);

// Why `blank` can't be taken for a new directory, as text for the operator. Empty: it can.
// `others`: all directories of the server (blank ones are passed over). `shared_log`: where an
// older version's shared log lies; empty: nowhere.
std::string WhyNotNew(const DirectoryLook& blank, absl::Span<const DirectoryLook> others,
                      const std::string& shared_log);

// Writes `all` down in the directory, durably. Nothing is written where that is what it remembers.
absl::Status RememberDirectories(FileSystem& files, const DirectoryLook& look,
                                 const std::set<std::string>& all);

}  // namespace arion
