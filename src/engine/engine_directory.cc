// A checkpoint, and a content that is to be installed, come to be under names that count for
// nothing (checkpoint.tmp, install.tmp). They are synced, renamed, and their directory is synced:
// so a crash finds each whole or not at all. Prepare takes away what a crash left under such names.
// SPDX-License-Identifier: Apache-2.0
#include "engine/engine_directory.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/status.h"

namespace arion {
namespace {

constexpr std::string_view kCheckpointPrefix = "checkpoint.";
constexpr std::string_view kInstallPrefix = "install.";
constexpr std::string_view kUnfinishedInstall = "install.tmp";
constexpr std::string_view kFormerSuffix = ".former";
constexpr size_t kCopyChunkBytes = 1 << 20;

std::string NameOf(std::string_view prefix, Decree decree) {
  return absl::StrCat(Text(prefix), decree.value());
}

// The decree of a name that is exactly what NameOf makes.
std::optional<Decree> DecreeOf(std::string_view prefix, const std::string& name) {
  int64_t value = 0;
  absl::string_view rest = name;
  if (!absl::ConsumePrefix(&rest, Text(prefix)) || !absl::SimpleAtoi(rest, &value))
    return std::nullopt;
  // "checkpoint.007" or "checkpoint.7.tmp" is nobody's checkpoint.
  if (value < 0 || NameOf(prefix, Decree(value)) != name) return std::nullopt;
  return Decree(value);
}

// The name of a checkpoint while another of its decree takes its place, and back.
std::string FormerOf(const std::string& checkpoint_path) {
  return absl::StrCat(checkpoint_path, Text(kFormerSuffix));
}
std::optional<Decree> FormerDecreeOf(const std::string& name) {
  absl::string_view checkpoint = name;
  if (!absl::ConsumeSuffix(&checkpoint, Text(kFormerSuffix))) return std::nullopt;
  return DecreeOf(kCheckpointPrefix, std::string(checkpoint));
}

}  // namespace

absl::Status CopyFile(FileSystem& files, const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> source, files.OpenForRead(from));
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> target,
                   files.OpenForWrite(to, FileSystem::CreateMode::kTruncate));
  std::string chunk;
  for (uint64_t offset = 0;; offset += chunk.size()) {
    RETURN_IF_ERROR(source->ReadAt(offset, kCopyChunkBytes, &chunk));
    if (chunk.empty()) break;
    RETURN_IF_ERROR(target->WriteAt(offset, chunk));
  }
  return target->Close();
}

absl::StatusOr<FileSizes> FilesOf(FileSystem& files, const std::string& directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(directory));
  FileSizes found;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const FileStatus status, files.Stat(JoinPath(directory, name)));
    if (!status.is_directory) found[name] = status.size;
  }
  return found;
}

absl::Status SyncAllIn(FileSystem& files, const std::string& directory) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, files.List(directory));
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(
        std::unique_ptr<WritableFile> file,
        files.OpenForWrite(JoinPath(directory, name), FileSystem::CreateMode::kOpenExisting));
    RETURN_IF_ERROR(file->Sync());
    RETURN_IF_ERROR(file->Close());
  }
  return files.SyncDirectory(directory);
}

EngineDirectory::EngineDirectory(FileSystem& files, std::string path, Options options)
    : files_(files), path_(std::move(path)), options_(std::move(options)) {}

