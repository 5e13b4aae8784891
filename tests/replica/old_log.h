// OldLog: a private log as a 2.5.0 server writes it (spec/disk-formats.md 2), in memory: a block a
// write, a new file whenever one is asked for. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/crc.h"
#include "base/mutation.h"
#include "wal/log_format.h"

namespace arion {

class OldLog {
 public:
  explicit OldLog(PartitionId pid, int64_t index = 1, int64_t start_offset = 0) : pid_(pid) {
    BeginFile(index, start_offset, 0);
  }

  // One block. Its mutations get their offsets.
  void Append(const std::vector<MutationPtr>& mutations) {
    std::string body;
    const size_t body_at = bytes().size() + kBlockHeaderBytes;
    for (const MutationPtr& m : mutations) {
      AppendMutation(*m, name_.start_offset + static_cast<int64_t>(body_at + body.size()), &body);
      max_decree_ = std::max(max_decree_, m->decree);
    }
    crc_ = Crc32c(body, crc_);
    char header[kBlockHeaderBytes];
    StoreBlockHeader({.length = static_cast<int32_t>(body.size()),
                      .body_crc = crc_,
                      .position = static_cast<uint32_t>(bytes().size())},
                     header);
    bytes().append(header, kBlockHeaderBytes).append(body);
  }
  // What lies before it is void from now on, if so said.
  void SwitchFile(bool voids = false) {
    const int64_t end = name_.start_offset + static_cast<int64_t>(bytes().size());
    BeginFile(name_.index + 1, end, voids ? end : valid_from_);
  }
  // The newest file's last block has not come to its end.
  void Tear(size_t cut) { bytes().resize(bytes().size() - cut); }

  std::map<std::string, std::string>& files() { return files_; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : files_) names.push_back(name);
    return names;
  }
  std::string& bytes() { return files_[name_.ToString()]; }  // of the newest one

 private:
  void BeginFile(int64_t index, int64_t start_offset, int64_t valid_from) {
    name_ = {.index = index, .start_offset = start_offset};
    valid_from_ = valid_from;
    std::string& bytes = files_[name_.ToString()];
    bytes.resize(kFirstBlockBytes);
    crc_ = StoreFirstBlock(
        start_offset, {.pid = pid_, .max_decree = max_decree_, .valid_start_offset = valid_from},
        bytes.data());
  }

  PartitionId pid_;
  std::map<std::string, std::string> files_;
  LogFileName name_;
  Decree max_decree_;
  int64_t valid_from_ = 0;
  uint32_t crc_ = 0;
};

}  // namespace arion
