// WatchedEnvironment: another environment, whose files are counted and made to fail, and whose
// disks may be made to wait.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/strings/str_cat.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "env/environment.h"
#include "env/file_system.h"

namespace arion {

class Clock;
class LogDevice;

class WatchedFiles : public FileSystem {
 public:
  explicit WatchedFiles(FileSystem& files) : files_(files) {}

  // What reading this path, or changing the folder, answers instead; OK: nothing special.
  std::function<absl::Status(const std::string& path)> on_open;
  std::function<absl::Status(const std::string& path, uint64_t offset)> on_read;
  std::function<absl::Status(const std::string& path)> on_change;
  uint64_t bytes_read = 0;
  size_t bytes_at_once_max = 0;
  int64_t directory_syncs = 0;
  std::function<absl::Status(const std::string& path)> on_sync_directory;
  std::vector<std::string> changes;  // paths written, renamed, removed

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(const std::string& path) override {
    if (on_open) RETURN_IF_ERROR(on_open(path));
    ASSIGN_OR_RETURN(auto file, files_.OpenForRead(path));
    return std::make_unique<Reader>(*this, path, std::move(file));
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(const std::string& path,
                                                             CreateMode mode) override {
    RETURN_IF_ERROR(Change(path));
    return files_.OpenForWrite(path, mode);
  }
  absl::StatusOr<FileStatus> Stat(const std::string& path) override { return files_.Stat(path); }
  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override {
    return files_.List(directory);
  }
  absl::Status CreateDirectories(const std::string& path) override {
    RETURN_IF_ERROR(Change(path));
    return files_.CreateDirectories(path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    RETURN_IF_ERROR(Change(from));
    return files_.Rename(from, to);
  }
  absl::Status Remove(const std::string& path) override {
    RETURN_IF_ERROR(Change(path));
    return files_.Remove(path);
  }
  absl::Status RemoveAll(const std::string& path) override {
    RETURN_IF_ERROR(Change(path));
    return files_.RemoveAll(path);
  }
  absl::Status Link(const std::string& from, const std::string& to) override {
    RETURN_IF_ERROR(Change(to));
    return files_.Link(from, to);
  }
  absl::Status SyncDirectory(const std::string& path) override {
    ++directory_syncs;
    if (on_sync_directory) RETURN_IF_ERROR(on_sync_directory(path));
    return files_.SyncDirectory(path);
  }
  absl::StatusOr<Space> SpaceOf(const std::string& path) override { return files_.SpaceOf(path); }
  absl::StatusOr<uint64_t> DeviceOf(const std::string& path) override {
    return files_.DeviceOf(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> Lock(const std::string& path) override {
    return files_.Lock(path);
  }

 private:
  class Reader : public ReadableFile {
   public:
    Reader(WatchedFiles& watched, std::string path, std::unique_ptr<ReadableFile> file)
        : watched_(watched), path_(std::move(path)), file_(std::move(file)) {}
    absl::StatusOr<uint64_t> Size() const override { return file_->Size(); }
    absl::Status ReadAt(uint64_t offset, size_t n, std::string* out) const override {
      if (watched_.on_read) RETURN_IF_ERROR(watched_.on_read(path_, offset));
      RETURN_IF_ERROR(file_->ReadAt(offset, n, out));
      watched_.bytes_read += out->size();
      watched_.bytes_at_once_max = std::max(watched_.bytes_at_once_max, n);
      return absl::OkStatus();
    }

   private:
    WatchedFiles& watched_;
    const std::string path_;
    const std::unique_ptr<ReadableFile> file_;
  };

  absl::Status Change(const std::string& path) {
    if (on_change) RETURN_IF_ERROR(on_change(path));
    changes.push_back(path);
    return absl::OkStatus();
  }

  FileSystem& files_;
};

class WatchedEnvironment : public Environment {
 public:
  explicit WatchedEnvironment(Environment& env) : env_(env), files_(env.files()) {}

  const Clock& clock() const override { return env_.clock(); }
  WatchedFiles& files() override { return files_; }
  Random& random() override { return env_.random(); }
  StrandPtr NewStrand(std::string_view name) override { return env_.NewStrand(name); }
  // The pool of this path, where it is another one; nullptr: nothing special.
  std::function<DiskPool*(const std::string& path)> on_pool;
  DiskPool& disk_pool(const std::string& path) override {
    DiskPool* other = on_pool ? on_pool(path) : nullptr;
    return other != nullptr ? *other : env_.disk_pool(path);
  }
  LogDevice& log_device(const std::string& path) override { return env_.log_device(path); }

 private:
  Environment& env_;
  WatchedFiles files_;
};

inline absl::Status InputOutputError(const std::string& path) {
  return absl::DataLossError(absl::StrCat("read ", path, ": Input/output error"));
}
inline absl::Status ReadOnlyError(const std::string& path) {
  return absl::PermissionDeniedError(absl::StrCat("open ", path, ": Read-only file system"));
}

}  // namespace arion