absl::Status EngineDirectory::Prepare() {
  if (!Exists(files_, path_)) {
    RETURN_IF_ERROR(files_.CreateDirectories(path_));
    RETURN_IF_ERROR(files_.SyncDirectory(ParentDirectory(path_)));
  }
  RETURN_IF_ERROR(FinishInstall());
  RETURN_IF_ERROR(files_.RemoveAll(JoinPath(path_, kUnfinishedInstall)));
  ASSIGN_OR_RETURN(std::vector<std::string> names, files_.List(path_));
  const MutexLock lock(mutex_);
  checkpoints_.clear();
  for (const std::string& name : names) {
    // A checkpoint's own name is given last (AddCheckpoint), so every name of that form is whole.
    if (std::optional<Decree> decree = DecreeOf(kCheckpointPrefix, name)) {
      checkpoints_[*decree];
    } else if (const std::optional<Decree> former = FormerDecreeOf(name);
               former && !Exists(files_, JoinPath(path_, NameOf(kCheckpointPrefix, *former)))) {
      // The power was cut between the two names (engine_directory/D2).
      const std::string path = JoinPath(path_, NameOf(kCheckpointPrefix, *former));
      RETURN_IF_ERROR(files_.Rename(FormerOf(path), path));
      RETURN_IF_ERROR(files_.SyncDirectory(path_));
      checkpoints_[*former];
    } else if (absl::StrContains(name, "checkpoint")) {
      RETURN_IF_ERROR(files_.RemoveAll(JoinPath(path_, name)));
    }
  }
  return absl::OkStatus();
}

Decree EngineDirectory::newest() const {
  const MutexLock lock(mutex_);
  return checkpoints_.empty() ? Decree(0) : checkpoints_.rbegin()->first;
}

absl::StatusOr<std::string> EngineDirectory::MakeRoomForCheckpoint() {
  std::string path = JoinPath(path_, "checkpoint.tmp");
  RETURN_IF_ERROR(files_.RemoveAll(path));
  return path;
}

absl::Status EngineDirectory::AddCheckpoint(const std::string& temporary_path, Decree decree) {
  {
    const MutexLock lock(mutex_);
    // The same decree has the same content: nothing to gain, and it may be held.
    if (checkpoints_.contains(decree)) return files_.RemoveAll(temporary_path);
  }
  // Its names first, then its own name: a power cut never shows a checkpoint that lacks a file.
  RETURN_IF_ERROR(files_.SyncDirectory(temporary_path));
  const std::string path = JoinPath(path_, NameOf(kCheckpointPrefix, decree));
  // What an attempt left whose name could not be synced.
  RETURN_IF_ERROR(files_.RemoveAll(path));
  RETURN_IF_ERROR(files_.Rename(temporary_path, path));
  RETURN_IF_ERROR(files_.SyncDirectory(path_));
  {
    const MutexLock lock(mutex_);
    checkpoints_[decree];
  }
  return RemoveOldCheckpoints(options_.checkpoints_kept);
}

bool EngineDirectory::IsHeld(Decree decree) const {
  const MutexLock lock(mutex_);
  const auto it = checkpoints_.find(decree);
  return it != checkpoints_.end() && !it->second.expired();
}

absl::StatusOr<bool> EngineDirectory::ReplaceCheckpoints(const std::string& temporary_path,
                                                         Decree decree) {
  RETURN_IF_ERROR(files_.SyncDirectory(temporary_path));
  const std::string path = JoinPath(path_, NameOf(kCheckpointPrefix, decree));
  const std::string former = FormerOf(path);
  {
    const MutexLock renaming(renaming_);
    if (IsHeld(decree)) {
      RETURN_IF_ERROR(files_.RemoveAll(temporary_path));
      return false;
    }
    ASSIGN_OR_RETURN(const bool is_there, IsThere(files_, path));
    if (is_there) {
      RETURN_IF_ERROR(files_.RemoveAll(former));  // of an attempt that failed behind its names
      RETURN_IF_ERROR(files_.Rename(path, former));
    }
    if (const absl::Status renamed = files_.Rename(temporary_path, path); !renamed.ok()) {
      if (is_there) files_.Rename(former, path).IgnoreError();  // else Prepare does
      return renamed;
    }
  }
  RETURN_IF_ERROR(files_.SyncDirectory(path_));
  RETURN_IF_ERROR(files_.RemoveAll(former));
  {
    const MutexLock lock(mutex_);
    checkpoints_[decree];
  }
  RETURN_IF_ERROR(RemoveOldCheckpoints(1));
  return true;
}

