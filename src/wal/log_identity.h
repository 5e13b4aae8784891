// LogIdentity: which files of a log folder this server wrote, and how (decision 9; wal/FORMAT.md
// 6). It lies beside the folder, as text:
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
// A file without a line is of other origin: the old versions' rules hold for it. There is one
// exception. Where the log folder itself is another one and no clean stop was written, the whole
// replica was copied (a backup restored after a crash, a disk replaced). Then its files are as much
// this server's as those they were copied from. After a clean stop all files are trimmed to their
// content, and either rule reads them alike.
//
// Threads   Pure, but for ReadLogIdentity, which waits for the disk. Any text may be parsed.
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

// A value. Whoever changes a folder's files keeps it and writes it: recovery at start, LogFolder
// afterwards. The line of a file is durable before the file has a log's name.
//
//   ASSIGN_OR_RETURN(LogIdentity identity, ReadLogIdentity(files, path));
//   identity.Add(status, Durability::kFsync, index);
//   identity.MarkUnclean();
//   RETURN_IF_ERROR(WriteFileDurably(files, path, identity.Format()));
struct LogIdentity {
  // A file is known by its inode and birth time together, because inodes are used again.
  struct File {
    uint64_t inode = 0;
    int64_t birth_nanos = 0;
    Durability durability = Durability::kFsync;
    // The log file that it was made for. 0: not known. A file that is used again keeps its first
    // index.
    int64_t index = 0;
    bool operator==(const File&) const = default;
  };
  struct Folder {
    uint64_t inode = 0;
    int64_t birth_nanos = 0;
    bool operator==(const Folder&) const = default;
  };
  // The newest file of a log that was closed, and where replay may begin in it.
  struct LastFile {
    int64_t index = 0;
    uint64_t content_bytes = 0;
    // Of the log's records, as far as was known.
    Ballot max_ballot;
    // Ascending by position.
    std::vector<LogIndex::Entry> marks;
    bool operator==(const LastFile&) const = default;
  };
  std::vector<File> files;
  // Where the files lay when this was written.
  std::optional<Folder> folder;
  // The last stop was clean, and nothing was written or dropped since.
  bool clean = false;
  // Set only with `clean`.
  std::optional<LastFile> last_file;

  // How this server wrote the file. nullopt: it is of other origin.
  std::optional<Durability> Find(const FileStatus& status) const;
  // Adds a file, in place of an older one with this inode. `index` is not negative; 0: not known.
  void Add(const FileStatus& status, Durability durability, int64_t index = 0);
  // One log file of the folder, as it is listed at start.
  struct Log {
    FileStatus status;
    int64_t index = 0;
  };
  // The log folder is this one, and holds these log files. Returns true if it is a copy of the one
  // that was written: then all of them count as this server's from here on, written as the lines
  // with their indexes say.
  bool SetFolder(const FileStatus& folder, absl::Span<const Log> logs);
  // The file is gone. By its inode alone: whatever had that inode before is gone, too.
  void Remove(const FileStatus& status);
  // Something is written or dropped: what a clean stop said is no longer true.
  void MarkUnclean();

  // The text of the file. last_file is set only with `clean`.
  std::string Format() const;
  // Takes any text. DataLoss: it is not what Format wrote.
  static absl::StatusOr<LogIdentity> Parse(std::string_view text);

 private:
  Durability DurabilityOfCopy(const Log& log) const;
  bool TakeLine(absl::Span<const absl::string_view> words);
};

// Reads and parses the file at `path`. Empty if there is no such file: no log file is this server's
// then.
absl::StatusOr<LogIdentity> ReadLogIdentity(FileSystem& files, const std::string& path);

}  // namespace arion
