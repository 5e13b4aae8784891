// SPDX-License-Identifier: Apache-2.0
#include "disks/log_place.h"

#include "base/status.h"
#include "disks/data_directory_claim.h"
#include "env/clock.h"

namespace arion {
namespace {

constexpr char kLogName[] = "plog";
constexpr char kIdentityName[] = ".arion-log";
// Text: the path of the replica's folder at the log home.
constexpr char kHomeName[] = ".arion-log-home";
constexpr char kDataName[] = ".arion-data";

std::string FolderAtHome(const std::string& log_home, const std::string& replica_directory) {
  return JoinPath(log_home, BaseName(replica_directory));
}

// The folder that the replica's own file names; empty: its log lies beside its data.
absl::StatusOr<std::string> HomeOf(FileSystem& files, const std::string& replica_directory) {
  absl::StatusOr<std::string> home = ReadFile(files, JoinPath(replica_directory, kHomeName));
  if (absl::IsNotFound(home.status())) return "";
  return home;
}

// The replica directory that a folder at home belongs to. Empty: the folder comes from a version
// that did not record it, and counts as anybody's.
absl::StatusOr<std::string> OwnerOf(FileSystem& files, const std::string& folder) {
  absl::StatusOr<std::string> owner = ReadFile(files, JoinPath(folder, kDataName));
  if (absl::IsNotFound(owner.status())) return "";
  return owner;
}

absl::StatusOr<bool> IsFolderOf(FileSystem& files, const std::string& folder,
                                const std::string& replica_directory) {
  ASSIGN_OR_RETURN(const std::string owner, OwnerOf(files, folder));
  return owner.empty() || owner == replica_directory;
}

absl::StatusOr<bool> HoldsNoLog(FileSystem& files, const std::string& folder) {
  const absl::StatusOr<std::vector<std::string>> names = files.List(JoinPath(folder, kLogName));
  if (absl::IsNotFound(names.status())) return true;
  RETURN_IF_ERROR(names.status());
  return names->empty();
}

absl::StatusOr<int64_t> WrittenAt(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const FileStatus status, files.Stat(path));
  return status.modified_unix_nanos;
}

// Whether `sign` was written after this replica was begun. The replica's own beginning is the time
// of its .arion-log-home.
absl::StatusOr<bool> IsYoungerSign(FileSystem& files, const std::string& sign,
                                   const std::string& replica_directory) {
  ASSIGN_OR_RETURN(const int64_t written, WrittenAt(files, sign));
  ASSIGN_OR_RETURN(const int64_t replicas,
                   WrittenAt(files, JoinPath(replica_directory, kHomeName)));
  return written > replicas;
}

// Whether a folder was begun after this replica was. Each replica writes the folder's .arion-data
// first and its own .arion-log-home right after it.
absl::StatusOr<bool> IsYounger(FileSystem& files, const std::string& folder,
                               const std::string& replica_directory) {
  return IsYoungerSign(files, JoinPath(folder, kDataName), replica_directory);
}

// Two signs must agree, because a path that differs proves nothing by itself: a data directory may
// have been mounted elsewhere since.
absl::Status CheckOwner(FileSystem& files, const std::string& folder,
                        const std::string& replica_directory) {
  ASSIGN_OR_RETURN(const std::string owner, OwnerOf(files, folder));
  if (owner.empty() || owner == replica_directory) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool is_younger, IsYounger(files, folder, replica_directory));
  // A clock that leapt back makes a later folder look older. So the owner is asked too, if it can
  // be read.
  if (!is_younger && HomeOf(files, owner).value_or("") != folder) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the log of ", replica_directory,
                                          " was replaced by the one of ", owner, ", in ", folder));
}

// Whether the log home is the one in which this replica's log was. It is not if a directory was
// made since then below an empty mount point. Signs that it is: it was claimed before the replica
// was begun (a claim is written once, at first use), it has folders from before that, or it has the
// replica's own folder, set aside.
bool IsHomeOf(FileSystem& files, const std::string& log_home,
              const std::string& replica_directory) {
  const std::string claim = JoinPath(log_home, kDataDirectoryOwnerName);
  if (!IsYoungerSign(files, claim, replica_directory).value_or(true)) return true;
  const absl::StatusOr<std::vector<std::string>> names = files.List(log_home);
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    const std::string folder = JoinPath(log_home, name);
    if (OwnerOf(files, folder).value_or("") == replica_directory) return true;
    if (!IsYounger(files, folder, replica_directory).value_or(true)) return true;
  }
  return false;
}

absl::Status CheckIsAtHome(FileSystem& files, const std::string& log_home,
                           const std::string& replica_directory) {
  const std::string folder = FolderAtHome(log_home, replica_directory);
  if (Exists(files, JoinPath(folder, kLogName)))
    return CheckOwner(files, folder, replica_directory);
  // A log that is gone from its true home is damage. A home that can't be proven to be the true one
  // may just not be mounted, and the log is there when it is.
  const absl::Status there = files.Stat(folder).status();
  if (absl::IsNotFound(there) && IsHomeOf(files, log_home, replica_directory))
    return absl::DataLossError(
        absl::StrCat("the log of ", replica_directory, " is gone from ", log_home,
                     ", which has others: another of its name took its place"));
  return absl::UnavailableError(absl::StrCat("the log of ", replica_directory, " is not in ",
                                             folder, "; is the disk of the log home mounted?"));
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
      // The log is never moved: the message names the setting under which it is found.
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
  return wanted.empty() ? absl::OkStatus() : CheckIsAtHome(files, log_home, replica_directory);
}

absl::Status PrepareLogPlace(FileSystem& files, const Clock& clock, const std::string& log_home,
                             const std::string& replica_directory,
                             const std::string& temporary_directory) {
  if (log_home.empty()) return absl::OkStatus();
  const std::string folder = FolderAtHome(log_home, replica_directory);
  ASSIGN_OR_RETURN(const bool is_taken, IsThere(files, folder));
  if (is_taken) {
    // Another directory's log may be wanted again when its disk comes back, so it is kept as long
    // as a failed one. An empty log is left over from a creation that failed.
    ASSIGN_OR_RETURN(const bool is_its_own, IsFolderOf(files, folder, replica_directory));
    ASSIGN_OR_RETURN(const bool is_empty, HoldsNoLog(files, folder));
    RETURN_IF_ERROR(files.Rename(folder, absl::StrCat(folder, ".", AgreedWallMicros(clock),
                                                      is_its_own || is_empty ? ".gar" : ".err")));
  }
  // The order: the folder with its owner, durably, then the file that points to it. A crash in
  // between leaves a folder without a replica, which the next creation sets aside.
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
  // The folder was given to another replica of that name meanwhile.
  if (!is_its_own) return absl::OkStatus();
  // The suffix of the replica's directory: both are then found, and removed, as one kind of
  // garbage.
  RETURN_IF_ERROR(files.Rename(folder, FolderAtHome(log_home, target)));
  return files.SyncDirectory(log_home);
}

}  // namespace arion
