// SPDX-License-Identifier: Apache-2.0
#include "sim_metas/meta_group.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "meta_ensemble/leader_lock.h"
#include "meta_overview/cluster_overview.h"
#include "sim/sim_environment.h"

namespace arion::sim {
namespace {

constexpr char kLockRoot[] = "/c/lock";
constexpr absl::Duration kStopMax = absl::Seconds(10);  // meta_group/G1

using StepKind = ZooKeeperStep::Kind;

}  // namespace

MetaGroup::MetaGroup(SimWorld& world, SimNetwork& network, SimNode& first, LeaderChecker& checker,
                     MetaGroupOptions options, Events events)
    : world_(world),
      network_(network),
      checker_(checker),
      options_(std::move(options)),
      events_(std::move(events)),
      zookeeper_(world, options_.zookeeper),
      state_(events_.on_stored, {}) {
  for (const Endpoint endpoint : options_.endpoints) {
    auto member = std::make_unique<Member>();
    member->node =
        members_.empty() ? &first : &world_.AddNode(absl::StrCat("meta", members_.size() + 1));
    member->endpoint = endpoint;
    members_.push_back(std::move(member));
  }
  zookeeper_.OnExecuted([this](int64_t session, const std::vector<ZooKeeperStep>& steps) {
    OnExecuted(session, steps);
  });
}

// ---- lives ----

void MetaGroup::StartAll() {
  for (const auto& member : members_) Start(*member);
}

void MetaGroup::Start(Member& member) {
  if (member.node->alive()) return;
  SimEnvironment& env = member.node->Start();
  member.is_stopping = false;
  member.transport = std::make_unique<SimTransport>(network_, *member.node, member.endpoint);
  MetaMemberOptions options{
      .root = kRoot,
      .lock_root = kLockRoot,
      .known_cluster_id = [] { return uint32_t{0}; },
      .on_cluster_id = [this, &member](uint32_t id) { return TakeClusterId(member, id); },
      .watched_store =
          [this, &member](std::shared_ptr<MetaStore> store) {
            return checker_.Watch(member.endpoint, std::move(store),
                                  [this, &member] { events_.on_led(member); });
          }};
  member.server = std::make_unique<MetaMember>(
      env, *member.transport, zookeeper_.ClientOf(*member.node), std::move(options), options_.meta);
  member.transport->SetHandler(member.server->Handler());
  member.server->Start();
}

absl::Status MetaGroup::TakeClusterId(const Member& member, uint32_t id) {
  if (cluster_id_.value_or(id) != id)
    checker_.Violate(absl::StrCat("meta_group/G2: ", member.node->name(), " hears of cluster id ",
                                  id, " after another one"));
  cluster_id_ = id;
  return absl::OkStatus();
}

void MetaGroup::End(Member& member, CrashMode mode) {
  // The node first, the transport last: as in ServerLives::CrashMeta.
  member.node->Crash(mode);
  member.server.reset();
  member.transport.reset();
  network_.NodeDied(member.endpoint, mode == CrashMode::kProcess ? SimNetwork::Farewell::kReset
                                                                 : SimNetwork::Farewell::kSilence);
}

void MetaGroup::Crash(Member& member, CrashMode mode, absl::Duration down) {
  if (member.node->alive()) End(member, mode);
  world_.After(down, EventKind::kFault, [this, &member] { Start(member); });
}

void MetaGroup::Stop(Member& member, absl::Duration down) {
  if (!member.node->alive() || member.is_stopping) return;
  member.is_stopping = true;
  const uint32_t life = member.node->life();
  const auto end = [this, &member, life, down] {
    if (member.node->IsLife(life)) Crash(member, CrashMode::kProcess, down);
  };
  // Not within its own call.
  member.server->Stop([this, end] { world_.After(absl::Milliseconds(1), EventKind::kFault, end); });
  world_.After(kStopMax, EventKind::kFault, [this, &member, life, end] {
    if (!member.node->IsLife(life)) return;
    const SimNode& node = *member.node;
    if (node.paused_until() < world_.now() && node.lags_until() + kStopMax < world_.now())
      checker_.Violate(absl::StrCat("meta_group/G1: ", node.name(), " did not stop within 10 s"));
    end();
  });
}

void MetaGroup::EndAll() {
  for (const auto& member : members_)
    if (member->node->alive()) End(*member, CrashMode::kProcess);
}

bool MetaGroup::AreAllUp() const {
  return std::all_of(members_.begin(), members_.end(), [](const auto& member) {
    return member->node->alive() && !member->is_stopping;
  });
}

// ---- what happens in ZooKeeper ----

void MetaGroup::OnExecuted(int64_t session, const std::vector<ZooKeeperStep>& steps) {
  const std::string root(kRoot);
  std::vector<DurableState::Change> batch;
  bool is_election = false;
  for (const ZooKeeperStep& step : steps) {
    if (step.kind == StepKind::kCheck) continue;
    if (TakeLockStep(session, step)) {
      is_election = true;
      continue;
    }
    // Whoever comes first makes these, before anybody leads.
    if (step.path == root || step.path == root + "/arion" || step.path == root + "/lock" ||
        step.path.starts_with(std::string(kLockRoot) + "/") ||
        step.path == root + "/arion/cluster_id")
      continue;
    const std::string key = step.path.substr(root.size());
    checker_.Changed(session, key);
    if (step.kind == StepKind::kRemove)
      batch.push_back({key, std::nullopt});
    else if (!step.data.empty() || key.starts_with("/arion/servers/"))  // else it holds others
      batch.push_back({key, step.data});
  }
  if (is_election) TellHolder();
  if (!batch.empty()) state_.Apply(batch);
}

bool MetaGroup::TakeLockStep(int64_t session, const ZooKeeperStep& step) {
  const std::optional<int64_t> number = LockNumberOf(step.path);
  if (!number || !step.path.starts_with(std::string(kLockRoot) + "/")) return false;
  if (step.kind == StepKind::kRemove) {
    candidates_.erase(*number);
  } else if (step.kind == StepKind::kCreate) {
    candidates_[*number] = {step.path, {session, Endpoint::Parse(step.data).value_or(Endpoint())}};
  } else {
    checker_.Violate("leader_checker/L3: somebody set the data of " + step.path);
  }
  return true;
}

void MetaGroup::TellHolder() {
  std::optional<LeaderChecker::Holder> holder;
  if (!candidates_.empty()) holder = candidates_.begin()->second.who;
  checker_.LockIs(holder, world_.now(),
                  {.notice = is_removed_by_hand_ ? kNotice : absl::ZeroDuration()});
  for (size_t i = 0; holder && i < members_.size(); ++i)
    if (members_[i]->endpoint == holder->server) last_leader_ = i;
}

MetaGroup::Member* MetaGroup::Leader() {
  const auto& holder = checker_.holder();
  for (const auto& member : members_)
    if (holder && member->endpoint == holder->server && member->node->alive()) return member.get();
  return nullptr;
}

std::string MetaGroup::LockNode() const {
  return candidates_.empty() ? "" : candidates_.begin()->second.path;
}

void MetaGroup::RemoveLock() {
  is_removed_by_hand_ = true;
  const absl::Status removed = zookeeper_.Remove(LockNode());
  CHECK(removed.ok()) << removed;
  is_removed_by_hand_ = false;
}

// ---- who leads ----

std::string MetaGroup::WhatIsWrongWithLeaders() {
  struct Told {
    size_t left = 0;
    std::map<Endpoint, Leadership> by;
  };
  auto told = std::make_shared<Told>();
  for (const auto& member : members_) {
    if (!member->server) return member->node->name() + " is down";
    ++told->left;
    member->server->Overview([told, at = member->endpoint](const ClusterOverview& overview) {
      told->by[at] = overview.leadership;
      --told->left;
    });
  }
  if (!world_.RunUntil([&told] { return told->left == 0; }, absl::Seconds(5)))
    return "one does not answer";
  std::string text;
  std::optional<Endpoint> leader;
  int leaders = 0;
  for (const auto& [at, leadership] : told->by) {
    absl::StrAppend(&text, " ", at.ToString(), leadership.is_leader ? " leads," : " names ",
                    leadership.is_leader ? "" : leadership.leader.ToString() + ",");
    if (!leadership.is_leader) continue;
    ++leaders;
    leader = at;
  }
  const bool is_named = std::all_of(told->by.begin(), told->by.end(), [&leader](const auto& one) {
    return leader && one.second.leader == *leader;
  });
  return leaders == 1 && is_named ? "" : text;
}

void MetaGroup::AwaitOneLeader(Instant limit) {
  limit = std::max(limit, world_.now() + absl::Seconds(5));
  std::string wrong;
  while (!(wrong = WhatIsWrongWithLeaders()).empty() && world_.now() < limit)
    world_.RunFor(absl::Milliseconds(500));
  if (!wrong.empty())
    checker_.Violate("leader_checker/L4: not one leads, by whom all others go: " + wrong);
}

}  // namespace arion::sim
