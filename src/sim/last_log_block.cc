// SPDX-License-Identifier: Apache-2.0
#include "sim/last_log_block.h"

#include <absl/strings/str_cat.h>

#include <map>

#include "base/log.h"
#include "env/file_system.h"
#include "sim/sim_disk.h"
#include "wal/log_format.h"
#include "wal/log_reader.h"

namespace arion::sim {
namespace {

// Reads the disk's content directly: a fault that makes calls fail must not hide the block.
class ContentFile : public ReadableFile {
 public:
  explicit ContentFile(const std::string& content) : content_(content) {}
  absl::StatusOr<uint64_t> Size() const override { return content_.size(); }
  absl::Status ReadAt(uint64_t offset, size_t n, std::string* out) const override {
    *out = offset < content_.size() ? content_.substr(offset, n) : "";
    return absl::OkStatus();
  }

 private:
  const std::string& content_;
};

std::optional<LastLogBlock> LastOf(const std::string& path, const LogFileName& name,
                                   const std::string& content) {
  const ContentFile file(content);
  // With the log's own reader: what counts as a whole block is its judgement.
  LogReader reader(file, content.size(), name.start_offset);
  std::optional<LastLogBlock> last;
  LogBlock block;
  int blocks = 0;
  while (true) {
    const absl::StatusOr<bool> is_there = reader.Next(&block);
    CHECK(is_there.ok()) << is_there.status();
    if (!*is_there) return last;
    // A file's first write has two blocks (log_writer/W1).
    constexpr int kOneWrite = 2;
    last = LastLogBlock{path, block.position, ++blocks > kOneWrite};
  }
}

}  // namespace

std::optional<LastLogBlock> FindLastLogBlock(const SimDisk& disk, const std::string& folder) {
  const absl::StatusOr<InodePtr> directory = disk.Find(folder);
  if (!directory.ok()) return std::nullopt;
  // The newest file may be a spare or hold no whole block: then the one before it ends the log.
  std::map<LogFileName, std::string, std::greater<>> newest_first;
  for (const auto& [name, inode] : (*directory)->entries) {
    const auto log = ParseLogFileName(name);
    if (log.ok() && *log) newest_first[**log] = name;
  }
  for (const auto& [log, name] : newest_first) {
    const InodePtr& inode = (*directory)->entries.at(name);
    if (const auto last = LastOf(absl::StrCat(folder, "/", name), log, inode->content)) return last;
  }
  return std::nullopt;
}

}  // namespace arion::sim
