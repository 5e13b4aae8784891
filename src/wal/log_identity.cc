// SPDX-License-Identifier: Apache-2.0
#include "wal/log_identity.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include <algorithm>

#include "base/crc.h"
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

void LogIdentity::Add(const FileStatus& status, Durability durability) {
  Remove(status);
  files.push_back(
      {.inode = status.inode, .birth_nanos = status.birth_nanos, .durability = durability});
}

void LogIdentity::Remove(const FileStatus& status) {
  // By inode alone: whatever had this inode before is gone.
  std::erase_if(files, [&](const File& file) { return file.inode == status.inode; });
}

std::string LogIdentity::Format() const {
  std::string text(kFirstLine);
  for (const File& file : files)
    absl::StrAppend(&text, "file ", file.inode, " ", file.birth_nanos, " ",
                    Text(DurabilityName(file.durability)), "\n");
  if (clean) text += "clean\n";
  absl::StrAppendFormat(&text, "crc %08x\n", Crc32c(text));
  return text;
}

absl::StatusOr<LogIdentity> LogIdentity::Parse(std::string_view text) {
  const absl::Status damaged = absl::DataLossError("log identity file: damaged");
  if (text.size() < kFirstLine.size() + kCrcLineBytes ||
      text.substr(0, kFirstLine.size()) != kFirstLine)
    return damaged;
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
    File file;
    if (words.size() != 4 || words[0] != "file" || !absl::SimpleAtoi(words[1], &file.inode) ||
        !absl::SimpleAtoi(words[2], &file.birth_nanos) || (words[3] != "fsync" && words[3] != "os"))
      return damaged;
    file.durability = words[3] == "os" ? Durability::kOs : Durability::kFsync;
    identity.files.push_back(file);
  }
  return identity;
}

absl::StatusOr<LogIdentity> ReadLogIdentity(FileSystem& files, const std::string& path) {
  auto text = ReadFile(files, path);
  if (absl::IsNotFound(text.status())) return LogIdentity{};
  RETURN_IF_ERROR(text.status());
  auto identity = LogIdentity::Parse(*text);
  if (!identity.ok()) return Annotate(identity.status(), path);
  return identity;
}

}  // namespace arion
