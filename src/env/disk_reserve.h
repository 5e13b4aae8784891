// DiskReserve: a file that only takes up room in a directory. Given up when the disk is full, so that
// what must go on is finished: what is in flight, checkpoints and info files of replicas; failovers.
//
// Shapes    <directory>/.arion-reserve, zeros really written, durable; after a crash it is as long as
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
  DiskReserve(FileSystem& files, const std::string& directory);

  // All return its size afterwards; 0: it is not there.
  absl::StatusOr<uint64_t> Size() const;
  // Makes it longer, by at most kGrowthBytesMax at a time, and syncs that, so that nobody waits long
  // behind it. Where that fails it is as long as before.
  static constexpr uint64_t kGrowthBytesMax = 4 << 20;
  absl::StatusOr<uint64_t> GrowBy(uint64_t bytes);
  absl::StatusOr<uint64_t> ShrinkBy(uint64_t bytes);
  absl::StatusOr<uint64_t> GiveUp();

 private:
  absl::StatusOr<uint64_t> CutTo(uint64_t size);

  FileSystem& files_;
  const std::string path_;
};

}  // namespace arion
