// SPDX-License-Identifier: Apache-2.0
#include "wal/set_aside.h"

#include <algorithm>

#include "base/log.h"
#include "base/status.h"

namespace arion {
namespace {

constexpr size_t kChunkBytes = 1 << 20;

// Whether file `saved` is [begin, end) of `path`.
absl::StatusOr<bool> HoldsTail(FileSystem& files, const std::string& saved, const std::string& path,
                               uint64_t begin, uint64_t end) {
  ASSIGN_OR_RETURN(const FileStatus status, files.Stat(saved));
  if (status.size != end - begin) return false;
  ASSIGN_OR_RETURN(const auto tail, files.OpenForRead(saved));
  ASSIGN_OR_RETURN(const auto whole, files.OpenForRead(path));
  std::string a, b;
  for (uint64_t at = begin; at < end; at += a.size()) {
    const auto n = std::min<uint64_t>(kChunkBytes, end - at);
    RETURN_IF_ERROR(whole->ReadAt(at, n, &a));
    RETURN_IF_ERROR(tail->ReadAt(at - begin, n, &b));
    if (a != b || a.empty()) return false;
  }
  return true;
}

}  // namespace

std::string FreeName(FileSystem& files, const std::string& name) {
  std::string free = name;
  for (int n = 1; Exists(files, free); ++n) free = absl::StrCat(name, ".", n);
  return free;
}

absl::StatusOr<TailPlace> FindTailPlace(FileSystem& files, const std::string& path, uint64_t begin,
                                        uint64_t end) {
  CHECK_LT(begin, end) << path << ": nothing to save";
  TailPlace place{.path = path + ".tail"};
  for (int n = 1; Exists(files, place.path); ++n) {
    ASSIGN_OR_RETURN(place.is_saved, HoldsTail(files, place.path, path, begin, end));
    if (place.is_saved) break;
    place.path = absl::StrCat(path, ".tail.", n);
  }
  return place;
}

absl::Status SaveTail(FileSystem& files, const std::string& path, uint64_t begin, uint64_t end) {
  ASSIGN_OR_RETURN(const TailPlace place, FindTailPlace(files, path, begin, end));
  // A crash may have kept the file's name from the disk.
  if (place.is_saved) return files.SyncDirectory(ParentDirectory(path));
  const std::string temporary = path + ".tail.tmp";
  ASSIGN_OR_RETURN(const auto from, files.OpenForRead(path));
  ASSIGN_OR_RETURN(const auto to, files.OpenForWrite(temporary, FileSystem::CreateMode::kTruncate));
  std::string chunk;
  for (uint64_t at = begin; at < end; at += chunk.size()) {
    RETURN_IF_ERROR(from->ReadAt(at, std::min<uint64_t>(kChunkBytes, end - at), &chunk));
    if (chunk.empty())
      return absl::DataLossError(absl::StrCat(path, ": became shorter while it was copied"));
    RETURN_IF_ERROR(to->WriteAt(at - begin, chunk));
  }
  RETURN_IF_ERROR(to->Sync());
  RETURN_IF_ERROR(to->Close());
  RETURN_IF_ERROR(files.Rename(temporary, place.path));
  return files.SyncDirectory(ParentDirectory(path));
}

absl::Status RenameToRemoved(FileSystem& files, const std::string& path) {
  RETURN_IF_ERROR(files.Rename(path, FreeName(files, path + ".removed")));
  return files.SyncDirectory(ParentDirectory(path));
}

}  // namespace arion
