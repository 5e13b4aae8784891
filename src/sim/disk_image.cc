// SPDX-License-Identifier: Apache-2.0
#include "sim/disk_image.h"

#include <absl/strings/str_cat.h>

#include "base/log.h"
#include "env/file_system.h"
#include "sim/sim_disk.h"

namespace arion::sim {
namespace {

DiskImage::Half HalfOf(const std::string& path) {
  // By name, not by a coin: the same file is in the same half each time, and no dice are thrown.
  unsigned sum = 0;
  for (const char c : path) sum += static_cast<unsigned char>(c);
  return sum % 2 == 0 ? DiskImage::Half::kFirst : DiskImage::Half::kSecond;
}

}  // namespace

void DiskImage::Copy(const SimDisk& disk, const std::vector<std::string>& directories, Half half) {
  // That half alone is copied anew; the other one stays of its own moment.
  std::erase_if(files_, [&](const auto& entry) { return entry.second.half == half; });
  for (const std::string& path : directories) {
    const absl::StatusOr<InodePtr> directory = disk.Find(path);
    // The first half begins a new image; the second one adds the folders that came meanwhile.
    if (half == Half::kFirst) folders_[path].clear();
    if (directory.ok()) CopyFolder(path, path, **directory, half);
  }
}

void DiskImage::CopyFolder(const std::string& directory, const std::string& path,
                           const SimInode& folder, Half half) {
  folders_[directory].insert(path);
  for (const auto& [name, inode] : folder.entries) {
    const std::string below = absl::StrCat(path, "/", name);
    if (inode->is_directory) {
      CopyFolder(directory, below, *inode, half);
    } else if (HalfOf(below) == half) {
      files_[below] = {half, directory, inode->content, inode->modified_unix_nanos};
    }
  }
}

void DiskImage::PutBack(const std::string& path, SimDisk* disk) const {
  CHECK(disk->RemoveAll(path).ok() && disk->CreateDirectories(path).ok()) << path;
  if (const auto folders = folders_.find(path); folders != folders_.end())
    for (const std::string& folder : folders->second)
      CHECK(disk->CreateDirectories(folder).ok()) << folder;
  // Through the disk's own calls, so that it looks as if a program had written it.
  for (const auto& [name, file] : files_) {
    if (file.directory != path) continue;
    CHECK(disk->CreateDirectories(ParentDirectory(name)).ok()) << name;
    const absl::StatusOr<InodePtr> inode = disk->CreateFile(name);
    CHECK(inode.ok()) << inode.status();
    CHECK(disk->Write(**inode, 0, file.content, SimDisk::Path::kCached).ok()) << name;
    (*inode)->modified_unix_nanos = file.modified_unix_nanos;
  }
  // A power cut right after must not take it away again.
  disk->MakeDurable();
}

}  // namespace arion::sim
