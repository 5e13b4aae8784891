// LogIdentity: which files of a log folder we wrote, and how (decision 9). Lies beside the folder,
// as text:
//
//   arion-log 1
//   folder <inode> <birth time, ns>          of the log folder; older ones lack it
//   file <inode> <birth time, ns> fsync|os <index>
//                                            a line a file; the index of the log file it was made
//                                            for, which older ones lack
//   clean                                    after a clean stop, nothing written or dropped since
//   last <index> <bytes> <largest ballot>    likewise: the newest file, and what is known of it
//   from <position> <crc> <decree>           an index entry of it (log_index.h), in order
//   crc <8 hex digits>                       CRC-32C of everything above
//
// A file without a line is of other origin: the old versions' rules hold for it. But where the log
// folder itself is another and no clean stop was written, the whole replica was copied (a backup
// restored after a crash, a disk replaced): its files are as much ours as those that were copied.
// After a clean stop all are trimmed to their content, and either rule reads them alike. Pure; any
// text may be parsed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/types/span.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "env/file_system.h"
#include "wal/log_index.h"

namespace arion {

struct LogIdentity {
  struct File {
    uint64_t inode = 0;
    int64_t birth_nanos = 0;
    Durability durability = Durability::kFsync;
    int64_t index = 0;  // 0: not known. One that is used again keeps its first
    bool operator==(const File&) const = default;
  };
  struct Folder {
    uint64_t inode = 0;
    int64_t birth_nanos = 0;
    bool operator==(const Folder&) const = default;
  };
  // The newest file of a log that was closed: where replay may begin in it.
  struct LastFile {
    int64_t index = 0;
    uint64_t content_bytes = 0;
    Ballot max_ballot;                   // of the log's records, as far as was known
    std::vector<LogIndex::Entry> marks;  // ascending
    bool operator==(const LastFile&) const = default;
  };
  std::vector<File> files;
  std::optional<Folder> folder;  // where they lay when this was written
  bool clean = false;
  std::optional<LastFile> last_file;  // only with `clean`

  // How we wrote this file; nullopt: of other origin.
  std::optional<Durability> Find(const FileStatus& status) const;
  void Add(const FileStatus& status, Durability durability, int64_t index = 0);
  // The log folder is this one, and holds these log files. True: it is a copy of the one that was
  // written, and all of them are ours from here on, written as the lines with their indexes say.
  struct Log {
    FileStatus status;
    int64_t index = 0;
  };
  bool SetFolder(const FileStatus& folder, absl::Span<const Log> logs);
  void Remove(const FileStatus& status);
  // Something is written.
  void MarkUnclean();

  std::string Format() const;
  static absl::StatusOr<LogIdentity> Parse(
      std::string_view text);  // DataLoss: not what Format wrote

 private:
  Durability DurabilityOfCopy(const Log& log) const;
  bool TakeLine(absl::Span<const absl::string_view> words);
};

// Empty when the file is not there.
absl::StatusOr<LogIdentity> ReadLogIdentity(FileSystem& files, const std::string& path);

}  // namespace arion
