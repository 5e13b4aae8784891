// EnsembleFaults: what befalls several meta servers and their ZooKeeper: links between them, the
// whole of ZooKeeper, answers that are lost, a member that lags, a lock that a person removes.
//
// Shapes    Each begins one trouble and gives what ends it, which does nothing once End was called.
//           Mostly it is the leader's; now and then another one's.
// Threads   One: the world's. Lifetime: what it is given outlives it, and it the endings.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <vector>

#include "sim/sim_transport.h"
#include "sim/sim_world.h"
#include "sim_metas/meta_group.h"

namespace arion::sim {

class EnsembleFaults {
 public:
  using Ending = absl::AnyInvocable<void()>;

  EnsembleFaults(SimWorld& world, SimNetwork& network, MetaGroup& metas)
      : world_(world), network_(network), metas_(metas) {}

  // The leader with that chance, if there is one; else any.
  MetaGroup::Member& LeaderOrAny(double percent);

  // One meta server and ZooKeeper do not hear each other; all others do.
  Ending CutFromZooKeeper();
  // The leader and the replica servers; ZooKeeper, clients and other meta servers hear it.
  Ending CutFromServers(const std::vector<Endpoint>& servers);
  Ending TakeZooKeeperDown();
  // What is asked is done, and its answer is lost with the connection: once at one server, or now
  // and then at all.
  Ending LoseAnswers();
  // A meta server's member of ZooKeeper has what others did only later, or not at all.
  Ending Lag();
  // A person removes the leader's lock node. Not unless the leader hears of it at once: nothing but
  // that fences what it grants to replica servers. False: it was not.
  bool RemoveLock();
  // The same of one that hears of it late, by its next proof, and has much to store meanwhile. So
  // that it grants nothing it is cut from those servers: begin this only where no other trouble
  // lasts or begins for kUnseen. It ends by itself.
  bool RemoveLockUnseen(const std::vector<Endpoint>& servers);
  static constexpr absl::Duration kUnseen = absl::Seconds(6);

  // All is whole again.
  void End();

 private:
  Ending Lasting(Ending end);
  Ending Cut(Endpoint leader, const std::vector<Endpoint>& servers);
  // Null: nobody leads, or something kept it from ZooKeeper lately.
  MetaGroup::Member* SettledLeader();

  SimWorld& world_;
  SimNetwork& network_;
  MetaGroup& metas_;
  // Of the links with ZooKeeper: how many last, and until when the last one did.
  int lasting_ = 0;
  Instant troubled_until_{0};
  bool is_over_ = false;
};

}  // namespace arion::sim
