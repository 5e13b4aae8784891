// SPDX-License-Identifier: Apache-2.0
#include "wal/set_aside.h"

#include <algorithm>

#include "base/status.h"

namespace arion {
namespace {

constexpr size_t kChunkBytes = 1 << 20;

absl::StatusOr<bool> HaveSameContent(FileSystem& files, const std::string& a,
                                     const std::string& b) {
  ASSIGN_OR_RETURN(const auto file_a, files.OpenForRead(a));
  ASSIGN_OR_RETURN(const auto file_b, files.OpenForRead(b));
  std::string chunk_a, chunk_b;
  for (uint64_t at = 0;; at += chunk_a.size()) {
    RETURN_IF_ERROR(file_a->ReadAt(at, kChunkBytes, &chunk_a));
    RETURN_IF_ERROR(file_b->ReadAt(at, kChunkBytes, &chunk_b));
    if (chunk_a != chunk_b) return false;
    if (chunk_a.empty()) return true;
  }
}

}  // namespace

absl::Status SaveTail(FileSystem& files, const std::string& path, uint64_t begin, uint64_t end) {
  const std::string tail = path + ".tail";
  const std::string temporary = tail + ".tmp";
  ASSIGN_OR_RETURN(const auto from, files.OpenForRead(path));
  ASSIGN_OR_RETURN(const auto to, files.OpenForWrite(temporary, FileSystem::CreateMode::kTruncate));
  std::string chunk;
  for (uint64_t at = begin; at < end; at += chunk.size()) {
    RETURN_IF_ERROR(from->ReadAt(at, std::min<uint64_t>(kChunkBytes, end - at), &chunk));
    if (chunk.empty()) break;
    RETURN_IF_ERROR(to->WriteAt(at - begin, chunk));
  }
  RETURN_IF_ERROR(to->Sync());
  RETURN_IF_ERROR(to->Close());
  // After a crash between this and the cut the same tail comes again.
  std::string name = tail;
  for (int n = 1; Exists(files, name); ++n) {
    ASSIGN_OR_RETURN(const bool is_same, HaveSameContent(files, name, temporary));
    if (is_same) break;
    name = absl::StrCat(tail, ".", n);
  }
  RETURN_IF_ERROR(files.Rename(temporary, name));
  return files.SyncDirectory(ParentDirectory(path));
}

absl::Status RenameToRemoved(FileSystem& files, const std::string& path) {
  std::string name = path + ".removed";
  for (int n = 1; Exists(files, name); ++n) name = absl::StrCat(path, ".removed.", n);
  RETURN_IF_ERROR(files.Rename(path, name));
  return files.SyncDirectory(ParentDirectory(path));
}

}  // namespace arion
