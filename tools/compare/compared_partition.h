// ComparedPartition: one side of a comparison: a partition of a table, read by raw keys
// (base/raw_key.h).
//
// Shapes    A range is [first, end). `next` is where an answer ends that is not the whole; empty:
//           it is. Records are in the order of raw keys, and live ones only.
// Errors    As Table (arion/table.h). Aborted: the table was split since the comparison began.
// Threads   Thread-safe. Calls wait for the answer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace arion::compare {

// The bounds of all keys: an empty hash key's are the first, and no hash key is 65535 bytes long.
inline const std::string kFirstKey(2, '\0');
inline const std::string kBehindAllKeys = "\xff\xff";
// The smallest key behind `key`.
inline std::string JustBehind(std::string key) { return std::move(key.append(1, '\0')); }

// What a range holds: how many records, and the sum of their hashes (RecordHash in base/crc.h).
struct RangeSum {
  int64_t records = 0;
  uint64_t sum = 0;
  std::string next;
};

// A record, or that there is none.
struct RecordState {
  bool exists = false;
  uint64_t value_hash = 0;
  uint64_t value_bytes = 0;
  // Seconds since 2016; 0: never, or expiries are not compared.
  uint32_t expires = 0;
  bool operator==(const RecordState&) const = default;
};
struct RangeRecords {
  struct One {
    std::string key;
    RecordState state;
  };
  std::vector<One> records;
  std::string next;
};

class ComparedPartition {
 public:
  virtual ~ComparedPartition() = default;
  // Of `records_max` records at most; each call gets on.
  virtual absl::StatusOr<RangeSum> Sum(const std::string& first, const std::string& end,
                                       int32_t records_max) = 0;
  virtual absl::StatusOr<RangeRecords> Read(const std::string& first, const std::string& end,
                                            int32_t records_max) = 0;
};

}  // namespace arion::compare
