// DiskReserve: a file that only takes up room in a directory. It is given up when the disk is full,
// so that what must go on is finished: what is in flight, checkpoints and info files of replicas;
// failovers.
//
// Shapes    <directory>/.arion-reserve, zeros really written, durable. After a crash it is as long
//           as it was written.
// Errors    As FileSystem.
// Threads   Waits for the disk: in its DiskPool, one call at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>

namespace arion {

class FileSystem;

// The file's name.
inline constexpr char kReserveName[] = ".arion-reserve";

// One directory's reserve. disks/disk_health.h decides its size and when it is given up.
//
//   DiskReserve reserve(files, "/data/1");
//   ASSIGN_OR_RETURN(uint64_t held, reserve.GrowBy(wanted - held));   // step by step
//   RETURN_IF_ERROR(reserve.GiveUp().status());                       // the disk is full
class DiskReserve {
 public:
  DiskReserve(FileSystem& files, const std::string& directory);

  // All calls return the file's size afterwards; 0: it is not there.
  absl::StatusOr<uint64_t> Size() const;
  // GrowBy makes it longer, by at most this much at a time, and syncs that, so that nobody waits
  // long behind it. Where it fails the file is as long as before.
  static constexpr uint64_t kGrowthBytesMax = 4 << 20;
  absl::StatusOr<uint64_t> GrowBy(uint64_t bytes);
  // Makes it shorter; to nothing at most.
  absl::StatusOr<uint64_t> ShrinkBy(uint64_t bytes);
  // Makes all its room free.
  absl::StatusOr<uint64_t> GiveUp();

 private:
  absl::StatusOr<uint64_t> CutTo(uint64_t size);

  FileSystem& files_;
  const std::string path_;
};

}  // namespace arion
