// OlderStates: earlier states of the meta server (what its journal held at one moment), and how one
// is put back: while all servers run and tell what they know, or while the power of all fails and
// disks come back older, too.
//
// Shapes    While it is put back nothing else happens for 20 or 45 s: what such a copy does not
//           know shows by reports only. Not put back is a copy that names a server which is gone
//           for good, and none where a directory is missing: a person must speak then.
// Threads   One: the world's. Lifetime: what it is given outlives it.
// Promises  older_states/S1  While servers run, a state that went back by two ballots is said to
//               have done so after 15 s. It is said in no run in which it did not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "messages/configuration.h"
#include "sim/sim_world.h"
#include "sim_cluster/cluster_settings.h"
#include "sim_cluster/groups.h"
#include "sim_cluster/older_disks.h"
#include "sim_cluster/run_checkers.h"
#include "sim_cluster/server_lives.h"
#include "sim_cluster/troubles.h"

namespace arion::sim {

// A member of FaultInjector; it keeps the last few states.
class OlderStates {
 public:
  OlderStates(const ClusterSettings& settings, SimWorld& world, ServerLives& lives,
              const Groups& groups, Troubles& troubles, OlderDisks& disks, RunCheckers& checkers);

  // Keeps one now, and puts it back once: when ballots are larger, in a calm moment.
  void KeepOneAndPutItBack();
  // Keeps one now and then while there are troubles.
  void Keep();
  // One of those; `server` is one whose disk may go back with it.
  void PutBack(SimServer& server);
  // The meta server says that its state went back, or says nothing of it.
  enum class Expected { kWentBack, kDidNot };
  void CheckItIsSaid(Expected expected);

 private:
  // What the meta server had stored at one moment.
  struct State {
    std::string journal;
    std::map<PartitionId, PartitionConfiguration> stored;
    std::set<Endpoint> listed;

    // Whether it names `member` as one that may hold the partition.
    bool Knows(PartitionId pid, Endpoint member) const;
  };
  State StateNow() const;
  bool MayBePutBack(const State& state) const;
  bool NamesOneGoneForGood(const State& state) const;
  // Whether some partition's ballot was smaller by so many.
  bool IsOlder(const State& state, int64_t ballots) const;
  // Puts it on the disk of the meta server, which is down.
  void Replace(const State& state);
  void AwaitMoment();
  void CheckLaterItIsSaid();
  void PutBackDisksWithPower(SimServer& server, const State& state);

  const ClusterSettings& settings_;
  SimWorld& world_;
  ServerLives& lives_;
  const Groups& groups_;
  Troubles& troubles_;
  OlderDisks& disks_;
  RunCheckers& checkers_;
  std::vector<State> kept_;
};

}  // namespace arion::sim
