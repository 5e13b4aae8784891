// SPDX-License-Identifier: Apache-2.0
#include "legacy/shared_log_removal.h"

#include "base/status.h"
#include "env/file_system.h"

namespace arion {

absl::Status RemoveSharedLogFiles(FileSystem& files, const std::string& directory,
                                  const std::vector<std::string>& names, size_t* done) {
  *done = 0;
  for (const std::string& name : names) {
    const absl::Status removed = files.Remove(JoinPath(directory, name));
    if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
    RETURN_IF_ERROR(files.SyncDirectory(directory));
    ++*done;
  }
  return absl::OkStatus();
}

absl::Status SetSharedLogFilesAside(FileSystem& files, const std::string& directory,
                                    const std::vector<std::string>& names, size_t* done) {
  *done = 0;
  for (const std::string& name : names) {
    const std::string from = JoinPath(directory, name);
    std::string to = from + ".set-aside";
    for (int i = 1;; ++i) {
      ASSIGN_OR_RETURN(const bool is_taken, IsThere(files, to));
      if (!is_taken) break;
      to = absl::StrCat(from, ".set-aside.", i);
    }
    RETURN_IF_ERROR(files.Rename(from, to));
    RETURN_IF_ERROR(files.SyncDirectory(directory));
    ++*done;
  }
  return absl::OkStatus();
}

}  // namespace arion
