// ReplicaPlaces: where on this server's disks a new replica may lie, and the directories of former
// ones that stand in its way.
//
// Shapes    A directory that is to go is renamed in its disk's pool, again every 5 s until that
//           succeeds. Until then its name is taken: nothing is made there. Once a renaming has
//           failed, a new replica may be made in another data directory, where it replaces this
//           one. The same goes for directories that can't be read now (Ignore) and for data
//           directories that can't be used. A data directory where many failed gets no new ones for
//           a while (directory_rest.h).
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
#include "disks/replica_directory.h"
#include "env/strand.h"

namespace arion {

struct ServerDisks;

// One for a server. It knows nothing of the replicas that are open.
class ReplicaPlaces : public std::enable_shared_from_this<ReplicaPlaces> {
 public:
  // `usable`: by position in the configured list of data directories; fixed until the next start.
  ReplicaPlaces(std::shared_ptr<const ServerDisks> disks, StrandPtr strand,
                std::vector<bool> usable);

  // Where a new replica is to be made.
  struct Place {
    size_t data_directory = 0;
    std::string path;
    // Where else a directory of that name is, or may be; for NoteReplaced.
    std::vector<std::string> replaces;
  };
  // A place for a new replica whose directory is called `name`. `loads`: the replicas that are
  // here, by data directory; its `usable` and `is_suspicious` are overwritten. nullopt: no
  // directory can take it.
  std::optional<Place> Choose(const std::string& name, std::vector<DirectoryLoad> loads) const;
  // The same in one data directory. nullopt: it takes none now.
  std::optional<Place> ChooseIn(size_t data_directory, const std::string& name) const;

  // A replica in that data directory failed. Enough of them make the directory rest.
  void NoteFailure(size_t data_directory);
  // Sets the directory of a former replica aside. `gone` runs on the strand when it has durably
  // lost its name; after Stop it may never run.
  void Vacate(PartitionId pid, const std::string& path, SetAside why,
              absl::AnyInvocable<void()> gone);
  // True while a directory of that partition is being set aside for the first time. A new replica
  // of it waits until that has succeeded or failed.
  bool IsLeaving(PartitionId pid) const;
  // A directory with a replica's name that can't be read now. It is left as it is.
  void Ignore(const std::string& path);
  // What could not be set aside is not tried again.
  void Stop();

 private:
  // A directory that is being set aside.
  struct Leaving {
    PartitionId pid;
    SetAside why = SetAside::kFailed;
    absl::AnyInvocable<void()> gone;
    bool has_failed = false;
  };

  void SetAsideInPool(const std::string& path, SetAside why);
  void OnSetAside(const std::string& path, const absl::Status& status);
  std::string PathIn(size_t data_directory, const std::string& name) const;
  bool TakesNew(size_t data_directory, const std::string& name) const;
  Place PlaceIn(size_t data_directory, const std::string& name) const;

  const std::shared_ptr<const ServerDisks> disks_;
  const StrandPtr strand_;
  const std::vector<bool> usable_;
  // By data directory.
  std::vector<DirectoryRest> rests_;
  // By path.
  std::map<std::string, Leaving> leaving_;
  // Paths.
  std::set<std::string> ignored_;
  bool is_stopped_ = false;
};

}  // namespace arion
