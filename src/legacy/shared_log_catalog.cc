// SPDX-License-Identifier: Apache-2.0
#include "legacy/shared_log_catalog.h"

#include <memory>
#include <set>
#include <utility>

#include "base/status.h"
#include "env/file_system.h"
#include "wal/log_reader.h"
#include "wal/log_survey.h"

namespace arion {
namespace {

constexpr size_t kFirstChunkBytes = 64 << 10;  // for a first block alone

absl::Status Damaged(const std::string& path, std::string_view what) {
  return absl::DataLossError(
      absl::StrCat(path, ": ", Text(what),
                   "; the shared log can't be taken over (arion_log verify tells more; nothing was "
                   "changed)"));
}

// True: the file has a whole first block, taken into *file. False: it has none, *why says how it
// ends.
absl::StatusOr<bool> TakeFirstBlock(FileSystem& files, const std::string& path, SharedLogFile* file,
                                    std::string* why) {
  ASSIGN_OR_RETURN(const auto opened, files.OpenForRead(path));
  LogReader reader(*opened, file->size, file->name.start_offset, {}, kFirstChunkBytes);
  LogBlockView block;
  ASSIGN_OR_RETURN(const bool is_whole, reader.Next(&block));
  if (!is_whole) {
    *why = absl::StrCat(Text(LogEndName(reader.end())), " ", reader.reason());
    // A file that was being made when the older server stopped. Anything else in a first block is
    // damage.
    if (reader.end() == LogEnd::kEof || reader.end() == LogEnd::kTruncated) return false;
    return Damaged(path, *why);
  }
  for (const LogFileHeader::Entry& entry : block.header->entries)
    file->earlier[entry.pid] = entry.max_decree;
  return true;
}

absl::Status CheckNames(const std::string& directory, const LogFolderNames& names) {
  if (!names.refused.empty())
    return absl::FailedPreconditionError(
        absl::StrCat(JoinPath(directory, names.refused[0].file_name), ": a log's name, but ",
                     names.refused[0].why, "; move it out of the folder to go on"));
  for (size_t i = 1; i < names.logs.size(); ++i) {
    const auto& before = names.logs[i - 1];
    const auto& log = names.logs[i];
    if (log.name.index == before.name.index)
      return Damaged(JoinPath(directory, log.file_name),
                     absl::StrCat("same index as ", before.file_name));
    if (log.name.index != before.name.index + 1)
      return Damaged(JoinPath(directory, log.file_name),
                     absl::StrCat("the file before it is ", before.file_name, ": a hole"));
    // Offsets count through all files: an earlier start is another log's.
    if (log.name.start_offset < before.name.start_offset)
      return Damaged(JoinPath(directory, log.file_name),
                     absl::StrCat("starts before ", before.file_name));
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<Decree> SharedLogFile::EarlierMaxOf(PartitionId pid) const {
  const auto it = earlier.find(pid);
  if (it == earlier.end()) return std::nullopt;
  return it->second;
}

std::string SharedLogCatalog::PathOf(const SharedLogFile& file) const {
  return JoinPath(directory, file.file_name);
}

uint64_t SharedLogCatalog::bytes() const {
  uint64_t sum = 0;
  for (const SharedLogFile& file : files) sum += file.size;
  return sum;
}

absl::StatusOr<SharedLogCatalog> ListSharedLog(FileSystem& files, const std::string& directory) {
  SharedLogCatalog catalog;
  catalog.directory = directory;
  ASSIGN_OR_RETURN(const bool is_there, IsThere(files, directory));
  if (!is_there) return catalog;
  ASSIGN_OR_RETURN(const LogFolderNames names, ListLogFolder(files, directory));
  RETURN_IF_ERROR(CheckNames(directory, names));
  for (size_t i = 0; i < names.logs.size(); ++i) {
    SharedLogFile file{names.logs[i].name, names.logs[i].file_name, names.logs[i].size, {}};
    std::string why;
    const std::string path = JoinPath(directory, file.file_name);
    ASSIGN_OR_RETURN(const bool is_whole, TakeFirstBlock(files, path, &file, &why));
    if (is_whole) {
      catalog.files.push_back(std::move(file));
      // Only the newest can have been torn as it was made: an older one was complete before that.
    } else if (i + 1 == names.logs.size()) {
      catalog.ignored.push_back(absl::StrCat(file.file_name, ": no first block, ", why));
    } else {
      return Damaged(path, absl::StrCat("no first block, ", why, ", though files follow"));
    }
  }
  return catalog;
}

absl::StatusOr<std::string> FindSharedLog(FileSystem& files,
                                          absl::Span<const std::string> directories) {
  std::string found;
  for (const std::string& directory :
       // A set: the same folder may be named twice.
       std::set<std::string>(directories.begin(), directories.end())) {
    ASSIGN_OR_RETURN(const bool is_there, IsThere(files, directory));
    if (!is_there) continue;
    ASSIGN_OR_RETURN(const LogFolderNames names, ListLogFolder(files, directory));
    // A folder with a refused name counts as one with files: to pass it over could lose a log.
    if (names.logs.empty() && names.refused.empty()) continue;
    if (!found.empty())
      return absl::FailedPreconditionError(
          absl::StrCat("two shared logs, ", found, " and ", directory,
                       ": move the one that does not belong to these data away"));
    found = directory;
  }
  return found;
}

}  // namespace arion
