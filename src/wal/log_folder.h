// LogFolder: the blocking steps of a log's files: making the next one, growing, trimming, removing,
// and the clean stop (wal/FORMAT.md 5).
//
// Shapes    A file that is dropped may be kept under a spare's name and become the next log file.
//           Its first page is zeros then, so that no old header is taken for the new one; what else
//           it held is known by its smaller offsets (decision 9). Readers may still have it open:
//           they ask the catalog whether it was theirs (private_log.cc). Its new name becomes
//           durable together with the next file's, so that a switch costs one sync of the folder.
//           Until then nothing in it is touched, and no other file loses its name.
// Promises  log_folder/F1  Of the kept files only the last may get its old name back by a power
//               cut.
//           log_folder/F2  A spare is open, and no longer than a file is filled.
//           log_folder/F3  While there is a spare the identity file says that the stop was not
//               clean.
//           log_folder/F4  A file is cut behind its first block, never in it.
// Errors    A refusal (IsRefusal): there is no space, a file may not be made, or the folder could
//           not be opened for its sync. Nothing has changed that a later attempt minds. Of making,
//           growing and trimming anything else is DataLoss: what lies in the folder is unknown. A
//           removal may also end with the file system's own error; the next one takes up where it
//           stopped.
// Threads   Waits for the disk: called from the DiskPool, one call at a time.
// Lifetime  The Environment outlives it. It is shared by the writer and its jobs in the pool, so it
//           may outlive the writer.
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

#include "env/log_device.h"
#include "wal/log_identity.h"
#include "wal/log_retention.h"
#include "wal/private_log.h"

namespace arion {

class Environment;

// An open file that the log writes.
struct OpenLogFile {
  // Null: there is no file.
  std::shared_ptr<LogFile> file;
  // This much from the start was written and synced, so that overwriting it needs only a flush.
  uint64_t synced_bytes = 0;
  // What it holds of the disk's allowance for zeros written ahead. Given back on destruction.
  ZerosTaken zeros_taken;
};

//   LogFolder folder(env, options, identity, capacity_bytes);
//   ASSIGN_OR_RETURN(OpenLogFile file, folder.MakeFile(name, first_step_bytes));
//   RETURN_IF_ERROR(folder.Grow(&file, file.synced_bytes + step_bytes));
//   RETURN_IF_ERROR(folder.Trim({{old_name, old_content_bytes}}));
//   RETURN_IF_ERROR(folder.Remove(dropped_names, LogFolder::Keep::kSome));
//   RETURN_IF_ERROR(folder.MarkClean(last_file));
class LogFolder {
 public:
  // `identity` is what recovery left. Files are filled up to `capacity_bytes`, whole pages. 0: none
  // is written before it is used.
  LogFolder(Environment& env, const PrivateLogOptions& options, LogIdentity identity,
            uint64_t capacity_bytes);

  // Makes a spare of a file that was dropped, else one of `fill_bytes` of zeros for the log file
  // `index`. Does nothing if there is one, if the disk's logs may write no more zeros ahead, or if
  // open files are scarce.
  absl::Status MakeSpare(int64_t index, uint64_t fill_bytes);
  // Gives the spare its name as the log file `name`, durably. Makes one first if there is none,
  // whatever the allowance for zeros says. If the name could not be made durable it stays the
  // spare, also under its new name, and the next call goes on with it.
  absl::StatusOr<OpenLogFile> MakeFile(const LogFileName& name, uint64_t fill_bytes);
  // Fills the file with zeros from file->synced_bytes, rounded up to its alignment, to `to`, and
  // syncs.
  absl::Status Grow(OpenLogFile* file, uint64_t to);
  // A file of the folder, and the end of its content.
  struct ToTrim {
    std::string name;
    uint64_t content_bytes = 0;
  };
  // Cuts each of these to its content, durably.
  absl::Status Trim(const std::vector<ToTrim>& files);
  // kSome: files may become spares instead, as many as the allowance for zeros permits.
  enum class Keep { kNone, kSome };
  // Removes these, oldest first, and before them what could not be removed earlier. Each removal is
  // durable before the next, so that no hole ever appears.
  absl::Status Remove(const std::vector<std::string>& names, Keep keep);
  // Removes the files that were kept and are not used.
  absl::Status RemoveKept();
  // DataLoss: one of these files is gone, and this log did not remove it.
  absl::Status CheckPresent(const std::vector<std::string>& names);
  // Removes all spares and writes that the stop was clean. `last_file` is what is known of the
  // newest file. Nothing is written any more.
  absl::Status MarkClean(std::optional<LogIdentity::LastFile> last_file);

 private:
  // A dropped file under a spare's name.
  struct Kept {
    std::string path;
    ZerosTaken zeros_taken;
  };
  // CHECKs log_folder/F1, log_folder/F2 and log_folder/F3.
  void Check() const;
  std::string PathOf(std::string_view name) const { return JoinPath(directory_, name); }
  absl::Status WriteIdentity();
  // Writes that something is written or dropped. If that fails, the stop still counts as clean here
  // as well.
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
  // A power cut may still give the last of kept_ its old name back.
  bool last_kept_unsynced_ = false;
  // Not OK once a sync of the folder has failed: no name changes any more.
  absl::Status names_;
  std::deque<std::string> to_remove_;
  // The first of these, once it is removed. Its line stays until its name is gone for good.
  std::optional<FileStatus> removed_;
};

}  // namespace arion
