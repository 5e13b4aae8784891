// SPDX-License-Identifier: Apache-2.0
#include "replica/log_place.h"

#include "base/status.h"

namespace arion {
namespace {

constexpr char kLogName[] = "plog";
constexpr char kIdentityName[] = ".arion-log";
constexpr char kHomeName[] = ".arion-log-home";
constexpr char kDataName[] = ".arion-data";

std::string FolderAtHome(const std::string& log_home, const std::string& replica_directory) {
  return JoinPath(log_home, BaseName(replica_directory));
}

// Where the replica's log is at home, by its own word; empty: beside its data.
absl::StatusOr<std::string> HomeOf(FileSystem& files, const std::string& replica_directory) {
  absl::StatusOr<std::string> home = ReadFile(files, JoinPath(replica_directory, kHomeName));
  if (absl::IsNotFound(home.status())) return "";
  return home;
}

// Folders of earlier versions don't say; they count as anybody's.
absl::StatusOr<bool> IsFolderOf(FileSystem& files, const std::string& folder,
                                const std::string& replica_directory) {
  const absl::StatusOr<std::string> data = ReadFile(files, JoinPath(folder, kDataName));
  if (absl::IsNotFound(data.status())) return true;
  RETURN_IF_ERROR(data.status());
  return *data == replica_directory;
}

}  // namespace

LogPlace LogPlaceOf(const std::string& log_home, const std::string& replica_directory) {
  const std::string folder =
      log_home.empty() ? replica_directory : FolderAtHome(log_home, replica_directory);
  return {.directory = JoinPath(folder, kLogName),
          .identity_path = JoinPath(folder, kIdentityName)};
}

absl::Status CheckLogPlace(FileSystem& files, const std::string& log_home,
                           const std::string& replica_directory) {
  ASSIGN_OR_RETURN(const std::string home, HomeOf(files, replica_directory));
  const std::string wanted = log_home.empty() ? "" : FolderAtHome(log_home, replica_directory);
  if (home != wanted) {
    if (!home.empty())
      return absl::FailedPreconditionError(absl::StrCat(
          "the log of ", replica_directory, " lies in ", home, ", which is not where ",
          wanted.empty() ? "log_placement = data" : absl::StrCat("log_home_directory = ", log_home),
          " has it; start with log_placement = home and log_home_directory = ",
          ParentDirectory(home)));
    if (Exists(files, JoinPath(replica_directory, kLogName)))
      return absl::FailedPreconditionError(absl::StrCat("the log of ", replica_directory,
                                                        " lies beside its data, not in ", wanted,
                                                        "; start with log_placement = data"));
    return absl::FailedPreconditionError(
        absl::StrCat(replica_directory, " has no log, neither beside its data nor in ", wanted,
                     "; start with log_placement = data"));
  }
  if (!wanted.empty() && !Exists(files, JoinPath(wanted, kLogName)))
    return absl::UnavailableError(absl::StrCat("the log of ", replica_directory, " is not in ",
                                               wanted, "; is the disk of the log home mounted?"));
  return absl::OkStatus();
}

absl::Status PrepareLogPlace(FileSystem& files, const Clock& clock, const std::string& log_home,
                             const std::string& replica_directory,
                             const std::string& temporary_directory) {
  if (log_home.empty()) return absl::OkStatus();
  const std::string folder = FolderAtHome(log_home, replica_directory);
  if (Exists(files, folder))
    RETURN_IF_ERROR(files.Rename(folder, absl::StrCat(folder, ".", clock.WallMicros(), ".gar")));
  RETURN_IF_ERROR(files.CreateDirectories(JoinPath(folder, kLogName)));
  RETURN_IF_ERROR(WriteFileDurably(files, JoinPath(folder, kDataName), replica_directory));
  RETURN_IF_ERROR(files.SyncDirectory(folder));
  RETURN_IF_ERROR(files.SyncDirectory(log_home));
  return WriteFileDurably(files, JoinPath(temporary_directory, kHomeName), folder);
}

absl::Status SetLogAside(FileSystem& files, const std::string& log_home,
                         const std::string& replica_directory, const std::string& target) {
  if (log_home.empty()) return absl::OkStatus();
  const std::string folder = FolderAtHome(log_home, replica_directory);
  if (!Exists(files, folder)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool is_its_own, IsFolderOf(files, folder, replica_directory));
  if (!is_its_own) return absl::OkStatus();
  RETURN_IF_ERROR(files.Rename(folder, FolderAtHome(log_home, target)));
  return files.SyncDirectory(log_home);
}

}  // namespace arion
