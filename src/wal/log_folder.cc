// SPDX-License-Identifier: Apache-2.0
#include "wal/log_folder.h"

#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "env/environment.h"
#include "wal/log_recovery.h"

namespace arion {
namespace {

// Anything but a refusal leaves the folder in a state that is not known: the log must not go on.
absl::Status Final(const absl::Status& status) {
  if (status.ok() || IsRefusal(status)) return status;
  return absl::DataLossError(status.message());
}

}  // namespace

LogFolder::LogFolder(Environment& env, const PrivateLogOptions& options, LogIdentity identity,
                     uint64_t capacity_bytes)
    : files_(env.files()),
      device_(env.log_device(options.directory)),
      directory_(options.directory),
      identity_path_(options.identity_path),
      durability_(options.durability),
      direct_(options.preallocate && options.durability == Durability::kFsync),
      capacity_bytes_(capacity_bytes),
      zeros_ahead_(device_.zeros_ahead()),
      identity_(std::move(identity)),
      last_file_at_start_(identity_.last_file) {
  CHECK_EQ(capacity_bytes % AlignedBuffer::kAlignment, 0u);
  CHECK(!directory_.empty() && !identity_path_.empty());
}

void LogFolder::Check() const {
  CHECK(!last_kept_unsynced_ || !kept_.empty()) << "log_folder/F1";
  if (!spare_) return;
  CHECK(spare_->file.file != nullptr) << "log_folder/F2";
  CHECK_LE(spare_->file.synced_bytes, capacity_bytes_) << "log_folder/F2";
  CHECK(!identity_.clean) << "log_folder/F3";
}

absl::Status LogFolder::WriteIdentity() {
  return WriteFileDurably(files_, identity_path_, identity_.Format());
}

absl::Status LogFolder::WriteUnclean() {
  LogIdentity before = identity_;
  identity_.MarkUnclean();
  const absl::Status written = WriteIdentity();
  // The next one who changes something writes it.
  if (!written.ok()) identity_ = std::move(before);
  return written;
}

absl::Status LogFolder::MakeSpare(int64_t index, uint64_t fill_bytes) {
  CHECK_GT(index, 0);
  CHECK_LE(fill_bytes, capacity_bytes_) << "log_folder/F2";
  if (spare_ || device_.LacksOpenFiles()) return absl::OkStatus();
  if (!kept_.empty()) return MakeSpareOfKept();
  ZerosTaken taken(zeros_ahead_);
  if (!taken.Take(fill_bytes)) return absl::OkStatus();
  return CreateSpare(index, fill_bytes, std::move(taken));
}

absl::Status LogFolder::CreateSpare(int64_t index, uint64_t fill_bytes, ZerosTaken taken) {
  CHECK(!spare_) << "log_folder/F2: two spares";
  CHECK_GT(index, 0) << "indexes begin at 1";
  const std::string path = PathOf(SpareName(index));
  // An attempt that found no space may have left it behind.
  if (Exists(files_, path)) RETURN_IF_ERROR(Final(files_.Remove(path)));
  const absl::Status created = CreateFilled(path, index, fill_bytes, std::move(taken));
  // Best effort: the next attempt or the next start removes it, too.
  if (!created.ok()) (void)files_.Remove(path);
  return Final(created);
}

absl::Status LogFolder::CreateFilled(const std::string& path, int64_t index, uint64_t fill_bytes,
                                     ZerosTaken taken) {
  OpenLogFile file;
  file.zeros_taken = std::move(taken);
  ASSIGN_OR_RETURN(file.file, device_.Open(path, direct_));
  if (fill_bytes > 0) RETURN_IF_ERROR(Grow(&file, fill_bytes));
  ASSIGN_OR_RETURN(const FileStatus status, files_.Stat(path));
  // Its line is durable before it can get a log's name: without a line it would be of other origin.
  identity_.Add(status, durability_, index);
  if (removed_ && removed_->inode == status.inode) removed_.reset();
  if (absl::Status written = WriteUnclean(); !written.ok()) {
    identity_.Remove(status);
    return written;
  }
  spare_.emplace(Spare{path, std::move(file)});
  Check();
  return absl::OkStatus();
}

absl::Status LogFolder::MakeSpareOfKept() {
  CHECK(!spare_ && !kept_.empty());
  // What it holds is not touched before it has lost its name for good.
  if (kept_.size() == 1) RETURN_IF_ERROR(Final(SyncLastKept()));
  Kept kept = std::move(kept_.front());
  kept_.pop_front();
  Check();
  const std::string path = kept.path;
  const absl::Status prepared = Prepare(std::move(kept));
  if (prepared.ok()) return prepared;
  // If this fails as well, the clean stop or the next start removes it.
  if (const auto status = files_.Stat(path); status.ok() && files_.Remove(path).ok())
    identity_.Remove(*status);
  return Final(prepared);
}

// Makes a dropped file a spare: its old header goes, the rest of its bytes stay.
absl::Status LogFolder::Prepare(Kept kept) {
  CHECK(!spare_) << "log_folder/F2: two spares";
  ASSIGN_OR_RETURN(const FileStatus status, files_.Stat(kept.path));
  OpenLogFile file;
  file.zeros_taken = std::move(kept.zeros_taken);
  ASSIGN_OR_RETURN(file.file, device_.Open(kept.path, direct_));
  RETURN_IF_ERROR(device_.FillWithZeros(*file.file, 0, AlignedBuffer::kAlignment));
  // If it was trimmed to its content, its last page is not a whole one, and counts as not there.
  const uint64_t alignment = file.file->alignment();
  file.synced_bytes = status.size / alignment * alignment;
  if (file.synced_bytes < capacity_bytes_) {
    const absl::Status grown = Grow(&file, capacity_bytes_);
    if (!grown.ok() && !IsRefusal(grown)) return grown;
  }
  // It has had its line since it was first made.
  if (identity_.clean) RETURN_IF_ERROR(WriteUnclean());
  spare_.emplace(Spare{std::move(kept.path), std::move(file)});
  Check();
  return absl::OkStatus();
}

absl::StatusOr<OpenLogFile> LogFolder::MakeFile(const LogFileName& name, uint64_t fill_bytes) {
  CHECK_GT(name.index, 0);
  CHECK_LE(fill_bytes, capacity_bytes_) << "log_folder/F2";
  CHECK_GE(name.start_offset, 0);
  // After a failed sync of the folder nobody knows which names are durable.
  RETURN_IF_ERROR(names_);
  if (!spare_)
    RETURN_IF_ERROR(kept_.empty() ? CreateSpare(name.index, fill_bytes, ZerosTaken(zeros_ahead_))
                                  : MakeSpareOfKept());
  Check();
  const std::string path = PathOf(name.ToString());
  if (spare_->path != path) {
    RETURN_IF_ERROR(Final(files_.Rename(spare_->path, path)));
    spare_->path = path;
  }
  RETURN_IF_ERROR(Final(SyncNames()));
  CHECK(spare_->file.file != nullptr) << "log_folder/F2";
  OpenLogFile file = std::move(spare_->file);
  spare_.reset();
  return file;
}

absl::Status LogFolder::Grow(OpenLogFile* file, uint64_t to) {
  CHECK(file->file != nullptr) << "log_folder/F2";
  CHECK_LE(to, capacity_bytes_) << "log_folder/F2";
  // Rounded up, not down: the page that holds the end of the content stays as it is.
  const uint64_t alignment = file->file->alignment();
  const uint64_t from = (file->synced_bytes + alignment - 1) / alignment * alignment;
  CHECK_LE(from, to) << "zeros over what was written";
  RETURN_IF_ERROR(Final(device_.FillWithZeros(*file->file, from, to)));
  file->synced_bytes = to;
  return absl::OkStatus();
}

absl::Status LogFolder::Trim(const std::vector<ToTrim>& files) {
  for (const ToTrim& file : files) {
    CHECK_GE(file.content_bytes, kFirstBlockBytes) << "log_folder/F4: " << file.name;
    CHECK(!IsSpareName(file.name)) << "log_folder/F4: " << file.name << " has no content";
    const auto opened = device_.Open(PathOf(file.name), direct_);
    RETURN_IF_ERROR(Final(opened.status()));
    RETURN_IF_ERROR(Final(device_.TruncateAndSync(**opened, file.content_bytes)));
  }
  return absl::OkStatus();
}

absl::Status LogFolder::Remove(const std::vector<std::string>& names, Keep keep) {
  to_remove_.insert(to_remove_.end(), names.begin(), names.end());
  RETURN_IF_ERROR(MarkIncomplete());
  while (!to_remove_.empty()) {
    // One by one: of several unsynced names a power cut may keep any, and leave a hole.
    RETURN_IF_ERROR(SyncLastKept());
    const std::string& name = to_remove_.front();
    const auto status = files_.Stat(PathOf(name));
    if (!status.ok() && !absl::IsNotFound(status.status())) return status.status();
    ZerosTaken taken(zeros_ahead_);
    if (keep == Keep::kSome && status.ok() && MayKeep(*status) && taken.Take(capacity_bytes_)) {
      RETURN_IF_ERROR(KeepFile(name, std::move(taken)));
    } else {
      const absl::Status removed = files_.Remove(PathOf(name));
      if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
      // Its line goes only when its name is gone for good: a name that a power cut brings back must
      // have one.
      if (status.ok()) removed_ = *status;
      RETURN_IF_ERROR(SyncNames());
      if (removed_) identity_.Remove(*removed_);
      removed_.reset();
    }
    to_remove_.pop_front();
  }
  return absl::OkStatus();
}

// After a clean stop the identity file says how many files there are. That is no longer true once
// the first of them has gone, so it is written before. A full disk has no space for that; there the
// file must go all the same.
absl::Status LogFolder::MarkIncomplete() {
  if (!identity_.clean || to_remove_.empty()) return absl::OkStatus();
  const absl::Status written = WriteUnclean();
  return LacksSpace(written) ? absl::OkStatus() : written;
}

bool LogFolder::MayKeep(const FileStatus& status) const {
  // A file that was written durably and is about as large as a new one would be. Small files are
  // not worth it.
  return status.size >= capacity_bytes_ / 2 && status.size <= capacity_bytes_ && direct_ &&
         capacity_bytes_ > 0 && !status.is_symlink && !status.is_directory &&
         identity_.Find(status) == Durability::kFsync;
}

absl::Status LogFolder::KeepFile(const std::string& name, ZerosTaken taken) {
  CHECK(!last_kept_unsynced_) << "log_folder/F1: two names at once";
  // It gets a spare's name by its old index, which no spare that is made anew has.
  ASSIGN_OR_RETURN(const auto parsed, ParseLogFileName(name));
  CHECK(parsed.has_value()) << name << " is no log's name";
  std::string path = PathOf(SpareName(parsed->index));
  RETURN_IF_ERROR(files_.Rename(PathOf(name), path));
  kept_.push_back({std::move(path), std::move(taken)});
  last_kept_unsynced_ = true;
  Check();
  return absl::OkStatus();
}

absl::Status LogFolder::SyncLastKept() { return last_kept_unsynced_ ? SyncNames() : names_; }

absl::Status LogFolder::SyncNames() {
  RETURN_IF_ERROR(names_);
  const absl::Status synced = files_.SyncDirectory(directory_);
  // A sync that failed may have lost any of the changes, and the next one may not report it.
  if (absl::IsDataLoss(synced)) names_ = synced;
  if (synced.ok()) last_kept_unsynced_ = false;
  return synced;
}

absl::Status LogFolder::RemoveKept() {
  // The last one first loses its old name for good: removed under the new name, it could come back
  // as a log file.
  RETURN_IF_ERROR(SyncLastKept());
  while (!kept_.empty()) {
    const std::string& path = kept_.front().path;
    ASSIGN_OR_RETURN(const FileStatus status, files_.Stat(path));
    RETURN_IF_ERROR(files_.Remove(path));
    identity_.Remove(status);
    kept_.pop_front();
  }
  return absl::OkStatus();
}

absl::Status LogFolder::CheckPresent(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto status = files_.Stat(PathOf(name));
    if (absl::IsNotFound(status.status()))
      return absl::DataLossError(absl::StrCat(
          PathOf(name),
          " is gone, and this server did not remove it: the replica must be learned anew"));
  }
  return absl::OkStatus();
}

absl::Status LogFolder::MarkClean(std::optional<LogIdentity::LastFile> last_file) {
  CHECK(!last_file || last_file->index > 0) << "indexes begin at 1";
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.List(directory_));
  for (const std::string& name : names) {
    const bool is_unused = IsSpareName(name) || (spare_ && spare_->path == PathOf(name));
    if (!is_unused) continue;
    ASSIGN_OR_RETURN(const FileStatus status, files_.Stat(PathOf(name)));
    RETURN_IF_ERROR(files_.Remove(PathOf(name)));
    identity_.Remove(status);
  }
  spare_.reset();
  RETURN_IF_ERROR(SyncNames());
  // From here on it names exactly the files that this server wrote here, so recovery notices if one
  // is gone.
  identity_.clean = true;
  // If recovery read only the end of this file, and nothing was appended, its marks are those it
  // had before.
  const bool is_known = last_file && last_file_at_start_ &&
                        last_file->index == last_file_at_start_->index &&
                        last_file->content_bytes == last_file_at_start_->content_bytes;
  if (is_known && last_file->marks.empty()) last_file = last_file_at_start_;
  identity_.last_file = std::move(last_file);
  return WriteIdentity();
}

}  // namespace arion
