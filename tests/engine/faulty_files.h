// FaultyFiles: another file system, for many threads where that one is for one (the simulator's),
// with a fault at a chosen call.
//
// Threads   Thread-safe: one call at a time. Lifetime: `below` outlives it, it its files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "env/file_system.h"

namespace arion {

class FaultyFiles : public FileSystem {
 public:
  // kOpen: for reading. kName: creating, opening for writing, renaming, removing, linking.
  enum class Call { kOpen, kRead, kWrite, kSync, kName };
  static constexpr std::array kCalls = {Call::kOpen, Call::kRead, Call::kWrite, Call::kSync,
                                        Call::kName};

  explicit FaultyFiles(FileSystem& below) : below_(below) {}

  int64_t calls(Call call) {
    std::lock_guard lock(mutex_);
    return counts_[Index(call)];
  }
  // Before the call number `n` (from 0) of its kind `fault` is asked: an error is the call's, OK lets
  // it pass. One such call.
  void FailOnce(Call call, int64_t n, std::function<absl::Status(const std::string& path)> fault) {
    std::lock_guard lock(mutex_);
    fault_call_ = call;
    fault_at_ = counts_[Index(call)] + n;
    fault_ = std::move(fault);
  }
  bool has_failed() {
    std::lock_guard lock(mutex_);
    return fault_ == nullptr;
  }
  // The most bytes of one file whose writeback was begun and not awaited.
  uint64_t most_under_way() {
    std::lock_guard lock(mutex_);
    return most_under_way_;
  }
  void Heal() {
    std::lock_guard lock(mutex_);
    fault_ = nullptr;
  }

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(const std::string& path) override {
    std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(Pass(Call::kOpen, path));
    ASSIGN_OR_RETURN(auto file, below_.OpenForRead(path));
    return std::make_unique<Reader>(*this, path, std::move(file));
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(const std::string& path,
                                                             CreateMode mode) override {
    std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(Pass(Call::kName, path));
    ASSIGN_OR_RETURN(auto file, below_.OpenForWrite(path, mode));
    return std::make_unique<Writer>(*this, path, std::move(file));
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> Lock(const std::string& path) override {
    std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(Pass(Call::kName, path));
    ASSIGN_OR_RETURN(auto file, below_.Lock(path));
    return std::make_unique<Writer>(*this, path, std::move(file));
  }
  absl::StatusOr<FileStatus> Stat(const std::string& path) override {
    std::lock_guard lock(mutex_);
    return below_.Stat(path);
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override {
    std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(Pass(Call::kRead, directory));
    return below_.List(directory);
  }
  absl::Status CreateDirectories(const std::string& path) override {
    std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(Pass(Call::kName, path));
    return below_.CreateDirectories(path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(Pass(Call::kName, from));
    return below_.Rename(from, to);
  }
  absl::Status Remove(const std::string& path) override {
    std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(Pass(Call::kName, path));
    return below_.Remove(path);
  }
  absl::Status RemoveAll(const std::string& path) override {
    std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(Pass(Call::kName, path));
    return below_.RemoveAll(path);
  }
  absl::Status Link(const std::string& from, const std::string& to) override {
    std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(Pass(Call::kName, from));
    return below_.Link(from, to);
  }
  absl::Status SyncDirectory(const std::string& path) override {
    std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(Pass(Call::kSync, path));
    return below_.SyncDirectory(path);
  }
  absl::StatusOr<Space> SpaceOf(const std::string& path) override {
    std::lock_guard lock(mutex_);
    return below_.SpaceOf(path);
  }
  absl::StatusOr<uint64_t> DeviceOf(const std::string& path) override {
    std::lock_guard lock(mutex_);
    return below_.DeviceOf(path);
  }

 private:
  class Reader : public ReadableFile {
   public:
    Reader(FaultyFiles& files, std::string path, std::unique_ptr<ReadableFile> file)
        : files_(files), path_(std::move(path)), file_(std::move(file)) {}
    absl::StatusOr<uint64_t> Size() const override {
      std::lock_guard lock(files_.mutex_);
      return file_->Size();
    }
    absl::Status ReadAt(uint64_t offset, size_t n, std::string* out) const override {
      std::lock_guard lock(files_.mutex_);
      RETURN_IF_ERROR(files_.Pass(Call::kRead, path_));
      return file_->ReadAt(offset, n, out);
    }

   private:
    FaultyFiles& files_;
    const std::string path_;
    const std::unique_ptr<ReadableFile> file_;
  };

  class Writer : public WritableFile {
   public:
    Writer(FaultyFiles& files, std::string path, std::unique_ptr<WritableFile> file)
        : files_(files), path_(std::move(path)), file_(std::move(file)) {}
    ~Writer() override {
      std::lock_guard lock(files_.mutex_);
      file_.reset();
    }
    absl::Status WriteAt(uint64_t offset, std::string_view bytes) override {
      std::lock_guard lock(files_.mutex_);
      RETURN_IF_ERROR(files_.Pass(Call::kWrite, path_));
      return file_->WriteAt(offset, bytes);
    }
    absl::Status Truncate(uint64_t size) override {
      std::lock_guard lock(files_.mutex_);
      RETURN_IF_ERROR(files_.Pass(Call::kWrite, path_));
      return file_->Truncate(size);
    }
    absl::Status StartWriteback(uint64_t offset, uint64_t n) override {
      std::lock_guard lock(files_.mutex_);
      under_way_ += n;
      files_.most_under_way_ = std::max(files_.most_under_way_, under_way_);
      return file_->StartWriteback(offset, n);
    }
    absl::Status AwaitWriteback(uint64_t offset, uint64_t n) override {
      std::lock_guard lock(files_.mutex_);
      under_way_ -= n;
      return file_->AwaitWriteback(offset, n);
    }
    absl::Status Sync() override {
      std::lock_guard lock(files_.mutex_);
      RETURN_IF_ERROR(files_.Pass(Call::kSync, path_));
      return file_->Sync();
    }
    absl::Status Close() override {
      std::lock_guard lock(files_.mutex_);
      return file_->Close();
    }

   private:
    FaultyFiles& files_;
    const std::string path_;
    std::unique_ptr<WritableFile> file_;
    uint64_t under_way_ = 0;
  };

  static size_t Index(Call call) { return static_cast<size_t>(call); }
  absl::Status Pass(Call call, const std::string& path) {
    const int64_t number = counts_[Index(call)]++;
    if (fault_ == nullptr || call != fault_call_ || number < fault_at_) return absl::OkStatus();
    return std::exchange(fault_, nullptr)(path);
  }

  FileSystem& below_;
  std::mutex mutex_;
  std::array<int64_t, kCalls.size()> counts_{};  // guarded by mutex_, as all below
  uint64_t most_under_way_ = 0;
  Call fault_call_ = Call::kRead;
  int64_t fault_at_ = 0;
  std::function<absl::Status(const std::string& path)> fault_;
};

}  // namespace arion
