// LogBlocks: what was appended to a log and is not durable yet, as the blocks it will be written in.
// Where a record lies is known from the moment it is appended; nothing is written here.
//
// Shapes    A mutation is encoded into the open block at the back. A block is sealed when it holds
//           kBlockBytesTarget, when the next mutation does not fit into its file, or when it is
//           about to be written. A file's first block, its header, and the block of records behind
//           it are one Block: one write. Before pre-written files' blocks there is room for what
//           their first page holds already.
// Promises  log_blocks/B1  Blocks lie behind each other: the last one ends where the next record
//               goes.
//           log_blocks/B2  Only the last may be open.
//           log_blocks/B3  What is appended is never void.
//           log_blocks/B4  A block that holds records has callbacks, another has none.
// Threads   One at a time. Blocks that are given back (Recycle) are used again: a steady log
//           allocates nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "env/log_device.h"
#include "wal/log_format.h"
#include "wal/log_recovery.h"
#include "wal/private_log.h"

namespace arion {

class LogBlocks {
 public:
  using DurableCallback = PrivateLog::DurableCallback;
  struct Block {
    LogFileName name;  // its file
    uint64_t position = 0;
    size_t prefix_bytes = 0;       // room in front for the start of the page
    size_t file_header_bytes = 0;  // of a file's first block, where this one begins with it
    size_t size = 0;
    AlignedBuffer buffer;  // prefix, block
    uint32_t crc = 0;      // the chain up to the first `summed` bytes of the block
    size_t summed = 0;
    bool sealed = false;    // takes no further mutation
    bool prepared = false;  // its bytes are as they will be written
    std::vector<DurableCallback> callbacks;
    uint32_t crc_before = 0;   // the chain up to it
    Decree max_decree_before;  // of all records before it

    uint64_t end() const { return position + size; }
    bool is_first() const { return position == 0; }
    bool has_records() const { return size > file_header_bytes; }
  };
  using BlockPtr = std::unique_ptr<Block>;

  // The recovered files are closed: what comes starts a file at their end. `capacity_bytes`: a
  // pre-written file is filled up to here; 0: files are not pre-written.
  LogBlocks(const PrivateLogOptions& options, const RecoveredLog& recovered,
            uint64_t capacity_bytes);

  // May plan a new file: then newest_file() is another.
  void Append(const Mutation& mutation, DurableCallback on_durable);
  // The next record starts a file.
  void LeaveFile();
  // All before is void; the next record starts a file.
  void StartAnew(Decree max_decree);
  // `submitted`, the last of the blocks, is being written. Where the next like it won't fit into its
  // file, a new one is planned.
  void LeaveFileInTime(const Block& submitted);

  const LogFileName& newest_file() const { return plan_.name; }
  int64_t end_offset() const {
    return plan_.name.start_offset + static_cast<int64_t>(plan_.position);
  }
  int64_t valid_start_offset() const { return plan_.valid_start_offset; }
  // Of all records, those before the start included as far as they are known.
  Decree max_decree() const { return plan_.max_decree; }
  Ballot max_ballot() const { return plan_.max_ballot; }

  bool empty() const { return queue_.empty(); }
  // A planned file waits for its first record, nothing else.
  bool only_file_header() const {
    return queue_.size() == 1 && !queue_.front()->sealed && !queue_.front()->has_records();
  }
  Block& front() { return *queue_.front(); }
  void Seal(Block& block);  // the last
  BlockPtr Pop();
  std::vector<BlockPtr> TakeAll();
  void Recycle(BlockPtr block);

 private:
  // Where the next record goes.
  struct Plan {
    LogFileName name;
    bool has_file = false;  // false: recovered or new, the next block starts a file
    bool switch_demanded = false;
    uint64_t position = 0;  // end of what was appended
    uint32_t crc = 0;       // the chain up to the last sealed block
    Decree max_decree;
    Ballot max_ballot;
    int64_t valid_start_offset = 0;
  };

  void Check() const;
  bool NeedsNewFile(size_t mutation_bytes) const;
  void PlanNewFile();
  Block& OpenBlock();
  Block& BlockFor(size_t mutation_bytes);
  Block& BeginRecords(Block& block);
  static void Sum(Block& block);

  const PartitionId pid_;
  const uint64_t segment_bytes_max_;
  const uint64_t capacity_bytes_;  // 0: files are not pre-written

  Plan plan_;
  std::vector<BlockPtr> queue_;  // the last may be open
  std::vector<BlockPtr> free_;
  size_t recent_block_bytes_ = 0;  // the largest block lately: decays
};

}  // namespace arion
