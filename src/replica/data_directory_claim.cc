// SPDX-License-Identifier: Apache-2.0
#include "replica/data_directory_claim.h"

#include <absl/strings/ascii.h>

#include "base/status.h"

namespace arion {
namespace {

constexpr char kLockName[] = ".arion-lock";
constexpr char kEncryptionName[] = ".kms-info";
constexpr char kProbeName[] = "read_write_test_file";
constexpr char kProbeContent[] = "test_value";

// With its parents, and so that a power cut does not take the names away again.
absl::Status CreateDurably(FileSystem& files, const std::string& path) {
  if (Exists(files, path)) return absl::OkStatus();
  const std::string parent = ParentDirectory(path);
  if (!parent.empty() && parent != path) {
    if (absl::Status above = CreateDurably(files, parent); !above.ok()) return above;
  }
  RETURN_IF_ERROR(files.CreateDirectories(path));
  return files.SyncDirectory(parent.empty() ? "." : parent);
}

absl::Status Probe(FileSystem& files, const std::string& directory) {
  const std::string path = JoinPath(directory, kProbeName);
  ASSIGN_OR_RETURN(auto file, files.OpenForWrite(path, FileSystem::CreateMode::kTruncate));
  RETURN_IF_ERROR(file->WriteAt(0, kProbeContent));
  RETURN_IF_ERROR(file->Close());
  ASSIGN_OR_RETURN(const std::string content, ReadFile(files, path));
  if (content != kProbeContent)
    return absl::DataLossError(absl::StrCat(path, " reads back other bytes"));
  return files.Remove(path);
}

absl::Status CheckOwner(FileSystem& files, const std::string& directory, Endpoint server) {
  const std::string path = JoinPath(directory, kDataDirectoryOwnerName);
  const absl::StatusOr<std::string> content = ReadFile(files, path);
  if (absl::IsNotFound(content.status()))
    return WriteFileDurably(files, path, server.ToString() + "\n");
  RETURN_IF_ERROR(content.status());
  const std::string owner(absl::StripAsciiWhitespace(*content));
  if (owner == server.ToString()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      directory, " belongs to the replica server at ", owner, ", this one is ", server.ToString(),
      "; give this server a directory of its own, or, if the server was given a new address, "
      "remove ",
      path));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DataDirectoryClaim>> DataDirectoryClaim::Claim(
    FileSystem& files, const std::string& path, Endpoint server) {
  const std::string step = absl::StrCat("data directory ", path);
  if (absl::Status created = CreateDurably(files, path); !created.ok())
    return Annotate(created, step);
  absl::StatusOr<std::unique_ptr<WritableFile>> lock = files.Lock(JoinPath(path, kLockName));
  if (!lock.ok()) return Annotate(lock.status(), step);
  std::unique_ptr<DataDirectoryClaim> claim(new DataDirectoryClaim(*std::move(lock)));
  if (Exists(files, JoinPath(path, kEncryptionName)))
    return absl::FailedPreconditionError(absl::StrCat(
        path, " holds ", kEncryptionName,
        ": its files may be encrypted, which Arion can't read; use another directory"));
  RETURN_IF_ERROR(CheckOwner(files, path, server));
  // What a full disk holds can still be served.
  if (absl::Status probed = Probe(files, path); !probed.ok() && !absl::IsResourceExhausted(probed))
    return Annotate(probed, step);
  return claim;
}

}  // namespace arion
