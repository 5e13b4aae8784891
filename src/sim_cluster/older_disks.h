// OlderDisks: copies of servers' disks (disk_image.h), made now and then, and how they are put
// back: of one server, of several after the power of all failed, or of another one.
//
// Threads   One: the world's. Lifetime: what it is given outlives it.
// Promises  older_disks/O1  Of each group a member is spared that holds everything, and of which
//               whoever leads the cluster then knows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <set>
#include <vector>

#include "sim/sim_world.h"
#include "sim_cluster/cluster_settings.h"
#include "sim_cluster/groups.h"
#include "sim_cluster/server_lives.h"
#include "sim_cluster/troubles.h"

namespace arion {
struct DataDirectory;
class FileSystem;
}  // namespace arion

namespace arion::sim {

// A member of FaultInjector. The images themselves are in SimServer.
class OlderDisks {
 public:
  // Whether the meta server knows that this one may hold the partition.
  using Knows = absl::FunctionRef<bool(PartitionId, Endpoint)>;
  static bool KnowsAll(PartitionId, Endpoint) { return true; }
  // Of which moments the directories of one server are.
  enum class Moments { kOne, kTwo };

  OlderDisks(const ClusterSettings& settings, SimWorld& world, ServerLives& lives,
             const Groups& groups, const Troubles& troubles);

  // Whether the run may need copies.
  bool AreKept() const;
  // Copies some server's disk, now and then while there are troubles: torn, or not.
  void KeepCopies();
  // That of one that is down and will be started again, sometimes.
  void MayKeepCopy(SimServer& server);

  // An only copy that went back knows nothing of it, and nobody else does.
  bool MayGoBack(const SimServer& server, Fault fault) const;
  // Each group has a member beside those.
  bool HaveAllWithout(const std::set<Endpoint>& lost, Knows knows = KnowsAll) const;

  // The following are for disks of servers that are down.
  // The power of the others may go with it.
  void PutBack(SimServer& server);
  void PutBackSeveral(SimServer& first, Moments moments, Knows knows = KnowsAll);
  // Nobody has said yet whose it is.
  void PutBackThatOfAnother(SimServer& server);
  void CrashOthers(const SimServer& server);

 private:
  void KeepCopy(SimServer& server);
  void PutBackDirectories(SimServer& server, Moments moments);
  void PutBackThatOf(const SimServer& owner, SimServer& server);

  const ClusterSettings& settings_;
  SimWorld& world_;
  ServerLives& lives_;
  const Groups& groups_;
  const Troubles& troubles_;
};

// What an administrator does where a server does not start because a replica lies in two
// directories: a disk that was put back has what had moved meanwhile. As CheckNoDuplicates tells
// (disks/replica_directory.h) the older one of each is renamed: the learner's, else the one with
// the smaller ballot. NotFound: there is none.
absl::Status RenameOlderTwins(FileSystem& files,
                              const std::vector<DataDirectory>& data_directories);

}  // namespace arion::sim
