// Files are kept oldest first, with consecutive indexes: a file is found by subtraction. The writer
// adds on its strand, readers ask in the pool; each call holds the lock for a look-up, never for
// the disk.
// SPDX-License-Identifier: Apache-2.0
#include "wal/log_catalog.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "env/clock.h"
#include "wal/log_needs.h"
#include "wal/replay_estimate.h"

namespace arion {

LogCatalog::LogCatalog(Content content, const Clock& clock)
    : clock_(clock), content_(std::move(content)) {
  CheckJoined(content_.files);
  CHECK(content_.files.empty() || content_.files.front().name.index >= 1) << "log_catalog/C1";
  gauges_->files.Set(static_cast<int64_t>(content_.files.size()));
  for (const LogFileEntry& file : content_.files)
    gauges_->bytes.Add(static_cast<int64_t>(file.content_bytes));
  Check();
}

void LogCatalog::Check() const {
  if (content_.files.empty()) return;
  const LogFileEntry& newest = content_.files.back();
  CHECK_LE(newest.index.end(), newest.content_bytes) << "log_catalog/C3";
  // Consecutive indexes, as many as there are files: no hole between the ends.
  CHECK_EQ(content_.files.front().name.index + gauges_->files.value() - 1, newest.name.index)
      << "log_catalog/C1";
}

void LogCatalog::CheckIsNext(const DurableBlock& block) const {
  CHECK_GT(block.end, block.at.position) << "log_catalog/C2: an empty block";
  CHECK_GE(block.file.index, 1) << "log_catalog/C1";
  if (content_.files.empty()) {
    CHECK_EQ(block.at.position, 0u) << "log_catalog/C2: a block without a file";
    return;
  }
  const LogFileEntry& newest = content_.files.back();
  if (block.at.position == 0) {
    CHECK_EQ(block.file.index, newest.name.index + 1) << "log_catalog/C1";
    CHECK_EQ(block.file.start_offset, newest.end_offset()) << "log_catalog/C1";
  } else {
    CHECK(block.file == newest.name)
        << "log_catalog/C2: " << block.file.ToString() << " behind " << newest.file_name;
    CHECK_EQ(block.at.position, newest.content_bytes) << "log_catalog/C2";
  }
}

void LogCatalog::Add(const DurableBlock& block) {
  const MutexLock lock(mutex_);
  CheckIsNext(block);
  std::vector<LogFileEntry>& files = content_.files;
  if (block.at.position == 0) {
    // The file that is left gets its time now. Recovered ones have that of the file system.
    if (!files.empty() && files.back().last_write_unix_s == 0)
      files.back().last_write_unix_s = clock_.WallMicros() / 1000000;
    files.push_back({.name = block.file,
                     .file_name = block.file.ToString(),
                     .header_max_decree = block.header_max_decree});
    gauges_->files.Add(1);
  }
  gauges_->bytes.Add(static_cast<int64_t>(block.end) -
                     static_cast<int64_t>(files.back().content_bytes));
  files.back().content_bytes = block.end;
  files.back().index.Add(block.at, block.end);
  content_.max_decree = std::max(content_.max_decree, block.max_decree);
  Check();
}

void LogCatalog::StartAnew(int64_t valid_start_offset, Decree max_decree) {
  const MutexLock lock(mutex_);
  CHECK_GE(valid_start_offset, content_.valid_start_offset) << "log_catalog/C4";
  CHECK_GE(max_decree, Decree(0)) << "log_catalog/C4";
  if (!content_.files.empty())
    CHECK_GE(valid_start_offset, content_.files.back().end_offset()) << "log_catalog/C4";
  // The files stay until they are dropped: they are void, and readers pass over them.
  content_.valid_start_offset = valid_start_offset;
  content_.max_decree = max_decree;
}

// Out of the catalog first, off the disk later: a reader that asks meanwhile hears that the file
// was dropped.
std::vector<std::string> LogCatalog::DropOldest(size_t count) {
  const MutexLock lock(mutex_);
  CHECK(count == 0 || count < content_.files.size())
      << "log_catalog/C5: " << count << " files dropped";
  const auto end = content_.files.begin() + static_cast<ptrdiff_t>(count);
  std::vector<std::string> names;
  for (auto file = content_.files.begin(); file != end; ++file) {
    names.push_back(file->file_name);
    gauges_->files.Add(-1);
    gauges_->bytes.Add(-static_cast<int64_t>(file->content_bytes));
  }
  content_.files.erase(content_.files.begin(), end);
  Check();
  return names;
}

// Void files hold nothing for a learner, so they do not count.
bool LogCatalog::Covers(Decree first) const {
  const MutexLock lock(mutex_);
  return first > RetainedAbove(content_.files, content_.valid_start_offset, content_.max_decree);
}

Decree LogCatalog::Begins() const {
  const MutexLock lock(mutex_);
  return RetainedAbove(content_.files, content_.valid_start_offset, content_.max_decree) + 1;
}

size_t LogCatalog::CountUnneeded(const LogNeeds& needs, const LogReserve& reserve) const {
  const int64_t now = clock_.WallMicros() / 1000000;
  const MutexLock lock(mutex_);
  return CountDroppable(content_.files, needs, reserve, content_.valid_start_offset, now);
}

// A file's header says the largest decree of all files before it. So no decree >= first lies before
// the newest file whose header says less than `first`.
size_t LogCatalog::FirstFileFor(Decree first) const {
  const std::vector<LogFileEntry>& files = content_.files;
  size_t found = files.size();
  for (size_t i = files.size(); i-- > 0;) {
    if (files[i].name.start_offset < content_.valid_start_offset) break;
    found = i;
    if (files[i].header_max_decree < first) break;
  }
  return found;
}

ReplayWork LogCatalog::WorkAbove(Decree applied) const {
  const MutexLock lock(mutex_);
  // Replay reads from an index's entry on, to the end of the newest file.
  const size_t i = FirstFileFor(applied + 1);
  if (i == content_.files.size() || content_.max_decree <= applied) return {};
  const LogFileEntry& file = content_.files[i];
  const uint64_t from = file.index.Find(applied + 1).position;
  const auto to =
      static_cast<uint64_t>(content_.files.back().end_offset() - file.name.start_offset);
  CHECK_LE(from, to) << "log_catalog/C3";
  return {.bytes = to - from, .mutations = content_.max_decree - applied};
}

size_t LogCatalog::Find(int64_t index) const {
  const std::vector<LogFileEntry>& files = content_.files;
  if (files.empty() || index < files.front().name.index) return files.size();
  const auto found = static_cast<size_t>(index - files.front().name.index);
  // Indexes are consecutive, so the place follows from the index.
  if (found >= files.size()) return files.size();
  CHECK_EQ(files[found].name.index, index) << "log_catalog/C1";
  return found;
}

bool LogCatalog::Holds(const LogFileName& file) const {
  const MutexLock lock(mutex_);
  return Find(file.index) < content_.files.size();
}

std::optional<LogFileEntry> LogCatalog::Newest() const {
  const MutexLock lock(mutex_);
  if (content_.files.empty()) return std::nullopt;
  return content_.files.back();
}

std::vector<std::string> LogCatalog::FileNames() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const LogFileEntry& file : content_.files) names.push_back(file.file_name);
  return names;
}

