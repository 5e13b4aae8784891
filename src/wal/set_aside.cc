// SPDX-License-Identifier: Apache-2.0
#include "wal/set_aside.h"

#include <algorithm>

#include "base/log.h"
#include "base/status.h"
#include "env/file_system.h"

namespace arion {
namespace {

// Copied at once: a tail may be as large as a log file.
constexpr size_t kChunkBytes = 1 << 20;

// Whether file `saved` is [begin, end) of `path`.
absl::StatusOr<bool> HoldsTail(FileSystem& files, const std::string& saved, const std::string& path,
                               uint64_t begin, uint64_t end) {
  CHECK_LE(begin, end);
  ASSIGN_OR_RETURN(const FileStatus status, files.Stat(saved));
  if (status.size != end - begin) return false;
  ASSIGN_OR_RETURN(const auto tail, files.OpenForRead(saved));
  ASSIGN_OR_RETURN(const auto whole, files.OpenForRead(path));
  std::string a, b;
  for (uint64_t at = begin; at < end; at += a.size()) {
    const auto n = std::min<uint64_t>(kChunkBytes, end - at);
    RETURN_IF_ERROR(whole->ReadAt(at, n, &a));
    RETURN_IF_ERROR(tail->ReadAt(at - begin, n, &b));
    // Empty: the file became shorter, and the loop would not end.
    if (a != b || a.empty()) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> FreeName(FileSystem& files, const std::string& name) {
  CHECK(!name.empty());
  std::string free = name;
  for (int n = 1;; ++n) {
    ASSIGN_OR_RETURN(const bool is_taken, IsThere(files, free));
    if (!is_taken) return free;
    free = absl::StrCat(name, ".", n);
  }
}

absl::StatusOr<TailPlace> FindTailPlace(FileSystem& files, const std::string& path, uint64_t begin,
                                        uint64_t end) {
  CHECK_LT(begin, end) << path << ": nothing to save";
  // A tail that was saved before a crash is found again, so repeated recoveries make one copy.
  TailPlace place{.path = path + ".tail"};
  for (int n = 1;; ++n) {
    ASSIGN_OR_RETURN(const bool is_taken, IsThere(files, place.path));
    if (!is_taken) return place;
    ASSIGN_OR_RETURN(place.is_saved, HoldsTail(files, place.path, path, begin, end));
    if (place.is_saved) return place;
    place.path = absl::StrCat(path, ".tail.", n);
  }
}

absl::Status SaveTail(FileSystem& files, const std::string& path, uint64_t begin, uint64_t end) {
  ASSIGN_OR_RETURN(const TailPlace place, FindTailPlace(files, path, begin, end));
  // The copy is there, but a crash may have come before its name was durable.
  if (place.is_saved) return files.SyncDirectory(ParentDirectory(path));
  // Under its last name only once it is whole and synced: half a tail would look like another tail.
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
  ASSIGN_OR_RETURN(const std::string removed, FreeName(files, path + ".removed"));
  RETURN_IF_ERROR(files.Rename(path, removed));
  return files.SyncDirectory(ParentDirectory(path));
}

}  // namespace arion
