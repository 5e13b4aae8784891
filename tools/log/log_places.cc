// SPDX-License-Identifier: Apache-2.0
#include "tools/log/log_places.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <rapidjson/document.h>

#include <set>

#include "base/status.h"
#include "wal/log_format.h"
#include "wal/log_identity.h"
#include "wal/log_reader.h"
#include "wal/log_survey.h"

namespace arion::logtool {
namespace {

constexpr int kDepthMax = 6;

bool IsSetAside(const std::string& name) {
  for (const char* suffix : {".err", ".gar", ".tmp", ".ori", ".bak"})
    if (absl::EndsWith(name, suffix)) return true;
  return false;
}

// What the newest file says for its partition: near enough where the replica's info lies elsewhere
// (a log in the log home).
absl::StatusOr<int64_t> ValidStartOfNewestFile(FileSystem& files, const std::string& directory) {
  ASSIGN_OR_RETURN(const LogFolderNames names, ListLogFolder(files, directory));
  int64_t valid_start = 0;
  for (const auto& log : names.logs) {
    ASSIGN_OR_RETURN(const auto file, files.OpenForRead(JoinPath(directory, log.file_name)));
    LogReader reader(*file, log.size, log.name.start_offset);
    LogBlock block;
    ASSIGN_OR_RETURN(const bool has_first, reader.Next(&block));
    if (has_first && block.header->entries.size() == 1)
      valid_start = block.header->entries[0].valid_start_offset;
  }
  return valid_start;
}

absl::StatusOr<int64_t> ReadValidStart(FileSystem& files, const LogPlace& place) {
  const std::string path = JoinPath(place.replica_directory, ".init-info");
  const auto text = ReadFile(files, path);
  if (absl::IsNotFound(text.status())) return ValidStartOfNewestFile(files, place.directory);
  RETURN_IF_ERROR(text.status());
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(text->data(), text->size());
  if (json.HasParseError() || !json.IsObject())
    return absl::DataLossError(absl::StrCat(path, ": not a JSON object"));
  const auto found = json.FindMember("init_offset_in_private_log");
  if (found == json.MemberEnd()) return 0;
  if (!found->value.IsInt64())
    return absl::DataLossError(absl::StrCat(path, ": init_offset_in_private_log is no integer"));
  return found->value.GetInt64();
}

// The partitions that the first blocks of these files name, and those of the mutations in them.
absl::StatusOr<std::set<PartitionId>> NamedPartitions(FileSystem& files,
                                                      const std::string& directory,
                                                      const LogFolderNames& names) {
  std::set<PartitionId> named;
  for (const auto& log : names.logs) {
    ASSIGN_OR_RETURN(const auto file, files.OpenForRead(JoinPath(directory, log.file_name)));
    LogReader reader(*file, log.size, log.name.start_offset);
    LogBlock block;
    ASSIGN_OR_RETURN(const bool has_first, reader.Next(&block));
    if (!has_first) continue;
    for (const auto& entry : block.header->entries) named.insert(entry.pid);
    if (!block.header->entries.empty()) continue;
    // An old version's file may name nobody: its first mutation does.
    ASSIGN_OR_RETURN(const bool has_second, reader.Next(&block));
    if (has_second && !block.mutations.empty()) named.insert(block.mutations.front()->pid);
  }
  return named;
}

class Search {
 public:
  explicit Search(FileSystem& files) : files_(files) {}

  absl::Status Named(const std::string& path) {
    ASSIGN_OR_RETURN(FileStatus status, files_.Stat(path));
    if (status.is_symlink)
      return absl::InvalidArgumentError(absl::StrCat(path, " is a symbolic link; name its target"));
    if (status.is_directory) return Directory(path, 0);
    const std::string name = BaseName(path);
    ASSIGN_OR_RETURN(const auto parsed, ParseLogFileName(name));
    if (!parsed)
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": not a log's name; they are called log.<index>.<start offset>"));
    RETURN_IF_ERROR(files_.OpenForRead(path).status());
    return Folder(ParentDirectory(path), name);
  }

  FoundPlaces Take() { return std::move(found_); }