LogCatalog::Piece LogCatalog::PieceOf(const LogFileEntry& file, LogIndex::Entry from,
                                      int64_t valid_start_offset, int64_t last_file) const {
  CHECK_LE(from.position, file.content_bytes) << "log_catalog/C3";
  CHECK_LE(file.name.index, last_file) << "log_catalog/C1";
  // At the file's start the index knows nothing; the header does.
  from.max_decree = std::max(from.max_decree, file.header_max_decree);
  return {.name = file.name,
          .file_name = file.file_name,
          .content_bytes = file.content_bytes,
          .from = from,
          .is_indexed = file.index.end() >= file.content_bytes,
          .valid_start_offset = valid_start_offset,
          .last_file = last_file};
}

absl::StatusOr<std::optional<LogCatalog::Piece>> LogCatalog::Begin(Decree first) const {
  const MutexLock lock(mutex_);
  if (first <= RetainedAbove(content_.files, content_.valid_start_offset, content_.max_decree))
    return absl::OutOfRangeError(
        absl::StrCat("decree ", first.value(), " was dropped from the log"));
  const size_t i = FirstFileFor(first);
  if (i == content_.files.size()) return std::nullopt;
  const LogFileEntry& file = content_.files[i];
  return PieceOf(file, file.index.Find(first), content_.valid_start_offset,
                 content_.files.back().name.index);
}

absl::StatusOr<std::optional<LogCatalog::Piece>> LogCatalog::After(const Piece& piece) const {
  CHECK_LE(piece.name.index, piece.last_file) << "log_catalog/C1: read beyond the end";
  if (piece.name.index == piece.last_file) return std::nullopt;
  const MutexLock lock(mutex_);
  const size_t next = Find(piece.name.index + 1);
  if (next == content_.files.size())
    return absl::OutOfRangeError(
        absl::StrCat("the file behind ", piece.file_name, " was dropped from the log meanwhile"));
  // `piece` was left before reading began, so its content no longer grows.
  CHECK_EQ(content_.files[next].name.start_offset,
           piece.name.start_offset + static_cast<int64_t>(piece.content_bytes))
      << "log_catalog/C1";
  return PieceOf(content_.files[next], {}, piece.valid_start_offset, piece.last_file);
}

LogIndex LogCatalog::IndexOf(const LogFileName& file) const {
  const MutexLock lock(mutex_);
  const size_t found = Find(file.index);
  return found == content_.files.size() ? LogIndex{} : content_.files[found].index;
}

void LogCatalog::SetIndex(const LogFileName& file, LogIndex index) {
  const MutexLock lock(mutex_);
  const size_t found = Find(file.index);
  if (found == content_.files.size()) return;
  CHECK_LE(index.end(), content_.files[found].content_bytes) << "log_catalog/C3";
  // The writer may have indexed further meanwhile.
  LogIndex& known = content_.files[found].index;
  if (known.end() < index.end()) known = std::move(index);
}

}  // namespace arion
