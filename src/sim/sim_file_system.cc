// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_file_system.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "base/status.h"
#include "sim/sim_environment.h"

namespace arion::sim {
namespace {

// DataLoss, as of a disk that is gone: objects of a dead life must not take it for a passing
// trouble.
absl::Status CheckAlive(const SimDisk& disk, const SimLife& life) {
  if (!life.alive || disk.is_dead())
    return absl::DataLossError("simulated: this life of the node has ended");
  return absl::OkStatus();
}

class SimReadableFile : public ReadableFile {
 public:
  SimReadableFile(SimDisk& disk, std::shared_ptr<const SimLife> life, InodePtr inode)
      : disk_(disk), life_(std::move(life)), inode_(std::move(inode)) {}

  absl::StatusOr<uint64_t> Size() const override {
    RETURN_IF_ERROR(CheckAlive(disk_, *life_));
    return inode_->content.size();
  }
  absl::Status ReadAt(uint64_t offset, size_t n, std::string* out) const override {
    RETURN_IF_ERROR(CheckAlive(disk_, *life_));
    out->clear();
    // Any overlap fails the whole read, as a bad sector does.
    const bool is_bad = offset < inode_->bad_to && inode_->bad_from < offset + n;
    if (is_bad || disk_.TakeReadFailure()) return absl::DataLossError("read: Input/output error");
    if (offset < inode_->content.size()) out->assign(inode_->content, offset, n);
    return absl::OkStatus();
  }

 private:
  SimDisk& disk_;
  std::shared_ptr<const SimLife> life_;
  InodePtr inode_;
};

class SimWritableFile : public WritableFile {
 public:
  SimWritableFile(SimDisk& disk, std::shared_ptr<const SimLife> life, std::string path,
                  InodePtr inode)
      : disk_(disk), life_(std::move(life)), path_(std::move(path)), inode_(std::move(inode)) {}
  ~SimWritableFile() override {
    // A crash has let go of all locks already (SimDisk::Crash), perhaps a later life holds this
    // one.
    if (is_lock_ && life_->alive) disk_.locks().erase(path_);
  }
  void HoldLock() { is_lock_ = true; }

