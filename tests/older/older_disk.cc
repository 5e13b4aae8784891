// SPDX-License-Identifier: Apache-2.0
#include "tests/older/older_disk.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "disks/app_info_file.h"
#include "disks/init_info.h"
#include "disks/replica_directory.h"
#include "wal/log_survey.h"

namespace arion {
namespace {

void CheckOk(const absl::Status& status) { CHECK(status.ok()) << status; }

std::string LogPathOf(const std::string& replica_directory) {
  return JoinPath(replica_directory, "plog");
}

// A file is made when something is written behind its first block, or the next begins.
class LogDirectory : public sim::OldLogFiles {
 public:
  LogDirectory(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}
  ~LogDirectory() override {
    if (file_ != nullptr) file_->Close().IgnoreError();
  }

  void Append(const LogFileName& name, std::string_view bytes) override {
    if (name == name_) return Write(bytes);
    if (!held_back_.empty()) Write("");
    if (file_ != nullptr) CheckOk(file_->Close());
    file_ = nullptr;
    name_ = name;
    held_back_ = bytes;
  }
  void Remove(const LogFileName& name) override { CheckOk(files_.Remove(PathOf(name))); }

 private:
  std::string PathOf(const LogFileName& name) const { return JoinPath(path_, name.ToString()); }
  void Write(std::string_view bytes) {
    if (file_ == nullptr) {
      auto file = files_.OpenForWrite(PathOf(name_), FileSystem::CreateMode::kMustNotExist);
      CheckOk(file.status());
      file_ = *std::move(file);
      end_ = 0;
    }
    for (const std::string_view piece : {std::string_view(held_back_), bytes}) {
      CheckOk(file_->WriteAt(end_, piece));
      end_ += piece.size();
    }
    held_back_.clear();
  }

  FileSystem& files_;
  const std::string path_;
  LogFileName name_;
  std::string held_back_;
  std::unique_ptr<WritableFile> file_;  // of name_; null: not made yet
  uint64_t end_ = 0;
};

}  // namespace

OlderDisk::OlderDisk(FileSystem& files, const Clock& clock, std::string data_directory)
    : files_(files), clock_(clock), data_directory_(std::move(data_directory)) {}

absl::Status OlderDisk::Load(sim::OldDisk* disk) {
  RETURN_IF_ERROR(files_.CreateDirectories(data_directory_));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.List(data_directory_));
  for (const std::string& name : names) {
    const auto parsed = ParseReplicaDirectoryName(name);
    if (!parsed) continue;
    sim::OldStored stored(parsed->pid);
    stored.directory = JoinPath(data_directory_, name);
    const auto app = LoadAppInfo(files_, stored.directory);
    if (!app.ok() || app->app_type != parsed->app_type ||
        app->partition_count < parsed->pid.index) {
      LOG(WARNING) << "2.5.0: ignores " << stored.directory << ": " << app.status();
      continue;
    }
    stored.app = *app;
    if (const absl::Status loaded = LoadReplica(stored); !loaded.ok()) {
      LOG(ERROR) << "2.5.0: does not load " << stored.directory << ": " << loaded;
      RETURN_IF_ERROR(
          SetDirectoryAside(files_, clock_, stored.directory, SetAside::kFailed).status());
      continue;
    }
    if (!disk->emplace(parsed->pid, std::move(stored)).second)
      return absl::AlreadyExistsError(absl::StrCat(parsed->pid.ToString(), " is there twice"));
  }
  return absl::OkStatus();
}

absl::Status OlderDisk::LoadReplica(sim::OldStored& stored) {
  ASSIGN_OR_RETURN(const InitInfo info, LoadInitInfo(files_, stored.directory));
  stored.ballot = info.ballot;
  stored.durable = info.durable;
  if (info.offset_in_shared_log != 0)
    LOG(WARNING) << "[" << stored.pid << "] 2.5.0: init_offset_in_shared_log is "
                 << info.offset_in_shared_log << ", and there is no shared log";
  app_infos_[stored.pid] = EncodeAppInfo(stored.app);
  RETURN_IF_ERROR(files_.CreateDirectories(LogPathOf(stored.directory)));
  RETURN_IF_ERROR(LoadLog(stored, info.offset_in_private_log));
  if (stored.ballot > info.ballot) StoreInfo(stored, info.durable);
  return absl::OkStatus();
}

absl::Status OlderDisk::LoadLog(sim::OldStored& stored, int64_t valid_from) {
  const std::string directory = LogPathOf(stored.directory);
  ASSIGN_OR_RETURN(const LogFolderNames names, ListLogFolder(files_, directory));
  std::vector<sim::OldLog::Found> found;
  std::vector<MutationPtr> mutations;
  bool has_void = false;
  const auto on_block = [&](const std::string&, const LogBlock& block) {
    for (const MutationPtr& m : block.mutations) {
      stored.ballot = std::max(stored.ballot, m->ballot);  // of void ones too
      const bool is_void = m->log_offset < valid_from;
      has_void = has_void || is_void;
      if (!is_void) mutations.push_back(m);
    }
    return absl::OkStatus();
  };
  const auto on_file = [&](const std::string& name, const SurveyedFile& file) -> absl::Status {
    ASSIGN_OR_RETURN(std::string bytes, ReadFile(files_, JoinPath(directory, name)));
    if (std::exchange(has_void, false) && !mutations.empty())
      return absl::UnimplementedError(absl::StrCat(name, ": a part of it is void"));
    if (!file.header) return absl::OkStatus();
    const auto* entry = file.header->Find(stored.pid);
    found.push_back({.name = file.name,
                     .bytes = std::move(bytes),
                     .max_before = entry == nullptr ? Decree(0) : entry->max_decree,
                     .content_bytes = static_cast<int64_t>(file.content_bytes),
                     .mutations = std::exchange(mutations, {})});
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const OldRuleReplay replay,
                   ReplayByOldRule(files_, directory, names, on_file, on_block));
  if (replay.verdict != OldRuleReplay::Verdict::kOk)
    return absl::DataLossError(absl::StrCat(replay.file_name, ": ", replay.reason));
  for (const std::string& name : replay.without_first_block) {
    const std::string path = JoinPath(directory, name);
    RETURN_IF_ERROR(files_.Rename(path, path + ".removed"));
  }
  stored.log = sim::OldLog(stored.pid, valid_from, std::move(found),
                           std::make_shared<LogDirectory>(files_, directory));
  return absl::OkStatus();
}

void OlderDisk::Create(sim::OldStored& stored) {
  const std::string directory = LogPathOf(stored.directory);
  CheckOk(files_.CreateDirectories(directory));
  stored.log = sim::OldLog(stored.pid, 0, {}, std::make_shared<LogDirectory>(files_, directory));
  app_infos_.erase(stored.pid);
  StoreApp(stored);
  StoreInfo(stored, Decree(0));
}

void OlderDisk::StoreInfo(const sim::OldStored& stored, Decree durable) {
  const InitInfo info{.ballot = stored.ballot,
                      .durable = durable,
                      .offset_in_private_log = stored.log.valid_from()};
  CheckOk(
      WriteFileDurably(files_, JoinPath(stored.directory, kInitInfoName), EncodeInitInfo(info)));
}

void OlderDisk::StoreApp(const sim::OldStored& stored) {
  std::string encoded = EncodeAppInfo(stored.app);
  std::string& known = app_infos_[stored.pid];
  if (known == encoded) return;
  CheckOk(WriteFileDurably(files_, JoinPath(stored.directory, kAppInfoName), encoded));
  known = std::move(encoded);
}

}  // namespace arion
