// SPDX-License-Identifier: Apache-2.0
#include "wal/log_repair.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "wal/log_format.h"
#include "wal/log_recovery.h"
#include "wal/set_aside.h"

namespace arion {

absl::Status LogRepair::Run(JudgedLog judged, RecoveredLog* log) {
  CHECK(log != nullptr && log_ == nullptr) << "a repair runs once";
  CHECK(log->files.empty()) << "log_recovery/V1: the files are told by the repair";
  judged_ = std::move(judged);
  log_ = log;
  RETURN_IF_ERROR(RemoveOutdated());
  RETURN_IF_ERROR(RemoveWithoutContent());
  RETURN_IF_ERROR(CutAndSync());
  return AppendUncommittedAnew();
}

// Oldest first, one by one, so that no crash makes a hole.
absl::Status LogRepair::RemoveOutdated() {
  for (const JudgedFile& file : judged_.outdated) {
    LOG(WARNING)
        << "[" << options_.pid << "] " << PathOf(file)
        << " lost its end, which was in the page cache only. The engine holds all that was in it:"
        << " removed";
    RETURN_IF_ERROR(files_.Remove(PathOf(file)));
    RETURN_IF_ERROR(files_.SyncDirectory(options_.directory));
  }
  return absl::OkStatus();
}

// Newest first: what remains is always a log without a hole.
absl::Status LogRepair::RemoveWithoutContent() {
  std::vector<JudgedFile>& files = judged_.files;
  while (!files.empty() && files.back().fate == JudgedFile::Fate::kSetAside) {
    JudgedFile& file = files.back();
    CHECK(file.is_ours()) << "log_recovery/V3: " << file.entry.file_name;
    CHECK_LE(file.cut_end, file.size);
    if (file.cut_end > 0) {
      summary_.cut_tail = true;
      LOG(WARNING) << "[" << options_.pid << "] " << PathOf(file)
                   << " holds nothing that can be replayed: " << file.cut_end
                   << " bytes kept as .tail";
      RETURN_IF_ERROR(SaveTail(files_, PathOf(file), 0, file.cut_end));
    }
    RETURN_IF_ERROR(files_.Remove(PathOf(file)));
    // One by one: a power cut may keep any of several unsynced removals.
    RETURN_IF_ERROR(files_.SyncDirectory(options_.directory));
    log_->identity.Remove(file.status);
    files.pop_back();
  }
  return absl::OkStatus();
}

absl::Status LogRepair::CutAndSync(JudgedFile& file) {
  const uint64_t content = file.entry.content_bytes;
  CHECK(file.fate == JudgedFile::Fate::kKeep) << "log_recovery/V2: " << file.entry.file_name;
  CHECK(file.has_first_block) << "log_recovery/V2: " << file.entry.file_name << " holds nothing";
  CHECK_LE(content, file.cut_end) << "log_recovery/V2: " << file.entry.file_name;
  CHECK_LE(file.cut_end, file.size) << "log_recovery/V2: " << file.entry.file_name;
  ASSIGN_OR_RETURN(auto writable,
                   files_.OpenForWrite(PathOf(file), FileSystem::CreateMode::kOpenExisting));
  if (file.is_ours() && file.size > content) {
    if (file.cut_end > content) {
      summary_.cut_tail = true;
      LOG(WARNING) << "[" << options_.pid << "] " << PathOf(file) << " cut from " << file.cut_end
                   << " to " << content << " bytes, the rest kept as .tail";
      RETURN_IF_ERROR(SaveTail(files_, PathOf(file), content, file.cut_end));
    }
    RETURN_IF_ERROR(writable->Truncate(content));
  } else if (file.is_ours() && !summary_.was_clean) {
    // A truncation whose sync failed may be visible and yet never reach the disk. Repeated, it
    // does.
    RETURN_IF_ERROR(writable->Truncate(content));
  }
  if (&file == &judged_.files.back() && file.is_durable() && !summary_.was_clean)
    RETURN_IF_ERROR(WriteLastBlockAgain(file, *writable));
  RETURN_IF_ERROR(writable->Sync());
  return writable->Close();
}

absl::Status LogRepair::CutAndSync() {
  for (JudgedFile& file : judged_.files) RETURN_IF_ERROR(CutAndSync(file));
  RETURN_IF_ERROR(files_.SyncDirectory(options_.directory));
  // A spare that a power cut brings back is removed by the next start.
  for (const std::string& name : judged_.spares) RETURN_IF_ERROR(files_.Remove(PathOf(name)));

  std::vector<JudgedFile>& files = judged_.files;
  log_->next_index = files.empty() ? 1 : files.back().entry.name.index + 1;
  log_->end_offset = files.empty() ? options_.valid_start_offset : files.back().entry.end_offset();
  if (log_->end_offset < options_.valid_start_offset) RETURN_IF_ERROR(DropVoidFiles());
  log_->identity.files.clear();
  for (const JudgedFile& file : files) {
    log_->files.push_back(file.entry);
    if (file.is_ours()) log_->identity.Add(file.status, *file.written_as, file.entry.name.index);
  }
  return absl::OkStatus();
}

// Only these bytes may be covered by no flush (log_writer/W2, log_writer/W3). If a flush failed
// before the process ended, what was read just now may sit in a cache that counts as clean. Only
// bytes that are written anew reach the disk with the next sync.
absl::Status LogRepair::WriteLastBlockAgain(const JudgedFile& file, WritableFile& to) {
  ASSIGN_OR_RETURN(auto from, files_.OpenForRead(PathOf(file)));
  // A file's first two blocks may have been one write (log_writer/W1).
  const uint64_t begin = file.last_block == kFirstBlockBytes ? 0 : file.last_block;
  CHECK_LE(begin, file.entry.content_bytes);
  std::string bytes;
  RETURN_IF_ERROR(from->ReadAt(begin, file.entry.content_bytes - begin, &bytes));
  return to.WriteAt(begin, bytes);
}

// The info file is newer than the log (wal/FORMAT.md 7.6): every record here is void, and new ones
// behind them would be void as well.
absl::Status LogRepair::DropVoidFiles() {
  CHECK(judged_.uncommitted.empty()) << "log_recovery/V1: they hold what is not void";
  CHECK(!judged_.files.empty()) << "log_recovery/V1: a log without files begins at its valid start";
  LOG(WARNING) << "[" << options_.pid << "] the log ends at " << log_->end_offset
               << ", before its valid start " << options_.valid_start_offset << ": its "
               << judged_.files.size() << " files are set aside as .removed";
  for (const JudgedFile& file : judged_.files) {
    RETURN_IF_ERROR(RenameToRemoved(files_, PathOf(file)));
  }
  judged_.files.clear();
  log_->end_offset = options_.valid_start_offset;
  return absl::OkStatus();
}

// What was read may only sit in a cache whose write-back failed before. The mutations that other
// members may count on are written anew.
absl::Status LogRepair::AppendUncommittedAnew() {
  const std::vector<JudgedFile>& files = judged_.files;
  const bool is_durable_already =
      summary_.was_clean && !summary_.cut_tail &&
      std::all_of(files.begin(), files.end(), [](const JudgedFile& f) { return f.is_ours(); });
  if (judged_.uncommitted.empty() || is_durable_already) return absl::OkStatus();

  CHECK(!files.empty()) << "log_recovery/V4";
  LogFileEntry entry;
  entry.name = {.index = log_->next_index, .start_offset = log_->end_offset};
  entry.file_name = entry.name.ToString();
  entry.header_max_decree = log_->max_decree;
  // Under a spare's name the file is no part of the log: a crash before the rename leaves no trace.
  const std::string spare = PathOf(SpareName(entry.name.index));
  std::vector<std::string> paths;
  for (const JudgedFile& file : files) paths.push_back(PathOf(file));
  ASSIGN_OR_RETURN(entry.content_bytes, judged_.uncommitted.WriteFile(
                                            files_, paths, spare, log_->end_offset,
                                            {.pid = options_.pid,
                                             .max_decree = log_->max_decree,
                                             .valid_start_offset = options_.valid_start_offset}));
  ASSIGN_OR_RETURN(const FileStatus status, files_.Stat(spare));
  CHECK_GT(entry.content_bytes, kFirstBlockBytes) << "log_recovery/V4: nothing was written";
  // Durable before the rename: a file of the log without its line would be of other origin.
  log_->identity.Add(status, Durability::kFsync, entry.name.index);
  log_->identity.MarkUnclean();
  RETURN_IF_ERROR(WriteFileDurably(files_, options_.identity_path, log_->identity.Format()));
  RETURN_IF_ERROR(files_.Rename(spare, PathOf(entry.file_name)));
  RETURN_IF_ERROR(files_.SyncDirectory(options_.directory));
  log_->end_offset = entry.end_offset();
  log_->next_index = entry.name.index + 1;
  log_->files.push_back(std::move(entry));
  return absl::OkStatus();
}

}  // namespace arion
