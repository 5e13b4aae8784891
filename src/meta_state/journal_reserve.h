// JournalReserve: how much room the journal's disk has, and the reserve for what must be stored
// even if there is none.
//
// Shapes    Room is short from the moment when something found no room, or less than a low bound (4
//           MiB, at most 2 % of the disk) is available. That is over when twice the bound is
//           available and the reserve is whole.
// Threads   One at a time; all but is_short may wait for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "env/disk_reserve.h"
#include "meta_state/store_room.h"

namespace arion {

class FileSystem;

// One journal's.
class JournalReserve {
 public:
  // `bytes`: of the whole reserve, at most a tenth of the disk.
  JournalReserve(FileSystem& files, const std::string& directory, uint64_t bytes);

  bool is_short() const { return room_.is_short; }
  // Something found no room.
  void OnNoSpace();
  // Gives up a piece of the reserve, a little larger than `bytes` where there is so much. False:
  // there was none, or it can't be given up.
  bool GiveUpFor(uint64_t bytes);
  // The same for what is of use only if all of it fits.
  bool GiveUpForAllOf(uint64_t bytes);
  // To be called while the disk is full, when so many bytes came free just now.
  void TakeBack(uint64_t bytes);
  // Measures. Where there is room, the reserve grows.
  StoreRoom Look();

 private:
  // Grows or cuts the reserve to what it should be; returns its size.
  absl::StatusOr<uint64_t> Tend(uint64_t available_bytes, uint64_t low_bytes);

  FileSystem& files_;
  const std::string directory_;
  const uint64_t bytes_;
  DiskReserve reserve_;
  StoreRoom room_;
  bool said_short_ = false;
  bool said_failed_ = false;
};

}  // namespace arion
