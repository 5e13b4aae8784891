// SPDX-License-Identifier: Apache-2.0
#include "sim/disk_image.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "env/file_system.h"

namespace arion::sim {
namespace {

bool IsBelow(const std::string& path, const std::string& directory) {
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

DiskImage::Half HalfOf(const std::string& path) {
  unsigned sum = 0;
  for (const char c : path) sum += static_cast<unsigned char>(c);
  return sum % 2 == 0 ? DiskImage::Half::kFirst : DiskImage::Half::kSecond;
}

}  // namespace

void DiskImage::Copy(const SimDisk& disk, const std::vector<std::string>& directories, Half half) {
  std::erase_if(files_, [&](const auto& entry) { return entry.second.half == half; });
  disk.ForEachFile([&](const std::string& path, const SimInode& inode) {
    const bool is_wanted =
        HalfOf(path) == half &&
        std::any_of(directories.begin(), directories.end(),
                    [&](const std::string& directory) { return IsBelow(path, directory); });
    if (is_wanted) files_[path] = {half, inode.content, inode.modified_unix_nanos};
  });
}

void DiskImage::PutBack(const std::string& path, SimDisk* disk) const {
  CHECK(disk->RemoveAll(path).ok() && disk->CreateDirectories(path).ok()) << path;
  for (const auto& [name, file] : files_) {
    if (!IsBelow(name, path)) continue;
    CHECK(disk->CreateDirectories(ParentDirectory(name)).ok()) << name;
    const absl::StatusOr<InodePtr> inode = disk->CreateFile(name);
    CHECK(inode.ok()) << inode.status();
    CHECK(disk->Write(**inode, 0, file.content, SimDisk::Path::kCached).ok()) << name;
    (*inode)->modified_unix_nanos = file.modified_unix_nanos;
  }
  disk->MakeDurable();
}

}  // namespace arion::sim
