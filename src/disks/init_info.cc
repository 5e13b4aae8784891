// SPDX-License-Identifier: Apache-2.0
#include "disks/init_info.h"

#include <rapidjson/document.h>

#include <array>

#include "base/log.h"
#include "base/status.h"
#include "env/file_system.h"

namespace arion {
namespace {

constexpr size_t kSectorBytes = 512;  // of a disk: written whole or not at all

struct Key {
  const char* name;
  int64_t value = 0;
  bool present = false;
};

absl::Status DamagedInitInfo(std::string_view what) {
  return absl::DataLossError(absl::StrCat(kInitInfoName, ": ", Text(what)));
}

}  // namespace

std::string EncodeInitInfo(const InitInfo& info) {
  return absl::StrCat(
      "{\"init_ballot\":", info.ballot.value(), ",\"init_durable_decree\":", info.durable.value(),
      ",\"init_offset_in_shared_log\":", info.offset_in_shared_log,
      ",\"init_offset_in_private_log\":", info.offset_in_private_log,
      info.is_learner ? ",\"arion_learner\":1" : "", info.is_unborn ? ",\"arion_unborn\":1" : "",
      info.is_foreign ? ",\"arion_foreign\":1}" : "}");
}

absl::StatusOr<InitInfo> DecodeInitInfo(std::string_view bytes) {
  // Iterative: nesting in a damaged file must not use up the stack.
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(bytes.data(), bytes.size());
  if (json.HasParseError() || !json.IsObject()) return DamagedInitInfo("not a JSON object");
  // Four keys and no map: the file is read for each replica at a start.
  bool is_learner = false, is_unborn = false, is_foreign = false;
  std::array<Key, 4> keys{{{"init_ballot"},
                           {"init_durable_decree"},
                           {"init_offset_in_shared_log"},
                           {"init_offset_in_private_log"}}};
  bool has_unknown = false;
  for (const auto& member : json.GetObject()) {
    const std::string_view name(member.name.GetString(), member.name.GetStringLength());
    bool known = false;
    for (Key& key : keys) {
      if (name != key.name) continue;
      if (!member.value.IsInt64()) return DamagedInitInfo(absl::StrCat(key.name, " is no integer"));
      key.value = member.value.GetInt64();
      key.present = known = true;
    }
    if (name == "arion_learner")
      is_learner = member.value.IsInt64() && member.value.GetInt64() != 0;
    if (name == "arion_unborn") is_unborn = member.value.IsInt64() && member.value.GetInt64() != 0;
    if (name == "arion_foreign")
      is_foreign = member.value.IsInt64() && member.value.GetInt64() != 0;
    has_unknown = has_unknown || !known;
  }
  // A missing key beside unknown ones may be a damaged name, so 0 would be a guess. A file with
  // fewer keys and no others is an older version's.
  for (const Key& key : keys)
    if (!key.present && has_unknown)
      return DamagedInitInfo(absl::StrCat(key.name, " is missing beside unknown keys"));
  return InitInfo{.ballot = Ballot(keys[0].value),
                  .durable = Decree(keys[1].value),
                  .offset_in_shared_log = keys[2].value,
                  .offset_in_private_log = keys[3].value,
                  .is_learner = is_learner,
                  .is_unborn = is_unborn,
                  .is_foreign = is_foreign};
}

absl::StatusOr<InitInfo> LoadInitInfo(FileSystem& files, const std::string& replica_directory) {
  ASSIGN_OR_RETURN(const std::string bytes,
                   ReadFile(files, JoinPath(replica_directory, kInitInfoName)));
  return DecodeInitInfo(bytes);
}

absl::Status StoreInitInfo(FileSystem& files, const std::string& replica_directory,
                           const InitInfo& info) {
  const std::string path = JoinPath(replica_directory, kInitInfoName);
  // A new file and its name cost the file system's journal two commits. Rewriting a sector that is
  // there already costs one flush. Each change of a configuration waits for this.
  std::string bytes = EncodeInitInfo(info);
  CHECK_LE(bytes.size(), kSectorBytes);
  bytes.resize(kSectorBytes, ' ');
  const absl::StatusOr<FileStatus> found = files.Stat(path);
  // An older version's file, or none: only a whole sector can be written in place.
  if (!found.ok() || found->is_symlink || found->size != kSectorBytes)
    return WriteFileDurably(files, path, bytes);
  // In place: the device writes a sector wholly or not at all, so no temporary file is needed.
  ASSIGN_OR_RETURN(auto file, files.OpenForWrite(path, FileSystem::CreateMode::kOpenExisting));
  RETURN_IF_ERROR(file->WriteAt(0, bytes));
  RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

absl::Status SettleInitInfo(FileSystem& files, const std::string& replica_directory,
                            const InitInfo& info) {
  RETURN_IF_ERROR(StoreInitInfo(files, replica_directory, info));
  return files.SyncDirectory(replica_directory);
}

}  // namespace arion
