// LogIndex: places in one log file where reading may begin, so that a decree's block is found
// without reading the file from its start. Sparse: an entry about every kStepBytes.
//
// Shapes    An entry's max_decree is the largest decree of the log before it, so it never falls
//           even where decrees do (prepared anew, taken over). Every mutation with decree >= first
//           lies behind the last entry with max_decree < first.
// Threads   Pure. Adding allocates once in a file of 32 MiB.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace arion {

class LogIndex {
 public:
  static constexpr uint64_t kStepBytes = 128 << 10;

  struct Entry {
    uint64_t position = 0;  // of a block
    uint32_t crc = 0;       // the chain before it
    Decree max_decree;      // largest decree before it
    bool operator==(const Entry&) const = default;
  };

  // The file's next block: `at` tells where it begins, `end` where it ends. A block that is not the
  // next is left out.
  void Add(const Entry& at, uint64_t end);
  // Where to begin for decrees >= first; position 0 if nothing better is known.
  Entry Find(Decree first) const;
  // The last `count` entries at most, in order.
  std::vector<Entry> Last(size_t count) const;
  // The blocks before this position are indexed.
  uint64_t end() const { return end_; }

 private:
  uint64_t end_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace arion
