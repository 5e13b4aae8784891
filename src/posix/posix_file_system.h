// PosixFileSystem: file_system.h on Linux system calls.
//
// Threads   Thread-safe; every call may wait for a disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "env/file_system.h"

namespace arion {

class DescriptorReserve;

// errno as a status: "<step> <path>: <text>". What an EIO of a read or a failed sync means is the
// caller's to say.
absl::Status PosixError(int error, std::string_view step, std::string_view path);

// What keeps this process from `path`, and the remedy, as text to append to a message: "; " and
// whose the file is, or what is above it where it can't be seen or a name in it is what was
// refused. Empty: nothing of it can be seen.
std::string WhoIsRefused(std::string_view path);

// One for a process; the Environment owns it.
class PosixFileSystem : public FileSystem {
 public:
  // `reserve` serves what is written, listed, locked and synced; null: there is none. A file that
  // is only read never takes a descriptor from it, because an engine keeps its tables open for
  // long.
  explicit PosixFileSystem(std::shared_ptr<DescriptorReserve> reserve = nullptr)
      : reserve_(std::move(reserve)) {}

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
  const std::shared_ptr<DescriptorReserve> reserve_;
};

}  // namespace arion