  absl::Status WriteAt(uint64_t offset, std::string_view bytes) override {
    RETURN_IF_ERROR(CheckAlive(disk_, *life_));
    if (bytes.empty()) return absl::OkStatus();
    // A full disk refuses only what needs new room.
    const bool grows = offset + bytes.size() > inode_->content.size();
    RETURN_IF_ERROR(disk_.TakeCallFailure(grows ? DiskCall::kGrow : DiskCall::kOverwrite, path_));
    return Annotate(disk_.Write(*inode_, offset, bytes, SimDisk::Path::kCached),
                    absl::StrCat("write ", path_));
  }
  absl::Status Truncate(uint64_t size) override {
    RETURN_IF_ERROR(CheckAlive(disk_, *life_));
    RETURN_IF_ERROR(disk_.TakeCallFailure(DiskCall::kTruncate, path_));
    return Annotate(disk_.Truncate(*inode_, size), absl::StrCat("truncate ", path_));
  }
  absl::Status Sync() override {
    RETURN_IF_ERROR(CheckAlive(disk_, *life_));
    return Annotate(disk_.SyncFile(inode_), absl::StrCat("sync ", path_));
  }
  // As close(2), it makes nothing durable.
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  SimDisk& disk_;
  std::shared_ptr<const SimLife> life_;
  std::string path_;
  InodePtr inode_;
  bool is_lock_ = false;
};

}  // namespace

absl::Status SimFileSystem::Alive() const { return CheckAlive(disk_, *life_); }

absl::Status SimFileSystem::May(DiskCall call, const std::string& path) const {
  RETURN_IF_ERROR(Alive());
  return disk_.TakeCallFailure(call, path);
}

absl::StatusOr<std::unique_ptr<ReadableFile>> SimFileSystem::OpenForRead(const std::string& path) {
  RETURN_IF_ERROR(May(DiskCall::kOpen, path));
  ASSIGN_OR_RETURN(InodePtr inode, disk_.Find(path));
  if (inode->is_directory)
    return absl::InternalError(absl::StrCat("open ", path, ": Is a directory"));
  return std::make_unique<SimReadableFile>(disk_, life_, std::move(inode));
}

absl::StatusOr<std::unique_ptr<WritableFile>> SimFileSystem::OpenForWrite(const std::string& path,
                                                                          CreateMode mode) {
  // Looked up before the trouble is asked: it decides whether the call makes a name.
  absl::StatusOr<InodePtr> inode = disk_.Find(path);
  const bool makes = !inode.ok() && mode != CreateMode::kOpenExisting;
  RETURN_IF_ERROR(May(makes ? DiskCall::kCreate : DiskCall::kOpenForWrite, path));
  if (inode.ok()) {
    if ((*inode)->is_directory)
      return absl::InternalError(absl::StrCat("open ", path, ": Is a directory"));
    if (mode == CreateMode::kMustNotExist)
      return absl::AlreadyExistsError(absl::StrCat(path, ": File exists"));
    if (mode == CreateMode::kTruncate && !(*inode)->content.empty())
      RETURN_IF_ERROR(disk_.Truncate(**inode, 0));
  } else {
    if (mode == CreateMode::kOpenExisting) return inode.status();
    inode = disk_.CreateFile(path);
    if (!inode.ok()) return inode.status();
  }
  return std::make_unique<SimWritableFile>(disk_, life_, path, *std::move(inode));
}

absl::StatusOr<FileStatus> SimFileSystem::Stat(const std::string& path) {
  RETURN_IF_ERROR(May(DiskCall::kStat, path));
  if (disk_.TakeStatFailure())
    return absl::InternalError(absl::StrCat("stat ", path, ": Input/output error"));
  ASSIGN_OR_RETURN(InodePtr inode, disk_.Find(path));
  FileStatus status;
  status.size = inode->content.size();
  status.inode = inode->number;
  status.birth_nanos = inode->birth_nanos;
  status.modified_unix_nanos = inode->modified_unix_nanos;
  status.is_directory = inode->is_directory;
  return status;
}

absl::StatusOr<std::vector<std::string>> SimFileSystem::List(const std::string& directory) {
  RETURN_IF_ERROR(May(DiskCall::kList, directory));
  ASSIGN_OR_RETURN(InodePtr inode, disk_.Find(directory));
  if (!inode->is_directory)
    return absl::InternalError(absl::StrCat(directory, ": Not a directory"));
  std::vector<std::string> names;
  for (const auto& [name, child] : inode->entries) names.push_back(name);
  return names;
}

absl::Status SimFileSystem::CreateDirectories(const std::string& path) {
  RETURN_IF_ERROR(May(DiskCall::kMakeDirectory, path));
  return disk_.CreateDirectories(path);
}

absl::Status SimFileSystem::Rename(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(May(DiskCall::kRename, from));
  return disk_.Rename(from, to);
}

absl::Status SimFileSystem::Remove(const std::string& path) {
  RETURN_IF_ERROR(May(DiskCall::kRemove, path));
  return disk_.Remove(path);
}

absl::Status SimFileSystem::RemoveAll(const std::string& path) {
  RETURN_IF_ERROR(May(DiskCall::kStat, path));
  const absl::StatusOr<InodePtr> inode = disk_.Find(path);
  if (!inode.ok()) return absl::OkStatus();
  if ((*inode)->is_directory) {
    // One by one from the inside, as the real one does, so that a crash in between leaves a part.
    ASSIGN_OR_RETURN(const std::vector<std::string> names, List(path));
    for (const std::string& name : names) RETURN_IF_ERROR(RemoveAll(JoinPath(path, name)));
  }
  return Remove(path);
}

absl::Status SimFileSystem::Link(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(May(DiskCall::kLink, to));
  return disk_.Link(from, to);
}

absl::Status SimFileSystem::SyncDirectory(const std::string& path) {
  RETURN_IF_ERROR(May(DiskCall::kSyncDirectory, path));
  ASSIGN_OR_RETURN(InodePtr inode, disk_.Find(path));
  if (!inode->is_directory) return absl::InternalError(absl::StrCat(path, ": Not a directory"));
  return disk_.SyncDirectory(inode);
}

absl::StatusOr<FileSystem::Space> SimFileSystem::SpaceOf(const std::string& path) {
  RETURN_IF_ERROR(May(DiskCall::kStat, path));
  RETURN_IF_ERROR(disk_.Find(path).status());
  // A disk of 100 GiB of which half is free, unless a fault says less.
  constexpr uint64_t kTotalBytes = uint64_t{100} << 30;
  return Space{kTotalBytes, std::min(kTotalBytes / 2, disk_.free_bytes())};
}

absl::StatusOr<uint64_t> SimFileSystem::DeviceOf(const std::string& path) {
  RETURN_IF_ERROR(May(DiskCall::kStat, path));
  RETURN_IF_ERROR(disk_.Find(path).status());
  // One device for all paths: data directories share it.
  return 1;
}

absl::StatusOr<std::unique_ptr<WritableFile>> SimFileSystem::Lock(const std::string& path) {
  absl::StatusOr<InodePtr> inode = disk_.Find(path);
  RETURN_IF_ERROR(May(inode.ok() ? DiskCall::kOpenForWrite : DiskCall::kCreate, path));
  if (!inode.ok()) inode = disk_.CreateFile(path);
  if (!inode.ok()) return inode.status();
  // As flock(2): bound to the process, and gone with it.
  if (!disk_.locks().emplace(path, life_->number).second) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": locked by process ", disk_.locks()[path]));
  }
  auto file = std::make_unique<SimWritableFile>(disk_, life_, path, *std::move(inode));
  file->HoldLock();
  return file;
}

}  // namespace arion::sim
