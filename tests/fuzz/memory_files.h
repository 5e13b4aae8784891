// MemoryFiles: a small FileSystem in memory, for fuzz targets: quick to make and to copy. Knows how
// often it was changed and can fail from a given change on, as a killed program's does.
//
// Threads   One thread. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "env/file_system.h"

namespace arion {

class MemoryFiles : public FileSystem {
 public:
  struct File {
    std::string bytes;
    uint64_t inode = 0;
  };

  int64_t changes() const { return changes_; }
  // The n-th change from now on and all later ones fail.
  void FailAfter(int64_t n) { changes_left_ = n; }
  const std::map<std::string, std::shared_ptr<File>>& all() const { return files_; }
  // With its directories; no change is counted.
  void Put(const std::string& path, std::string bytes) {
    files_[path] = std::make_shared<File>(File{std::move(bytes), next_inode_++});
    (void)CreateDirectories(ParentDirectory(path));
  }
  std::string Content(const std::string& path) const {
    const auto found = files_.find(path);
    return found == files_.end() ? "" : found->second->bytes;
  }
  MemoryFiles Copy() const {
    MemoryFiles copy;
    copy.next_inode_ = next_inode_;
    copy.directories_ = directories_;
    for (const auto& [path, file] : files_) copy.files_[path] = std::make_shared<File>(*file);
    return copy;
  }

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(const std::string& path) override {
    const auto found = files_.find(path);
    if (found == files_.end()) return absl::NotFoundError(path);
    return std::make_unique<Reader>(found->second);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(const std::string& path,
                                                             CreateMode mode) override {
    const bool exists = files_.contains(path);
    if (mode == CreateMode::kOpenExisting && !exists) return absl::NotFoundError(path);
    if (mode == CreateMode::kMustNotExist && exists) return absl::AlreadyExistsError(path);
    if (mode != CreateMode::kOpenExisting) {
      RETURN_IF_ERROR(Change());
      if (exists)
        files_[path]->bytes.clear();
      else
        files_[path] = std::make_shared<File>(File{"", next_inode_++});
    }
    return std::make_unique<Writer>(*this, files_[path]);
  }
  absl::StatusOr<FileStatus> Stat(const std::string& path) override {
    FileStatus status;
    status.is_directory = directories_.contains(path);
    if (status.is_directory) return status;
    const auto found = files_.find(path);
    if (found == files_.end()) return absl::NotFoundError(path);
    status.size = found->second->bytes.size();
    status.inode = found->second->inode;
    return status;
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override {
    if (!directories_.contains(directory)) return absl::NotFoundError(directory);
    std::vector<std::string> names;
    for (const auto& [path, file] : files_)
      if (ParentDirectory(path) == directory) names.push_back(BaseName(path));
    for (const std::string& path : directories_)
      if (path != "/" && ParentDirectory(path) == directory) names.push_back(BaseName(path));
    std::sort(names.begin(), names.end());
    return names;
  }
  absl::Status CreateDirectories(const std::string& path) override {
    for (std::string at = path;; at = ParentDirectory(at)) {
      directories_.insert(at);
      if (at == "/" || at == ".") return absl::OkStatus();
    }
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    const auto found = files_.find(from);
    if (found == files_.end()) return absl::NotFoundError(from);
    RETURN_IF_ERROR(Change());
    files_[to] = found->second;
    files_.erase(from);
    return absl::OkStatus();
  }
  absl::Status Remove(const std::string& path) override {
    if (!files_.contains(path)) return absl::NotFoundError(path);
    RETURN_IF_ERROR(Change());
    files_.erase(path);
    return absl::OkStatus();
  }
  absl::Status RemoveAll(const std::string& path) override {
    return absl::UnimplementedError(path);
  }
  absl::Status Link(const std::string& from, const std::string&) override {
    return absl::UnimplementedError(from);
  }
  absl::Status SyncDirectory(const std::string&) override { return absl::OkStatus(); }
  absl::StatusOr<Space> SpaceOf(const std::string&) override { return Space{}; }
  absl::StatusOr<uint64_t> DeviceOf(const std::string&) override { return 1; }
  absl::StatusOr<std::unique_ptr<WritableFile>> Lock(const std::string& path) override {
    return absl::UnimplementedError(path);
  }

 private:
  class Reader : public ReadableFile {
   public:
    explicit Reader(std::shared_ptr<File> file) : file_(std::move(file)) {}
    absl::StatusOr<uint64_t> Size() const override { return file_->bytes.size(); }
    absl::Status ReadAt(uint64_t offset, size_t n, std::string* out) const override {
      *out = offset >= file_->bytes.size() ? "" : file_->bytes.substr(offset, n);
      return absl::OkStatus();
    }

   private:
    const std::shared_ptr<File> file_;
  };
  class Writer : public WritableFile {
   public:
    Writer(MemoryFiles& files, std::shared_ptr<File> file)
        : files_(files), file_(std::move(file)) {}
    absl::Status WriteAt(uint64_t offset, std::string_view bytes) override {
      RETURN_IF_ERROR(files_.Change());
      if (file_->bytes.size() < offset + bytes.size()) file_->bytes.resize(offset + bytes.size());
      std::copy(bytes.begin(), bytes.end(), file_->bytes.begin() + static_cast<ptrdiff_t>(offset));
      return absl::OkStatus();
    }
    absl::Status Truncate(uint64_t size) override {
      if (size == file_->bytes.size()) return absl::OkStatus();
      RETURN_IF_ERROR(files_.Change());
      file_->bytes.resize(size);
      return absl::OkStatus();
    }
    absl::Status Sync() override { return absl::OkStatus(); }
    absl::Status Close() override { return absl::OkStatus(); }

   private:
    MemoryFiles& files_;
    const std::shared_ptr<File> file_;
  };

  absl::Status Change() {
    if (changes_left_-- <= 0) return absl::AbortedError("killed");
    ++changes_;
    return absl::OkStatus();
  }

  std::map<std::string, std::shared_ptr<File>> files_;
  std::set<std::string> directories_ = {"/"};
  uint64_t next_inode_ = 1;
  int64_t changes_ = 0;
  int64_t changes_left_ = INT64_MAX;
};

}  // namespace arion
