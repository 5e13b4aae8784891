// Log files as fuzz targets make and change them: whole valid files, their blocks, chains of
// checksums that are right again.
//
// Threads   Pure. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/coding.h"
#include "base/crc.h"
#include "base/mutation.h"
#include "tests/fuzz/fuzz_target.h"
#include "wal/log_format.h"

namespace arion {

constexpr PartitionId kFuzzPid{2, 1};

struct FuzzLogShape {
  int64_t start_offset = 0;
  int64_t first_decree = 1;
  int64_t blocks = 3;
  int64_t mutations_per_block = 1;
  int64_t ballot = 3;
  std::vector<PartitionId> pids = {kFuzzPid};
};

inline void AppendFuzzBlock(std::string_view body, uint32_t* crc, std::string* file) {
  *crc = Crc32c(body, *crc);
  std::string header(kBlockHeaderBytes, '\0');
  StoreBlockHeader({.length = static_cast<int32_t>(body.size()),
                    .body_crc = *crc,
                    .position = static_cast<uint32_t>(file->size())},
                   header.data());
  *file += header;
  *file += body;
}

inline std::string FuzzLogHeader(const FuzzLogShape& shape) {
  std::string body;
  AppendLittle(kLogMagic, &body);
  AppendLittle(int32_t{1}, &body);
  AppendLittle(shape.start_offset, &body);
  AppendLittle(static_cast<int32_t>(shape.pids.size()), &body);
  for (const PartitionId pid : shape.pids) {
    AppendLittle(pid.app_id, &body);
    AppendLittle(pid.index, &body);
    AppendLittle(shape.first_decree - 1, &body);
    AppendLittle(int64_t{0}, &body);
  }
  return body;
}

// PUTs with a real payload, an empty write now and then.
inline Mutation FuzzMutation(const FuzzLogShape& shape, int64_t decree) {
  static const std::string payload(
      "\x0c\0\0\x0c\0\1\0\0\0\4\0\1hs\x0c\0\2\0\0\0\2v1\x08\0\3\0\0\0\0\0\0", 32);
  Mutation m;
  m.pid = shape.pids[static_cast<size_t>(decree) % shape.pids.size()];
  m.ballot = Ballot(shape.ballot);
  m.decree = Decree(decree);
  m.last_committed = Decree(decree - 1);
  m.timestamp_us = 1640995200000000 + decree;
  if (decree % 5 == 4)
    m.updates.push_back({.code = WriteCode::kEmpty});
  else
    m.updates.push_back({.code = WriteCode::kPut, .serialization = 1, .data = payload});
  return m;
}

inline std::string FuzzLog(const FuzzLogShape& shape) {
  std::string file;
  uint32_t crc = 0;
  AppendFuzzBlock(FuzzLogHeader(shape), &crc, &file);
  int64_t decree = shape.first_decree;
  for (int64_t b = 0; b < shape.blocks; ++b) {
    std::string body;
    for (int64_t i = 0; i < shape.mutations_per_block; ++i, ++decree)
      AppendMutation(
          FuzzMutation(shape, decree),
          shape.start_offset + static_cast<int64_t>(file.size() + kBlockHeaderBytes + body.size()),
          &body);
    AppendFuzzBlock(body, &crc, &file);
  }
  return file;
}

struct BlockSpan {
  size_t at = 0;
  size_t size = 0;
};
// As far as headers and lengths hold.
inline std::vector<BlockSpan> BlocksOf(std::string_view file) {
  std::vector<BlockSpan> blocks;
  for (size_t at = 0; at + kBlockHeaderBytes <= file.size();) {
    const BlockHeader header = LoadBlockHeader(file.data() + at);
    if (header.magic != kLogMagic || header.length < 0) break;
    const size_t size = kBlockHeaderBytes + static_cast<size_t>(header.length);
    if (size > file.size() - at) break;
    blocks.push_back({at, size});
    at += size;
  }
  return blocks;
}

// Makes the checksums right, and, of each block's first mutation, the place it names.
inline void MendChain(int64_t start_offset, std::string* file) {
  uint32_t crc = 0;
  for (const BlockSpan& block : BlocksOf(*file)) {
    char* const body = file->data() + block.at + kBlockHeaderBytes;
    const size_t size = block.size - kBlockHeaderBytes;
    if (block.at > 0 && size >= kMutationHeaderBytes)
      StoreLittle(start_offset + static_cast<int64_t>(block.at + kBlockHeaderBytes), body + 32);
    crc = Crc32c({body, size}, crc);
    StoreLittle(crc, file->data() + block.at + 8);
    StoreLittle(static_cast<uint32_t>(block.at), file->data() + block.at + 12);
  }
}

// A step in the format's own terms: a block dropped, doubled, moved, damaged; zeros; and sometimes
// the chain made right again.
inline void MutateLog(int64_t start_offset, std::string* file, FuzzRandom& random) {
  const std::vector<BlockSpan> blocks = BlocksOf(*file);
  if (!blocks.empty()) {
    const BlockSpan block = blocks[random.Below(blocks.size())];
    const std::string bytes = file->substr(block.at, block.size);
    switch (random.Below(6)) {
      case 0:
        file->erase(block.at, block.size);
        break;
      case 1:
        file->insert(blocks[random.Below(blocks.size())].at, bytes);
        break;
      case 2:
        file->append(bytes);
        break;
      case 3:
        file->insert(block.at, random.Below(600), '\0');
        break;
      case 4:
        file->append(random.Below(600), '\0');
        break;
      default:
        (*file)[block.at + random.Below(block.size)] = static_cast<char>(random.Next());
    }
  }
  if (random.Below(2) == 0) MendChain(start_offset, file);
}

}  // namespace arion
