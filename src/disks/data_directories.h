// DataDirectories: a server's data directories and its log home, as they are at its start. They are
// claimed, looked at and listed, all disks at once. The claims are held until the server stops.
//
// Shapes    Positions are those of DiskLayout::data_directories. A directory that can't be used is
//           left out, and the log says why: its disk fails or hangs, or it is empty and may not be
//           mounted (known_directories.h).
// Errors    Open: what the operator has to set right, with the path and the remedy; or no directory
//           can be used.
// Threads   Not thread-safe. Open, FindOldSharedLog, Remember, LearnDevices and Release wait for
//           disks; for one that hangs only as long as DiskLayout::ask_disks does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "disks/data_directory_claim.h"
#include "disks/known_directories.h"
#include "disks/replica_directory.h"
#include "legacy/collection_planner.h"

namespace arion {

struct ServerDisks;
struct SharedLogCatalog;

// Life cycle: construct, Open, then the readers in any order, Release (or the destructor) at the
// end. A directory that was left out stays so until the next start.
class DataDirectories {
 public:
  // `self`: the server on whose behalf the directories are claimed.
  DataDirectories(std::shared_ptr<const ServerDisks> disks, Endpoint self)
      : disks_(std::move(disks)), self_(self) {}

  // Claims and lists everything, and returns the replicas to load. To be called once, before all
  // else. Where a partition lies twice and one directory replaces the other, only one of them is
  // returned.
  //
  // AlreadyExists: a partition lies in two directories and neither replaces the other.
  // FailedPrecondition: no directory can be used, a directory belongs to another server, or a log
  // lies elsewhere than configured. InvalidArgument: two directories have one tag or path.
  absl::StatusOr<std::vector<FoundReplica>> Open();
  // The shared log that an older version left. The catalog's directory is empty where there is
  // none. FailedPrecondition: a place where it may lie can't be looked at now, and one of `found`
  // may need it.
  absl::StatusOr<SharedLogCatalog> FindOldSharedLog(const std::vector<FoundReplica>& found) const;
  // Writes down in each usable directory which directories this server has (known_directories.h). A
  // failure is logged only.
  void Remember() const;
  // Finds out which disk each path lies on, a shared log's too, now, when waiting for a disk is
  // allowed. `shared_log` may be empty.
  void LearnDevices(const std::string& shared_log) const;
  // Gives the claims up, so that another process can have the directories.
  void Release();

  // By position: whether the directory is claimed and listed.
  std::vector<bool> Usable() const;
  // The path of the first usable directory. After a successful Open there is one.
  const std::string& FirstUsable() const;
  // Tags of the directories that were left out.
  const std::vector<std::string>& unreadable_tags() const { return unreadable_tags_; }
  // Older copies of replicas that Open returned (TakeReplaced). They are to be set aside.
  const std::vector<FoundReplica>& replaced() const { return replaced_; }
  // Directories that bear a replica's name, could not be loaded and were left in place.
  const std::vector<std::string>& ignored() const { return ignored_; }
  // What else lies there: replicas that were not returned by Open, and ones that were set aside.
  const NotLoadedReplicas& not_loaded() const { return not_loaded_; }
  // Whether logs lie in one directory of their own.
  bool has_log_home() const { return home_claim_ != nullptr; }

 private:
  absl::Status CheckNames() const;
  // Runs a job for each disk that is asked, all at once where that can be had. False: the disk
  // hangs, or was not asked. A job that hangs may end later.
  std::vector<bool> AskDisks(const std::vector<bool>& asked,
                             const std::function<std::function<void()>(size_t)>& job_of) const;
  // Fills looks_, and takes disks that do not answer out of *asked.
  void LookAtAll(std::vector<bool>* asked);
  // Takes empty directories that may not be mounted out of *asked.
  absl::Status RefuseUnmounted(std::vector<bool>* asked);
  // Whether it can't be known now if the path is there, and what it holds.
  bool IsOutOfReach(const std::string& path) const;
  // Leaves a directory out and logs why.
  void MarkUnreadable(size_t index, const absl::Status& status);

  const std::shared_ptr<const ServerDisks> disks_;
  const Endpoint self_;
  // By position. Null: left out.
  std::vector<std::unique_ptr<DataDirectoryClaim>> claims_;
  // By position.
  std::vector<bool> hangs_;
  // Null: logs lie beside the data.
  std::unique_ptr<DataDirectoryClaim> home_claim_;
  std::vector<std::string> unreadable_tags_;
  // Why the first one was left out; for the error of Open.
  std::string first_unreadable_;
  // By position, as they were before anything was changed.
  std::vector<DirectoryLook> looks_;
  std::vector<FoundReplica> replaced_;
  std::vector<std::string> ignored_;
  NotLoadedReplicas not_loaded_;
};

}  // namespace arion
