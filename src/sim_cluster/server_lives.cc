// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/server_lives.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "messages/admin_messages.h"
#include "meta_state/journal_meta_store.h"
#include "rpc/older_servers.h"
#include "rpc/thrift_codec.h"
#include "sim_cluster/older_disks.h"

namespace arion::sim {
namespace {

// server_lives/L2
constexpr absl::Duration kStopMax = absl::Seconds(20);
// Of lives, where tables have indexes.
constexpr double kRolledBackPercent = 15;
// Tables are small: a walk takes some steps, is saved on the way, and indexes are soon outgrown.
constexpr IndexOptions kIndexOptions = {.step_records = 4,
                                        .save_every_bytes = 150,
                                        .former_bytes = 10'000,
                                        .look_every = absl::Seconds(5)};

}  // namespace

ServerLives::ServerLives(const ClusterSettings& settings, SimNode& meta, SimWorld& world,
                         SimNetwork& network, OpenEngines& engines, RunCheckers& checkers,
                         Groups& groups)
    : settings_(settings),
      world_(world),
      network_(network),
      engines_(engines),
      checkers_(checkers),
      groups_(groups),
      balances_(settings.run.faults.balancer == FaultMix::Balancer::kOn) {
  meta_.node = &meta;
  if (settings_.run.topology.has_old_meta) network_.ForOlderServer(meta_.endpoint);
  AddServers();
  PrepareNode(meta);
  for (const auto& server : servers_) PrepareNode(*server->node);
  if (settings_.run.topology.metas > 1) AddMetas();
}

void ServerLives::AddMetas() {
  metas_ = std::make_unique<MetaGroup>(
      world_, network_, *meta_.node, checkers_.leaders,
      MetaGroupOptions{.endpoints = settings_.MetaEndpoints(),
                       .meta = settings_.meta,
                       .zookeeper = settings_.ZooKeeper()},
      MetaGroup::Events{
          .on_stored = [this](const PartitionConfiguration& config) { OnStored(config); },
          // What a former leader was told of it is not stored.
          .on_led =
              [this](MetaGroup::Member& member) {
                if (balances_) SetLevel(*member.node, *member.transport, FunctionLevel::kLively);
              }});
  for (const auto& member : metas_->members())
    if (member->node != meta_.node) PrepareNode(*member->node);
}

SimNode& ServerLives::AnyMetaNode() {
  if (!metas_) return *meta_.node;
  return *metas_->members()[world_.random().Below(metas_->members().size())]->node;
}

Endpoint ServerLives::AnyMetaEndpoint() {
  if (!metas_) return meta_.endpoint;
  return metas_->members()[world_.random().Below(metas_->members().size())]->endpoint;
}

const SimNode& ServerLives::LeadingNode() const {
  return metas_ ? *metas_->LastLeader().node : *meta_.node;
}

absl::StatusOr<ClusterState> ServerLives::StoredState() const {
  return metas_ ? metas_->State() : meta_.store->State();
}

void ServerLives::AddServers() {
  for (int i = 0; i < settings_.run.topology.servers; ++i) {
    auto server = std::make_unique<SimServer>();
    server->name = settings_.NodeName(absl::StrCat("replica", i + 1));
    server->node = &world_.AddNode(server->name);
    server->endpoint = ClusterSettings::ServerEndpoint(i);
    server->is_older = i < settings_.run.topology.older;
    if (server->is_older) network_.ForOlderServer(server->endpoint);
    servers_.push_back(std::move(server));
  }
}

void ServerLives::PrepareNode(SimNode& node) {
  std::vector<std::string> paths = {ClusterSettings::kMetaRoot};
  const bool is_replica_server = std::any_of(
      servers_.begin(), servers_.end(), [&node](const auto& one) { return one->node == &node; });
  if (is_replica_server) paths = settings_.DiskPaths();
  for (const std::string& path : paths) CHECK(node.disk().CreateDirectories(path).ok()) << path;
  // There before the first life, and through any power cut.
  node.disk().MakeDurable();
  if (settings_.run.disks == SimClusterOptions::Disks::kForgetFlushes) node.disk().ForgetFlushes();
  SimRandom& random = world_.random();
  const auto off_by = [&random](double percent) {
    return percent == 0 ? 1
                        : 1 + percent / 100 * (static_cast<double>(random.Below(2001)) / 1000 - 1);
  };
  node.SetClockRate(off_by(settings_.run.faults.clock_drift_percent));
  node.SetWallRate(off_by(settings_.run.faults.wall_drift_percent));
}

std::unique_ptr<SimTransport> ServerLives::NewEndAbroad(SimNode& node, Endpoint here) {
  if (other_cluster_ == nullptr) return nullptr;
  const Endpoint there = ClusterSettings::Abroad(here);
  // One connection to each server there: what is sent over it comes in order, once.
  other_cluster_->ForOlderServer(there);
  return std::make_unique<SimTransport>(*other_cluster_, node, there);
}

void ServerLives::LeaveAbroad(std::unique_ptr<SimTransport>& end, SimNetwork::Farewell farewell) {
  if (end == nullptr) return;
  const Endpoint there = end->local();
  end.reset();
  other_cluster_->NodeDied(there, farewell);
}

std::vector<Endpoint> ServerLives::ServerEndpoints() const {
  std::vector<Endpoint> endpoints;
  for (const auto& server : servers_) endpoints.push_back(server->endpoint);
  return endpoints;
}

SimServer* ServerLives::ServerAt(Endpoint endpoint) {
  const auto found = std::find_if(servers_.begin(), servers_.end(),
                                  [endpoint](const auto& s) { return s->endpoint == endpoint; });
  return found == servers_.end() ? nullptr : found->get();
}

bool ServerLives::AreAllUp() const {
  return (metas_ ? metas_->AreAllUp() : meta_.node->alive()) &&
         std::all_of(servers_.begin(), servers_.end(),
                     [](const auto& server) { return server->IsUp(); });
}

// ---- the meta server ----

void ServerLives::StartMeta() {
  if (metas_) return metas_->StartAll();
  if (meta_.node->alive()) return;
  SimEnvironment& env = meta_.node->Start();
  meta_.transport = std::make_unique<SimTransport>(network_, *meta_.node, meta_.endpoint);
  meta_.abroad = NewEndAbroad(*meta_.node, meta_.endpoint);
  meta_.store = std::make_shared<CheckedMetaStore>(
      std::make_unique<JournalMetaStore>(
          env, ClusterSettings::kMetaRoot,
          JournalMetaStoreOptions{.reserve_bytes = ClusterSettings::kMetaReserveBytes}),
      [this](const PartitionConfiguration& config) { OnStored(config); },
      [this](const absl::Status& why) { OnRefused(why); }, on_stored);
  absl::Status status = StartMetaServer(env);
  // Tried again until the disk recovers, as whoever watches over a process would.
  if (!status.ok() && meta_.node->disk().is_in_trouble()) {
    checkers_.coverage.Hit(Probe::kStartFailed);
    CrashMeta(CrashMode::kProcess);
    world_.After(DrawLength(), EventKind::kFault, [this] { StartMeta(); });
    return;
  }
  if (!status.ok())
    checkers_.Violate(absl::StrCat("the meta server did not start: ", status.ToString()));
  if (balances_) SetLevel(*meta_.node, *meta_.transport, FunctionLevel::kLively);
}

absl::Status ServerLives::StartMetaServer(Environment& env) {
  if (!settings_.run.topology.has_old_meta) {
    MetaServerOptions options = settings_.meta;
    options.to_other_clusters = meta_.abroad.get();
    meta_.server = std::make_unique<MetaServer>(env, *meta_.transport, meta_.store, options);
    meta_.transport->SetHandler(meta_.server->Handler());
    return meta_.server->Start();
  }
  meta_.old = std::make_unique<OldMetaServer>(
      env, *meta_.transport, *meta_.store, settings_.OldMeta(), [this](const std::string& what) {
        checkers_.Violate(absl::StrCat("a 2.5.0 process ends: the meta server: ", what));
      });
  return meta_.old->Start();
}

void ServerLives::OnStored(const PartitionConfiguration& config) {
  // What an older copy says is not what holds.
  const PartitionConfiguration* last = groups_.Find(config.pid);
  if (meta_.states_put_back > 0 && last != nullptr && config.ballot < last->ballot) return;
  checkers_.commits.Stored(config.pid);
  checkers_.ballots.Stored(config.pid, config.ballot);
  checkers_.primaries.Stored(config.pid, config.primary);
  checkers_.coverage.Stored(config);
  if (meta_.is_disk_full && !meta_.HasWholeReserve())
    checkers_.coverage.Hit(Probe::kStoredByReserve);
  groups_.Store(config, world_.now());
}

void ServerLives::OnRefused(const absl::Status& why) {
  if (meta_.is_disk_full && LacksSpace(why) && !meta_.node->disk().is_in_trouble())
    checkers_.Violate(absl::StrCat(
        "server_lives/L3: a failover is not stored though a full disk was provided for: ",
        why.message()));
}

void ServerLives::CrashMeta(CrashMode mode) {
  // The node first: then no task of the objects that go can run. The transport goes last, since
  // they use it.
  meta_.node->Crash(mode);
  meta_.server.reset();
  meta_.old.reset();
  meta_.store.reset();
  meta_.transport.reset();
  const auto farewell =
      mode == CrashMode::kProcess ? SimNetwork::Farewell::kReset : SimNetwork::Farewell::kSilence;
  network_.NodeDied(meta_.endpoint, farewell);
  LeaveAbroad(meta_.abroad, farewell);
}

void ServerLives::LetBalance() {
  balances_ = true;
  SetLevelOfLeader(FunctionLevel::kLively);
}

void ServerLives::StopBalancing() {
  if (std::exchange(balances_, false)) SetLevelOfLeader(FunctionLevel::kSteady);
}

void ServerLives::SetLevelOfLeader(FunctionLevel level) {
  if (!metas_) return SetLevel(*meta_.node, *meta_.transport, level);
  // Where nobody leads now, whoever does next is told.
  MetaGroup::Member* leader = metas_->Leader();
  if (leader != nullptr) SetLevel(*leader->node, *leader->transport, level);
}

void ServerLives::SetLevel(SimNode& node, SimTransport& transport, FunctionLevel level) {
  AskForLevel(node.environment().NewStrand("level"), transport, level);
}

void ServerLives::AskForLevel(const StrandPtr& strand, SimTransport& transport,
                              FunctionLevel level) {
  // It is asked again and again: the meta server may load still, or die. A new life of it gets a
  // call of its own (StartMeta).
  strand->PostAfter(absl::Seconds(1), [this, strand, &transport, level] {
    // It was switched off while this was waiting.
    if (level == FunctionLevel::kLively && !balances_) return;
    transport.Call(transport.local(),
                   {.name = kRpcControlMeta, .body = EncodeWrapped(ControlMetaRequest{level})},
                   strand, [this, strand, &transport, level](const RpcResult& result) {
                     if (result.error != ErrorCode::kOk) AskForLevel(strand, transport, level);
                   });
  });
}

// ---- replica servers ----

std::unique_ptr<CheckedEngineFactory> ServerLives::NewEngines(SimServer& server) {
  CheckedEngineFactory::Events events;
  events.opened = [this, at = server.endpoint](PartitionId pid, Decree decree) {
    checkers_.coverage.Opened(at, pid, decree);
  };
  events.installed = [this] { checkers_.coverage.Hit(Probe::kCheckpointInstalled); };
  events.applied = on_applied;
  using Times = CheckedEngineFactory::Times;
  // A 2.5.0 member prepares some mutations again without their times.
  const bool is_mixed = settings_.run.topology.older > 0;
  EngineFactory& inner = server.indexed ? static_cast<EngineFactory&>(*server.indexed)
                                        : static_cast<EngineFactory&>(*server.memory);
  return std::make_unique<CheckedEngineFactory>(inner, *server.node, server.name, checkers_.commits,
                                                engines_, std::move(events),
                                                is_mixed ? Times::kDoNotCount : Times::kCount);
}

void ServerLives::StartServer(SimServer& server) {
  if (server.node->alive() || server.server || server.old) return;
  SimEnvironment& env = server.node->Start();
  server.stopping = false;
  // A new process asks before it serves.
  server.knows_nothing_since.reset();
  const bool is_in_trouble = server.node->disk().is_in_trouble();
  server.started_blind = server.node->disk().reads_fail() || is_in_trouble;
  server.transport = std::make_unique<SimTransport>(network_, *server.node, server.endpoint);
  server.abroad = NewEndAbroad(*server.node, server.endpoint);
  MemoryEngineOptions memory;
  if (settings_.server.duplication_group.IsSet())
    memory.cluster_id = settings_.server.duplication_group.own_id;
  server.memory = std::make_unique<MemoryEngineFactory>(env, memory);
  if (settings_.run.indexes == 0 || !may_roll_back_ || !world_.random().Percent(kRolledBackPercent))
    server.indexed = std::make_unique<IndexedEngineFactory>(env, *server.memory, kIndexOptions);
  server.engines = NewEngines(server);
  if (server.is_older) return StartOldServer(server, env);
  ReplicaServerOptions options = settings_.server;
  // As an administrator would say it of a replaced disk.
  options.layout.new_data_directories = server.new_directories;
  options.other_clusters = server.abroad.get();
  if (settings_.run.topology.has_old_meta)
    options.older_servers =
        std::make_shared<OlderServers>(OlderServers::Policy::kLetIn, env.clock());
  server.server =
      std::make_unique<ReplicaServer>(env, *server.transport, *server.engines, std::move(options));
  absl::Status status = server.server->Start();
  if (status.ok()) return;
  if (server.started_blind) {  // as whoever watches over a process would
    if (is_in_trouble) checkers_.coverage.Hit(Probe::kStartFailed);
    CrashServer(server, CrashMode::kProcess);
    RestartLater(server, DrawLength());
    return;
  }
  const FaultMix& faults = settings_.run.faults;
  const bool may_lie_twice = faults.Has(Fault::kDiskPutBack) || faults.Has(Fault::kDisksPutBack);
  if (absl::IsAlreadyExists(status) && may_lie_twice &&
      RenameOlderTwins(env.files(), settings_.server.layout.data_directories).ok()) {
    CrashServer(server, CrashMode::kProcess);
    RestartLater(server, DrawLength());
    return;
  }
  checkers_.Violate(absl::StrCat(server.name, " did not start: ", status.ToString()));
}

void ServerLives::StartOldServer(SimServer& server, Environment& env) {
  server.old = std::make_unique<OldServer>(
      env, *server.transport, *server.engines, world_.random(), server.old_disk,
      settings_.OldServer(), [this, name = server.name](const std::string& what) {
        checkers_.Violate(absl::StrCat("a 2.5.0 process ends: ", name, ": ", what));
      });
  server.old->Start();
}

void ServerLives::EndRollbacks() {
  may_roll_back_ = false;
  for (auto& server : servers_) {
    if (!server->node->alive() || server->indexed || server->is_older) continue;
    CrashServer(*server, CrashMode::kProcess);
    StartServer(*server);
  }
}

// From the top down: each object refers to those that go after it.
void ServerLives::BuryServer(SimServer& server, SimNetwork::Farewell farewell) {
  server.server.reset();
  server.old.reset();
  server.engines.reset();
  server.indexed.reset();
  server.memory.reset();
  server.transport.reset();
  checkers_.coverage.Died(server.endpoint);
  network_.NodeDied(server.endpoint, farewell);
  LeaveAbroad(server.abroad, farewell);
}

void ServerLives::CrashServer(SimServer& server, CrashMode mode) {
  if (server.is_older) mode = CrashMode::kProcess;  // what it never flushed survives that
  server.node->Crash(mode);
  BuryServer(server, mode == CrashMode::kProcess ? SimNetwork::Farewell::kReset
                                                 : SimNetwork::Farewell::kSilence);
}

void ServerLives::CrashAfterChanges(SimServer& server, int64_t changes, CrashMode mode,
                                    std::function<absl::Duration()> delay) {
  server.node->CrashAfterChanges(changes, mode, [this, &server, delay = std::move(delay)] {
    BuryServer(server, SimNetwork::Farewell::kReset);
    RestartLater(server, delay());
  });
}

void ServerLives::StopServer(SimServer& server) {
  if (server.is_older) {
    CrashServer(server, CrashMode::kProcess);
    return RestartLater(server, DrawLength());
  }
  server.stopping = true;
  // The callbacks below may come when a crash has ended this life.
  uint32_t life = server.node->life();
  server.server->Stop([this, &server, life](absl::Status status) {
    // A clean stop leaves nothing unsynced: the power may go, whatever the durability.
    const bool may_lose_power = status.ok() || settings_.server.durability == Durability::kFsync;
    world_.After(absl::ZeroDuration(), EventKind::kFault, [this, &server, life, may_lose_power] {
      if (!server.node->IsLife(life)) return;
      CrashServer(server, may_lose_power ? CrashMode::kPowerRandom : CrashMode::kProcess);
      RestartLater(server, DrawLength());
    });
  });
  world_.After(kStopMax, EventKind::kFault, [this, &server, life] {
    // Another life means that the stop ended, or that a crash did.
    if (server.node->IsLife(life)) EndStopThatLasts(server);
  });
}

// A stop is a chain of steps on loops and in the pool: one that lagged while it lasted may have
// been late with each of them.
void ServerLives::EndStopThatLasts(SimServer& server) {
  SimNode& node = *server.node;
  if (node.disk().slowness() == 1 && node.paused_until() < world_.now() &&
      node.lags_until() + kStopMax < world_.now())
    checkers_.Violate(absl::StrCat(server.name, " did not stop within 20 s"));
  CrashServer(server, CrashMode::kProcess);
  RestartLater(server, DrawLength());
}

void ServerLives::RestartLater(SimServer& server, absl::Duration delay) {
  if (on_down) on_down(server);
  world_.After(delay, EventKind::kFault, [this, &server] { StartServer(server); });
}

void ServerLives::EndAll() {
  for (auto& server : servers_)
    if (server->node->alive()) CrashServer(*server, CrashMode::kProcess);
  if (metas_) return metas_->EndAll();
  if (meta_.node->alive()) CrashMeta(CrashMode::kProcess);
}

}  // namespace arion::sim
