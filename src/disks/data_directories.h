// DataDirectories: a server's data directories and its log home, as they are at its start: claimed,
// looked at, listed, all disks at once; the claims are held until it stops.
//
// Shapes    Positions are those of DiskLayout::data_directories. One that can't be used is
//           left out, and the log says why: its disk fails or hangs, or it is empty and may not be
//           mounted (known_directories.h).
// Errors    Open: what the operator has to set right, the path and the remedy named; or none can be
//           used.
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
#include "disks/disk_layout.h"
#include "disks/known_directories.h"
#include "disks/replica_directory.h"
#include "legacy/collection_planner.h"
#include "legacy/shared_log_catalog.h"

namespace arion {

class DataDirectories {
 public:
  // `self`: whose claims they are.
  DataDirectories(std::shared_ptr<const ServerDisks> disks, Endpoint self)
      : disks_(std::move(disks)), self_(self) {}

  // The replicas that lie there. Once; the others below come after it.
  absl::StatusOr<std::vector<FoundReplica>> Open();
  // An older version's; its directory is empty where there is none.
  absl::StatusOr<SharedLogCatalog> FindOldSharedLog(const std::vector<FoundReplica>& found) const;
  // Has each directory know of the others.
  void Remember() const;
  // Which disk each path lies on, a shared log's too, is found out now, where that may wait for it.
  void LearnDevices(const std::string& shared_log) const;
  // Others may have them.
  void Release();

  std::vector<bool> Usable() const;  // by position
  const std::string& FirstUsable() const;
  const std::vector<std::string>& unreadable_tags() const { return unreadable_tags_; }
  // Older copies of what Open found (TakeReplaced).
  const std::vector<FoundReplica>& replaced() const { return replaced_; }
  // What bears a replica's name and was left in place.
  const std::vector<std::string>& ignored() const { return ignored_; }
  // What lies there besides what Open found.
  const NotLoadedReplicas& not_loaded() const { return not_loaded_; }
  bool has_log_home() const { return home_claim_ != nullptr; }

 private:
  absl::Status CheckNames() const;
  std::vector<bool> AskDisks(const std::vector<bool>& asked,
                             const std::function<std::function<void()>(size_t)>& job_of) const;
  void LookAtAll(std::vector<bool>* asked);
  absl::Status RefuseUnmounted(std::vector<bool>* asked);
  // Whether it is there, and what is in it, can't be known now.
  bool IsOutOfReach(const std::string& path) const;
  void MarkUnreadable(size_t index, const absl::Status& status);

  const std::shared_ptr<const ServerDisks> disks_;
  const Endpoint self_;
  std::vector<std::unique_ptr<DataDirectoryClaim>> claims_;  // by position; null: unreadable
  std::vector<bool> hangs_;                                  // by position
  std::unique_ptr<DataDirectoryClaim> home_claim_;           // null: logs lie beside the data
  std::vector<std::string> unreadable_tags_;
  std::string first_unreadable_;      // why
  std::vector<DirectoryLook> looks_;  // before anything was changed; by position
  std::vector<FoundReplica> replaced_;
  std::vector<std::string> ignored_;
  NotLoadedReplicas not_loaded_;
};

}  // namespace arion
