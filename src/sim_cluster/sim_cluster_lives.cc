// How servers of a SimCluster begin and end.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "meta_state/journal_meta_store.h"
#include "replica/replica_options.h"
#include "rpc/older_servers.h"
#include "rpc/thrift_codec.h"
#include "sim_cluster/sim_cluster.h"

namespace arion::sim {
namespace {

constexpr absl::Duration kStopMax = absl::Seconds(20);

}  // namespace

void SimCluster::StartMeta() {
  if (meta_.node->alive()) return;
  SimEnvironment& env = meta_.node->Start();
  meta_.transport = std::make_unique<SimTransport>(network_, *meta_.node, meta_.endpoint);
  meta_.store = std::make_unique<CheckedMetaStore>(
      std::make_unique<JournalMetaStore>(
          env, kMetaRoot, JournalMetaStoreOptions{.reserve_bytes = kMetaReserveBytes}),
      [this](const PartitionConfiguration& config) {
        // What an older copy says is not what holds.
        const auto last = stored_.find(config.pid);
        if (states_put_back_ > 0 && last != stored_.end() && config.ballot < last->second.ballot)
          return;
        ballots_.Stored(config.pid, config.ballot);
        primaries_.Stored(config.pid, config.primary);
        coverage_.Stored(config);
        if (HasGivenUpReserve()) coverage_.Hit(Probe::kStoredByReserve);
        if (last != stored_.end()) NoteLastCopy(last->second, config);
        stored_[config.pid] = config;
        stored_last_ = world_.now();
      },
      [this](const absl::Status& why) {
        if (is_meta_disk_full_ && LacksSpace(why) && !meta_.node->disk().is_in_trouble())
          Violate(absl::StrCat(
              "sim_cluster/H1: a failover is not stored though a full disk was provided for: ",
              why.message()));
      });
  absl::Status status = StartMetaServer(env);
  if (!status.ok() && meta_.node->disk().is_in_trouble()) {
    coverage_.Hit(Probe::kStartFailed);
    CrashMeta(CrashMode::kProcess);
    world_.After(DrawLength(), EventKind::kFault, [this] { StartMeta(); });
    return;
  }
  if (!status.ok()) Violate(absl::StrCat("the meta server did not start: ", status.ToString()));
  if (balances_) SetLevel(env.NewStrand("level"), FunctionLevel::kLively);
}

absl::Status SimCluster::StartMetaServer(Environment& env) {
  if (!options_.topology.has_old_meta) {
    meta_.server = std::make_unique<MetaServer>(env, *meta_.transport, *meta_.store, meta_options_);
    return meta_.server->Start();
  }
  meta_.old = std::make_unique<OldMetaServer>(
      env, *meta_.transport, *meta_.store, OldMetaServerOptions(), [this](const std::string& what) {
        Violate(absl::StrCat("a 2.5.0 process ends: the meta server: ", what));
      });
  return meta_.old->Start();
}

OldMetaOptions SimCluster::OldMetaServerOptions() const {
  // As the operator of a small cluster sets it: by default nothing is cured below three servers.
  const auto live_min = static_cast<size_t>(std::clamp(options_.topology.servers - 1, 1, 3));
  return {.cluster_name = meta_options_.cluster_name,
          .grace = meta_options_.grace,
          .check_interval = server_options_.beacon_interval * 2 / 3,
          .guardian_interval = meta_options_.guardian_interval,
          .guardian = {.live_min = live_min,
                       .live_percentage_min = 50,
                       .replica_count_min = meta_options_.mutation_2pc_min_replica_count,
                       .assign_delay = meta_options_.replica_assign_delay_for_dropouts}};
}

void SimCluster::SetLevel(const StrandPtr& strand, FunctionLevel level) {
  strand->PostAfter(absl::Seconds(1), [this, strand, level] {
    if (level == FunctionLevel::kLively && !balances_) return;
    meta_.transport->Call(
        meta_.endpoint, {.name = kRpcControlMeta, .body = EncodeWrapped(ControlMetaRequest{level})},
        strand, [this, strand, level](const RpcResult& result) {
          if (result.error != ErrorCode::kOk) SetLevel(strand, level);
        });
  });
}

void SimCluster::CrashMeta(CrashMode mode) {
  meta_.node->Crash(mode);
  meta_.server.reset();
  meta_.old.reset();
  meta_.store.reset();
  meta_.transport.reset();
  network_.NodeDied(meta_.endpoint, mode == CrashMode::kProcess ? SimNetwork::Farewell::kReset
                                                                : SimNetwork::Farewell::kSilence);
}

void SimCluster::StartServer(Server& server) {
  if (server.node->alive() || server.server || server.old) return;
  SimEnvironment& env = server.node->Start();
  server.stopping = false;
  server.knows_nothing_since.reset();
  const bool is_in_trouble = server.node->disk().is_in_trouble();
  server.started_blind = server.node->disk().reads_fail() || is_in_trouble;
  server.transport = std::make_unique<SimTransport>(network_, *server.node, server.endpoint);
  server.memory = std::make_unique<MemoryEngineFactory>(env);
  CheckedEngineFactory::Events events;
  events.opened = [this, at = server.endpoint](PartitionId pid, Decree decree) {
    coverage_.Opened(at, pid, decree);
  };
  events.installed = [this] { coverage_.Hit(Probe::kCheckpointInstalled); };
  using Times = CheckedEngineFactory::Times;
  const bool is_mixed = options_.topology.older > 0;
  server.engines = std::make_unique<CheckedEngineFactory>(
      *server.memory, *server.node, server.name, commits_, engines_, std::move(events),
      is_mixed ? Times::kDoNotCount : Times::kCount);
  if (server.is_older) return StartOldServer(server, env);
  ReplicaServerOptions options = server_options_;
  options.layout.new_data_directories = server.new_directories;
  if (options_.topology.has_old_meta)
    options.older_servers =
        std::make_shared<OlderServers>(OlderServers::Policy::kLetIn, env.clock());
  server.server =
      std::make_unique<ReplicaServer>(env, *server.transport, *server.engines, std::move(options));
  absl::Status status = server.server->Start();
  if (status.ok()) return;
  if (server.started_blind) {  // as whoever watches over a process would
    if (is_in_trouble) coverage_.Hit(Probe::kStartFailed);
    CrashServer(server, CrashMode::kProcess);
    RestartLater(server, DrawLength());
    return;
  }
  Violate(absl::StrCat(server.name, " did not start: ", status.ToString()));
}

OldServerOptions SimCluster::OldOptions() const {
  return {.meta_server = meta_.endpoint,
          .data_directory = server_options_.layout.data_directories.front().path,
          .beacon_interval = server_options_.beacon_interval,
          .lease = server_options_.lease,
          .config_sync_interval = server_options_.config_sync_interval,
          .group_check_interval = server_options_.group_check_interval,
          .prepare_timeout = server_options_.prepare_timeout,
          .learner_prepare_timeout = server_options_.learner_prepare_timeout,
          .checkpoint_interval = server_options_.checkpoint_interval,
          .closed_replica_linger = server_options_.closed_replica_linger,
          .log_file_bytes = server_options_.log_segment_bytes,
          .waits_when_forced = options_.topology.has_old_meta};
}

void SimCluster::StartOldServer(Server& server, Environment& env) {
  server.old = std::make_unique<OldServer>(
      env, *server.transport, *server.engines, world_.random(), server.old_disk, OldOptions(),
      [this, name = server.name](const std::string& what) {
        Violate(absl::StrCat("a 2.5.0 process ends: ", name, ": ", what));
      });
  server.old->Start();
}

void SimCluster::BuryServer(Server& server, SimNetwork::Farewell farewell) {
  server.server.reset();
  server.old.reset();
  server.engines.reset();
  server.memory.reset();
  server.transport.reset();
  coverage_.Died(server.endpoint);
  network_.NodeDied(server.endpoint, farewell);
}

void SimCluster::CrashServer(Server& server, CrashMode mode) {
  if (server.is_older) mode = CrashMode::kProcess;  // what it never flushed survives that
  server.node->Crash(mode);
  BuryServer(server, mode == CrashMode::kProcess ? SimNetwork::Farewell::kReset
                                                 : SimNetwork::Farewell::kSilence);
}

void SimCluster::StopServer(Server& server) {
  if (server.is_older) {
    CrashServer(server, CrashMode::kProcess);
    return RestartLater(server, DrawLength());
  }
  server.stopping = true;
  uint32_t life = server.node->life();
  server.server->Stop([this, &server, life](absl::Status status) {
    // A clean stop leaves nothing unsynced: the power may go, whatever the durability.
    const bool may_lose_power = status.ok() || server_options_.durability == Durability::kFsync;
    world_.After(absl::ZeroDuration(), EventKind::kFault, [this, &server, life, may_lose_power] {
      if (!server.node->IsLife(life)) return;
      CrashServer(server, may_lose_power ? CrashMode::kPowerRandom : CrashMode::kProcess);
      RestartLater(server, DrawLength());
    });
  });
  world_.After(kStopMax, EventKind::kFault, [this, &server, life] {
    if (!server.node->IsLife(life)) return;
    // A stop is a chain of steps on loops and in the pool: one that lagged while it lasted may have
    // been late with each of them.
    SimNode& node = *server.node;
    if (node.disk().slowness() == 1 && node.paused_until() < world_.now() &&
        node.lags_until() + kStopMax < world_.now())
      Violate(absl::StrCat(server.name, " did not stop within 20 s"));
    CrashServer(server, CrashMode::kProcess);
    RestartLater(server, DrawLength());
  });
}

void SimCluster::RestartLater(Server& server, absl::Duration delay) {
  if (KeepsImages() && world_.random().Percent(20)) KeepImage(server);
  world_.After(delay, EventKind::kFault, [this, &server] { StartServer(server); });
}

}  // namespace arion::sim
