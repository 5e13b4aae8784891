// DryRunFiles: a FileSystem over another one that never changes it: what would be written, renamed
// or removed is remembered and seen by later calls. arion_log reads through it, so that looking
// can't change anything, and lets the real recovery run on it to learn what a start would do.
//
// Shapes    Of what is written only the size is kept: reading it back is FailedPrecondition.
// Threads   One thread.
// Lifetime  The other FileSystem outlives it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "env/file_system.h"

namespace arion::logtool {

// One dry run. The overrides do what FileSystem says, except that the disk stays as it is.
class DryRunFiles : public FileSystem {
 public:
  // Settings of one dry run.
  struct Options {
    // Told of each read; may be empty.
    std::function<void(uint64_t bytes)> on_read;
    // Listings of this directory leave out the names that `shows` refuses.
    std::string filtered_directory;
    std::function<bool(const std::string& name)> shows;
  };
  DryRunFiles(FileSystem& base, Options options) : base_(base), options_(std::move(options)) {}

  // A change that would have been made.
  struct Change {
    enum class Kind { kWrite, kTruncate, kRename, kRemove } kind;
    std::string path;
    // Of kRename.
    std::string to;
    // Of kTruncate and kRemove.
    uint64_t size_before = 0;
    // Of kWrite and kTruncate: afterwards.
    uint64_t size = 0;
  };
  // In order. What makes no difference (a truncate to the size it has) is left out. A file written
  // under a temporary name and renamed is one write.
  std::vector<Change> Changes() const;

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(const std::string& path,
                                                             CreateMode mode) override;
  absl::StatusOr<FileStatus> Stat(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override;
  absl::Status CreateDirectories(const std::string& path) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& path) override;
  absl::Status RemoveAll(const std::string& path) override;
  absl::Status Link(const std::string& from, const std::string& to) override;
  absl::Status SyncDirectory(const std::string& path) override;
  absl::StatusOr<Space> SpaceOf(const std::string& path) override;
  absl::StatusOr<uint64_t> DeviceOf(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> Lock(const std::string& path) override;

 private:
  class Reader;
  class Writer;
  // What a path holds now, where that differs from the base.
  struct File {
    // Where its bytes lie; empty: written in the dry run.
    std::string base_path;
    FileStatus status;
  };
  // nullopt: removed.
  using Entry = std::optional<File>;

  absl::StatusOr<File> Find(const std::string& path);

  FileSystem& base_;
  const Options options_;
  std::map<std::string, Entry> changed_;
  std::vector<Change> changes_;
  uint64_t next_inode_ = uint64_t{1} << 63;
};

}  // namespace arion::logtool
