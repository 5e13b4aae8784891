// SPDX-License-Identifier: Apache-2.0
#include "main/directory_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/status.h"

namespace arion {

absl::Status CheckDirectory(std::string_view origin, std::string_view key,
                            const std::string& path) {
  std::string lead = absl::StrCat(Text(origin), ": ", Text(key), " = \"", path, "\": ");
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) {
      return absl::NotFoundError(absl::StrCat(lead, "there is no such directory; mkdir -p ", path,
                                              ", or mount the disk that holds it"));
    }
    return absl::PermissionDeniedError(
        absl::StrCat(lead, strerror(errno), "; check the path and its permissions"));
  }
  if (!S_ISDIR(status.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(lead, "not a directory; name a directory"));
  }
  if (access(path.c_str(), R_OK | W_OK | X_OK) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(lead, strerror(errno), "; give user ", geteuid(),
                     " permission to write it (chown, chmod, or remount)"));
  }
  return absl::OkStatus();
}

}  // namespace arion
