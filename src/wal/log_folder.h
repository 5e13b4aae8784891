// LogFolder: the blocking steps of a log's files: making the next one, growing, trimming, removing,
// the clean stop.
//
// Shapes    A file that is dropped may be kept under a spare's name and become the next log file:
//           its first page is zeros then, so that no old header is taken for the new one; what else
//           it held is known by its smaller offsets (decision 9). Readers may have it open still:
//           they ask the catalog whether it was theirs (private_log.cc). Its new name becomes
//           durable with the next file's, so that a switch costs one sync of the folder: until then
//           nothing in it is touched and no other file loses its name.
// Promises  log_folder/F1  Of the kept files only the last may get its old name back by a power
//               cut.
//           log_folder/F2  A spare is open, and no longer than a file is filled.
//           log_folder/F3  While there is a spare the identity file says that the stop was not
//               clean.
//           log_folder/F4  A file is cut behind its first block, never in it.
// Errors    A refusal (IsRefusal): no space, a file that may not be made, or the folder could not be
//           opened for its sync; nothing changed that a later attempt minds. Anything else is
//           DataLoss: what lies in the folder is unknown.
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
  // From the start: written and synced, so an overwrite needs only a flush.
  uint64_t synced_bytes = 0;
  ZerosTaken zeros_taken;
};

class LogFolder {
 public:
  // Files are filled up to `capacity_bytes`; 0: none is written before it is used.
  LogFolder(Environment& env, const PrivateLogOptions& options, LogIdentity identity,
            uint64_t capacity_bytes);

  // Makes a spare of a file that was dropped, else of `fill_bytes` of zeros, if ZerosAhead allows
  // that. Nothing if there is one.
  absl::Status MakeSpare(int64_t index, uint64_t fill_bytes);
  // Gives the spare (made if missing, whatever ZerosAhead says) its name, durably. Until that is so
  // it stays the spare, also under its new name.
  absl::StatusOr<OpenLogFile> MakeFile(const LogFileName& name, uint64_t fill_bytes);
  // Fills [file->synced_bytes, to) with zeros and syncs.
  absl::Status Grow(OpenLogFile* file, uint64_t to);
  // Cuts these to their content, durably.
  struct ToTrim {
    std::string name;
    uint64_t content_bytes = 0;
  };
  absl::Status Trim(const std::vector<ToTrim>& files);
  // Removes these, and before them what could not be removed earlier: oldest first, so no hole ever
  // appears. `keep`: some become spares instead, as many as ZerosAhead allows.
  enum class Keep { kNone, kSome };
  absl::Status Remove(const std::vector<std::string>& names, Keep keep);
  // Removes what was kept and not used.
  absl::Status RemoveKept();
  // DataLoss: one of these files is gone.
  absl::Status CheckPresent(const std::vector<std::string>& names);
  // Nothing is written any more. `last_file`: what is known of the newest.
  absl::Status MarkClean(std::optional<LogIdentity::LastFile> last_file);

 private:
  // A dropped file under a spare's name.
  struct Kept {
    std::string path;
    ZerosTaken zeros_taken;
  };
  void Check() const;  // log_folder/F1, log_folder/F2, log_folder/F3
  std::string PathOf(std::string_view name) const { return JoinPath(directory_, name); }
  absl::Status WriteIdentity();
  // That something is written or dropped; until it is durable the stop counts as clean here, too.
  absl::Status WriteUnclean();
  absl::Status MarkIncomplete();
  absl::Status CreateSpare(int64_t index, uint64_t fill_bytes, ZerosTaken taken);
  absl::Status CreateFilled(const std::string& path, int64_t index, uint64_t fill_bytes,
                            ZerosTaken taken);
  bool MayKeep(const FileStatus& status) const;
  absl::Status KeepFile(const std::string& name, ZerosTaken taken);
  // Names are durable as they are now.
  absl::Status SyncNames();
  // The last kept file has lost its old name for good.
  absl::Status SyncLastKept();
  absl::Status MakeSpareOfKept();
  absl::Status Prepare(Kept kept);

  FileSystem& files_;
  LogDevice& device_;
  const std::string directory_;
  const std::string identity_path_;
  const Durability durability_;
  const bool direct_;
  const uint64_t capacity_bytes_;
  const std::shared_ptr<ZerosAhead> zeros_ahead_;
  LogIdentity identity_;
  const std::optional<LogIdentity::LastFile> last_file_at_start_;
  struct Spare {
    std::string path;
    OpenLogFile file;
  };
  std::optional<Spare> spare_;
  std::deque<Kept> kept_;
  bool last_kept_unsynced_ = false;  // a power cut may still give it its old name back
  absl::Status names_;               // a sync of the folder failed: no name changes any more
  std::deque<std::string> to_remove_;
  // Was the first of these; its line stays until its name is gone for good.
  std::optional<FileStatus> removed_;
};

}  // namespace arion
