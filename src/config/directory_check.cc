// SPDX-License-Identifier: Apache-2.0
#include "config/directory_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/status.h"
#include "posix/posix_file_system.h"

namespace arion {
namespace {

// EROFS has two causes: the kernel's reaction to a failing disk, and the sandbox of the service.
absl::Status DiskFails(const std::string& lead, int error) {
  return absl::UnavailableError(absl::StrCat(
      lead, strerror(error), "; look at its disk",
      error == EROFS ? ", and where that is well, at ReadWritePaths= of the service" : ""));
}

absl::Status Refused(const std::string& lead, int error, const std::string& path) {
  return absl::PermissionDeniedError(absl::StrCat(lead, strerror(error), WhoIsRefused(path)));
}

}  // namespace

absl::Status CheckDirectory(std::string_view origin, std::string_view key,
                            const std::string& path) {
  std::string lead = absl::StrCat(Text(origin), ": ", Text(key), " = \"", path, "\": ");
  struct stat status {};
  // Each error has another remedy, and another prospect: a missing directory or a failing disk may
  // come back, a path that can't be one never does.
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) {
      return absl::NotFoundError(absl::StrCat(lead, "there is no such directory; mkdir -p ", path,
                                              ", or mount the disk that holds it"));
    }
    if (errno == EIO || errno == ENODEV || errno == ENXIO) return DiskFails(lead, errno);
    if (errno == EACCES) return Refused(lead, errno, path);
    return absl::InvalidArgumentError(absl::StrCat(lead, strerror(errno), "; check the path"));
  }
  if (!S_ISDIR(status.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(lead, "not a directory; name a directory"));
  }
  // access also notices a file system that has become read-only, which stat does not.
  if (access(path.c_str(), R_OK | W_OK | X_OK) != 0) {
    if (errno == EROFS || errno == EIO) return DiskFails(lead, errno);
    return Refused(lead, errno, path);
  }
  return absl::OkStatus();
}

// The kernel answers questions for names and small files from memory while the disk hangs. Only a
// flush waits for the disk itself.
void AwaitDisk(const std::string& path) {
  int fd = open(path.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  // Some file systems know no nameless files.
  if (fd < 0) {  // some file systems know no nameless files
    const std::string name = path + "/.arion-probe";
    fd = open(name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return;
    // Removed at once: whatever happens from here on, nothing is left behind.
    unlink(name.c_str());
  }
  if (write(fd, "", 1) == 1) fsync(fd);
  close(fd);
}

}  // namespace arion
