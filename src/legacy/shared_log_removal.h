// Taking files of a shared log out of the way, oldest first: whatever a crash leaves has no hole.
// To be called again with what is left after a failure; a file that is gone already counts as
// removed.
//
// Errors    As FileSystem. Both stop at the first failure.
// Threads   They wait for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <string>
#include <vector>

namespace arion {

class FileSystem;

// Removes the files in this order, each durably before the next. *done counts those that are gone
// for certain.
absl::Status RemoveSharedLogFiles(FileSystem& files, const std::string& directory,
                                  const std::vector<std::string>& names, size_t* done);
// The same by renaming to <name>.set-aside (.set-aside.1, ... where that is taken).
absl::Status SetSharedLogFilesAside(FileSystem& files, const std::string& directory,
                                    const std::vector<std::string>& names, size_t* done);

}  // namespace arion
