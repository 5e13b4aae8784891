// The bytes of a private log (wal/FORMAT.md 2): the old versions' format, so that rolling back
// works.
//
//   file  := block block* [torn bytes, or zeros while the file is written]
//   block := header(16) body(length)
//
//   block header                              body of a file's first block: the file header
//    0  u32  magic 0xDEADBEEF                   0  u32  magic 0xDEADBEEF
//    4  i32  length of the body                 4  i32  version 1
//    8  u32  body_crc                           8  i64  start offset = the one in the file's name
//   12  u32  position in the file              16  i32  n
//                                              20  n x { i32 app_id, i32 index, i64 max_decree,
//   every other body: whole mutations                    i64 valid_start_offset }
//   (base/mutation.h), back to back
//
// body_crc[k] is the CRC-32C of the bodies 0..k of the file, one behind the other: a chain that
// shows a block that was dropped, doubled or moved. max_decree is the largest decree of all
// *earlier* files; records at global offsets below valid_start_offset are void. The global offset
// of a byte is the file's start offset plus its position; a mutation carries its own. A file's
// start offset is where the content of the file before it ended: what lies behind that content
// there is dead. Names: log.<index>.<start offset>, decimal; indexes are consecutive, from 1.
//
// All integers are little endian. The functions are pure. Those that read take any bytes; those
// that write CHECK what a reader would refuse.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace arion {

constexpr uint32_t kLogMagic = 0xDEADBEEF;
constexpr size_t kBlockHeaderBytes = 16;
// Without the entries behind it.
constexpr size_t kFileHeaderBytes = 20;
constexpr size_t kFileHeaderEntryBytes = 24;
// A private log's file header has one entry, so its first block has a fixed size.
constexpr size_t kFirstBlockBytes = kBlockHeaderBytes + kFileHeaderBytes + kFileHeaderEntryBytes;
// A block that is larger takes no further mutation. So a block is at most this and one mutation.
constexpr size_t kBlockBytesTarget = 1 << 20;
static_assert(kFirstBlockBytes == 60);

// What a log file's name says. Ordered by index, then by start offset.
struct LogFileName {
  int64_t index = 0;
  // The global offset of the file's first byte.
  int64_t start_offset = 0;

  auto operator<=>(const LogFileName&) const = default;
  // Without leading zeros.
  std::string ToString() const;
};

// nullopt: not a log's name (log.1.2.removed, log.3, log.x.1). OutOfRange: a log's name, but a
// number in it exceeds an i64. Numbers are never negative; leading zeros are read.
absl::StatusOr<std::optional<LogFileName>> ParseLogFileName(std::string_view name);

// The fields as they stand on disk; nothing is judged.
struct BlockHeader {
  uint32_t magic = kLogMagic;
  // Of the body, in bytes.
  int32_t length = 0;
  // The chain up to and with this body.
  uint32_t body_crc = 0;
  // Of this header, counted from the file's start.
  uint32_t position = 0;
};
// Both take kBlockHeaderBytes bytes. A length that is stored is not negative.
BlockHeader LoadBlockHeader(const char* from);
void StoreBlockHeader(const BlockHeader& header, char* to);

// What the first block of a file says about the file. A private log's file has one entry; older
// versions also wrote files without any, and shared logs with many.
struct LogFileHeader {
  struct Entry {
    PartitionId pid;
    // The largest decree in all earlier files of the log.
    Decree max_decree;
    // Records at smaller global offsets are void.
    int64_t valid_start_offset = 0;
    bool operator==(const Entry&) const = default;
  };
  // Not checked by any reader.
  int32_t version = 1;
  int64_t start_offset = 0;
  std::vector<Entry> entries;

  // The first entry of that partition. Null: it has none. The pointer holds as long as `entries`
  // does.
  const Entry* Find(PartitionId pid) const;
};
// Takes the file header from the front of *bytes, which afterwards begins behind it. DataLoss: the
// magic is wrong, or the count does not fit the bytes; then *bytes is as it was.
absl::StatusOr<LogFileHeader> TakeFileHeader(std::string_view* bytes);

// Writes the first block of a private log's file, kFirstBlockBytes, to `to`. Returns its body_crc,
// with which the file's chain begins. `start_offset` is not negative, and entry.valid_start_offset
// is not behind it.
uint32_t StoreFirstBlock(int64_t start_offset, const LogFileHeader::Entry& entry, char* to);

}  // namespace arion
