// SimFileSystem: the FileSystem of one life of a node, over its SimDisk. Once that life ended every
// call fails.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "env/file_system.h"
#include "sim/sim_disk.h"

namespace arion::sim {

struct SimLife;

// Made and owned by the SimEnvironment of the life.
// Changes are seen by every later call at once, and are durable as SimDisk says. A disk in trouble
// fails calls here.
class SimFileSystem : public FileSystem {
 public:
  SimFileSystem(SimDisk& disk, std::shared_ptr<const SimLife> life)
      : disk_(disk), life_(std::move(life)) {}

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
  absl::Status Alive() const;
  // Alive, and the disk is not in such trouble.
  absl::Status May(DiskCall call, const std::string& path) const;

  SimDisk& disk_;
  std::shared_ptr<const SimLife> life_;
};

}  // namespace arion::sim
