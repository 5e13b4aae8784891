// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_cluster.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "meta/journal_meta_store.h"
#include "rpc/thrift_codec.h"

namespace arion::sim {
namespace {

constexpr char kTable[] = "temp";
constexpr char kReplicaRoot[] = "/data/replica/reps";
constexpr char kMetaRoot[] = "/data/meta";
constexpr absl::Duration kHealthLimit = absl::Seconds(60);

Endpoint ServerEndpoint(int index) { return {0x0a000001u + static_cast<uint32_t>(index), 34801}; }

}  // namespace

std::string RunReport::Replay() const {
  return absl::StrCat("tools/dev/sim --seeds 1 --first ", seed);
}

std::string RunReport::Summary() const {
  std::string text = absl::StrFormat(
      "seed %d: %s simulated, %d events, writes %d ok %d refused %d undecided, %d reads, healed "
      "after %s, trace %016x, "
      "%d violations\n  faults: %s\n ",
      seed, absl::FormatDuration(absl::Trunc(simulated, absl::Seconds(1))), events,
      acknowledged_writes, refused_writes, undecided_writes, reads,
      absl::FormatDuration(absl::Trunc(healed_after, absl::Milliseconds(100))), trace_hash,
      violations.size(), mix);
  for (int i = 0; i < kFaultCount; ++i) {
    if (faults[static_cast<size_t>(i)] > 0) {
      absl::StrAppend(&text, " ", FaultName(static_cast<Fault>(i)), "=",
                      faults[static_cast<size_t>(i)]);
    }
  }
  return text;
}

SimCluster::SimCluster(SimClusterOptions options)
    : options_(std::move(options)), world_(options_.seed), network_(world_) {
  SimRandom& random = world_.random();
  // Short timers: more of everything that matters happens in a simulated minute. A close race of
  // lease and grace in half of the runs; the drift of two clocks stays within it.
  server_options_.beacon_interval = absl::Milliseconds(500);
  server_options_.lease = absl::Milliseconds(2000);
  meta_options_.grace = random.Coin() ? absl::Milliseconds(2200) : absl::Milliseconds(3000);
  server_options_.config_sync_interval = absl::Seconds(3);
  server_options_.group_check_interval = absl::Seconds(2);
  server_options_.prepare_timeout = absl::Milliseconds(1000);
  server_options_.learner_prepare_timeout = absl::Milliseconds(1500);
  server_options_.checkpoint_interval = random.Between(absl::Seconds(3), absl::Seconds(40));
  server_options_.closed_replica_linger = absl::Seconds(5);
  server_options_.log_segment_bytes = uint64_t{64} << (10 + random.Below(3));
  server_options_.log_preallocate = !random.Percent(20);
  if (random.Percent(10)) server_options_.durability = Durability::kOs;
  // Half of the runs notice a full disk before a write does, the others by the write.
  server_options_.disk = {.available_bytes_min = random.Coin() ? uint64_t{1} << 20 : 0,
                          .reserve_bytes = random.Below(3) * (64 << 10)};
  meta_options_.guardian_interval = absl::Seconds(2);
  meta_options_.replica_assign_delay_for_dropouts = absl::Seconds(10);
  meta_options_.stable_running = absl::Seconds(1);
  meta_options_.max_successive_unstable_restarts = 0;

  meta_.node = &world_.AddNode("meta1");
  meta_.endpoint = {0x0a0000c8u, 34601};
  server_options_.data_directories = {{"data1", kReplicaRoot}};
  server_options_.meta_servers = {meta_.endpoint};
  for (int i = 0; i < options_.replicas; ++i) {
    auto server = std::make_unique<Server>();
    server->name = absl::StrCat("replica", i + 1);
    server->node = &world_.AddNode(server->name);
    server->endpoint = ServerEndpoint(i);
    servers_.push_back(std::move(server));
  }
  for (const auto& node : world_.nodes()) {
    absl::Status made =
        node->disk().CreateDirectories(node.get() == meta_.node ? kMetaRoot : kReplicaRoot);
    CHECK(made.ok()) << made.message();
    node->disk().MakeDurable();
    if (options_.disks == SimClusterOptions::Disks::kForgetFlushes) node->disk().ForgetFlushes();
    double drift = options_.faults.clock_drift_percent;
    if (drift > 0)
      node->SetClockRate(1 + drift / 100 * (static_cast<double>(random.Below(2001)) / 1000 - 1));
  }

  network_.on_request = [this](Endpoint from, const OutboundRequest& request) {
    if (request.name != kRpcPrepare) return;
    absl::StatusOr<PrepareRequest> prepare = DecodePrepare(request.body);
    if (!prepare.ok()) return Violate("a prepare does not decode");
    primaries_.Prepared(prepare->pid, prepare->config.ballot, from);
    ballots_.Used(prepare->pid, prepare->config.ballot);
  };
  network_.on_answer = [this](Endpoint server, const OutboundRequest& request, ErrorCode error) {
    if (request.pid != PartitionId{} && error == ErrorCode::kOk) {
      primaries_.Answered(request.pid, server, world_.now());
    }
  };
}

SimCluster::~SimCluster() {
  workload_.reset();
  for (auto& server : servers_) {
    if (server->node->alive()) CrashServer(*server, CrashMode::kProcess);
  }
  if (meta_.node->alive()) CrashMeta(CrashMode::kProcess);
}

// ---- a life of a server ----

void SimCluster::StartMeta() {
  if (meta_.node->alive()) return;
  SimEnvironment& env = meta_.node->Start();
  meta_.transport = std::make_unique<SimTransport>(network_, *meta_.node, meta_.endpoint);
  meta_.store =
      std::make_unique<CheckedMetaStore>(std::make_unique<JournalMetaStore>(env, kMetaRoot),
                                         [this](const PartitionConfiguration& config) {
                                           ballots_.Stored(config.pid, config.ballot);
                                           primaries_.Stored(config.pid, config.primary);
                                           stored_[config.pid] = config;
                                         });
  meta_.server = std::make_unique<MetaServer>(env, *meta_.transport, *meta_.store, meta_options_);
  absl::Status status = meta_.server->Start();
  if (!status.ok()) Violate(absl::StrCat("the meta server did not start: ", status.ToString()));
}

void SimCluster::CrashMeta(CrashMode mode) {
  meta_.node->Crash(mode);
  meta_.server.reset();
  meta_.store.reset();
  meta_.transport.reset();
  network_.NodeDied(meta_.endpoint, mode == CrashMode::kProcess ? SimNetwork::Farewell::kReset
                                                                : SimNetwork::Farewell::kSilence);
}

void SimCluster::StartServer(Server& server) {
  if (server.node->alive() || server.server) return;
  SimEnvironment& env = server.node->Start();
  server.stopping = false;
  server.transport = std::make_unique<SimTransport>(network_, *server.node, server.endpoint);
  server.memory = std::make_unique<MemoryEngineFactory>(env);
  server.engines = std::make_unique<CheckedEngineFactory>(*server.memory, *server.node, server.name,
                                                          commits_, engines_);
  server.server =
      std::make_unique<ReplicaServer>(env, *server.transport, *server.engines, server_options_);
  absl::Status status = server.server->Start();
  if (!status.ok()) Violate(absl::StrCat(server.name, " did not start: ", status.ToString()));
}

void SimCluster::BuryServer(Server& server, SimNetwork::Farewell farewell) {
  server.server.reset();
  server.engines.reset();
  server.memory.reset();
  server.transport.reset();
  network_.NodeDied(server.endpoint, farewell);
}

void SimCluster::CrashServer(Server& server, CrashMode mode) {
  server.node->Crash(mode);
  BuryServer(server, mode == CrashMode::kProcess ? SimNetwork::Farewell::kReset
                                                 : SimNetwork::Farewell::kSilence);
}

void SimCluster::StopServer(Server& server) {
  server.stopping = true;
  uint32_t life = server.node->life();
  server.server->Stop([this, &server, life](absl::Status status) {
    world_.After(absl::ZeroDuration(), EventKind::kFault, [this, &server, life] {
      // A clean stop leaves nothing unsynced: the power may go, whatever the durability.
      if (!server.node->IsLife(life)) return;
      CrashServer(server, CrashMode::kPowerRandom);
      RestartLater(server, DrawLength());
    });
  });
  world_.After(absl::Seconds(20), EventKind::kFault, [this, &server, life] {
    if (!server.node->IsLife(life)) return;
    if (server.node->disk().slowness() == 1 && server.node->paused_until() < world_.now()) {
      Violate(absl::StrCat(server.name, " did not stop within 20 s"));
    }
    CrashServer(server, CrashMode::kProcess);
    RestartLater(server, DrawLength());
  });
}

void SimCluster::RestartLater(Server& server, absl::Duration delay) {
  world_.After(delay, EventKind::kFault, [this, &server] { StartServer(server); });
}

// ---- faults ----

CrashMode SimCluster::DrawCrashMode() {
  // What lies in a page cache survives processes only.
  if (server_options_.durability == Durability::kOs) return CrashMode::kProcess;
  return static_cast<CrashMode>(world_.random().Below(4));
}

absl::Duration SimCluster::DrawLength() {
  return world_.random().Between(absl::Milliseconds(200), options_.faults.length_max);
}

LinkWeather SimCluster::UsualWeather() const {
  LinkWeather weather;
  if (options_.faults.always_late_percent > 0) {
    weather.late_percent = options_.faults.always_late_percent;
    weather.late_max = absl::Seconds(3);
  }
  return weather;
}

bool SimCluster::IsCalm() const {
  return troubles_ == 0 && meta_.node->alive() && IsWhole() &&
         std::all_of(servers_.begin(), servers_.end(),
                     [](const auto& s) { return s->node->alive() && !s->stopping; });
}

void SimCluster::ScheduleFault() {
  absl::Duration delay =
      world_.random().Between(options_.faults.interval_min, options_.faults.interval_max);
  world_.After(delay, EventKind::kFault, [this] {
    if (!faults_on_) return;
    if (world_.now() >= calm_until_ && !options_.faults.kinds.empty()) {
      Inject(options_.faults.kinds[world_.random().Below(options_.faults.kinds.size())]);
    }
    ScheduleFault();
  });
}

void SimCluster::CutOneWay(Endpoint from, Endpoint to, absl::Duration length) {
  network_.Block(from, to);
  world_.After(length, EventKind::kFault, [this, from, to] { network_.Unblock(from, to); });
}

void SimCluster::LastFor(absl::Duration length, absl::AnyInvocable<void()> end) {
  ++troubles_;
  world_.After(length, EventKind::kFault, [this, end = std::move(end)]() mutable {
    --troubles_;
    end();
  });
}

void SimCluster::Cut(Endpoint a, Endpoint b, absl::Duration length) {
  CutOneWay(a, b, length);
  CutOneWay(b, a, length);
}

void SimCluster::Inject(Fault fault) {
  // Under everything at once nothing is acknowledged, and nothing is proven.
  constexpr int64_t kTroublesMax = 3;
  if (troubles_ >= kTroublesMax) return;
  SimRandom& random = world_.random();
  ++faults_[static_cast<size_t>(fault)];
  Server& server = AnyServer();
  absl::Duration length = DrawLength();
  LOG(INFO) << "fault: " << FaultName(fault) << ", if at a server: " << server.name << ", up to "
            << length;
  switch (fault) {
    case Fault::kCrashOne: {
      if (!server.node->alive()) return;
      CrashMode mode = DrawCrashMode();
      // Back before what it sent has arrived everywhere.
      if (random.Percent(30))
        length = random.Between(absl::Milliseconds(10), absl::Milliseconds(400));
      if (random.Coin()) {
        CrashServer(server, mode);
        if (random.Percent(30)) {
          CrashInRecovery(server, length, mode);
        } else {
          RestartLater(server, length);
        }
      } else {
        server.node->CrashAfterChanges(random.Between(0, 40), mode, [this, &server, length] {
          BuryServer(server, SimNetwork::Farewell::kReset);
          RestartLater(server, length);
        });
      }
      return;
    }
    case Fault::kCrashAll: {
      CrashMode mode = DrawCrashMode();
      for (auto& one : servers_) {
        if (one->node->alive()) CrashServer(*one, mode);
        if (random.Percent(15)) {
          CrashInRecovery(*one, DrawLength(), DrawCrashMode());
        } else {
          RestartLater(*one, DrawLength());
        }
      }
      return;
    }
    case Fault::kCrashMeta:
      if (meta_.node->alive()) CrashMeta(DrawCrashMode());
      world_.After(length, EventKind::kFault, [this] { StartMeta(); });
      return;
    case Fault::kRestart:
      if (server.node->alive() && !server.stopping && server.server) StopServer(server);
      return;
    case Fault::kPause: {
      (random.Percent(15) ? meta_.node : server.node)->PauseFor(length);
      LastFor(length, [] {});
      return;
    }
    case Fault::kCutFromMeta:
      Cut(server.endpoint, meta_.endpoint, length);
      LastFor(length, [] {});
      return;
    case Fault::kCutFromPeer:
      Cut(server.endpoint, AnyServer().endpoint, length);
      LastFor(length, [] {});
      return;
    case Fault::kCutOneWay:
      CutOneWay(server.endpoint, random.Percent(30) ? meta_.endpoint : AnyServer().endpoint,
                length);
      LastFor(length, [] {});
      return;
    case Fault::kSplit: {
      LastFor(length, [] {});
      std::vector<Endpoint> here = {meta_.endpoint}, there;
      for (auto& one : servers_) (random.Coin() ? here : there).push_back(one->endpoint);
      for (Endpoint a : here) {
        for (Endpoint b : there) Cut(a, b, length);
      }
      return;
    }
    case Fault::kWeather:
      network_.weather.loss_percent = random.Coin() ? static_cast<double>(random.Below(15)) : 0;
      network_.weather.duplicate_percent =
          random.Coin() ? static_cast<double>(random.Below(20)) : 0;
      network_.weather.late_percent = static_cast<double>(random.Below(40));
      network_.weather.late_max = random.Between(
          absl::Milliseconds(1), random.Coin() ? absl::Milliseconds(800) : absl::Seconds(4));
      LastFor(length, [this] {
        if (faults_on_) network_.weather = UsualWeather();
      });
      return;
    case Fault::kSlowDisk: {
      SimNode* node = random.Percent(15) ? meta_.node : server.node;
      node->disk().SetSlowness(static_cast<int>(random.Between(3, 300)));
      LastFor(length, [node] { node->disk().SetSlowness(1); });
      return;
    }
    case Fault::kDiskFull:
      server.node->disk().SetFreeBytes(random.Below(100000));
      LastFor(length, [&server] { server.node->disk().SetFreeBytes(UINT64_MAX); });
      return;
    case Fault::kFailedSync:
    case Fault::kDiskLost:
    case Fault::kBitRot:
      if (copy_lost_ || !IsCalm()) {
        --faults_[static_cast<size_t>(fault)];
        return;
      }
      // One copy is being lost: the promise covers one, so nothing else happens until it is back.
      copy_lost_ = true;
      calm_until_ = world_.now() + absl::Seconds(45);
      if (fault == Fault::kFailedSync) {
        server.node->disk().FailSyncs(1);
      } else {
        DamageAtRest(server, fault);
      }
      return;
    case Fault::kWallJump: {
      SimNode* node = random.Percent(30) ? meta_.node : server.node;
      node->JumpWall(random.Between(absl::Hours(-1000), absl::Hours(1000)));
      return;
    }
  }
}

void SimCluster::CrashInRecovery(Server& server, absl::Duration delay, CrashMode mode) {
  world_.After(delay, EventKind::kFault, [this, &server, mode] {
    if (server.node->alive() || server.server) return;
    StartServer(server);
    if (!server.node->alive()) return;
    server.node->CrashAfterChanges(world_.random().Between(0, 60), mode, [this, &server] {
      BuryServer(server, SimNetwork::Farewell::kReset);
      RestartLater(server, DrawLength());
    });
  });
}

void SimCluster::DamageAtRest(Server& server, Fault fault) {
  SimRandom& random = world_.random();
  CrashServer(server, server_options_.durability == Durability::kOs ? CrashMode::kProcess
                                                                    : CrashMode::kPowerRandom);
  SimDisk& disk = server.node->disk();
  if (fault == Fault::kDiskLost) {
    CHECK(disk.RemoveAll(kReplicaRoot).ok() && disk.CreateDirectories(kReplicaRoot).ok());
  } else {
    std::vector<std::string> files;
    for (const std::string& path : disk.AllFiles()) {
      if (path.find("/plog/") != std::string::npos ||
          path.find("/data/memory") != std::string::npos ||
          path.find("-info") != std::string::npos) {
        files.push_back(path);
      }
    }
    if (!files.empty()) {
      const std::string& path = files[random.Below(files.size())];
      uint64_t size = (*disk.Find(path))->content.size();
      uint64_t offset = random.Below(size + 1), n = 1 + random.Below(random.Coin() ? 4 : 4096);
      LOG(INFO) << "rot: " << path << " of " << server.name << ", " << n << " bytes at " << offset
                << " of " << size;
      CHECK(disk.Rot(path, offset, n).ok());
    }
  }
  disk.MakeDurable();
  RestartLater(server, random.Between(absl::Milliseconds(100), absl::Seconds(5)));
}

void SimCluster::HealAll() {
  faults_on_ = false;
  network_.UnblockAll();
  network_.weather = LinkWeather{};
  for (const auto& node : world_.nodes()) {
    node->PauseFor(absl::ZeroDuration());
    node->disk().SetSlowness(1);
    node->disk().FailSyncs(0);
    node->disk().SetFreeBytes(UINT64_MAX);
    if (node->alive()) node->disk().Revive();
  }
  StartMeta();
  for (auto& server : servers_) StartServer(*server);
}

// ---- the run ----

bool SimCluster::CreateTable() {
  SimNode& node = world_.AddNode("admin");
  SimEnvironment& env = node.Start();
  SimTransport transport(network_, node, Endpoint{0x0a0001ffu, 1000});
  StrandPtr strand = env.NewStrand("admin");
  ProbeClient admin(transport, strand);
  CreateAppRequest request;
  request.app_name = kTable;
  request.options.partition_count = options_.partitions;
  request.options.replica_count = options_.replicas;
  request.options.success_if_exist = true;
  request.options.app_type = "pegasus";
  request.options.is_stateful = true;
  ErrorCode last = ErrorCode::kUnknown;
  for (int attempt = 0; attempt < 30 && last != ErrorCode::kOk; ++attempt) {
    bool answered = false;
    strand->Post([&] {
      admin.CreateTable(meta_.endpoint, request, [&](CreateAppResponse response) {
        last = response.err;
        app_id_ = response.appid;
        answered = true;
      });
    });
    if (!world_.RunUntil([&] { return answered; }, absl::Seconds(20))) break;
    world_.RunFor(absl::Milliseconds(500));
  }
  node.Crash(CrashMode::kProcess);
  if (last != ErrorCode::kOk)
    Violate(absl::StrCat("the table was not created: ", Text(ErrorCodeName(last))));
  return last == ErrorCode::kOk;
}

bool SimCluster::IsWhole() const {
  int whole = 0;
  for (const auto& [pid, config] : stored_) {
    whole += config.primary.IsValid() && config.MemberCount() == servers_.size();
  }
  return whole == options_.partitions;
}

bool SimCluster::MembersAreEqual() const {
  for (const auto& [pid, config] : stored_) {
    const Engine* first = nullptr;
    for (const auto& server : servers_) {
      auto it = engines_.find({server->name, pid});
      if (it == engines_.end()) return false;
      if (first == nullptr) {
        first = it->second;
        continue;
      }
      if (it->second->last_applied() != first->last_applied()) return false;
      for (const std::string& key : workload_->Keys()) {
        auto ours = it->second->Get(Workload::RawKey(key), 0, ReadTier::kAll);
        auto theirs = first->Get(Workload::RawKey(key), 0, ReadTier::kAll);
        if (ours.ok() != theirs.ok() || (ours.ok() && ours->value != theirs->value)) return false;
      }
    }
  }
  return true;
}

std::string SimCluster::WhatIsMissing() const {
  std::string text;
  for (const auto& [pid, config] : stored_) {
    absl::StrAppend(&text, " [", pid.ToString(), " ballot ", config.ballot.value(), " primary ",
                    config.primary.ToString(), " members ", config.MemberCount());
    for (const auto& server : servers_) {
      auto it = engines_.find({server->name, pid});
      absl::StrAppend(&text, " ", server->name, "@",
                      it == engines_.end() ? std::string("none")
                                           : absl::StrCat(it->second->last_applied().value()));
    }
    absl::StrAppend(&text, "]");
  }
  return text;
}

void SimCluster::AwaitHealth() {
  Instant begin = world_.now();
  // What was to last longer ends now; restarts that were planned find their server alive.
  world_.RunFor(absl::Seconds(3));
  workload_->Stop();
  bool is_verified = false, is_verifying = false;
  while (world_.now() - begin < kHealthLimit) {
    for (auto& server : servers_) {
      if (!server->node->alive()) StartServer(*server);
    }
    if (!meta_.node->alive()) StartMeta();
    if (IsWhole() && !is_verified && !is_verifying) {
      is_verifying = true;
      workload_->Verify([&is_verified, &is_verifying](bool ok) {
        is_verified = ok;
        is_verifying = false;
      });
    }
    if (is_verified && IsWhole() && MembersAreEqual()) {
      healed_after_ = world_.now() - begin;
      return;
    }
    world_.RunFor(absl::Milliseconds(100));
  }
  Violate(absl::StrCat("H: 60 s after all faults ended ",
                       !IsWhole()     ? "members are missing:"
                       : !is_verified ? "not every key can be read and written:"
                                      : "members differ:",
                       WhatIsMissing()));
}

void SimCluster::CollectViolations(RunReport* report) {
  auto add = [report](const Violations& more) {
    report->violations.insert(report->violations.end(), more.begin(), more.end());
  };
  add(CheckLinearizable(history_));
  add(CheckCounters(history_));
  add(commits_.violations());
  add(primaries_.violations());
  add(ballots_.violations());
  add(violations_);
}

RunReport SimCluster::Run() {
  StartMeta();
  for (auto& server : servers_) StartServer(*server);
  bool is_whole = CreateTable() && world_.RunUntil([this] { return IsWhole(); }, absl::Seconds(60));
  if (!is_whole) {
    Violate(absl::StrCat("H: a new table is not whole after 60 s:", WhatIsMissing()));
  } else {
    WorkloadOptions workload;
    workload.table = kTable;
    workload.app_id = app_id_;
    workload.partition_count = options_.partitions;
    workload.meta_servers = {meta_.endpoint};
    for (const auto& server : servers_) workload.servers.push_back(server->endpoint);
    SimRandom& random = world_.random();
    workload.loops = static_cast<int>(random.Between(1, 4));
    workload.keys = static_cast<int>(random.Between(3, 8));
    workload.write_percent = static_cast<double>(random.Between(30, 80));
    workload.think_max = random.Between(absl::Milliseconds(50), absl::Milliseconds(400));
    if (random.Percent(10)) {  // a crowd: large batches, many mutations in flight
      workload.loops = 12;
      workload.think_max = absl::Milliseconds(60);
    }
    if (random.Percent(30))
      workload.value_bytes_max = static_cast<size_t>(random.Between(500, 9000));
    workload_ = std::make_unique<Workload>(world_, network_, history_, workload);
    workload_->Start();
    network_.weather = UsualWeather();
    faults_on_ = true;
    ScheduleFault();
    world_.RunFor(options_.run_length);
    HealAll();
    AwaitHealth();
  }

  RunReport report;
  report.seed = options_.seed;
  report.mix = options_.faults.ToString();
  report.trace_hash = world_.trace_hash();
  report.events = world_.events_run();
  report.simulated = world_.now() - Instant(1000000000);
  report.acknowledged_writes = history_.Count(Operation::Kind::kWrite, Operation::Outcome::kOk);
  report.refused_writes = history_.Count(Operation::Kind::kWrite, Operation::Outcome::kRefused);
  report.undecided_writes = history_.Count(Operation::Kind::kWrite, Operation::Outcome::kUndecided);
  report.reads = history_.Count(Operation::Kind::kRead, Operation::Outcome::kOk);
  report.faults = faults_;
  report.healed_after = healed_after_;
  CollectViolations(&report);
  if (report.acknowledged_writes < options_.acknowledged_writes_min) {
    report.violations.push_back(
        absl::StrCat("the run proves too little: ", report.acknowledged_writes,
                     " acknowledged writes of at least ", options_.acknowledged_writes_min));
  }
  return report;
}

}  // namespace arion::sim
