// SPDX-License-Identifier: Apache-2.0
#include "disks/data_directory_claim.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <optional>
#include <vector>

#include "base/crc.h"
#include "base/log.h"
#include "base/status.h"

namespace arion {
// The steps of a claim go from what costs nothing to what writes: lock, encryption, owner, probe. A
// failure on the way destroys the lock and so gives the directory up.
namespace {

constexpr char kLockName[] = ".arion-lock";
constexpr char kEncryptionName[] = ".kms-info";
constexpr char kClaimProbeName[] = "read_write_test_file";
constexpr char kProbeContent[] = "test_value";

absl::Status Probe(FileSystem& files, const std::string& directory) {
  const std::string path = JoinPath(directory, kClaimProbeName);
  ASSIGN_OR_RETURN(auto file, files.OpenForWrite(path, FileSystem::CreateMode::kTruncate));
  RETURN_IF_ERROR(file->WriteAt(0, kProbeContent));
  RETURN_IF_ERROR(file->Close());
  ASSIGN_OR_RETURN(const std::string content, ReadFile(files, path));
  if (content != kProbeContent)
    return absl::DataLossError(absl::StrCat(path, " reads back other bytes"));
  return files.Remove(path);
}

std::string OwnerLines(Endpoint server) {
  const std::string owner = server.ToString();
  return absl::StrCat(owner, "\n", absl::Hex(Crc32c(owner), absl::kZeroPad8), "\n");
}

// nullopt: damaged. A file with the first line only is as good as one with both.
std::optional<Endpoint> ParseOwner(const std::string& content) {
  const std::vector<std::string> lines = absl::StrSplit(content, '\n', absl::SkipEmpty());
  if (lines.empty()) return std::nullopt;
  const std::optional<Endpoint> owner = Endpoint::Parse(lines[0]);
  if (owner && lines.size() > 1 && content != OwnerLines(*owner)) return std::nullopt;
  return owner;
}

// A full disk may have no room for the file. A later start writes it then.
absl::Status WriteOwner(FileSystem& files, const std::string& path, Endpoint server) {
  absl::Status written = WriteFileDurably(files, path, OwnerLines(server));
  return absl::IsResourceExhausted(written) ? absl::OkStatus() : written;
}

absl::Status CheckOwner(FileSystem& files, const std::string& directory, Endpoint server) {
  const std::string path = JoinPath(directory, kDataDirectoryOwnerName);
  const absl::StatusOr<std::string> content = ReadFile(files, path);
  if (absl::IsNotFound(content.status())) return WriteOwner(files, path, server);
  if (!content.ok() && !absl::IsDataLoss(content.status())) return content.status();
  const std::optional<Endpoint> owner = content.ok() ? ParseOwner(*content) : std::nullopt;
  if (!owner) {
    // The file guards against a mistake in the configuration. The data are good without it, so the
    // start goes on.
    const std::string aside = path + ".damaged";
    LOG(WARNING) << path << " is damaged: kept as " << aside << ", and written anew";
    RETURN_IF_ERROR(files.Rename(path, aside));
    return WriteOwner(files, path, server);
  }
  if (*owner == server) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      directory, " belongs to the replica server at ", owner->ToString(), ", this one is ",
      server.ToString(),
      ". Either disks or directories of the two were swapped: swap them back, or ",
      "give each server a directory of its own. Or this server was given a new address "
      "for good, and nothing runs at ",
      owner->ToString(), " any more: then remove ", path));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DataDirectoryClaim>> DataDirectoryClaim::Claim(
    FileSystem& files, const std::string& path, Endpoint server) {
  const std::string step = absl::StrCat("data directory ", path);
  if (absl::Status created = CreateDirectoryDurably(files, path); !created.ok())
    return Annotate(created, step);
  absl::StatusOr<std::unique_ptr<WritableFile>> lock = files.Lock(JoinPath(path, kLockName));
  if (!lock.ok()) return Annotate(lock.status(), step);
  std::unique_ptr<DataDirectoryClaim> claim(new DataDirectoryClaim(*std::move(lock)));
  // A file that older versions make where they encrypt.
  if (Exists(files, JoinPath(path, kEncryptionName)))
    return absl::FailedPreconditionError(absl::StrCat(
        path, " holds ", kEncryptionName,
        ": its files may be encrypted, which Arion can't read; use another directory"));
  RETURN_IF_ERROR(CheckOwner(files, path, server));
  // The process that made a replica's directory may have ended before the name was durable.
  RETURN_IF_ERROR(Annotate(files.SyncDirectory(path), step));
  // What a full disk holds can still be served.
  if (absl::Status probed = Probe(files, path); !probed.ok() && !absl::IsResourceExhausted(probed))
    return Annotate(probed, step);
  return claim;
}

}  // namespace arion
