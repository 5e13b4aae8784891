// SPDX-License-Identifier: Apache-2.0
#include "wal/log_reader.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/coding.h"
#include "base/crc.h"
#include "base/log.h"
#include "base/status.h"
#include "env/file_system.h"

namespace arion {
namespace {

// Read at once while blocks are searched for.
constexpr size_t kChunkBytes = 1 << 20;
// Read at once at least, while blocks are read in order.
constexpr size_t kChunkBytesMin = 256 << 10;

// Both out of line, so that the path of sound mutations stays short.
[[gnu::cold, gnu::noinline]] absl::Status Unreadable(const absl::Status& taken, int64_t offset) {
  return Annotate(taken, absl::StrCat("offset ", offset));
}
[[gnu::cold, gnu::noinline]] absl::Status OffsetDiffers(int64_t offset, int64_t said) {
  return absl::DataLossError(absl::StrCat("mutation at offset ", offset, " says it is at ", said));
}

// The mutations that fill `body`, whose first byte has the global offset `at`.
absl::Status ParseMutations(std::string_view body, int64_t at,
                            std::vector<MutationView>* mutations) {
  const size_t whole = body.size();
  while (!body.empty()) {
    const int64_t offset = at + static_cast<int64_t>(whole - body.size());
    MutationView& mutation = mutations->emplace_back();
    if (absl::Status taken = TakeMutationView(&body, &mutation); !taken.ok())
      return Unreadable(taken, offset);
    if (mutation.log_offset() != offset) return OffsetDiffers(offset, mutation.log_offset());
  }
  return absl::OkStatus();
}

// Without the checksum chain only the content can show that a body is whole.
bool IsValidBody(std::string_view body, int64_t at, PartitionId pid) {
  std::vector<MutationView> mutations;
  if (!ParseMutations(body, at, &mutations).ok() || mutations.empty()) return false;
  return std::all_of(mutations.begin(), mutations.end(),
                     [pid](const MutationView& m) { return m.pid() == pid; });
}

}  // namespace

std::string_view LogEndName(LogEnd end) {
  switch (end) {
    case LogEnd::kEof:
      return "EOF";
    case LogEnd::kTruncated:
      return "TRUNCATED";
    case LogEnd::kCorrupt:
      return "CORRUPT";
    case LogEnd::kUnreadable:
      return "UNREADABLE";
  }
  return "?";
}

bool LogReader::End(LogEnd end, std::string reason) {
  end_ = end;
  reason_ = absl::StrCat("at ", position_, ": ", reason);
  return false;
}

absl::Status LogReader::Fetch(size_t n) {
  CHECK_GT(n, 0u);
  CHECK_LE(position_, size_) << "beyond the file";
  CHECK_GE(position_, buffer_at_);
  CHECK_LE(n, size_ - position_) << "beyond the file";
  if (position_ - buffer_at_ + n <= buffer_.size()) return absl::OkStatus();
  // A block that begins at the end of a chunk is read again from its start. With several blocks in
  // a chunk that is cheaper than a second buffer to join the two parts in.
  const size_t chunk = std::min(std::max(kChunkBytesMin, 8 * block_bytes_), chunk_bytes_max_);
  const uint64_t wanted = std::min<uint64_t>(std::max(n, chunk), size_ - position_);
  buffer_at_ = position_;
  // Exactly this much: a string that grows would double, beyond the file's size.
  if (wanted > buffer_.capacity()) {
    buffer_ = std::string();
    buffer_.reserve(wanted);
  }
  RETURN_IF_ERROR(file_.ReadAt(position_, wanted, &buffer_));
  CHECK_LE(buffer_.size(), wanted) << "more than there was room for";
  return absl::OkStatus();
}

absl::StatusOr<bool> LogReader::Next(LogBlock* block) {
  CHECK(block != nullptr);
  LogBlockView& view = view_;
  ASSIGN_OR_RETURN(const bool more, Next(&view));
  block->position = view.position;
  block->crc_before = view.crc_before;
  block->header = std::move(view.header);
  block->mutations.clear();
  if (!more) return false;
  block->size = view.size;
  block->mutations.reserve(view.mutations.size());
  for (const MutationView& mutation : view.mutations)
    block->mutations.push_back(std::make_shared<Mutation>(mutation.ToMutation()));
  return true;
}

absl::StatusOr<bool> LogReader::Next(LogBlockView* block) {
  CHECK(block != nullptr);
  block->position = position_;
  block->crc_before = crc_;
  block->header.reset();
  block->mutations.clear();

  // Each length is compared with what is left before anything of it is read.
  const uint64_t left = size_ - std::min(position_, size_);
  if (left == 0) return End(LogEnd::kEof, "end");
  if (left < kBlockHeaderBytes)
    return End(LogEnd::kTruncated, absl::StrCat(left, " bytes of a block header"));
  RETURN_IF_ERROR(Fetch(kBlockHeaderBytes));
  // The file may have become shorter since its size was taken. Its content ends where it ends now.
  if (View(kBlockHeaderBytes).size() < kBlockHeaderBytes)
    return End(LogEnd::kTruncated, "the file became shorter");
  const BlockHeader header = LoadBlockHeader(View(kBlockHeaderBytes).data());
  if (header.magic != kLogMagic)
    return End(LogEnd::kCorrupt, absl::StrCat("magic 0x", absl::Hex(header.magic)));
  if (header.length < 0) return End(LogEnd::kCorrupt, absl::StrCat("length ", header.length));
  const size_t size = kBlockHeaderBytes + static_cast<size_t>(header.length);
  if (size > left)
    return End(LogEnd::kTruncated, absl::StrCat("block of ", size, " bytes, ", left, " left"));

  RETURN_IF_ERROR(Fetch(size));
  if (View(size).size() < size) return End(LogEnd::kTruncated, "the file became shorter");
  std::string_view body = View(size).substr(kBlockHeaderBytes);
  const uint32_t crc = Crc32c(body, crc_);
  if (crc != header.body_crc)
    return End(LogEnd::kCorrupt, absl::StrCat("checksum 0x", absl::Hex(header.body_crc),
                                              " instead of 0x", absl::Hex(crc)));

  int64_t at = start_offset_ + static_cast<int64_t>(position_ + kBlockHeaderBytes);
  if (position_ == 0) {
    const size_t whole = body.size();
    auto file_header = TakeFileHeader(&body);
    if (!file_header.ok())
      return End(LogEnd::kUnreadable, std::string(file_header.status().message()));
    if (file_header->start_offset != start_offset_)
      return End(LogEnd::kUnreadable,
                 absl::StrCat("file header says start offset ", file_header->start_offset));
    block->header = *std::move(file_header);
    at += static_cast<int64_t>(whole - body.size());
  }
  if (absl::Status parsed = ParseMutations(body, at, &block->mutations); !parsed.ok()) {
    block->mutations.clear();
    return End(LogEnd::kUnreadable, std::string(parsed.message()));
  }
  crc_ = crc;
  block->size = size;
  block_bytes_ = std::max(block_bytes_, size);
  position_ += size;
  return true;
}

namespace {

// The first position in [from, size) with magic, its own position, a length that fits, and
// mutations of `pid`, all readable, the first of which says an offset that `accepts` takes for that
// position.
template <class Accepts>
absl::StatusOr<std::optional<uint64_t>> FindBlock(const ReadableFile& file, uint64_t from,
                                                  uint64_t size, PartitionId pid, Accepts accepts) {
  CHECK_LE(from, size) << "the search begins behind the file";
  // Fewer bytes cannot hold a mutation.
  constexpr size_t kNeeded = kBlockHeaderBytes + kMutationHeaderBytes;
  char magic[4];
  StoreLittle(kLogMagic, magic);
  std::string chunk;
  std::string body;
  for (uint64_t at = from; at + kNeeded <= size;) {
    RETURN_IF_ERROR(file.ReadAt(at, std::min<uint64_t>(kChunkBytes, size - at), &chunk));
    if (chunk.size() < kNeeded) return std::nullopt;
    const std::string_view view = chunk;
    // The positions of which all the needed bytes are in this chunk. The next chunk begins behind
    // them.
    const size_t searched = view.size() - kNeeded + 1;
    for (size_t i = view.find({magic, 4}); i < searched; i = view.find({magic, 4}, i + 1)) {
      const uint64_t position = at + i;
      const BlockHeader header = LoadBlockHeader(view.data() + i);
      if (header.position != static_cast<uint32_t>(position)) continue;
      if (header.length < static_cast<int32_t>(kMutationHeaderBytes)) continue;
      if (kBlockHeaderBytes + static_cast<uint64_t>(header.length) > size - position) continue;
      // The cheap checks come first: hostile bytes may hold many magics that claim long bodies.
      const char* first = view.data() + i + kBlockHeaderBytes;
      if (LoadLittle<int32_t>(first + 8) != pid.app_id ||
          LoadLittle<int32_t>(first + 12) != pid.index)
        continue;
      const int64_t body_at = LoadLittle<int64_t>(first + 32);
      if (!accepts(body_at, static_cast<int64_t>(position + kBlockHeaderBytes))) continue;
      RETURN_IF_ERROR(
          file.ReadAt(position + kBlockHeaderBytes, static_cast<size_t>(header.length), &body));
      if (IsValidBody(body, body_at, pid)) return position;
    }
    at += searched;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::optional<uint64_t>> FindValidBlock(const ReadableFile& file, uint64_t from,
                                                       uint64_t size, int64_t start_offset,
                                                       PartitionId pid) {
  return FindBlock(file, from, size, pid, [start_offset](int64_t offset, int64_t position) {
    return offset == start_offset + position;
  });
}

absl::StatusOr<uint64_t> EndOfTornBytes(const ReadableFile& file, uint64_t from, uint64_t size,
                                        int64_t start_offset, PartitionId pid) {
  ASSIGN_OR_RETURN(
      const auto older,
      FindBlock(file, from, size, pid, [start_offset](int64_t offset, int64_t position) {
        return offset >= position && offset < start_offset + position;
      }));
  CHECK(!older || (*older >= from && *older < size));
  return EndOfNonZeroBytes(file, from, older.value_or(size));
}

absl::StatusOr<uint64_t> EndOfNonZeroBytes(const ReadableFile& file, uint64_t from, uint64_t size) {
  CHECK_LE(from, size) << "the search begins behind the file";
  std::string chunk;
  // Backwards: the zeros lie at the end, and there may be many.
  uint64_t end = size;
  while (end > from) {
    const uint64_t at = std::max(from, end > kChunkBytes ? end - kChunkBytes : 0);
    RETURN_IF_ERROR(file.ReadAt(at, end - at, &chunk));
    const size_t last = chunk.find_last_not_of('\0');
    if (last != std::string::npos) return at + last + 1;
    end = at;
  }
  return from;
}

}  // namespace arion
