// Values of the load tool. Each names its run, its record and the write that made it, and has a
// checksum, so that a read can tell which value it is and whether it is whole.
//
// Shapes    "ArL1", CRC-32C of all that follows (4 bytes), run (8), record (8), sequence (8),
//           little endian; then bytes that only the sequence determines. Below kStampBytes there is
//           no room for a stamp: a value is the first bytes of that.
// Errors    DataLoss: the bytes are no whole value of ours; the text says which part is wrong.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace arion::load {

// What a value says of itself.
struct Stamp {
  // Names the process' phase that wrote it.
  uint64_t run = 0;
  int64_t record = 0;
  // Of the write, within its run.
  int64_t sequence = 0;

  bool operator==(const Stamp&) const = default;
};

inline constexpr size_t kStampBytes = 32;

// A value of `bytes` bytes.
std::string EncodeValue(const Stamp& stamp, size_t bytes);
absl::StatusOr<Stamp> DecodeValue(std::string_view value);

}  // namespace arion::load
