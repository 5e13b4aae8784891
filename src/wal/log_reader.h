// LogReader reads the blocks of one log file, private or shared, in order, and says how its content
// ends.
//
// Shapes    A block is given out whole or not at all. `size` bounds what is read: the file's size,
//           or the end of what is durable in a file still written.
// Units     Positions count from the file's start; Mutation::log_offset is global.
// Errors    A status means a read failed. Everything the bytes can be is a LogEnd.
// Threads   One thread; reads wait for the disk. Takes any bytes; holds one chunk or one block,
//           never more than the file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/mutation.h"
#include "base/mutation_view.h"
#include "env/file_system.h"
#include "wal/log_format.h"
#include "wal/log_index.h"

namespace arion {

// How a file's content ends (wal/FORMAT.md 4.1).
enum class LogEnd : uint8_t {
  kEof,         // exactly behind a block
  kTruncated,   // inside a block: its bytes end too early
  kCorrupt,     // a block with the wrong magic, a negative length or the wrong checksum
  kUnreadable,  // checksum right, yet the content is not ours to read: file header, mutation,
                // offset. Older versions call it CORRUPT
};
std::string_view LogEndName(LogEnd end);  // "EOF", "TRUNCATED", "CORRUPT", "UNREADABLE"

struct LogBlock {
  uint64_t position = 0;
  uint64_t size = 0;                    // header included
  uint32_t crc_before = 0;              // the chain up to this block
  std::optional<LogFileHeader> header;  // of the first block
  std::vector<MutationPtr> mutations;
};

// The same, nothing copied: valid until the reader's next step.
struct LogBlockView {
  uint64_t position = 0;
  uint64_t size = 0;
  uint32_t crc_before = 0;
  std::optional<LogFileHeader> header;
  std::vector<MutationView> mutations;
};

class LogReader {
 public:
  // `file` outlives the reader. Begins at the file's start or at a place of its index: from there
  // on the chain is checked.
  // Reads at most `chunk_bytes_max` at once, or one block.
  LogReader(const ReadableFile& file, uint64_t size, int64_t start_offset,
            const LogIndex::Entry& from = {}, size_t chunk_bytes_max = 4 << 20)
      : file_(file),
        size_(size),
        start_offset_(start_offset),
        chunk_bytes_max_(chunk_bytes_max),
        position_(from.position),
        crc_(from.crc),
        buffer_at_(from.position) {}

  // True: *block is the next block. False: end() and reason() say how it ended.
  absl::StatusOr<bool> Next(LogBlock* block);
  absl::StatusOr<bool> Next(LogBlockView* block);

  // Where the content read so far ends.
  uint64_t position() const { return position_; }
  uint32_t crc() const { return crc_; }  // the chain up to there
  LogEnd end() const { return end_; }
  const std::string& reason() const { return reason_; }  // "at 296: checksum 0x.. instead of 0x.."

 private:
  bool End(LogEnd end, std::string reason);
  // Makes the n bytes from position_ available at View().
  absl::Status Fetch(size_t n);
  std::string_view View(size_t n) const {
    return std::string_view(buffer_).substr(position_ - buffer_at_, n);
  }

  const ReadableFile& file_;
  const uint64_t size_;
  const int64_t start_offset_;
  const size_t chunk_bytes_max_;
  uint64_t position_;
  uint32_t crc_;
  LogEnd end_ = LogEnd::kEof;
  std::string reason_;
  LogBlockView view_;
  std::string buffer_;  // [buffer_at_, buffer_at_ + buffer_.size()) of the file
  uint64_t buffer_at_;
  size_t block_bytes_ = 0;  // of the largest block so far
};

// A *valid block* (decision 9; wal/FORMAT.md 4.3), where the CRC chain can't be followed: the first
// position in [from, size) with magic, its own position, a length that fits, at least one mutation,
// all of them readable, of `pid` and at their offset.
absl::StatusOr<std::optional<uint64_t>> FindValidBlock(const ReadableFile& file, uint64_t from,
                                                       uint64_t size, int64_t start_offset,
                                                       PartitionId pid);

// Where what a torn write left in [from, size) ends: behind it lie zeros, or what an older log that
// this file was before left there, known by its blocks' smaller offsets.
absl::StatusOr<uint64_t> EndOfTornBytes(const ReadableFile& file, uint64_t from, uint64_t size,
                                        int64_t start_offset, PartitionId pid);

// The end of the last byte in [from, size) that is not zero; `from` when all are.
absl::StatusOr<uint64_t> EndOfNonZeroBytes(const ReadableFile& file, uint64_t from, uint64_t size);

}  // namespace arion