 private:
  absl::Status Directory(const std::string& path, int depth) {
    ASSIGN_OR_RETURN(const LogFolderNames names, ListLogFolder(files_, path));
    const std::string base = BaseName(path);
    // An empty plog is a log, too: a replica that has written nothing.
    if (!names.logs.empty() || !names.refused.empty() || base == "plog" || base == "slog")
      return Folder(path, "");
    RETURN_IF_ERROR(MissLog(path));
    ASSIGN_OR_RETURN(const std::vector<std::string> all, files_.List(path));
    for (const std::string& name : all) {
      const std::string inner = JoinPath(path, name);
      const auto status = files_.Stat(inner);
      if (!status.ok()) {
        found_.troubles.push_back({inner, status.status()});
        continue;
      }
      if (!status->is_directory || IsSetAside(name) || depth == kDepthMax) continue;
      // Of a replica's directory only the log is looked into.
      if (ParseReplicaName(base) && name != "plog") continue;
      if (absl::Status searched = Directory(inner, depth + 1); !searched.ok())
        found_.troubles.push_back({inner, searched});
    }
    return absl::OkStatus();
  }

  // A replica that says which files its log has, but has no log.
  absl::Status MissLog(const std::string& path) const {
    if (!ParseReplicaName(BaseName(path)) || Exists(files_, JoinPath(path, "plog")))
      return absl::OkStatus();
    ASSIGN_OR_RETURN(const LogIdentity identity,
                     ReadLogIdentity(files_, JoinPath(path, ".arion-log")));
    if (identity.files.empty()) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(path, ": plog is gone; the last start or stop left ",
                                            identity.files.size(), " files in it"));
  }

  absl::Status Folder(const std::string& path, const std::string& only_file) {
    LogPlace place;
    place.directory = path;
    place.only_file = only_file;
    const std::string parent = ParentDirectory(path);
    if (BaseName(path) == "plog" || ParseReplicaName(BaseName(parent)))
      place.replica_directory = parent;
    else if (ParseReplicaName(BaseName(path)))
      place.replica_directory = path;
    if (!place.replica_directory.empty()) {
      place.pid = ParseReplicaName(BaseName(place.replica_directory));
      auto valid_start = ReadValidStart(files_, place);
      if (!valid_start.ok())
        found_.troubles.push_back({place.replica_directory, valid_start.status()});
      else
        place.valid_start_offset = *valid_start;
    }
    if (!place.pid) RETURN_IF_ERROR(LearnKind(&place));
    found_.places.push_back(std::move(place));
    return absl::OkStatus();
  }

  absl::Status LearnKind(LogPlace* place) {
    ASSIGN_OR_RETURN(LogFolderNames names, ListLogFolder(files_, place->directory));
    if (!place->only_file.empty())
      std::erase_if(names.logs, [&](const auto& log) { return log.file_name != place->only_file; });
    auto named = NamedPartitions(files_, place->directory, names);
    RETURN_IF_ERROR(named.status());
    if (BaseName(place->directory) == "slog" ||
        (place->replica_directory.empty() && named->size() > 1))
      place->kind = LogKind::kShared;
    else if (!named->empty())
      place->pid = *named->begin();
    return absl::OkStatus();
  }

  FileSystem& files_;
  FoundPlaces found_;
};

}  // namespace

std::string LogPlace::IdentityPath() const {
  return JoinPath(replica_directory.empty() ? ParentDirectory(directory) : replica_directory,
                  ".arion-log");
}

std::string LogPlace::DataDirectory() const {
  return replica_directory.empty() ? "" : ParentDirectory(replica_directory);
}

std::string LogPlace::Label() const {
  return only_file.empty() ? directory : JoinPath(directory, only_file);
}

std::optional<PartitionId> ParseReplicaName(std::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(Text(name), absl::MaxSplits('.', 2));
  PartitionId pid;
  if (parts.size() != 3 || parts[2].empty() || !absl::SimpleAtoi(parts[0], &pid.app_id) ||
      !absl::SimpleAtoi(parts[1], &pid.index) || pid.app_id < 0 || pid.index < 0)
    return std::nullopt;
  return pid;
}

absl::StatusOr<FoundPlaces> FindLogs(FileSystem& files, const std::string& path) {
  Search search(files);
  RETURN_IF_ERROR(search.Named(path));
  FoundPlaces found = search.Take();
  if (found.places.empty() && found.troubles.empty())
    return absl::InvalidArgumentError(absl::StrCat(path, ": no log in it"));
  return found;
}

}  // namespace arion::logtool
