// DiskReserve: a file that only takes up room in a data directory. Given up when the disk is full,
// so that what is in flight, checkpoints and info files can be finished.
//
// Shapes    <data directory>/.arion-reserve, zeros really written; after a crash it is as long as
//           it is.
// Errors    As FileSystem.
// Threads   Waits for the disk: in its DiskPool, one call at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>

#include "env/file_system.h"

namespace arion {

inline constexpr char kReserveName[] = ".arion-reserve";

class DiskReserve {
 public:
  DiskReserve(FileSystem& files, std::string directory);

  // All return its size afterwards; 0: it is not there.
  absl::StatusOr<uint64_t> Size() const;
  // Makes it longer, by at most kGrowthBytesMax at a time, and syncs that, so that nobody waits long
  // behind it.
  // What a failed write left is given up.
  static constexpr uint64_t kGrowthBytesMax = 4 << 20;
  absl::StatusOr<uint64_t> GrowBy(uint64_t bytes);
  absl::StatusOr<uint64_t> GiveUp();

 private:
  FileSystem& files_;
  const std::string path_;
};

}  // namespace arion
