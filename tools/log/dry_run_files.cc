// SPDX-License-Identifier: Apache-2.0
#include "tools/log/dry_run_files.h"

#include <algorithm>

#include "base/status.h"

namespace arion::logtool {

class DryRunFiles::Reader : public ReadableFile {
 public:
  Reader(std::unique_ptr<ReadableFile> base, uint64_t size_max, const Options& options)
      : base_(std::move(base)), size_max_(size_max), options_(options) {}

  absl::StatusOr<uint64_t> Size() const override {
    ASSIGN_OR_RETURN(const uint64_t size, base_->Size());
    return std::min(size, size_max_);
  }
  absl::Status ReadAt(uint64_t offset, size_t n, std::string* out) const override {
    n = offset >= size_max_ ? 0 : static_cast<size_t>(std::min<uint64_t>(n, size_max_ - offset));
    RETURN_IF_ERROR(base_->ReadAt(offset, n, out));
    if (options_.on_read) options_.on_read(out->size());
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<ReadableFile> base_;
  const uint64_t size_max_;
  const Options& options_;
};

class DryRunFiles::Writer : public WritableFile {
 public:
  Writer(DryRunFiles& files, std::string path) : files_(files), path_(std::move(path)) {}

  absl::Status WriteAt(uint64_t offset, std::string_view bytes) override {
    ASSIGN_OR_RETURN(File file, files_.Find(path_));
    if (IsThere(file, offset, bytes)) return absl::OkStatus();
    file.base_path.clear();
    file.status.size = std::max(file.status.size, offset + bytes.size());
    files_.changed_[path_] = file;
    return absl::OkStatus();
  }
  absl::Status Truncate(uint64_t size) override {
    ASSIGN_OR_RETURN(File file, files_.Find(path_));
    files_.changes_.push_back({.kind = Change::Kind::kTruncate,
                               .path = path_,
                               .size_before = file.status.size,
                               .size = size});
    file.status.size = size;
    files_.changed_[path_] = file;
    return absl::OkStatus();
  }
  absl::Status Sync() override { return absl::OkStatus(); }
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  // Writing what stands there already changes nothing.
  bool IsThere(const File& file, uint64_t offset, std::string_view bytes) const {
    if (file.base_path.empty() || offset + bytes.size() > file.status.size) return false;
    const auto base = files_.base_.OpenForRead(file.base_path);
    std::string now;
    return base.ok() && (*base)->ReadAt(offset, bytes.size(), &now).ok() && now == bytes;
  }

