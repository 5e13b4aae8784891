// MetaGroup: the meta servers of a simulated cluster where there are several: each over all its
// lives, the ZooKeeper that they share, and what happens there, told to the checkers.
//
//   MetaGroup metas(world, network, checker, {.endpoints = {...}, .meta = options}, events);
//   metas.StartAll();
//   metas.Crash(metas.LeaderOr(any), CrashMode::kProcess, absl::Seconds(3));
//
// Shapes    A member that is down comes back after its time; or at StartAll.
// Threads   One: the world's. Lifetime: what it is given outlives it. EndAll comes before
//           destruction.
// Demands   Those of leader_checker.h, which it feeds; and
//           meta_group/G1  A meta server that is told to stop gives up the lock within 10 s where
//               its machine runs.
//           meta_group/G2  All hear of the same cluster id.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meta/meta_options.h"
#include "meta_ensemble/meta_member.h"
#include "sim/sim_disk.h"
#include "sim/sim_transport.h"
#include "sim/sim_world.h"
#include "sim_checkers/checked_meta_store.h"
#include "sim_checkers/leader_checker.h"
#include "sim_zookeeper/sim_zookeeper.h"

namespace arion::sim {

struct MetaGroupOptions {
  std::vector<Endpoint> endpoints;
  MetaServerOptions meta;
  SimZooKeeperOptions zookeeper;
};

class MetaGroup {
 public:
  static constexpr char kRoot[] = "/c";
  // Within that a leader whose lock was removed has noticed: it proves the lock each sixth of the
  // session's timeout.
  static constexpr absl::Duration kNotice = absl::Seconds(2);

  // One meta server. Of one that is down, what its life had is null.
  struct Member {
    SimNode* node = nullptr;
    Endpoint endpoint;
    std::unique_ptr<SimTransport> transport;
    std::unique_ptr<MetaMember> server;
    bool is_stopping = false;
  };
  struct Events {
    // A configuration is stored, as ZooKeeper has it.
    DurableState::OnStored on_stored;
    // That member has loaded the state, and leads.
    std::function<void(Member&)> on_led;
  };

  // `first`: the node of the first one; the others' are added.
  MetaGroup(SimWorld& world, SimNetwork& network, SimNode& first, LeaderChecker& checker,
            MetaGroupOptions options, Events events);

  const std::vector<std::unique_ptr<Member>>& members() const { return members_; }
  SimZooKeeper& zookeeper() { return zookeeper_; }
  // Who has the lock, and is up; null: nobody.
  Member* Leader();
  // Who had it last.
  const Member& LastLeader() const { return *members_[last_leader_]; }
  // The leader's lock node; empty: nobody has the lock.
  std::string LockNode() const;
  bool AreAllUp() const;
  absl::StatusOr<ClusterState> State() const { return state_.State(); }

  // Those that are down.
  void StartAll();
  // Does nothing if it runs.
  void Start(Member& member);
  void Crash(Member& member, CrashMode mode, absl::Duration down);
  // Cleanly, as by SIGTERM.
  void Stop(Member& member, absl::Duration down);
  void EndAll();

  // A person removes the leader's lock node.
  void RemoveLock();
  // leader_checker/L4: waits for it until then, and at least for some seconds. They are all up.
  void AwaitOneLeader(Instant limit);

 private:
  void OnExecuted(int64_t session, const std::vector<ZooKeeperStep>& steps);
  // Whether the step is one of the election.
  bool TakeLockStep(int64_t session, const ZooKeeperStep& step);
  void TellHolder();
  void End(Member& member, CrashMode mode);
  absl::Status TakeClusterId(const Member& member, uint32_t id);
  // Empty: exactly one leads, and the others name it.
  std::string WhatIsWrongWithLeaders();

  SimWorld& world_;
  SimNetwork& network_;
  LeaderChecker& checker_;
  const MetaGroupOptions options_;
  const Events events_;
  SimZooKeeper zookeeper_;
  std::vector<std::unique_ptr<Member>> members_;
  size_t last_leader_ = 0;
  // By number: who stands for election.
  struct Candidate {
    std::string path;
    LeaderChecker::Holder who;
  };
  std::map<int64_t, Candidate> candidates_;
  bool is_removed_by_hand_ = false;
  DurableState state_;
  std::optional<uint32_t> cluster_id_;
};

}  // namespace arion::sim
