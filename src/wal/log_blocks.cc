// A record goes into the last block of the queue while that is open and has room; else a block is
// opened behind it, in the same file or in the next one. Positions, checksums and file headers are
// planned here, ahead of the disk: the front of the queue is what the writer submits.
// SPDX-License-Identifier: Apache-2.0
#include "wal/log_blocks.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/crc.h"
#include "base/log.h"
#include "wal/log_recovery.h"

namespace arion {
namespace {

constexpr uint64_t kPageBytes = AlignedBuffer::kAlignment;
// One is written while the next is filled.
constexpr size_t kFreeBlocksMax = 2;
constexpr size_t kFreeBufferBytesMax = 4 << 20;
constexpr size_t kSmallBufferBytes = 64 << 10;
// A checksum of much is faster than many of little, and of this much still finds the bytes in the
// cache.
constexpr size_t kSummedAtATime = 48 << 10;

}  // namespace

LogBlocks::LogBlocks(const PrivateLogOptions& options, const RecoveredLog& recovered,
                     uint64_t capacity_bytes)
    : pid_(options.pid),
      segment_bytes_max_(options.segment_bytes_max),
      capacity_bytes_(capacity_bytes) {
  // The newest file there is. It is never written again: the first record starts the next one.
  plan_.name = {.index = recovered.next_index - 1, .start_offset = recovered.end_offset};
  plan_.max_decree = recovered.max_decree;
  plan_.max_ballot = recovered.max_ballot;
  plan_.valid_start_offset = options.valid_start_offset;
  CHECK_EQ(capacity_bytes % kPageBytes, 0u);
  CHECK_GT(options.segment_bytes_max, 0u);
  CHECK_GE(recovered.next_index, 1) << "log_blocks/B1: indexes begin at 1";
  CHECK_GE(recovered.end_offset, 0);
  Check();
}

void LogBlocks::Check() const {
  CHECK_LE(plan_.valid_start_offset, end_offset()) << "log_blocks/B3";
  if (plan_.has_file) {
    CHECK_GE(plan_.position, kFirstBlockBytes) << "log_blocks/B1: a file without its header";
  } else {
    CHECK_EQ(plan_.position, 0u) << "log_blocks/B1: records without a file";
  }
  if (queue_.empty()) return;
  CHECK(queue_.size() == 1 || queue_.front()->sealed) << "log_blocks/B2";
  const Block& last = *queue_.back();
  CHECK(last.name == plan_.name) << "log_blocks/B1: " << last.name.ToString();
  CHECK_EQ(last.end(), plan_.position) << "log_blocks/B1";
  CHECK_EQ(last.has_records(), !last.callbacks.empty()) << "log_blocks/B4";
  CHECK_LE(last.summed, last.size);
  CHECK_LT(last.prefix_bytes, kPageBytes) << "log_blocks/B1: more in front than a page";
  CHECK_LE(queue_.front()->name.index, plan_.name.index) << "log_blocks/B1: files out of order";
  if (!last.prepared) CHECK_EQ(last.buffer.size(), last.prefix_bytes + last.size);
}

bool LogBlocks::NeedsNewFile(size_t mutation_bytes) const {
  if (!plan_.has_file || plan_.switch_demanded || plan_.position >= segment_bytes_max_) return true;
  // A pre-written file is left when the next block does not fit, unless it is empty: then the block
  // is as large as a file.
  return capacity_bytes_ > 0 && plan_.position > kFirstBlockBytes &&
         plan_.position + kBlockHeaderBytes + mutation_bytes > capacity_bytes_;
}

// The header is the first part of the file's first write, so it waits in the queue for the first
// record.
void LogBlocks::PlanNewFile() {
  plan_.name = {.index = plan_.name.index + 1, .start_offset = end_offset()};
  plan_.has_file = true;
  plan_.switch_demanded = false;
  plan_.position = 0;
  plan_.crc = 0;
  Block& first = OpenBlock();
  first.buffer.Resize(kFirstBlockBytes);
  plan_.crc = StoreFirstBlock(
      plan_.name.start_offset,
      {.pid = pid_, .max_decree = plan_.max_decree, .valid_start_offset = plan_.valid_start_offset},
      first.buffer.data());
  first.size = first.file_header_bytes = kFirstBlockBytes;
  first.crc = plan_.crc;
  plan_.position = kFirstBlockBytes;
}

LogBlocks::Block& LogBlocks::OpenBlock() {
  CHECK(queue_.empty() || queue_.back()->sealed) << "log_blocks/B2";
  if (free_.empty()) free_.push_back(std::make_unique<Block>());
  queue_.push_back(std::move(free_.back()));
  free_.pop_back();
  Block& block = *queue_.back();
  CHECK(!block.sealed && !block.prepared && block.callbacks.empty()) << "a block that is in use";
  block.name = plan_.name;
  block.position = plan_.position;
  block.crc_before = plan_.crc;
  block.max_decree_before = plan_.max_decree;
  // Direct I/O writes whole pages: the page that holds the end of the last block is written again.
  block.prefix_bytes = capacity_bytes_ > 0 ? plan_.position % kPageBytes : 0;
  return block;
}

LogBlocks::Block& LogBlocks::BlockFor(size_t mutation_bytes) {
  CHECK_GT(mutation_bytes, 0u) << "a record without bytes";
  if (!queue_.empty() && !queue_.back()->sealed) {
    Block& open = *queue_.back();
    if (!open.has_records()) return BeginRecords(open);
    const bool fits = capacity_bytes_ == 0 || open.end() + mutation_bytes <= capacity_bytes_;
    if (open.size <= kBlockBytesTarget && fits) return open;
    Seal(open);
  }
  if (NeedsNewFile(mutation_bytes)) {
    PlanNewFile();
    return BeginRecords(*queue_.back());
  }
  Block& block = OpenBlock();
  block.crc = block.crc_before;
  return BeginRecords(block);
}

LogBlocks::Block& LogBlocks::BeginRecords(Block& block) {
  CHECK(!block.sealed && !block.has_records()) << "log_blocks/B2: it has begun already";
  block.size += kBlockHeaderBytes;
  block.buffer.Resize(block.prefix_bytes + block.size);
  block.summed = block.size;
  plan_.position += kBlockHeaderBytes;
  return block;
}

void LogBlocks::Sum(Block& block) {
  CHECK_LE(block.summed, block.size) << "a checksum of bytes that are not there";
  const char* const from = block.buffer.data() + block.prefix_bytes + block.summed;
  block.crc = Crc32c({from, block.size - block.summed}, block.crc);
  block.summed = block.size;
}

void LogBlocks::Seal(Block& block) {
  CHECK(&block == queue_.back().get());
  CHECK(!block.sealed);
  block.sealed = true;
  if (!block.has_records()) return;
  Sum(block);
  plan_.crc = block.crc;
  const size_t length = block.size - block.file_header_bytes - kBlockHeaderBytes;
  // The format's fields hold no more.
  CHECK_LE(length, static_cast<size_t>(std::numeric_limits<int32_t>::max()));
  CHECK_LE(block.end(), std::numeric_limits<uint32_t>::max());
  StoreBlockHeader({.length = static_cast<int32_t>(length),
                    .body_crc = block.crc,
                    .position = static_cast<uint32_t>(block.position + block.file_header_bytes)},
                   block.buffer.data() + block.prefix_bytes + block.file_header_bytes);
}

void LogBlocks::Append(const Mutation& mutation, DurableCallback on_durable) {
  CHECK_EQ(mutation.pid, pid_) << "recovery would take the log for another replica's";
  CHECK(on_durable != nullptr) << "log_blocks/B4";
  const size_t bytes = EncodedSize(mutation);
  Block& block = BlockFor(bytes);
  CHECK(!block.sealed && !block.prepared) << "log_blocks/B2";
  char* const to = block.buffer.Extend(bytes);
  StoreMutation(mutation, end_offset(), to);
  plan_.position += bytes;
  plan_.max_decree = std::max(plan_.max_decree, mutation.decree);
  plan_.max_ballot = std::max(plan_.max_ballot, mutation.ballot);
  block.size += bytes;
  if (block.size - block.summed >= kSummedAtATime) Sum(block);
  block.callbacks.push_back(std::move(on_durable));
  Check();
}

void LogBlocks::LeaveFile() {
  const bool is_open = !queue_.empty() && !queue_.back()->sealed;
  // The next record starts a file already.
  if (is_open && !queue_.back()->has_records()) return;
  if (is_open) Seal(*queue_.back());
  plan_.switch_demanded = true;
  Check();
}

void LogBlocks::StartAnew(Decree max_decree) {
  CHECK_GE(max_decree, Decree(0));
  if (!queue_.empty() && !queue_.back()->sealed) Seal(*queue_.back());
  // The void part must end where a file does: only a file's header can say so.
  plan_.switch_demanded = true;
  plan_.max_decree = max_decree;
  plan_.valid_start_offset = end_offset();
  Check();
}

void LogBlocks::LeaveFileInTime(const Block& submitted) {
  CHECK(submitted.prepared && &submitted == queue_.front().get());
  if (capacity_bytes_ == 0 || queue_.size() > 1 || submitted.is_first() || plan_.switch_demanded)
    return;
  // A larger block is one large mutation, and the next will be smaller: no reason to leave so much
  // of the file unused.
  const size_t next_bytes =
      std::min(std::max(submitted.size, recent_block_bytes_), 2 * kBlockBytesTarget);
  if (plan_.position + next_bytes <= capacity_bytes_) return;
  PlanNewFile();
  Check();
}

LogBlocks::BlockPtr LogBlocks::Pop() {
  CHECK(!queue_.empty() && queue_.front()->sealed) << "log_blocks/B2";
  BlockPtr block = std::move(queue_.front());
  queue_.erase(queue_.begin());
  return block;
}

std::vector<LogBlocks::BlockPtr> LogBlocks::TakeAll() { return std::exchange(queue_, {}); }

void LogBlocks::Recycle(BlockPtr block) {
  CHECK(block != nullptr);
  CHECK(block->sealed) << "it was not written";
  recent_block_bytes_ = std::max(block->size, recent_block_bytes_ - recent_block_bytes_ / 32);
  if (free_.size() >= kFreeBlocksMax) return;
  // The large buffer of a burst is not kept for small blocks: many logs share the memory.
  const size_t capacity = block->buffer.capacity();
  const bool keeps_buffer = capacity <= kSmallBufferBytes || (capacity <= kFreeBufferBytesMax &&
                                                              capacity / 16 <= recent_block_bytes_);
  AlignedBuffer buffer = keeps_buffer ? std::move(block->buffer) : AlignedBuffer();
  buffer.Resize(0);
  std::vector<DurableCallback> callbacks = std::move(block->callbacks);
  callbacks.clear();
  *block = Block{.buffer = std::move(buffer), .callbacks = std::move(callbacks)};
  free_.push_back(std::move(block));
}

}  // namespace arion
