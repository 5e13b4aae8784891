// SPDX-License-Identifier: Apache-2.0
#include "env/disk_reserve.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status.h"
#include "env/file_system.h"

namespace arion {
namespace {

absl::Status AppendZeros(FileSystem& files, const std::string& path, uint64_t from, uint64_t to) {
  constexpr uint64_t kChunkBytes = 1 << 20;
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file,
                   files.OpenForWrite(path, from == 0 ? FileSystem::CreateMode::kTruncate
                                                      : FileSystem::CreateMode::kOpenExisting));
  const std::string zeros(std::min(kChunkBytes, to - from), '\0');
  for (uint64_t at = from; at < to; at += zeros.size())
    RETURN_IF_ERROR(
        file->WriteAt(at, std::string_view(zeros).substr(0, std::min(kChunkBytes, to - at))));
  // Else the kernel writes all of the reserve at once, half a minute later, and every flush of a
  // log waits behind it.
  RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

}  // namespace

DiskReserve::DiskReserve(FileSystem& files, const std::string& directory)
    : files_(files), path_(JoinPath(directory, kReserveName)) {}

absl::StatusOr<uint64_t> DiskReserve::Size() const {
  const absl::StatusOr<FileStatus> status = files_.Stat(path_);
  if (absl::IsNotFound(status.status())) return 0;
  RETURN_IF_ERROR(status.status());
  return status->size;
}

absl::StatusOr<uint64_t> DiskReserve::GrowBy(uint64_t bytes) {
  ASSIGN_OR_RETURN(const uint64_t size, Size());
  const uint64_t wanted = size + std::min(bytes, kGrowthBytesMax);
  if (wanted == size) return size;
  absl::Status grown = AppendZeros(files_, path_, size, wanted);
  // The first growth makes the name, which needs its own sync.
  if (grown.ok() && size == 0) grown = files_.SyncDirectory(ParentDirectory(path_));
  if (grown.ok()) return wanted;
  // What was written past the old size is not counted by anybody: it goes back to the disk, which
  // may be full.
  RETURN_IF_ERROR(CutTo(size).status());
  return grown;
}

absl::StatusOr<uint64_t> DiskReserve::ShrinkBy(uint64_t bytes) {
  ASSIGN_OR_RETURN(const uint64_t size, Size());
  return CutTo(size - std::min(bytes, size));
}

absl::StatusOr<uint64_t> DiskReserve::GiveUp() {
  const absl::Status removed = files_.Remove(path_);
  if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
  return 0;
}

absl::StatusOr<uint64_t> DiskReserve::CutTo(uint64_t size) {
  // An empty reserve is no file, so that Size and the directory agree.
  if (size == 0) return GiveUp();
  ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file,
                   files_.OpenForWrite(path_, FileSystem::CreateMode::kOpenExisting));
  RETURN_IF_ERROR(file->Truncate(size));
  RETURN_IF_ERROR(file->Close());
  return size;
}

}  // namespace arion
