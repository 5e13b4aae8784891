// SilentChanges: a record of one secondary changes or is lost, its decree stays, and nobody is
// told. The partition is then verified until its copies are found equal, and so are those that it
// is split into meanwhile: a child is made of what its parent has.
//
// Shapes    Until it is found the changed copy must not lead: what it then answered would be wrong,
//           as it would be to a user. So it happens in calm only, and nothing else for 45 s.
// Threads   One: the world's. Lifetime: what it is given outlives it.
// Promises  silent_changes/V1  When one copy was changed, the verification sets no other one aside.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "messages/verification_messages.h"
#include "sim/sim_world.h"
#include "sim_cluster/cluster_settings.h"
#include "sim_cluster/groups.h"
#include "sim_cluster/run_checkers.h"
#include "sim_cluster/server_lives.h"
#include "sim_cluster/troubles.h"

namespace arion::sim {

// A member of FaultInjector.
class SilentChanges {
 public:
  SilentChanges(const ClusterSettings& settings, SimWorld& world, ServerLives& lives,
                const Groups& groups, Troubles& troubles, RunCheckers& checkers);

  // Of a secondary there; later, and perhaps elsewhere, where it is not calm.
  void Change(SimServer& server);

 private:
  // The replica's data directory, and its partition.
  using Copy = std::pair<std::string, PartitionId>;
  std::vector<Copy> SecondariesOf(const SimServer& server) const;
  bool MayLead() const;
  bool WallClocksAgree() const;
  void AwaitCalm();
  void VerifyUntilEqual(PartitionId pid);
  // While nothing else happens none but the one that was changed is.
  void WatchWhoIsSetAside(SimServer& changed);
  void Verify(const PartitionConfiguration& stored);
  void OnVerified(PartitionId pid, const VerifyReplicasResponse& answer);
  // Whoever may have the record: all that came of the same partition of the table's first ones.
  std::vector<PartitionConfiguration> RelativesOf(PartitionId pid) const;

  const ClusterSettings& settings_;
  SimWorld& world_;
  ServerLives& lives_;
  const Groups& groups_;
  Troubles& troubles_;
  RunCheckers& checkers_;
  bool awaits_calm_ = false;
  // Runs of verification, since a copy was changed.
  std::map<PartitionId, std::set<int64_t>> found_equal_;
};

}  // namespace arion::sim
