// Files of a shared log as a version of generation L would write them, for tests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/coding.h"
#include "base/crc.h"
#include "base/mutation.h"
#include "base/status.h"
#include "env/file_system.h"
#include "wal/log_format.h"

namespace arion {

// What a put of `value` under ("k", "<decree>") looks like in a log.
inline std::string PutRequest(const std::string& raw_key, const std::string& value) {
  const auto blob = [](const std::string& bytes) {
    std::string out;
    for (int shift = 24; shift >= 0; shift -= 8)
      out.push_back(static_cast<char>(bytes.size() >> shift));
    return out + bytes;
  };
  return std::string("\x0c\0\0", 3) + std::string("\x0c\0\1", 3) + blob(raw_key) +
         std::string("\x0c\0\2", 3) + blob(value) + std::string("\x08\0\3\0\0\0\0", 7) +
         std::string("\0\0", 2);
}

class SharedLogBytes {
 public:
  explicit SharedLogBytes(int64_t index = 1, int64_t start = 0) : index_(index), end_(start) {}

  void Register(PartitionId pid, int64_t valid_start = 0) { entries_[pid].second = valid_start; }

  // Begins the next file.
  void NewFile() {
    files_.push_back({LogFileName{index_++, end_}, {}});
    crc_ = 0;
    std::string body;
    Put<uint32_t>(kLogMagic, &body);
    Put<int32_t>(1, &body);
    Put<int64_t>(end_, &body);
    Put<int32_t>(static_cast<int32_t>(entries_.size()), &body);
    for (const auto& [pid, entry] : entries_) {
      Put<int32_t>(pid.app_id, &body);
      Put<int32_t>(pid.index, &body);
      Put<int64_t>(entry.first.value(), &body);
      Put<int64_t>(entry.second, &body);
    }
    Block(body);
  }
  // One block with these; returns the offset of the first.
  int64_t Add(std::vector<Mutation> mutations) {
    const int64_t first = end_ + static_cast<int64_t>(kBlockHeaderBytes);
    std::string body;
    for (const Mutation& m : mutations) {
      AppendMutation(m, first + static_cast<int64_t>(body.size()), &body);
      entries_[m.pid].first = std::max(entries_[m.pid].first, m.decree);
    }
    Block(body);
    return first;
  }
  int64_t Add(const Mutation& mutation) { return Add(std::vector<Mutation>{mutation}); }

  struct File {
    LogFileName name;
    std::string bytes;
  };
  std::vector<File>& files() { return files_; }
  int64_t end() const { return end_; }

  absl::Status Store(FileSystem& target, const std::string& directory) const {
    RETURN_IF_ERROR(target.CreateDirectories(directory));
    for (const File& file : files_) {
      ASSIGN_OR_RETURN(auto out, target.OpenForWrite(JoinPath(directory, file.name.ToString()),
                                                     FileSystem::CreateMode::kTruncate));
      RETURN_IF_ERROR(out->WriteAt(0, file.bytes));
      RETURN_IF_ERROR(out->Sync());
      RETURN_IF_ERROR(out->Close());
    }
    return target.SyncDirectory(directory);
  }

 private:
  template <class T>
  static void Put(T value, std::string* out) {
    char bytes[sizeof(T)];
    StoreLittle(value, bytes);
    out->append(bytes, sizeof(T));
  }
  void Block(const std::string& body) {
    std::string& bytes = files_.back().bytes;
    crc_ = Crc32c(body, crc_);
    char header[kBlockHeaderBytes];
    StoreBlockHeader({.length = static_cast<int32_t>(body.size()),
                      .body_crc = crc_,
                      .position = static_cast<uint32_t>(bytes.size())},
                     header);
    bytes.append(header, kBlockHeaderBytes);
    bytes += body;
    end_ += static_cast<int64_t>(kBlockHeaderBytes + body.size());
  }

  std::vector<File> files_;
  std::map<PartitionId, std::pair<Decree, int64_t>> entries_;
  int64_t index_;
  int64_t end_;
  uint32_t crc_ = 0;
};

}  // namespace arion