  DryRunFiles& files_;
  const std::string path_;
};

std::vector<DryRunFiles::Change> DryRunFiles::Changes() const {
  std::vector<Change> all;
  for (const Change& change : changes_) {
    if (change.kind == Change::Kind::kTruncate && change.size == change.size_before) continue;
    // Written durably means: under a temporary name, then renamed. People see one write.
    if (change.kind == Change::Kind::kRename) {
      const auto written = std::find_if(all.begin(), all.end(), [&](const Change& c) {
        return c.kind == Change::Kind::kWrite && c.path == change.path;
      });
      if (written != all.end()) {
        written->path = change.to;
        continue;
      }
    }
    all.push_back(change);
  }
  for (Change& change : all) {
    const auto now = changed_.find(change.path);
    if (change.kind == Change::Kind::kWrite && now != changed_.end() && now->second)
      change.size = now->second->status.size;
  }
  return all;
}

absl::StatusOr<DryRunFiles::File> DryRunFiles::Find(const std::string& path) {
  const auto found = changed_.find(path);
  if (found != changed_.end()) {
    if (!found->second) return absl::NotFoundError(absl::StrCat(path, ": removed in the dry run"));
    return *found->second;
  }
  ASSIGN_OR_RETURN(const FileStatus status, base_.Stat(path));
  return File{.base_path = path, .status = status};
}

absl::StatusOr<std::unique_ptr<ReadableFile>> DryRunFiles::OpenForRead(const std::string& path) {
  const auto changed = changed_.find(path);
  if (changed == changed_.end()) {
    ASSIGN_OR_RETURN(auto base, base_.OpenForRead(path));
    return std::make_unique<Reader>(std::move(base), UINT64_MAX, options_);
  }
  ASSIGN_OR_RETURN(const File file, Find(path));
  if (file.base_path.empty())
    return absl::FailedPreconditionError(absl::StrCat(path, ": written in the dry run"));
  ASSIGN_OR_RETURN(auto base, base_.OpenForRead(file.base_path));
  return std::make_unique<Reader>(std::move(base), file.status.size, options_);
}

absl::StatusOr<std::unique_ptr<WritableFile>> DryRunFiles::OpenForWrite(const std::string& path,
                                                                        CreateMode mode) {
  const absl::StatusOr<File> there = Find(path);
  if (!there.ok() && !absl::IsNotFound(there.status())) return there.status();
  if (mode == CreateMode::kOpenExisting && !there.ok()) return there.status();
  if (mode == CreateMode::kMustNotExist && there.ok()) return absl::AlreadyExistsError(path);
  if (mode != CreateMode::kOpenExisting) {
    File made;
    // A number that no real file has, so that a log's identity does not take it for another one.
    made.status.inode = next_inode_++;
    changed_[path] = made;
    changes_.push_back({.kind = Change::Kind::kWrite, .path = path});
  }
  return std::make_unique<Writer>(*this, path);
}

absl::StatusOr<FileStatus> DryRunFiles::Stat(const std::string& path) {
  ASSIGN_OR_RETURN(const File file, Find(path));
  return file.status;
}

absl::StatusOr<std::vector<std::string>> DryRunFiles::List(const std::string& directory) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, base_.List(directory));
  for (const auto& [path, entry] : changed_) {
    if (ParentDirectory(path) != directory) continue;
    std::erase(names, BaseName(path));
    if (entry) names.push_back(BaseName(path));
  }
  if (options_.shows && directory == options_.filtered_directory)
    std::erase_if(names, [this](const std::string& name) { return !options_.shows(name); });
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status DryRunFiles::CreateDirectories(const std::string& path) {
  return base_.Stat(path).status();  // arion_log makes none
}

absl::Status DryRunFiles::Rename(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const File file, Find(from));
  changes_.push_back({.kind = Change::Kind::kRename, .path = from, .to = to});
  changed_[from] = std::nullopt;
  changed_[to] = file;
  return absl::OkStatus();
}

absl::Status DryRunFiles::Remove(const std::string& path) {
  ASSIGN_OR_RETURN(const File file, Find(path));
  changes_.push_back(
      {.kind = Change::Kind::kRemove, .path = path, .size_before = file.status.size});
  changed_[path] = std::nullopt;
  return absl::OkStatus();
}

absl::Status DryRunFiles::RemoveAll(const std::string& path) {
  return absl::FailedPreconditionError(absl::StrCat(path, ": not in a dry run"));
}
absl::Status DryRunFiles::Link(const std::string& from, const std::string&) {
  return absl::FailedPreconditionError(absl::StrCat(from, ": not in a dry run"));
}
absl::Status DryRunFiles::SyncDirectory(const std::string&) { return absl::OkStatus(); }
absl::StatusOr<FileSystem::Space> DryRunFiles::SpaceOf(const std::string& path) {
  return base_.SpaceOf(path);
}
absl::StatusOr<uint64_t> DryRunFiles::DeviceOf(const std::string& path) {
  return base_.DeviceOf(path);
}
absl::StatusOr<std::unique_ptr<WritableFile>> DryRunFiles::Lock(const std::string& path) {
  return absl::FailedPreconditionError(absl::StrCat(path, ": no lock in a dry run"));
}

}  // namespace arion::logtool
