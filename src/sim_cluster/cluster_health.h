// ClusterHealth: what must be true of a cluster once its troubles are over: it waits until it is,
// and says what is wrong if it does not become so.
//
// Shapes    Healthy: each partition takes writes, all members are equal (decree and content),
//           nobody learns, dropped tables are gone, and no configuration changes for 10 s.
// Threads   One: the world's. Lifetime: what it is given outlives it.
// Demands   cluster_health/H1  What failed heals within 60 s. A partition whose only copy was lost
//               may wait for a person.
//           cluster_health/H2  Then each index becomes whole at each member, and holds what its
//               data hold.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <string>
#include <vector>

#include "messages/index_definition.h"
#include "sim/sim_world.h"
#include "sim_checkers/checked_engine.h"
#include "sim_cluster/cluster_settings.h"
#include "sim_cluster/groups.h"
#include "sim_cluster/run_checkers.h"
#include "sim_cluster/server_lives.h"
#include "sim_workloads/table_churn.h"

namespace arion::sim {

class SplitWorkload;
class Workload;

// A member of SimCluster. Await runs once, when all faults have ended; it runs the world itself.
class ClusterHealth {
 public:
  static constexpr absl::Duration kLimit = absl::Seconds(60);

  ClusterHealth(const ClusterSettings& settings, SimWorld& world, ServerLives& lives,
                const Groups& groups, const TableChurn& churn, const OpenEngines& engines,
                RunCheckers& checkers);

  // After the end of all faults. `splits`: null, or has been stopped.
  void Await(Workload& workload, const SplitWorkload* splits);
  // cluster_health/H2. When nobody writes and the indexes are set. What is wrong at the limit; empty:
  // nothing.
  std::string AwaitIndexes(const std::vector<NamedIndex>& indexes, absl::Duration limit);
  // From the end of the faults to equal members.
  absl::Duration healed_after() const { return healed_after_; }

  bool IsLeftToOperator() const;
  std::string WhatIsMissing() const;

 private:
  bool MembersAreEqual() const;
  std::string WhatIsWrongWithIndexes(const std::vector<NamedIndex>& indexes) const;
  bool DroppedTablesAreGone() const;
  bool IsForgottenLearner(const ReplicaInfo& replica, Endpoint server) const;
  // Names, each led by a blank, of learners of the tables that are to stay.
  std::string WhoLearns();
  // Runs the world for 10 s and says whether nothing changed.
  bool IsAtRest();
  void StartWhoIsDown();

  const ClusterSettings& settings_;
  SimWorld& world_;
  ServerLives& lives_;
  const Groups& groups_;
  const TableChurn& churn_;
  const OpenEngines& engines_;
  RunCheckers& checkers_;
  absl::Duration healed_after_ = absl::InfiniteDuration();
};

}  // namespace arion::sim
