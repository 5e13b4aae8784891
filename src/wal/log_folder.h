// LogFolder: the blocking steps of a log's files: making the next one, growing, trimming, removing,
// the clean stop.
//
// Errors    ResourceExhausted: no space; nothing changed that a later attempt minds. Anything else
//           is DataLoss: what lies in the folder is unknown.
// Threads   Waits for the disk: called from the DiskPool, one call at a time.
// Lifetime  The Environment outlives it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "env/environment.h"
#include "wal/log_identity.h"
#include "wal/log_retention.h"
#include "wal/private_log.h"

namespace arion {

// An open file that the log writes.
struct OpenLogFile {
  std::shared_ptr<LogFile> file;
  uint64_t synced_bytes =
      0;  // from the start: written and synced, so an overwrite needs only a flush
};

class LogFolder {
 public:
  LogFolder(Environment& env, const PrivateLogOptions& options, LogIdentity identity);

  // Makes a spare: `fill_bytes` of zeros, named in the identity file. Nothing if there is one.
  absl::Status MakeSpare(int64_t index, uint64_t fill_bytes);
  // Gives the spare (made if missing) its name, durably.
  absl::StatusOr<OpenLogFile> MakeFile(const LogFileName& name, uint64_t fill_bytes);
  // Fills [file->synced_bytes, to) with zeros and syncs.
  absl::Status Grow(OpenLogFile* file, uint64_t to);
  // Cuts to the content, durably, and before it what earlier found no space for that.
  absl::Status Trim(std::shared_ptr<LogFile> file, uint64_t content_bytes);
  // Removes these, and before them what could not be removed earlier: oldest first, so no hole ever
  // appears. One of them may become the spare instead: `capacity_bytes` long, written and synced
  // before, its first page zeros, so that no old header is taken for the new one; what else it held
  // is known by its offsets (decision 9). 0: none does.
  absl::Status Remove(const std::vector<std::string>& names, uint64_t capacity_bytes);
  // DataLoss: one of these files is gone.
  absl::Status CheckPresent(const std::vector<std::string>& names);
  absl::Status MarkClean();

 private:
  std::string PathOf(std::string_view name) const { return JoinPath(directory_, name); }
  absl::Status WriteIdentity();
  bool MayBecomeSpare(const FileStatus& status, uint64_t capacity_bytes) const;
  absl::Status MakeSpareOf(const std::string& name, uint64_t capacity_bytes);

  FileSystem& files_;
  LogDevice& device_;
  const std::string directory_;
  const std::string identity_path_;
  const Durability durability_;
  const bool direct_;
  LogIdentity identity_;
  struct Spare {
    std::string path;
    OpenLogFile file;
  };
  std::optional<Spare> spare_;
  std::deque<std::string> to_remove_;
  std::deque<std::pair<std::shared_ptr<LogFile>, uint64_t>> to_trim_;
};

}  // namespace arion
