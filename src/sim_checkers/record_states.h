// What a write makes of a record, for checkers that compare two clusters' writes, and records' names
// for people.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace arion {
struct WriteOp;
}

namespace arion::sim {

// Equal fingerprints: kind, value, expiry and time are equal.
struct RecordState {
  uint64_t fingerprint = 0;
  // For people.
  std::string text;
};
RecordState StateOf(const WriteOp& op, int64_t timestamp_us);

std::string NameOfRecord(PartitionId pid, std::string_view raw_key);

}  // namespace arion::sim
