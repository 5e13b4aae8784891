// LogIndex: places in one log file where reading may begin, so that a decree's block is found
// without reading the file from its start. Sparse: an entry about every kStepBytes.
//
// Shapes    An entry's max_decree is the largest decree of the log before it, so it never falls
//           even where decrees do (prepared anew, taken over). Every mutation with decree >= first
//           lies behind the last entry with max_decree < first.
// Errors    None: where nothing better is known, reading begins at the file's start.
// Threads   Pure: one thread at a time. A file of 32 MiB costs one allocation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace arion {

// A value. Whoever reads or writes a file's blocks in order may fill it.
//
//   index.Add({position, crc_before, max_decree_before}, end);   // each block, in order
//   LogReader reader(file, size, start_offset, index.Find(first));
class LogIndex {
 public:
  // Entries lie at least this far apart.
  static constexpr uint64_t kStepBytes = 128 << 10;

  // A place where reading may begin. The default is the start of the file.
  struct Entry {
    // Of a block, counted from the file's start.
    uint64_t position = 0;
    // The checksum chain before that block.
    uint32_t crc = 0;
    // The largest decree of the log before that block.
    Decree max_decree;
    bool operator==(const Entry&) const = default;
  };

  // A block that begins at `at` and ends before `end`, which is behind at.position. A block that
  // does not begin where the last one ended is left out. max_decree does not fall from block to
  // block.
  void Add(const Entry& at, uint64_t end);
  // Where to begin in order to find every mutation with decree >= first. Position 0 if nothing
  // better is known.
  Entry Find(Decree first) const;
  // The last `count` entries, or all if there are fewer; in order of their positions.
  std::vector<Entry> Last(size_t count) const;
  // The blocks before this position are indexed. 0: none.
  uint64_t end() const { return end_; }

 private:
  uint64_t end_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace arion
