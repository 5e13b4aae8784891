// SPDX-License-Identifier: Apache-2.0
#include "sim_metas/ensemble_faults.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/sim_environment.h"

namespace arion::sim {
namespace {

// Behind any trouble with ZooKeeper: by then a leader has proven its lock, and is connected.
constexpr absl::Duration kSettled = absl::Seconds(8);
// A leader that hears no replica server has declared some dead by then, or is about to.
constexpr absl::Duration kDeaths = absl::Milliseconds(2500);

}  // namespace

MetaGroup::Member& EnsembleFaults::LeaderOrAny(double percent) {
  SimRandom& random = world_.random();
  const bool is_leader = random.Percent(percent);
  MetaGroup::Member& any = *metas_.members()[random.Below(metas_.members().size())];
  MetaGroup::Member* leader = metas_.Leader();
  return is_leader && leader != nullptr ? *leader : any;
}

EnsembleFaults::Ending EnsembleFaults::Lasting(Ending end) {
  ++lasting_;
  return [this, end = std::move(end)]() mutable {
    --lasting_;
    troubled_until_ = world_.now();
    end();
  };
}

EnsembleFaults::Ending EnsembleFaults::CutFromZooKeeper() {
  const SimNode& node = *LeaderOrAny(70).node;
  metas_.zookeeper().Cut(node);
  return Lasting([this, &node] { metas_.zookeeper().Restore(node); });
}

EnsembleFaults::Ending EnsembleFaults::CutFromServers(const std::vector<Endpoint>& servers) {
  return Cut(LeaderOrAny(90).endpoint, servers);
}

EnsembleFaults::Ending EnsembleFaults::Cut(Endpoint leader, const std::vector<Endpoint>& servers) {
  for (const Endpoint server : servers) {
    network_.Block(leader, server);
    network_.Block(server, leader);
  }
  return [this, leader, servers] {
    for (const Endpoint server : servers) {
      network_.Unblock(leader, server);
      network_.Unblock(server, leader);
    }
  };
}

EnsembleFaults::Ending EnsembleFaults::TakeZooKeeperDown() {
  metas_.zookeeper().TakeDown();
  return Lasting([this] { metas_.zookeeper().BringUp(); });
}

EnsembleFaults::Ending EnsembleFaults::LoseAnswers() {
  SimRandom& random = world_.random();
  if (random.Coin()) {
    metas_.zookeeper().LoseAnswer(*LeaderOrAny(80).node, ZooKeeperRequest::Kind::kCommit);
    return Lasting([] {});
  }
  metas_.zookeeper().weather().lost_answers_percent = static_cast<double>(random.Between(2, 50));
  return Lasting([this] { metas_.zookeeper().weather().lost_answers_percent = 0; });
}

EnsembleFaults::Ending EnsembleFaults::Lag() {
  SimRandom& random = world_.random();
  const SimNode& node = *LeaderOrAny(30).node;
  const absl::Duration lag = random.Percent(40)
                                 ? absl::InfiniteDuration()
                                 : random.Between(absl::Milliseconds(20), absl::Seconds(6));
  metas_.zookeeper().SetReadLag(node, lag);
  return Lasting([this, &node] { metas_.zookeeper().SetReadLag(node, absl::ZeroDuration()); });
}

MetaGroup::Member* EnsembleFaults::SettledLeader() {
  MetaGroup::Member* leader = metas_.Leader();
  const Instant settled = world_.now() - kSettled;
  const bool is_settled = leader != nullptr && lasting_ == 0 && settled >= troubled_until_ &&
                          settled >= leader->node->paused_until() &&
                          settled >= leader->node->lags_until();
  return is_settled ? leader : nullptr;
}

bool EnsembleFaults::RemoveLock() {
  if (SettledLeader() == nullptr) return false;
  metas_.RemoveLock();
  return true;
}

bool EnsembleFaults::RemoveLockUnseen(const std::vector<Endpoint>& servers) {
  MetaGroup::Member* leader = SettledLeader();
  if (leader == nullptr) return false;
  auto end = std::make_shared<Ending>(Cut(leader->endpoint, servers));
  world_.After(kDeaths, EventKind::kFault, [this, leader, end] {
    if (is_over_) return;
    if (SettledLeader() != leader) return (*end)();
    metas_.zookeeper().SetReadLag(*leader->node, absl::InfiniteDuration());
    metas_.RemoveLock();
    world_.After(MetaGroup::kNotice, EventKind::kFault, [this, leader, end] {
      if (is_over_) return;
      metas_.zookeeper().SetReadLag(*leader->node, absl::ZeroDuration());
      (*end)();
    });
  });
  return true;
}

void EnsembleFaults::End() {
  is_over_ = true;
  SimZooKeeper& zookeeper = metas_.zookeeper();
  zookeeper.BringUp();
  zookeeper.weather() = ZooKeeperWeather();
  for (const auto& member : metas_.members()) {
    zookeeper.Restore(*member->node);
    zookeeper.SetReadLag(*member->node, absl::ZeroDuration());
  }
}

}  // namespace arion::sim
