// EngineDirectory: what lies beside an engine's content in a replica's `data` directory:
// checkpoints, and a content being installed. Shared by the engines; knows names, not contents.
//
// Shapes    <data>/<content>               the engine's own files ("rdb", "memory")
//           <data>/checkpoint.<decree>     a whole checkpoint; any other name with "checkpoint"
//                                          in it is a left-over (engine/FORMAT.md 3)
//           <data>/checkpoint.<decree>.former  while another takes its place
//           <data>/install.<decree>        a durable content that is to become <content>;
//                                          install.tmp is not one yet
// Threads   Thread-safe; everything but newest() waits for the disk.
// Promises  engine_directory/D1  A checkpoint directory appears whole and durable or not at all.
//           engine_directory/D2  A checkpoint's decree is never without its directory: after a
//               crash in the midst of ReplaceCheckpoints, and Prepare, it is the former or the new
//               one.
//           engine_directory/D3  After InstallContent, a crash anywhere, and Prepare, <content> is
//               the old or the new one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "engine/engine.h"
#include "env/file_system.h"

namespace arion {

// Each engine has one. Prepare first; then checkpoints as the engine makes them. InstallContent
// needs no Prepare before it: it works on a directory whose engine is closed.
//
//   ASSIGN_OR_RETURN(std::string path, directory.MakeRoomForCheckpoint());
//   ...                                                     // the engine writes its files there
//   RETURN_IF_ERROR(directory.AddCheckpoint(path, decree));
class EngineDirectory {
 public:
  // `content`: the name of the engine's own files.
  struct Options {
    std::string content = "rdb";
    size_t checkpoints_kept = 2;
  };
  EngineDirectory(FileSystem& files, std::string path, Options options);

  const std::string& path() const { return path_; }
  // Where the engine's own files lie.
  std::string content_path() const { return JoinPath(path_, options_.content); }

  // Creates the directory, finishes an interrupted install, removes left-overs, and finds the
  // checkpoints.
  absl::Status Prepare();
  // The decree of the newest checkpoint; 0: there is none.
  Decree newest() const;
  // A path at which to build the next checkpoint; nothing is there.
  absl::StatusOr<std::string> MakeRoomForCheckpoint();
  // The directory built at `temporary_path`, its files synced, becomes checkpoint.<decree>. Old
  // checkpoints that nobody holds are removed. No error where that checkpoint exists already.
  absl::Status AddCheckpoint(const std::string& temporary_path, Decree decree);
  // As AddCheckpoint, and it takes the place of all that nobody holds, one of the same decree too.
  // False: that one is held, and nothing is done.
  absl::StatusOr<bool> ReplaceCheckpoints(const std::string& temporary_path, Decree decree);
  // As Engine::NewestCheckpoint.
  absl::StatusOr<Engine::CheckpointFiles> HoldNewest(std::shared_ptr<void>* hold);

  // Replaces the content and its checkpoints. `fill` writes the new content's files into the empty
  // directory it is given. They are synced here, made durable, and then put in the place of what
  // was there.
  absl::Status InstallContent(Decree decree,
                              const std::function<absl::Status(const std::string&)>& fill);

 private:
  absl::Status FinishInstall();
  absl::Status RemoveOldCheckpoints(size_t kept);
  // One of the same decree is there, and held.
  bool IsHeld(Decree decree) const;

  FileSystem& files_;
  const std::string path_;
  const Options options_;
  // While a name is taken from one checkpoint for another, nobody takes hold of it.
  Mutex renaming_;
  mutable Mutex mutex_;
  std::map<Decree, std::weak_ptr<void>> checkpoints_
      ABSL_GUARDED_BY(mutex_);  // with who holds them
};

// Syncs every file in `directory`, then the directory.
absl::Status SyncAllIn(FileSystem& files, const std::string& directory);
// Names of the files directly in `directory`, and their bytes.
using FileSizes = std::map<std::string, uint64_t>;
absl::StatusOr<FileSizes> FilesOf(FileSystem& files, const std::string& directory);
// Copies the bytes; syncs nothing.
absl::Status CopyFile(FileSystem& files, const std::string& from, const std::string& to);

}  // namespace arion
