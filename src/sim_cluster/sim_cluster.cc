// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/sim_cluster.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <utility>

#include "base/mutation.h"
#include "base/status.h"
#include "meta_state/journal_meta_store.h"
#include "rpc/thrift_codec.h"

namespace arion::sim {
namespace {

constexpr int kTenDays = 10 * 24 * 3600;
constexpr int kMoreRuns = 3;

// A read; or a write that looks first, and is answered at once when it then changes nothing. For any
// other every member of the group has logged it.
bool MayAnswerFromWhatItHolds(std::string_view request) {
  const std::optional<WriteCode> code = FindWriteCode(request);
  return !code || *code == WriteCode::kIncr || *code == WriteCode::kCheckAndSet ||
         *code == WriteCode::kCheckAndMutate;
}

}  // namespace

SimClusterOptions SimClusterOptions::Swarm(uint64_t seed) {
  SimClusterOptions options;
  options.seed = seed;
  options.topology = Topology::Swarm(seed);
  options.faults = FaultMix::Swarm(seed);
  return options;
}

SimClusterOptions SimClusterOptions::LyingDisks(uint64_t seed) {
  SimClusterOptions options = Swarm(seed);
  options.faults = FaultMix::None();
  options.faults.kinds = {Fault::kCrashAll};
  options.faults.length_max = absl::Seconds(4);  // up again before the next: what was lost is read
  options.disks = Disks::kForgetFlushes;
  options.durability = Durability::kFsync;  // the other promises nothing about flushes
  // What is lost is the newest, so that only a checker can tell; of holes the log itself speaks, and
  // its partition is dead.
  options.crash_mode = CrashMode::kPowerPrefix;
  options.steps_per_key = 5000;  // nearly each key is in disorder, and each costs a whole search
  return options;
}

SimClusterOptions SimClusterOptions::OlderCopyPutBack(uint64_t seed) {
  SimClusterOptions options = Swarm(seed);
  // What makes new configurations. A table that the copy does not know would be lost with it.
  options.faults.kinds = {Fault::kCrashOne, Fault::kRestart, Fault::kPause, Fault::kCutFromMeta};
  options.faults.length_max = std::min(options.faults.length_max, absl::Seconds(8));
  options.faults.interval_max = options.faults.interval_min + absl::Seconds(8);
  options.faults.balancer = FaultMix::Balancer::kOff;
  options.meta_state = MetaState::kOlderCopyPutBack;
  return options;
}

SimClusterOptions SimClusterOptions::LateReports(uint64_t seed) {
  SimClusterOptions options = Swarm(seed);
  // What makes reports untrue: replicas are loaded, and take office.
  options.faults.kinds = {Fault::kCrashOne, Fault::kCrashAll,    Fault::kCrashMeta,
                          Fault::kRestart,  Fault::kCutFromMeta, Fault::kCutFromPeer,
                          Fault::kWallJump};
  options.faults.length_max = std::min(options.faults.length_max, absl::Seconds(8));
  options.reports = Reports::kLateAgain;
  return options;
}

SimClusterOptions SimClusterOptions::OneDiskFull(uint64_t seed) {
  SimClusterOptions options = Swarm(seed);
  options.topology.copies = 3;
  options.faults = FaultMix::None();
  options.space = Space::kOneDiskFull;
  return options;
}

SimClusterOptions SimClusterOptions::Mixed(uint64_t seed, int older) {
  SimClusterOptions options = Swarm(seed);
  options.topology.older = std::min(older, options.topology.servers);
  options.faults.KeepWhatOlderServersMeet();
  return options;
}

SimClusterOptions SimClusterOptions::OldMeta(uint64_t seed, int older) {
  SimClusterOptions options = older > 0 ? Mixed(seed, older) : Swarm(seed);
  options.topology.has_old_meta = true;
  options.faults.KeepWhatAnOldMetaServerMeets();
  return options;
}

SimClusterOptions SimClusterOptions::Drawn(uint64_t seed) {
  // Apart: all other seeds stay what they were.
  SimRandom random(seed ^ 0x250), meta_random(seed ^ 0x250e7a);
  const SimClusterOptions swarm = Swarm(seed);
  int older = 0;
  if (random.Percent(20))
    older = 1 + static_cast<int>(random.Below(static_cast<uint64_t>(swarm.topology.servers) - 1));
  if (meta_random.Percent(5)) return OldMeta(seed, older);
  return older > 0 ? Mixed(seed, older) : swarm;
}

std::string RunReport::Replay() const {
  return absl::StrCat("tools/dev/sim --seeds 1 --first ", seed, replay_options);
}

std::string RunReport::Summary() const {
  std::string text = absl::StrFormat(
      "seed %d: %s simulated, %d events, writes %d ok %d refused %d undecided, %d reads, %d data "
      "operations on %d keys (%d steps), %d MB on the fullest disk, healed after %s, trace %016x, "
      "%d violations\n  %s\n ",
      seed, absl::FormatDuration(absl::Trunc(simulated, absl::Seconds(1))), events,
      acknowledged_writes, refused_writes, undecided_writes, reads, data_operations, data_keys,
      search_steps, disk_bytes >> 20,
      absl::FormatDuration(absl::Trunc(healed_after, absl::Milliseconds(100))), trace_hash,
      violations.size(), mix);
  absl::StrAppend(&text, " at most: ", Describe(kept), "\n ");
  for (int i = 0; i < kFaultCount; ++i) {
    if (faults[static_cast<size_t>(i)] > 0) {
      absl::StrAppend(&text, " ", FaultName(static_cast<Fault>(i)), "=",
                      faults[static_cast<size_t>(i)]);
    }
  }
  return text;
}

SimCluster::SimCluster(SimClusterOptions options)
    : options_(std::move(options)),
      world_(options_.seed),
      network_(world_),
      replica_count_(std::min(options_.topology.copies, options_.topology.servers)) {
  SimRandom& random = world_.random();
  // Short timers: more of everything that matters happens in a simulated minute. A close race of
  // lease and grace in half of the runs; the drift of two clocks stays within it.
  server_options_.beacon_interval = absl::Milliseconds(500);
  server_options_.lease = absl::Milliseconds(2000);
  meta_options_.grace = random.Coin() ? absl::Milliseconds(2200) : absl::Milliseconds(3000);
  server_options_.config_sync_interval = absl::Seconds(3);
  server_options_.slow_members.calm_max = absl::Seconds(15);  // it heals in less than a minute
  server_options_.group_check_interval = absl::Seconds(2);
  server_options_.prepare_timeout = absl::Milliseconds(1000);
  server_options_.learner_prepare_timeout = absl::Milliseconds(1500);
  server_options_.checkpoint_interval = random.Between(absl::Seconds(3), absl::Seconds(40));
  server_options_.closed_replica_linger = absl::Seconds(5);
  server_options_.layout.failed_directory_rest_max = absl::Seconds(8);
  server_options_.garbage.interval = absl::Seconds(2);
  server_options_.garbage.keep_failed = random.Between(absl::Seconds(2), absl::Seconds(10));
  server_options_.garbage.keep_unneeded = random.Between(absl::Seconds(2), absl::Seconds(10));
  server_options_.log_segment_bytes = uint64_t{64} << (10 + random.Below(3));
  // A checkpoint for 6 MB of log at the latest: a crowd with large values writes more in an interval.
  server_options_.replay_max = absl::Milliseconds(25);
  server_options_.log_preallocate = !random.Percent(20);
  // In half of the runs members that come back get checkpoints sooner.
  server_options_.log_for_member = {.bytes_max = options_.seed % 2 == 0 ? 0u : uint64_t{4} << 20};
  if (random.Percent(10)) server_options_.durability = Durability::kOs;
  server_options_.durability = options_.durability.value_or(server_options_.durability);
  // Half of the runs notice a full disk before a write does, the others by the write.
  server_options_.disk = {.available_bytes_min = random.Coin() ? uint64_t{1} << 20 : 0,
                          .reserve_bytes = random.Below(3) * (64 << 10)};
  if (options_.space == SimClusterOptions::Space::kOneDiskFull)
    server_options_.disk.available_bytes_min = uint64_t{1} << 20;
  bounds_.emplace(BoundSettings{.prepare_list_capacity = server_options_.prepare_list_capacity,
                                .log_segment_bytes = server_options_.log_segment_bytes,
                                .log_for_member_bytes = server_options_.log_for_member.bytes_max});
  meta_options_.guardian_interval = absl::Seconds(2);
  meta_options_.replica_assign_delay_for_dropouts = absl::Seconds(10);
  meta_options_.stable_running = absl::Seconds(1);
  meta_options_.max_successive_unstable_restarts = 0;

  meta_.node = &world_.AddNode("meta1");
  meta_.endpoint = {0x0a0000c8u, 34601};
  if (options_.topology.has_old_meta) network_.ForOlderServer(meta_.endpoint);
  const uint64_t directories = random.Coin() ? 1 : 2 + random.Below(2);
  for (uint64_t i = 1; i <= directories; ++i)
    server_options_.layout.data_directories.push_back(
        {absl::StrCat("data", i), absl::StrCat("/data", i, "/replica/reps")});
  if (random.Percent(25)) server_options_.layout.log_home_directory = "/logs";
  server_options_.meta_servers = {meta_.endpoint};
  for (int i = 0; i < options_.topology.servers; ++i) {
    auto server = std::make_unique<Server>();
    server->name = absl::StrCat("replica", i + 1);
    server->node = &world_.AddNode(server->name);
    server->endpoint = ServerEndpoint(i);
    server->is_older = i < options_.topology.older;
    if (server->is_older) network_.ForOlderServer(server->endpoint);
    servers_.push_back(std::move(server));
  }
  for (const auto& node : world_.nodes()) {
    std::vector<std::string> paths = {kMetaRoot};
    if (node.get() != meta_.node) paths = DiskPaths();
    for (const std::string& path : paths) CHECK(node->disk().CreateDirectories(path).ok()) << path;
    node->disk().MakeDurable();
    if (options_.disks == SimClusterOptions::Disks::kForgetFlushes) node->disk().ForgetFlushes();
    auto off_by = [&random](double percent) {
      return percent == 0
                 ? 1
                 : 1 + percent / 100 * (static_cast<double>(random.Below(2001)) / 1000 - 1);
    };
    node->SetClockRate(off_by(options_.faults.clock_drift_percent));
    node->SetWallRate(off_by(options_.faults.wall_drift_percent));
  }

  churn_ = std::make_unique<TableChurn>(world_, network_, history_, coverage_, meta_.endpoint,
                                        replica_count_);
  WatchTheNetwork();
}

void SimCluster::WatchTheNetwork() {
  network_.on_request = [this](Endpoint from, Endpoint to, const OutboundRequest& request) {
    if (request.name == kRpcLearn) coverage_.LearnAsked(from, request.pid);
    if (request.name == kRpcPrepare) NotePrepare(from, to, request.body);
  };
  network_.on_answer = [this](Endpoint server, const OutboundRequest& request, ErrorCode error,
                              const std::string& body) {
    if (request.pid != PartitionId{} && error == ErrorCode::kOk) {
      primaries_.Answered(request.pid, server,
                          FindWriteCode(request.name) ? PrimaryChecker::Asked::kWrite
                                                      : PrimaryChecker::Asked::kRead,
                          world_.now());
    }
    NoteAnswer(request, error, body);
  };
  network_.told = {kRpcBeacon, [this](Endpoint caller, Instant sent, const RpcResult& result) {
                     if (Server* server = ServerAt(caller);
                         server != nullptr && result.error == ErrorCode::kOk &&
                         server->knows_nothing_since && *server->knows_nothing_since <= sent)
                       server->knows_nothing_since.reset();
                   }};
  network_.is_withheld = [this](Endpoint endpoint, const OutboundRequest& request) {
    const bool is_of_replica = request.pid != PartitionId{};
    const Server* server =
        is_of_replica && MayAnswerFromWhatItHolds(request.name) ? ServerAt(endpoint) : nullptr;
    return server != nullptr && server->knows_nothing_since.has_value();
  };
}

SimCluster::Server* SimCluster::ServerAt(Endpoint endpoint) {
  const auto found = std::find_if(servers_.begin(), servers_.end(),
                                  [endpoint](const auto& s) { return s->endpoint == endpoint; });
  return found == servers_.end() ? nullptr : found->get();
}

void SimCluster::NotePrepare(Endpoint from, Endpoint to, const std::string& body) {
  if (body != last_prepare_.body) {  // all secondaries get the same
    absl::StatusOr<PrepareRequest> request = DecodePrepare(body);
    if (!request.ok()) return Violate("a prepare does not decode");
    last_prepare_ = {body, *std::move(request)};
  }
  const PrepareRequest& request = last_prepare_.request;
  coverage_.Prepared(from, to, request);
  primaries_.Prepared(request.pid, request.config.ballot, from);
  ballots_.Used(request.pid, request.config.ballot);
}

void SimCluster::NoteAnswer(const OutboundRequest& request, ErrorCode error,
                            const std::string& body) {
  if (request.name == kRpcLearn && error == ErrorCode::kOk) {
    absl::StatusOr<LearnResponse> response = DecodeWrapped<LearnResponse>(body);
    if (response.ok()) coverage_.LearnAnswered(*response);
  } else if (request.name == kRpcLearnCompletion) {
    coverage_.Hit(Probe::kLearnCompleted);
  } else if (request.name == kRpcCopyFile) {
    coverage_.Hit(Probe::kFilesCopied);
  } else if (request.name == kRpcPrepare && error == ErrorCode::kOk) {
    absl::StatusOr<PrepareAck> ack = DecodeWrapped<PrepareAck>(body);
    if (ack.ok() && ack->err != ErrorCode::kOk) coverage_.Hit(Probe::kPrepareRefused);
  }
  if (error == ErrorCode::kInvalidState || error == ErrorCode::kObjectNotFound)
    coverage_.Hit(Probe::kClientSentElsewhere);
  if (error == ErrorCode::kDiskInsufficient) {
    coverage_.Hit(Probe::kWriteRefusedByDisk);
    if (must_take_writes_)
      Violate(absl::StrCat("sim_cluster/H1: a write to ", request.pid.ToString(),
                           " is refused for a full disk that should be left"));
  }
}

SimCluster::~SimCluster() {
  workload_.reset();
  churn_.reset();
  for (auto& server : servers_) {
    if (server->node->alive()) CrashServer(*server, CrashMode::kProcess);
  }
  if (meta_.node->alive()) CrashMeta(CrashMode::kProcess);
}

// ---- the run ----

bool SimCluster::CreateTables() {
  SimNode& node = world_.AddNode("admin");
  SimEnvironment& env = node.Start();
  SimTransport transport(network_, node, Endpoint{0x0a0001ffu, 1000});
  StrandPtr strand = env.NewStrand("admin");
  ProbeClient admin(transport, strand);
  for (int i = 1; i <= options_.topology.tables; ++i) {
    WorkloadTable table{absl::StrCat("table", i), 0, options_.topology.partitions};
    CreateTable(admin, strand, &table);
    if (table.app_id != 0) tables_.push_back(table);
  }
  node.Crash(CrashMode::kProcess);
  return static_cast<int>(tables_.size()) == options_.topology.tables;
}

void SimCluster::CreateTable(ProbeClient& admin, const StrandPtr& strand, WorkloadTable* table) {
  CreateAppRequest request;
  request.app_name = table->name;
  request.options.partition_count = table->partition_count;
  request.options.replica_count = replica_count_;
  request.options.success_if_exist = true;
  request.options.app_type = "pegasus";
  request.options.is_stateful = true;
  ErrorCode last = ErrorCode::kUnknown;
  for (int attempt = 0; attempt < 30 && last != ErrorCode::kOk; ++attempt) {
    bool answered = false;
    strand->Post([&] {
      admin.CreateTable(meta_.endpoint, request, [&](CreateAppResponse response) {
        last = response.err;
        if (last == ErrorCode::kOk) table->app_id = response.appid;
        answered = true;
      });
    });
    if (!world_.RunUntil([&] { return answered; }, absl::Seconds(20))) break;
    world_.RunFor(absl::Milliseconds(500));
  }
  if (last != ErrorCode::kOk)
    Violate(absl::StrCat("a table was not created: ", Text(ErrorCodeName(last))));
}

int64_t SimCluster::WallErrorSeconds() const {
  const double drift =
      absl::ToDoubleSeconds(world_.now() - Instant(0)) * options_.faults.wall_drift_percent / 100;
  return kWallErrorMicros / 1000000 + static_cast<int64_t>(drift) + 2;
}

void SimCluster::CollectViolations(RunReport* report) {
  auto add = [report](const Violations& more) {
    report->violations.insert(report->violations.end(), more.begin(), more.end());
  };
  add(CheckLinearizable(history_));
  add(CheckCounters(history_));
  DataCheckOptions data;
  data.wall_zero = kWallStartMicros / 1000000 - kExpiryEpochUnixSeconds;
  data.wall_error_seconds = WallErrorSeconds();
  data.steps_per_key = options_.steps_per_key;
  DataCheckResult checked = CheckData(data_history_, data);
  add(checked.violations);
  report->data_operations = data_history_.CountAnswered();
  report->data_keys = checked.keys;
  report->search_steps = checked.steps;
  add(commits_.violations());
  add(primaries_.violations());
  add(ballots_.violations());
  add(bounds_->violations());
  add(violations_);
}

void SimCluster::StartWorkload() {
  WorkloadOptions workload;
  workload.tables = tables_;
  workload.meta_servers = {meta_.endpoint};
  for (const auto& server : servers_) workload.servers.push_back(server->endpoint);
  SimRandom& random = world_.random();
  workload.loops = static_cast<int>(random.Between(1, 4));
  workload.keys = static_cast<int>(random.Between(3, 8));
  workload.write_percent = static_cast<double>(random.Between(30, 80));
  workload.think_max = random.Between(absl::Milliseconds(50), absl::Milliseconds(400));
  if (random.Percent(10)) {  // a crowd at times: large batches, many mutations in flight
    workload.loops = 12;
    workload.think_max = absl::Milliseconds(600);
    workload.hurry_percent = 25;
  }
  if (random.Percent(30)) workload.value_bytes_max = static_cast<size_t>(random.Between(500, 9000));
  if (!options_.faults.Has(Fault::kWallJump))
    workload.expiry_percent = random.Coin() ? 20 : 0;
  else if (random.Percent(30))
    workload.ttl_seconds = kTenDays;
  // An older server decides at each member by itself what has expired.
  if (options_.topology.older > 0) workload.expiry_percent = workload.ttl_seconds = 0;
  workload_ = std::make_unique<Workload>(world_, network_, history_, data_history_, workload);
  workload_->Start();
}

RunReport SimCluster::Run() {
  balances_ = options_.faults.balancer == FaultMix::Balancer::kOn;
  StartMeta();
  for (auto& server : servers_) StartServer(*server);
  WatchBounds();
  bool is_whole =
      CreateTables() && world_.RunUntil([this] { return IsWhole(); }, absl::Seconds(60));
  if (!is_whole) {
    Violate(absl::StrCat("sim_cluster/H1: new tables are not whole after 60 s:", WhatIsMissing()));
  } else {
    StartWorkload();
    network_.weather = UsualWeather();
    network_.odd_percent = options_.faults.odd_percent;
    if (options_.reports == SimClusterOptions::Reports::kLateAgain)
      network_.echoes = {
          .request = kRpcConfigSync, .copies = 3, .late_max = 5 * meta_options_.grace};
    faults_on_ = true;
    ScheduleFault();
    if (KeepsImages()) KeepImages();
    if (options_.meta_state == SimClusterOptions::MetaState::kOlderCopyPutBack) KeepCopyOfState();
    if (options_.faults.Has(Fault::kMetaPutBack)) KeepStates();
    if (options_.space == SimClusterOptions::Space::kOneDiskFull) FillOneDisk();
    world_.RunFor(options_.run_length);
    // Where hardly anything gets through, as where all crash every second, it takes longer.
    for (int more = 0; more < kMoreRuns && HasDoneTooLittle(); ++more)
      world_.RunFor(options_.run_length);
    HealAll();
    AwaitHealth();
    // What odd messages say of ballots is believed.
    if (states_put_back_ == 0 && options_.faults.odd_percent == 0) CheckItIsSaid(false);
    AwaitTidiness();
  }
  return Report();
}

bool SimCluster::HasDoneTooLittle() const {
  return history_.Count(Operation::Kind::kWrite, Operation::Outcome::kOk) <
             options_.acknowledged_writes_min ||
         data_history_.CountAnswered() < options_.data_operations_min;
}

RunReport SimCluster::Report() {
  RunReport report;
  report.seed = options_.seed;
  report.mix =
      absl::StrCat(options_.topology.ToString(), "; ", options_.faults.ToString(),
                   "; log files of ", server_options_.log_segment_bytes >> 10, " KiB",
                   server_options_.log_preallocate ? "" : " that grow",
                   server_options_.layout.log_home_directory.empty() ? "" : " in one place", ", ",
                   server_options_.layout.data_directories.size(), " data directories",
                   server_options_.durability == Durability::kOs ? ", not synced" : "");
  report.trace_hash = world_.trace_hash();
  report.events = world_.events_run();
  report.simulated = world_.now() - Instant(1000000000);
  report.acknowledged_writes = history_.Count(Operation::Kind::kWrite, Operation::Outcome::kOk);
  report.refused_writes = history_.Count(Operation::Kind::kWrite, Operation::Outcome::kRefused);
  report.undecided_writes = history_.Count(Operation::Kind::kWrite, Operation::Outcome::kUndecided);
  report.reads = history_.Count(Operation::Kind::kRead, Operation::Outcome::kOk);
  report.faults = faults_;
  report.faults_injected = faults_drawn_;
  report.probes = coverage_.counts();
  report.healed_after = healed_after_;
  for (const auto& server : servers_)
    report.disk_bytes = std::max(report.disk_bytes, DiskBytesOf(*server->node));
  report.kept = bounds_->most();
  CollectViolations(&report);
  const auto demand = [&report](const char* what, int64_t done, int64_t least) {
    if (done < least)
      report.violations.push_back(
          absl::StrCat("the run proves too little: ", done, " ", what, " of at least ", least));
  };
  if (options_.meta_state == SimClusterOptions::MetaState::kOlderCopyPutBack)
    demand("older copies of the meta server's state", states_put_back_, 1);
  if (IsLeftToOperator()) return report;
  demand("acknowledged writes", report.acknowledged_writes, options_.acknowledged_writes_min);
  demand("data operations", report.data_operations, options_.data_operations_min);
  return report;
}

}  // namespace arion::sim
