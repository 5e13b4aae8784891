// SPDX-License-Identifier: Apache-2.0
#include "env/file_system.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/status.h"
#include "env/held_bytes.h"

namespace arion {
namespace {

// Size() may name any number for a hostile file; what is allocated grows with what is really there.
constexpr size_t kFirstChunkBytes = 4 << 10;
constexpr size_t kChunkBytesMax = 4 << 20;

}  // namespace

std::unique_ptr<HeldBytes> ReadableFile::Hold(uint64_t, size_t) const { return nullptr; }

absl::StatusOr<size_t> ReadableFile::ReadInto(uint64_t offset, size_t n, char* to) const {
  std::string bytes;
  RETURN_IF_ERROR(ReadAt(offset, n, &bytes));
  std::memcpy(to, bytes.data(), bytes.size());
  return bytes.size();
}

bool IsRefusal(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsPermissionDenied(status);
}

std::optional<Want> WantIn(std::string_view text) {
  // Space last: RocksDB writes that before the others.
  static constexpr std::pair<std::string_view, Want> kTexts[] = {
      {"Too many open files", Want::kOpenFiles},
      {"Cannot allocate memory", Want::kMemory},
      {kNoThread, Want::kMemory},
      {"Permission denied", Want::kPermission},
      {"Operation not permitted", Want::kPermission},
      {"Read-only file system", Want::kPermission},
      {"No space left on device", Want::kSpace},
  };
  for (const auto& [words, want] : kTexts)
    if (text.find(words) != std::string_view::npos) return want;
  return std::nullopt;
}

Want WantOf(const absl::Status& status) {
  if (absl::IsPermissionDenied(status)) return Want::kPermission;
  return WantIn(View(status.message())).value_or(Want::kSpace);
}

bool LacksSpace(const absl::Status& status) {
  return absl::IsResourceExhausted(status) && WantOf(status) == Want::kSpace;
}

std::string_view NameOf(Want want) {
  switch (want) {
    case Want::kSpace:
      return "space";
    case Want::kOpenFiles:
      return "open files";
    case Want::kMemory:
      return "memory";
    case Want::kPermission:
      return "permission";
  }
  return "space";
}

bool LacksOpenFiles(const absl::Status& status) {
  return absl::IsResourceExhausted(status) && WantOf(status) == Want::kOpenFiles;
}

bool Exists(FileSystem& files, const std::string& path) { return files.Stat(path).ok(); }

absl::StatusOr<bool> IsThere(FileSystem& files, const std::string& path) {
  // Only NotFound is a "no": a disk that fails must not look like one that is empty.
  const absl::Status status = files.Stat(path).status();
  if (absl::IsNotFound(status)) return false;
  RETURN_IF_ERROR(status);
  return true;
}

absl::Status CreateDirectoryDurably(FileSystem& files, const std::string& path) {
  const std::string parent = ParentDirectory(path);
  // From the root down: a child's name is durable only if its parents' names are. The sync also
  // runs for a directory that is there already, because whoever made it may have died before its
  // own.
  const bool is_there = Exists(files, path);
  if (!is_there) {
    if (!parent.empty() && parent != path) RETURN_IF_ERROR(CreateDirectoryDurably(files, parent));
    RETURN_IF_ERROR(files.CreateDirectories(path));
  }
  const absl::Status synced = files.SyncDirectory(parent.empty() ? "." : parent);
  // Who made it may have ended before that. A parent that may not be opened was not made by us.
  return is_there && absl::IsPermissionDenied(synced) ? absl::OkStatus() : synced;
}

absl::StatusOr<std::string> ReadFile(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(auto file, files.OpenForRead(path));
  std::string content;
  std::string chunk;
  // Read to the end rather than to a size: files of /proc have none, and a file may grow meanwhile.
  for (size_t n = kFirstChunkBytes;; n = std::min(2 * n, kChunkBytesMax)) {
    RETURN_IF_ERROR(file->ReadAt(content.size(), n, &chunk));
    content += chunk;
    if (chunk.size() < n) return content;
  }
}

absl::Status WriteFileDurably(FileSystem& files, const std::string& path,
                              std::string_view content) {
  const std::string temporary = path + ".tmp";
  ASSIGN_OR_RETURN(auto file, files.OpenForWrite(temporary, FileSystem::CreateMode::kTruncate));
  RETURN_IF_ERROR(file->WriteAt(0, content));
  // The content must be durable before the name points to it: else a power cut leaves the new name
  // with nothing in it.
  RETURN_IF_ERROR(file->Sync());
  RETURN_IF_ERROR(file->Close());
  RETURN_IF_ERROR(files.Rename(temporary, path));
  return files.SyncDirectory(ParentDirectory(path));
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.empty() && path.back() != '/') path += '/';
  path += name;
  return path;
}

std::string ParentDirectory(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(slash == 0 ? "/" : path.substr(0, slash));
}

bool IsWithin(std::string_view path, std::string_view directory) {
  while (directory.size() > 1 && directory.back() == '/') directory.remove_suffix(1);
  if (!path.starts_with(directory)) return false;
  path.remove_prefix(directory.size());
  // "/d/10" begins as "/d/1" does, and lies on another disk.
  return path.empty() || path.front() == '/' || directory == "/";
}

std::string BaseName(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos || path == "/" ? path
                                                                    : path.substr(slash + 1));
}

}  // namespace arion
