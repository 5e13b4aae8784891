// LogBlocks: what was appended to a log and is not durable yet, as the blocks it will be written
// in. Where a record lies is known from the moment it is appended. Nothing is written here.
//
// Shapes    A mutation is encoded into the open block at the back. A block is sealed when it holds
//           more than kBlockBytesTarget, when the next mutation does not fit into its file, or when
//           it is about to be written. A file's first block (its header) and the block of records
//           behind it are one Block, because they are one write. In front of a block of a
//           pre-written file there is room for what its first page holds already.
// Promises  log_blocks/B1  Blocks lie behind each other: the last one ends where the next record
//               goes.
//           log_blocks/B2  Only the last may be open.
//           log_blocks/B3  What is appended is never void.
//           log_blocks/B4  A block that holds records has callbacks, another has none.
// Errors    None: it is memory only.
// Memory    What was appended and is not written. Blocks that are given back (Recycle) are used
//           again, so a steady log allocates nothing.
// Threads   One at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "env/log_device.h"
#include "wal/log_format.h"
#include "wal/private_log.h"

namespace arion {

struct RecoveredLog;

// LogWriter is its only caller: it appends at the back and writes from the front.
//
//   blocks.Append(mutation, std::move(on_durable));
//   LogBlocks::Block& block = blocks.front();
//   if (!block.sealed) blocks.Seal(block);
//   ...                                              // written and flushed
//   LogBlocks::BlockPtr done = blocks.Pop();
//   for (auto& callback : done->callbacks) callback(absl::OkStatus());
//   blocks.Recycle(std::move(done));
class LogBlocks {
 public:
  using DurableCallback = PrivateLog::DurableCallback;
  // One write. Positions and sizes are bytes.
  struct Block {
    // Its file, and where the block begins in it.
    LogFileName name;
    uint64_t position = 0;
    // Room in front, for the part of the first page that holds content already.
    size_t prefix_bytes = 0;
    // The size of the file's first block, if this Block begins with it. Else 0.
    size_t file_header_bytes = 0;
    // Without the prefix.
    size_t size = 0;
    // The prefix, then the block.
    AlignedBuffer buffer;
    // The checksum chain up to the first `summed` bytes of the block.
    uint32_t crc = 0;
    size_t summed = 0;
    // It takes no further mutation.
    bool sealed = false;
    // Its bytes are as they will be written, the rest of the last page included.
    bool prepared = false;
    // One for each record, in order.
    std::vector<DurableCallback> callbacks;
    // The checksum chain, and the largest decree of all records, before this block.
    uint32_t crc_before = 0;
    Decree max_decree_before;

    uint64_t end() const { return position + size; }
    bool is_first() const { return position == 0; }
    bool has_records() const { return size > file_header_bytes; }
  };
  using BlockPtr = std::unique_ptr<Block>;

  // The recovered files are closed: what comes starts a file at their end. `capacity_bytes` is how
  // far a pre-written file is filled, whole pages; 0 means that files are not pre-written.
  LogBlocks(const PrivateLogOptions& options, const RecoveredLog& recovered,
            uint64_t capacity_bytes);

  // Encodes the mutation, which may be dropped afterwards. May plan a new file: then newest_file()
  // is another.
  void Append(const Mutation& mutation, DurableCallback on_durable);
  // The next record starts a file.
  void LeaveFile();
  // Everything before is void, and the next record starts a file. `max_decree` is not negative.
  void StartAnew(Decree max_decree);
  // `submitted`, the front block, is being written. If it is the only one, and the next like it
  // will not fit into its file, a new file is planned, so that its name is durable in time.
  void LeaveFileInTime(const Block& submitted);

  // The file that the next record goes to, unless that record starts a new one.
  const LogFileName& newest_file() const { return plan_.name; }
  // The global offset behind the last record.
  int64_t end_offset() const {
    return plan_.name.start_offset + static_cast<int64_t>(plan_.position);
  }
  int64_t valid_start_offset() const { return plan_.valid_start_offset; }
  // Of all records, those that recovery found included.
  Decree max_decree() const { return plan_.max_decree; }
  Ballot max_ballot() const { return plan_.max_ballot; }

  // Nothing waits, not even the header of a planned file.
  bool empty() const { return queue_.empty(); }
  // The header of a planned file waits for the file's first record, and nothing else waits.
  bool only_file_header() const {
    return queue_.size() == 1 && !queue_.front()->sealed && !queue_.front()->has_records();
  }
  Block& front() { return *queue_.front(); }
  // Completes the last block: checksum and header. It must be open.
  void Seal(Block& block);
  // Takes the front block out, which is sealed.
  BlockPtr Pop();
  // Takes everything out: the log is given up.
  std::vector<BlockPtr> TakeAll();
  // Gives a sealed block back, whose memory is used again.
  void Recycle(BlockPtr block);

 private:
  // Where the next record goes.
  struct Plan {
    LogFileName name;
    // False: nothing was appended yet, and the next block starts a file.
    bool has_file = false;
    bool switch_demanded = false;
    // The end of what was appended to the file.
    uint64_t position = 0;
    // The checksum chain up to the last sealed block.
    uint32_t crc = 0;
    Decree max_decree;
    Ballot max_ballot;
    int64_t valid_start_offset = 0;
  };

  // CHECKs log_blocks/B1 to log_blocks/B4 of the last block, in O(1).
  void Check() const;
  bool NeedsNewFile(size_t mutation_bytes) const;
  void PlanNewFile();
  Block& OpenBlock();
  Block& BlockFor(size_t mutation_bytes);
  Block& BeginRecords(Block& block);
  static void Sum(Block& block);

  const PartitionId pid_;
  const uint64_t segment_bytes_max_;
  // 0: files are not pre-written.
  const uint64_t capacity_bytes_;

  Plan plan_;
  // Oldest first; the last may be open.
  std::vector<BlockPtr> queue_;
  std::vector<BlockPtr> free_;
  // The size of the largest block lately; it decays.
  size_t recent_block_bytes_ = 0;
};

}  // namespace arion
