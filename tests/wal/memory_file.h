// Log files as strings: a ReadableFile over bytes, and a second writer of the format, for tests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/coding.h"
#include "base/crc.h"
#include "base/mutation.h"
#include "env/file_system.h"
#include "tests/wal/log_world.h"
#include "wal/log_format.h"

namespace arion {

class MemoryFile : public ReadableFile {
 public:
  explicit MemoryFile(std::string bytes) : bytes_(std::move(bytes)) {}
  absl::StatusOr<uint64_t> Size() const override { return bytes_.size(); }
  absl::Status ReadAt(uint64_t offset, size_t n, std::string* out) const override {
    *out = offset >= bytes_.size() ? "" : bytes_.substr(offset, n);
    return absl::OkStatus();
  }

 private:
  std::string bytes_;
};

// Appends a block; returns the chain's next value.
inline uint32_t AppendTestBlock(std::string_view body, uint32_t chain, std::string* file) {
  const uint32_t crc = Crc32c(body, chain);
  const auto position = static_cast<uint32_t>(file->size());
  AppendLittle(uint32_t{0xDEADBEEF}, file);
  AppendLittle(static_cast<int32_t>(body.size()), file);
  AppendLittle(crc, file);
  AppendLittle(position, file);
  file->append(body);
  return crc;
}

// A file that starts at `start`, its header and these blocks.
inline std::string TestLogBytes(const std::vector<std::vector<MutationPtr>>& blocks,
                                int64_t start = 0, int64_t max_decree = 0,
                                PartitionId pid = kTestPid) {
  std::string header;
  AppendLittle(uint32_t{0xDEADBEEF}, &header);
  AppendLittle(int32_t{1}, &header);
  AppendLittle(start, &header);
  AppendLittle(int32_t{1}, &header);
  AppendLittle(pid.app_id, &header);
  AppendLittle(pid.index, &header);
  AppendLittle(max_decree, &header);
  AppendLittle(int64_t{0}, &header);
  std::string file;
  uint32_t chain = AppendTestBlock(header, 0, &file);
  for (const auto& block : blocks) {
    std::string body;
    for (const MutationPtr& m : block)
      AppendMutation(*m, start + static_cast<int64_t>(file.size() + 16 + body.size()), &body);
    chain = AppendTestBlock(body, chain, &file);
  }
  return file;
}

}  // namespace arion
