// LogReader reads the blocks of one log file, private or shared, in order, and says how its content
// ends.
//
// Shapes    A block is given out whole or not at all. `size` bounds what is read: it is the file's
//           size, or the end of what is durable in a file that is still written.
// Units     Positions count bytes from the file's start; Mutation::log_offset is global.
// Errors    A status means that a read failed. Everything that the bytes can be is a LogEnd: any
//           bytes may be read, and none of them is a CHECK failure.
// Memory    One chunk or one block, whichever is larger, and never more than the file: each length
//           is checked against what is there before anything is allocated.
// Threads   One thread. Reads wait for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/mutation.h"
#include "base/mutation_view.h"
#include "wal/log_format.h"
#include "wal/log_index.h"

namespace arion {

class ReadableFile;

// How a file's content ends (wal/FORMAT.md 4.1).
enum class LogEnd : uint8_t {
  // Exactly behind a block.
  kEof,
  // Inside a block: its bytes end too early.
  kTruncated,
  // A block with the wrong magic, a negative length or the wrong checksum.
  kCorrupt,
  // The checksum is right, but the file header, a mutation or its offset cannot be. Older versions
  // call it CORRUPT.
  kUnreadable,
};
// "EOF", "TRUNCATED", "CORRUPT" or "UNREADABLE"; "?" for any other value.
std::string_view LogEndName(LogEnd end);

// One block, with mutations of its own.
struct LogBlock {
  uint64_t position = 0;
  // In bytes, the block header included.
  uint64_t size = 0;
  // The checksum chain up to this block, exclusive.
  uint32_t crc_before = 0;
  // Set for a file's first block only.
  std::optional<LogFileHeader> header;
  std::vector<MutationPtr> mutations;
};

// The same block without copies: its mutations point into the reader, and are valid until its next
// step.
struct LogBlockView {
  uint64_t position = 0;
  uint64_t size = 0;
  uint32_t crc_before = 0;
  std::optional<LogFileHeader> header;
  std::vector<MutationView> mutations;
};

//   LogReader reader(*file, size, name.start_offset);
//   LogBlockView block;
//   while (true) {
//     ASSIGN_OR_RETURN(const bool more, reader.Next(&block));
//     if (!more) break;
//     for (const MutationView& mutation : block.mutations) Use(mutation);
//   }
//   if (reader.end() != LogEnd::kEof) LOG(WARNING) << reader.reason();
class LogReader {
 public:
  // `file` outlives the reader; its name says `start_offset`. Reading begins at `from`: the file's
  // start, or a place of its index, from which on the checksum chain is checked. At most
  // `chunk_bytes_max` are read at once, or one block if that is larger.
  LogReader(const ReadableFile& file, uint64_t size, int64_t start_offset,
            const LogIndex::Entry& from = {}, size_t chunk_bytes_max = 4 << 20)
      : file_(file),
        size_(size),
        start_offset_(start_offset),
        chunk_bytes_max_(chunk_bytes_max),
        position_(from.position),
        crc_(from.crc),
        buffer_at_(from.position) {}

  // True: *block is the next block. False: the content has ended, and end() and reason() say how;
  // further calls say the same. After an error the reader may not be used again.
  absl::StatusOr<bool> Next(LogBlock* block);
  absl::StatusOr<bool> Next(LogBlockView* block);

  // Where the content that was read so far ends, and the checksum chain up to there.
  uint64_t position() const { return position_; }
  uint32_t crc() const { return crc_; }
  // How the content ended; has a meaning once Next has returned false.
  LogEnd end() const { return end_; }
  // The same for people, with the place: "at 296: checksum 0x.. instead of 0x..".
  const std::string& reason() const { return reason_; }

 private:
  bool End(LogEnd end, std::string reason);
  // Makes the n bytes from position_ on available as View(n). Fewer if the file became shorter.
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
  // The bytes [buffer_at_, buffer_at_ + buffer_.size()) of the file.
  std::string buffer_;
  uint64_t buffer_at_;
  // Of the largest block so far.
  size_t block_bytes_ = 0;
};

// The first *valid block* (decision 9; wal/FORMAT.md 4.3) in [from, size), for where the checksum
// chain cannot be followed: a position with the magic, its own position, a length that fits, and at
// least one mutation, all of them readable, of `pid`, and at the offset that each says. nullopt:
// there is none.
absl::StatusOr<std::optional<uint64_t>> FindValidBlock(const ReadableFile& file, uint64_t from,
                                                       uint64_t size, int64_t start_offset,
                                                       PartitionId pid);

// Where the bytes end that a torn write left in [from, size), exclusive. Behind them lie zeros, or
// blocks of an older log that this file was before, which are known by their smaller offsets.
// `from` if there are none.
absl::StatusOr<uint64_t> EndOfTornBytes(const ReadableFile& file, uint64_t from, uint64_t size,
                                        int64_t start_offset, PartitionId pid);

// The end of the last byte in [from, size) that is not zero; `from` when all are.
absl::StatusOr<uint64_t> EndOfNonZeroBytes(const ReadableFile& file, uint64_t from, uint64_t size);

}  // namespace arion
