// The bytes of a private log (wal/FORMAT.md 2): the old versions' format, so that rolling
// back works.
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
// shows a block dropped, doubled or moved. max_decree is the largest decree of all *earlier* files;
// records at global offsets below valid_start_offset are void. The global offset of a byte is the
// file's start offset plus its position; a mutation carries its own. A file's start offset is where
// the content of the file before ended: what lies behind that content there is dead. Names:
// log.<index>.<start offset>, decimal; indexes are consecutive, from 1.
//
// All little endian. Functions are pure and take any bytes. SPDX-License-Identifier: Apache-2.0
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
constexpr size_t kFileHeaderBytes = 20;  // without entries
constexpr size_t kFileHeaderEntryBytes = 24;
constexpr size_t kFirstBlockBytes = kBlockHeaderBytes + kFileHeaderBytes + kFileHeaderEntryBytes;
constexpr size_t kBlockBytesTarget = 1 << 20;  // a block that is larger takes no further mutation
static_assert(kFirstBlockBytes == 60);

struct LogFileName {
  int64_t index = 0;
  int64_t start_offset = 0;

  auto operator<=>(const LogFileName&) const = default;
  std::string ToString() const;
};

// nullopt: not a log's name (log.1.2.removed, log.3, log.x.1). OutOfRange: one, but a number
// exceeds an i64.
absl::StatusOr<std::optional<LogFileName>> ParseLogFileName(std::string_view name);

struct BlockHeader {
  uint32_t magic = kLogMagic;
  int32_t length = 0;
  uint32_t body_crc = 0;
  uint32_t position = 0;
};
BlockHeader LoadBlockHeader(const char* from);  // kBlockHeaderBytes
void StoreBlockHeader(const BlockHeader& header, char* to);

struct LogFileHeader {
  struct Entry {
    PartitionId pid;
    Decree max_decree;
    int64_t valid_start_offset = 0;
    bool operator==(const Entry&) const = default;
  };
  int32_t version = 1;
  int64_t start_offset = 0;
  std::vector<Entry> entries;

  const Entry* Find(PartitionId pid) const;  // null: no entry
};
// Takes the file header from the front of *bytes. DataLoss: magic, or counts that do not fit.
absl::StatusOr<LogFileHeader> TakeFileHeader(std::string_view* bytes);

// Writes the first block of a private log's file, kFirstBlockBytes; returns its body_crc, the
// chain's beginning.
uint32_t StoreFirstBlock(int64_t start_offset, const LogFileHeader::Entry& entry, char* to);

}  // namespace arion
