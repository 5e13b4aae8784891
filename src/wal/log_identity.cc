// SPDX-License-Identifier: Apache-2.0
#include "wal/log_identity.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <utility>

#include "base/crc.h"
#include "base/log.h"
#include "base/status.h"

namespace arion {
namespace {

constexpr std::string_view kFirstLine = "arion-log 1\n";
constexpr size_t kCrcLineBytes = 13;  // "crc 01234567\n"

}  // namespace

std::optional<Durability> LogIdentity::Find(const FileStatus& status) const {
  for (const File& file : files)
    if (file.inode == status.inode && file.birth_nanos == status.birth_nanos)
      return file.durability;
  return std::nullopt;
}

void LogIdentity::Add(const FileStatus& status, Durability durability, int64_t index) {
  CHECK_GE(index, 0);
  // An older file with this inode is gone: the file system gave the inode away again.
  Remove(status);
  files.push_back({.inode = status.inode,
                   .birth_nanos = status.birth_nanos,
                   .durability = durability,
                   .index = index});
}

bool LogIdentity::SetFolder(const FileStatus& status, absl::Span<const Log> logs) {
  // Inode 0: it is not known, so a copy cannot be told from the folder that was written.
  std::optional<Folder> now;
  if (status.inode != 0) now = {.inode = status.inode, .birth_nanos = status.birth_nanos};
  const bool is_copy = now && folder && *now != *folder && !clean && !files.empty();
  folder = now;
  if (!is_copy) return false;
  LogIdentity copied;
  for (const Log& log : logs) copied.Add(log.status, DurabilityOfCopy(log), log.index);
  files = std::move(copied.files);
  return true;
}

// A copied file has another inode, so it is known by its index. A file that was made durably may
// serve again under a later index; others never do. If two files were made for one index, one of
// them is a spare.
Durability LogIdentity::DurabilityOfCopy(const Log& log) const {
  if (const auto durability = Find(log.status)) return *durability;
  const auto any = [this](auto is_meant) {
    return std::any_of(files.begin(), files.end(), is_meant);
  };
  const auto is_made_for_it = [&](const File& file) {
    return file.index == log.index && file.index > 0;
  };
  const auto is_durable = [](const File& file) { return file.durability == Durability::kFsync; };
  const bool is_known = any(is_made_for_it);
  return any([&](const File& file) {
    return is_durable(file) && (!is_known || is_made_for_it(file));
  })
             ? Durability::kFsync
             : Durability::kOs;
}

void LogIdentity::Remove(const FileStatus& status) {
  // By the inode alone: whatever had this inode before is gone.
  std::erase_if(files, [&](const File& file) { return file.inode == status.inode; });
}

void LogIdentity::MarkUnclean() {
  clean = false;
  last_file.reset();
}

std::string LogIdentity::Format() const {
  CHECK(clean || !last_file) << "it would be taken for the newest after what was written since";
  std::string text(kFirstLine);
  if (folder) absl::StrAppend(&text, "folder ", folder->inode, " ", folder->birth_nanos, "\n");
  for (const File& file : files)
    absl::StrAppend(&text, "file ", file.inode, " ", file.birth_nanos, " ",
                    Text(DurabilityName(file.durability)), " ", file.index, "\n");
  if (clean) text += "clean\n";
  if (clean && last_file) {
    absl::StrAppend(&text, "last ", last_file->index, " ", last_file->content_bytes, " ",
                    last_file->max_ballot.value(), "\n");
    for (const LogIndex::Entry& mark : last_file->marks)
      absl::StrAppend(&text, "from ", mark.position, " ", mark.crc, " ", mark.max_decree.value(),
                      "\n");
  }
  absl::StrAppendFormat(&text, "crc %08x\n", Crc32c(text));
  return text;
}

// One line, which is not `clean`. Only what Format writes is taken: a line that this version does
// not know may say something that matters.
bool LogIdentity::TakeLine(absl::Span<const absl::string_view> words) {
  const size_t n = words.size();
  if (words[0] == "folder" && !folder) {
    Folder& at = folder.emplace();
    return n == 3 && absl::SimpleAtoi(words[1], &at.inode) &&
           absl::SimpleAtoi(words[2], &at.birth_nanos);
  }
  if (words[0] == "file") {
    File& file = files.emplace_back();
    if (n < 4 || n > 5 || (words[3] != "fsync" && words[3] != "os")) return false;
    file.durability = words[3] == "os" ? Durability::kOs : Durability::kFsync;
    return absl::SimpleAtoi(words[1], &file.inode) &&
           absl::SimpleAtoi(words[2], &file.birth_nanos) &&
           (n == 4 || absl::SimpleAtoi(words[4], &file.index));
  }
  int64_t last = 0;
  if (n != 4 || !absl::SimpleAtoi(words[3], &last)) return false;
  if (words[0] == "last" && clean && !last_file) {
    LastFile& file = last_file.emplace();
    file.max_ballot = Ballot(last);
    return absl::SimpleAtoi(words[1], &file.index) &&
           absl::SimpleAtoi(words[2], &file.content_bytes);
  }
  if (words[0] != "from" || !last_file) return false;
  LogIndex::Entry& mark = last_file->marks.emplace_back();
  mark.max_decree = Decree(last);
  return absl::SimpleAtoi(words[1], &mark.position) && absl::SimpleAtoi(words[2], &mark.crc) &&
         mark.position > 0 && mark.position < last_file->content_bytes;
}

absl::StatusOr<LogIdentity> LogIdentity::Parse(std::string_view text) {
  const absl::Status damaged = absl::DataLossError("log identity file: damaged");
  if (text.size() < kFirstLine.size() + kCrcLineBytes ||
      text.substr(0, kFirstLine.size()) != kFirstLine)
    return damaged;
  // The checksum's line has a fixed length, so everything before it is what the checksum covers.
  const std::string_view content = text.substr(0, text.size() - kCrcLineBytes);
  if (text.substr(content.size()) != View(absl::StrFormat("crc %08x\n", Crc32c(content))))
    return damaged;
  LogIdentity identity;
  for (absl::string_view line :
       absl::StrSplit(Text(content.substr(kFirstLine.size())), '\n', absl::SkipEmpty())) {
    if (line == "clean") {
      identity.clean = true;
      continue;
    }
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (!identity.TakeLine(words)) return damaged;
  }
  return identity;
}

absl::StatusOr<LogIdentity> ReadLogIdentity(FileSystem& files, const std::string& path) {
  auto text = ReadFile(files, path);
  if (absl::IsNotFound(text.status())) return LogIdentity{};
  RETURN_IF_ERROR(text.status());
  auto identity = LogIdentity::Parse(*text);
  // A damaged file must not count as none: every log file would be of other origin.
  if (!identity.ok()) return Annotate(identity.status(), path);
  return identity;
}

}  // namespace arion
