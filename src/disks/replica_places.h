// ReplicaPlaces: where on this server's disks a new replica may lie, and the directories of former ones
// that stand in its way.
//
// Shapes    A directory that is to go is renamed in its disk's pool, again every 5 s until that
//           succeeds. Until then its name is taken: nothing is made there. Once a renaming has failed,
//           a new replica may be made in another data directory, where it replaces this one; the same
//           goes for what can't be read now (Ignore) and for data directories that can't be used.
//           A data directory where many failed gets no new ones for a while (directory_rest.h).
// Threads   Strand-bound to the server's strand.
// Lifetime  Held by shared_ptr.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "disks/directory_rest.h"
#include "disks/disk_layout.h"
#include "disks/replica_directory.h"

namespace arion {

class ReplicaPlaces : public std::enable_shared_from_this<ReplicaPlaces> {
 public:
  // `usable`: by position in the configured list of data directories.
  ReplicaPlaces(std::shared_ptr<const ServerDisks> disks, StrandPtr strand,
                std::vector<bool> usable);

  struct Place {
    size_t data_directory = 0;
    std::string path;
    std::vector<std::string> replaces;  // where else one of that name is, or may be
  };
  // For a new replica whose directory is called `name`. `loads`: the replicas that are here, by data
  // directory; what else speaks against one is known here. nullopt: none takes it.
  std::optional<Place> Choose(const std::string& name, std::vector<DirectoryLoad> loads) const;

  // A replica in that data directory failed.
  void NoteFailure(size_t data_directory);
  // Sets the directory of a former replica aside; `gone` when it has durably lost its name.
  void Vacate(PartitionId pid, const std::string& path, SetAside why,
              absl::AnyInvocable<void()> gone);
  // It is being set aside for the first time: a new one waits for how that ends.
  bool IsLeaving(PartitionId pid) const;
  // A directory with a replica's name that can't be read now, and is left as it is.
  void Ignore(const std::string& path);
  // What could not be set aside is not tried again.
  void Stop();

 private:
  struct Leaving {
    PartitionId pid;
    SetAside why = SetAside::kFailed;
    absl::AnyInvocable<void()> gone;
    bool has_failed = false;
  };

  void SetAsideInPool(const std::string& path, SetAside why);
  void OnSetAside(const std::string& path, const absl::Status& status);
  std::string PathIn(size_t data_directory, const std::string& name) const;

  const std::shared_ptr<const ServerDisks> disks_;
  const StrandPtr strand_;
  const std::vector<bool> usable_;
  std::vector<DirectoryRest> rests_;        // by data directory
  std::map<std::string, Leaving> leaving_;  // by path
  std::set<std::string> ignored_;           // paths
  bool is_stopped_ = false;
};

}  // namespace arion