absl::Status EngineDirectory::RemoveOldCheckpoints(size_t kept) {
  std::vector<Decree> old;
  {
    // Forgotten under the lock, removed outside: nobody can take hold of one that is going away.
    const MutexLock lock(mutex_);
    size_t surplus = checkpoints_.size() - std::min(checkpoints_.size(), kept);
    for (auto it = checkpoints_.begin(); surplus > 0; --surplus) {
      if (it->second.expired()) {
        old.push_back(it->first);
        it = checkpoints_.erase(it);
      } else {
        ++it;
      }
    }
  }
  for (Decree decree : old) {
    RETURN_IF_ERROR(files_.RemoveAll(JoinPath(path_, NameOf(kCheckpointPrefix, decree))));
  }
  return absl::OkStatus();
}

absl::StatusOr<Engine::CheckpointFiles> EngineDirectory::HoldNewest(std::shared_ptr<void>* hold) {
  Engine::CheckpointFiles checkpoint;
  const MutexLock renaming(renaming_);
  {
    const MutexLock lock(mutex_);
    if (checkpoints_.empty()) return absl::NotFoundError(absl::StrCat(path_, " has no checkpoint"));
    auto& [decree, holder] = *checkpoints_.rbegin();
    // All who hold it share one token; the map has it weakly, so it ends with the last of them.
    *hold = holder.lock();
    if (*hold == nullptr) holder = *hold = std::make_shared<Decree>(decree);
    checkpoint.decree = decree;
  }
  checkpoint.directory = JoinPath(path_, NameOf(kCheckpointPrefix, checkpoint.decree));
  ASSIGN_OR_RETURN(const FileSizes there, FilesOf(files_, checkpoint.directory));
  for (const auto& [name, size] : there)
    if (size > 0) checkpoint.names.push_back(name);
  return checkpoint;
}

absl::Status EngineDirectory::InstallContent(
    Decree decree, const std::function<absl::Status(const std::string&)>& fill) {
  RETURN_IF_ERROR(files_.CreateDirectories(path_));
  RETURN_IF_ERROR(FinishInstall());
  const std::string temporary_path = JoinPath(path_, kUnfinishedInstall);
  RETURN_IF_ERROR(files_.RemoveAll(temporary_path));
  RETURN_IF_ERROR(files_.CreateDirectories(temporary_path));
  RETURN_IF_ERROR(fill(temporary_path));
  RETURN_IF_ERROR(SyncAllIn(files_, temporary_path));
  // From this rename on, made durable, the new content wins: FinishInstall goes on from it after a
  // crash at any step.
  RETURN_IF_ERROR(files_.Rename(temporary_path, JoinPath(path_, NameOf(kInstallPrefix, decree))));
  RETURN_IF_ERROR(files_.SyncDirectory(path_));
  return FinishInstall();
}

absl::Status EngineDirectory::FinishInstall() {
  ASSIGN_OR_RETURN(std::vector<std::string> names, files_.List(path_));
  std::optional<Decree> installing;
  for (const std::string& name : names) {
    if (auto decree = DecreeOf(kInstallPrefix, name)) installing = decree;
  }
  if (!installing.has_value()) return absl::OkStatus();
  // Checkpoints first: one that is newer than the content would be taken for damage.
  for (const std::string& name : names) {
    if (absl::StrContains(name, "checkpoint"))
      RETURN_IF_ERROR(files_.RemoveAll(JoinPath(path_, name)));
  }
  RETURN_IF_ERROR(files_.SyncDirectory(path_));
  RETURN_IF_ERROR(files_.RemoveAll(content_path()));
  RETURN_IF_ERROR(
      files_.Rename(JoinPath(path_, NameOf(kInstallPrefix, *installing)), content_path()));
  RETURN_IF_ERROR(files_.SyncDirectory(path_));
  return absl::OkStatus();
}

}  // namespace arion
