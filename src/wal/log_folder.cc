// SPDX-License-Identifier: Apache-2.0
#include "wal/log_folder.h"

#include <utility>
#include <vector>

#include "base/status.h"
#include "wal/log_recovery.h"

namespace arion {
namespace {

absl::Status Final(const absl::Status& status) {
  if (status.ok() || absl::IsResourceExhausted(status)) return status;
  return absl::DataLossError(status.message());
}

}  // namespace

LogFolder::LogFolder(Environment& env, const PrivateLogOptions& options, LogIdentity identity)
    : files_(env.files()),
      device_(env.log_device(options.directory)),
      directory_(options.directory),
      identity_path_(options.identity_path),
      durability_(options.durability),
      direct_(options.preallocate && options.durability == Durability::kFsync),
      identity_(std::move(identity)) {}

absl::Status LogFolder::WriteIdentity() {
  return WriteFileDurably(files_, identity_path_, identity_.Format());
}

absl::Status LogFolder::MakeSpare(int64_t index, uint64_t fill_bytes) {
  if (spare_) return absl::OkStatus();
  const std::string path = PathOf(SpareName(index));
  // What an attempt without space left behind.
  if (Exists(files_, path)) RETURN_IF_ERROR(Final(files_.Remove(path)));
  const auto make = [&]() -> absl::Status {
    OpenLogFile file;
    ASSIGN_OR_RETURN(file.file, device_.Open(path, direct_));
    if (fill_bytes > 0) RETURN_IF_ERROR(Grow(&file, fill_bytes));
    ASSIGN_OR_RETURN(const FileStatus status, files_.Stat(path));
    identity_.Add(status, durability_);
    identity_.clean = false;
    if (absl::Status written = WriteIdentity(); !written.ok()) {
      identity_.Remove(status);
      return written;
    }
    spare_ = Spare{path, std::move(file)};
    return absl::OkStatus();
  };
  const absl::Status made = make();
  // Best effort: the next attempt or the next start removes it, too.
  if (!made.ok()) (void)files_.Remove(path);
  return Final(made);
}

absl::StatusOr<OpenLogFile> LogFolder::MakeFile(const LogFileName& name, uint64_t fill_bytes) {
  RETURN_IF_ERROR(MakeSpare(name.index, fill_bytes));
  RETURN_IF_ERROR(Final(files_.Rename(spare_->path, PathOf(name.ToString()))));
  OpenLogFile file = std::move(spare_->file);
  spare_.reset();
  // Even a lack of space is final here: after a crash the name may or may not be there.
  const absl::Status synced = files_.SyncDirectory(directory_);
  if (!synced.ok()) return absl::DataLossError(synced.message());
  return file;
}

absl::Status LogFolder::Grow(OpenLogFile* file, uint64_t to) {
  // Up, not down: the page that holds the end of the content stays as it is.
  const uint64_t alignment = file->file->alignment();
  const uint64_t from = (file->synced_bytes + alignment - 1) / alignment * alignment;
  RETURN_IF_ERROR(Final(device_.FillWithZeros(*file->file, from, to)));
  file->synced_bytes = to;
  return absl::OkStatus();
}

absl::Status LogFolder::Trim(std::shared_ptr<LogFile> file, uint64_t content_bytes) {
  to_trim_.emplace_back(std::move(file), content_bytes);
  while (!to_trim_.empty()) {
    const auto& [next, size] = to_trim_.front();
    RETURN_IF_ERROR(Final(device_.TruncateAndSync(*next, size)));
    to_trim_.pop_front();
  }
  return absl::OkStatus();
}

absl::Status LogFolder::Remove(const std::vector<std::string>& names, uint64_t capacity_bytes) {
  to_remove_.insert(to_remove_.end(), names.begin(), names.end());
  while (!to_remove_.empty()) {
    const std::string& name = to_remove_.front();
    const auto status = files_.Stat(PathOf(name));
    if (status.ok() && MayBecomeSpare(*status, capacity_bytes)) {
      RETURN_IF_ERROR(MakeSpareOf(name, capacity_bytes));
    } else {
      const absl::Status removed = files_.Remove(PathOf(name));
      if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
      // One by one: of several unsynced removals a power cut may keep any, and leave a hole.
      RETURN_IF_ERROR(files_.SyncDirectory(directory_));
      if (status.ok()) identity_.Remove(*status);
    }
    to_remove_.pop_front();
  }
  return absl::OkStatus();
}

bool LogFolder::MayBecomeSpare(const FileStatus& status, uint64_t capacity_bytes) const {
  // A trim that waits would cut what the file holds then.
  return capacity_bytes > 0 && !spare_ && to_trim_.empty() && status.size >= capacity_bytes / 2 &&
         status.size <= capacity_bytes && identity_.Find(status) == Durability::kFsync;
}

absl::Status LogFolder::MakeSpareOf(const std::string& name, uint64_t capacity_bytes) {
  // Named by its old index, which no spare to be made has.
  ASSIGN_OR_RETURN(const auto parsed, ParseLogFileName(name));
  const std::string path = PathOf(SpareName(parsed->index));
  RETURN_IF_ERROR(files_.Rename(PathOf(name), path));
  RETURN_IF_ERROR(files_.SyncDirectory(directory_));
  const auto make = [&]() -> absl::Status {
    OpenLogFile file;
    ASSIGN_OR_RETURN(file.file, device_.Open(path, direct_));
    ASSIGN_OR_RETURN(const FileStatus status, files_.Stat(path));
    file.synced_bytes = status.size;
    RETURN_IF_ERROR(Grow(&file, capacity_bytes));
    RETURN_IF_ERROR(device_.FillWithZeros(*file.file, 0, AlignedBuffer::kAlignment));
    spare_ = Spare{path, std::move(file)};
    return absl::OkStatus();
  };
  if (make().ok()) return absl::OkStatus();
  // It would have been welcome; nothing depends on it.
  return files_.Remove(path);
}

absl::Status LogFolder::CheckPresent(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto status = files_.Stat(PathOf(name));
    if (absl::IsNotFound(status.status()))
      return absl::DataLossError(
          absl::StrCat(PathOf(name), " is gone, and not by us: the replica must be learned anew"));
  }
  return absl::OkStatus();
}

absl::Status LogFolder::MarkClean() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.List(directory_));
  for (const std::string& name : names) {
    if (!IsSpareName(name)) continue;
    const auto status = files_.Stat(PathOf(name));
    RETURN_IF_ERROR(files_.Remove(PathOf(name)));
    if (status.ok()) identity_.Remove(*status);
  }
  RETURN_IF_ERROR(files_.SyncDirectory(directory_));
  // From here on it names exactly our files here: recovery notices when one is gone.
  identity_.clean = true;
  return WriteIdentity();
}

}  // namespace arion
