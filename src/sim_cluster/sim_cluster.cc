// SPDX-License-Identifier: Apache-2.0
#include "sim_cluster/sim_cluster.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "rpc/thrift_codec.h"
#include "sim_checkers/data_checker.h"
#include "sim_cluster/run_report.h"
#include "sim_workloads/probe_client.h"

namespace arion::sim {
namespace {

constexpr int kTenDays = 10 * 24 * 3600;
constexpr int kMoreRuns = 3;
// What is missing is tried again after some seconds, and is little.
constexpr absl::Duration kIndexesWholeMax = absl::Seconds(30);
constexpr Instant kBegin{1000000000};  // of the world

// Looks at the histories, and adds to the report what all checkers found.
void Judge(const RunCheckers& checkers, const DataCheckOptions& data, RunReport* report) {
  const auto add = [report](const Violations& more) {
    report->violations.insert(report->violations.end(), more.begin(), more.end());
  };
  // Histories are judged at the end, because an answer may come long after its request. The other
  // checkers judged while the run went on.
  add(CheckLinearizable(checkers.history));
  add(CheckCounters(checkers.history));
  const DataCheckResult checked = CheckData(checkers.data_history, data);
  add(checked.violations);
  report->data_operations = checkers.data_history.CountAnswered();
  report->data_keys = checked.keys;
  report->search_steps = checked.steps;
  add(checkers.commits.violations());
  add(checkers.primaries.violations());
  add(checkers.ballots.violations());
  add(checkers.bounds.violations());
  add(checkers.leaders.violations());
  add(checkers.violations);
}

}  // namespace

SimCluster::SimCluster(SimClusterOptions options)
    : SimCluster(options, std::make_unique<Own>(options.seed), nullptr, nullptr) {}

SimCluster::SimCluster(SimClusterOptions options, SimWorld& world, OpenEngines& engines)
    : SimCluster(std::move(options), nullptr, &world, &engines) {}

SimCluster::SimCluster(SimClusterOptions options, std::unique_ptr<Own> own, SimWorld* world,
                       OpenEngines* engines)
    : own_(std::move(own)),
      engines_(own_ ? own_->engines : *engines),
      world_(own_ ? own_->world : *world),
      network_(world_),
      settings_(ClusterSettings::Draw(std::move(options), world_.random())),
      indexes_planned_(IndexPlan::Draw(settings_.run.seed, settings_.run.indexes)),
      checkers_(settings_.Bounds()),
      groups_(settings_.replica_count),
      lives_(settings_, AddMetaNode(), world_, network_, engines_, checkers_, groups_),
      churn_(world_, network_, checkers_.history, checkers_.coverage, settings_.MetaEndpoints(),
             settings_.replica_count),
      faults_(settings_, world_, network_, lives_, groups_, churn_, checkers_),
      watch_(world_, network_, lives_, faults_.full_disks(), checkers_),
      kept_(settings_, world_, network_, lives_, engines_, checkers_),
      health_(settings_, world_, lives_, groups_, churn_, engines_, checkers_) {}

SimNode& SimCluster::AddMetaNode() {
  SimNode& node = world_.AddNode(settings_.NodeName("meta1"));
  settings_.DrawLayout(world_.random());
  return node;
}

SimCluster::~SimCluster() {
  splits_.reset();
  indexes_.reset();
  workload_.reset();
  // The workload's clients are gone; now the servers, while the world that they refer to is there.
  lives_.EndAll();
}

bool SimCluster::CreateTables() {
  SimNode& node = world_.AddNode("admin");
  SimEnvironment& env = node.Start();
  SimTransport transport(network_, node, Endpoint{0x0a0001ffu, 1000});
  StrandPtr strand = env.NewStrand("admin");
  ProbeClient admin(transport, strand);
  const SimClusterOptions& run = settings_.run;
  const int first = run.makes_received_tables_late ? run.received_tables + 1 : 1;
  for (int i = first; i <= run.topology.tables; ++i) {
    WorkloadTable table{absl::StrCat("table", i), 0, settings_.run.topology.partitions};
    if (settings_.run.splits)
      table.partitions_max = SplitWorkload::PartitionsMax(table.partition_count);
    CreateTable(admin, strand, &table);
    if (table.app_id != 0) groups_.AddTable(table);
  }
  // The admin's transport goes with this function.
  node.Crash(CrashMode::kProcess);
  return static_cast<int>(groups_.tables().size()) == run.topology.tables - first + 1;
}

void SimCluster::AddCopiedTable(WorkloadTable table) {
  checkers_.commits.BeginsWithACopy(table.app_id);
  groups_.AddTable(table);
}

void SimCluster::CreateTable(ProbeClient& admin, const StrandPtr& strand, WorkloadTable* table) {
  CreateAppRequest request;
  request.app_name = table->name;
  request.options.partition_count = table->partition_count;
  request.options.replica_count = settings_.replica_count;
  // An earlier attempt may have made it although its answer was lost.
  request.options.success_if_exist = true;
  request.options.app_type = "pegasus";
  request.options.is_stateful = true;
  if (indexes_planned_.are_set_at_creation) request.options.envs = indexes_planned_.Environments();
  ErrorCode last = ErrorCode::kUnknown;
  // The meta server may still be loading, or too few servers alive.
  const std::vector<Endpoint> metas = settings_.MetaEndpoints();
  for (size_t attempt = 0; attempt < 30 && last != ErrorCode::kOk; ++attempt) {
    bool answered = false;
    strand->Post([&] {
      admin.CreateTable(metas[attempt % metas.size()], request, [&](CreateAppResponse response) {
        last = response.err;
        if (last == ErrorCode::kOk) table->app_id = response.appid;
        answered = true;
      });
    });
    if (!world_.RunUntil([&] { return answered; }, absl::Seconds(20))) break;
    world_.RunFor(absl::Milliseconds(500));
  }
  if (last != ErrorCode::kOk)
    checkers_.Violate(absl::StrCat("a table was not created: ", Text(ErrorCodeName(last))));
}

WorkloadOptions SimCluster::DrawWorkload() {
  WorkloadOptions workload;
  workload.tables = groups_.tables();
  if (!settings_.run.makes_received_tables_late)
    workload.tables.erase(workload.tables.begin(),
                          workload.tables.begin() + settings_.run.received_tables);
  workload.meta_servers = settings_.MetaEndpoints();
  for (const auto& server : lives_.servers()) workload.servers.push_back(server->endpoint);
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
  // Where wall clocks leap, a record that expires has ten days: no clock that is right gets so far.
  if (!settings_.run.faults.Has(Fault::kWallJump))
    workload.expiry_percent = random.Coin() ? 20 : 0;
  else if (random.Percent(30))
    workload.ttl_seconds = kTenDays;
  if (settings_.run.indexes > 0) workload.object_percent = 60;
  // An older server decides at each member by itself what has expired.
  if (settings_.run.topology.older > 0) workload.expiry_percent = workload.ttl_seconds = 0;
  return workload;
}

void SimCluster::StartWorkload() {
  workload_ = std::make_unique<Workload>(world_, network_, checkers_.history,
                                         checkers_.data_history, DrawWorkload());
  workload_->Start();
  if (settings_.run.splits) {
    splits_ = std::make_unique<SplitWorkload>(world_, network_, checkers_.coverage,
                                              settings_.MetaEndpoints(), settings_.run.seed,
                                              groups_.tables());
    splits_->Start();
  }
  if (indexes_planned_.indexes.empty()) return;
  indexes_ = std::make_unique<IndexWorkload>(
      world_, network_, checkers_.history, checkers_.data_history, workload_->data(),
      checkers_.coverage, settings_.MetaEndpoints(), indexes_planned_, groups_.tables());
  indexes_->Start();
}

RunReport SimCluster::Run() {
  if (Begin()) MeetTroubles();
  return Report();
}

bool SimCluster::Begin() {
  // All begin at once, as after a power cut.
  lives_.StartMeta();
  for (const auto& server : lives_.servers()) lives_.StartServer(*server);
  kept_.WatchBounds();
  const bool is_whole =
      CreateTables() && world_.RunUntil([this] { return groups_.IsWhole(); }, absl::Seconds(60));
  if (!is_whole)
    checkers_.Violate(absl::StrCat("cluster_health/H1: new tables are not whole after 60 s:",
                                   health_.WhatIsMissing()));
  return is_whole;
}

void SimCluster::MeetTroubles() {
  BeginTroubles();
  world_.RunFor(settings_.run.run_length);
  // Where hardly anything gets through, as where all crash every second, it takes longer.
  for (int more = 0; more < kMoreRuns && HasDoneTooLittle(); ++more)
    world_.RunFor(settings_.run.run_length);
  EndTroubles();
  AwaitHealth();
  AwaitTidiness();
}

void SimCluster::BeginTroubles() {
  StartWorkload();
  faults_.Begin();
}

void SimCluster::EndTroubles() {
  faults_.HealAll();
  healing_since_ = world_.now();
  if (indexes_) indexes_->Stop();
  if (splits_) splits_->Stop();
  lives_.EndRollbacks();
}

void SimCluster::AwaitHealth() {
  health_.Await(*workload_, splits_.get());
  AwaitIndexes();
  if (lives_.metas() != nullptr)
    lives_.metas()->AwaitOneLeader(healing_since_ + ClusterHealth::kLimit);
  // What odd messages say of ballots is believed.
  if (lives_.meta().states_put_back == 0 && settings_.run.faults.odd_percent == 0)
    faults_.older_states().CheckItIsSaid(OlderStates::Expected::kDidNot);
}

void SimCluster::AwaitTidiness() {
  if (checkers_.violations.empty() && !health_.IsLeftToOperator()) kept_.AwaitTidiness();
}

void SimCluster::AwaitIndexes() {
  if (!indexes_) return;
  if (checkers_.violations.empty() && !health_.IsLeftToOperator()) {
    std::optional<std::string> outcome;
    std::vector<int32_t> counts;
    for (const WorkloadTable& table : groups_.tables())
      counts.push_back(groups_.CountOf(table.app_id));
    indexes_->Verify(kIndexesWholeMax, std::move(counts),
                     [&outcome](std::string what) { outcome = std::move(what); });
    // Some calls may be under way at the limit.
    if (!world_.RunUntil([&outcome] { return outcome.has_value(); }, 2 * kIndexesWholeMax))
      checkers_.Violate("index_workload/I1: the indexes were not compared in time");
    else if (outcome->empty())
      outcome = health_.AwaitIndexes(indexes_planned_.indexes, kIndexesWholeMax);
    if (outcome && !outcome->empty()) checkers_.Violate(*outcome);
  }
  for (const std::string& violation : indexes_->violations()) checkers_.Violate(violation);
}

bool SimCluster::HasDoneTooLittle() const {
  return checkers_.history.Count(Operation::Kind::kWrite, Operation::Outcome::kOk) <
             settings_.run.acknowledged_writes_min ||
         checkers_.data_history.CountAnswered() < settings_.run.data_operations_min;
}

std::string SimCluster::Mix() const {
  const ReplicaServerOptions& server = settings_.server;
  return absl::StrCat(
      settings_.run.topology.ToString(), "; ", settings_.run.faults.ToString(), "; log files of ",
      server.log_segment_bytes >> 10, " KiB", server.log_preallocate ? "" : " that grow",
      settings_.HasLogHome() ? " in one place" : "", ", ", server.layout.data_directories.size(),
      " data directories", server.durability == Durability::kOs ? ", not synced" : "");
}

RunReport SimCluster::Report() const {
  const History& history = checkers_.history;
  RunReport report;
  report.seed = settings_.run.seed;
  report.mix = Mix();
  report.trace_hash = world_.trace_hash();
  report.events = world_.events_run();
  report.simulated = world_.now() - kBegin;
  report.acknowledged_writes = history.Count(Operation::Kind::kWrite, Operation::Outcome::kOk);
  report.refused_writes = history.Count(Operation::Kind::kWrite, Operation::Outcome::kRefused);
  report.undecided_writes = history.Count(Operation::Kind::kWrite, Operation::Outcome::kUndecided);
  report.reads = history.Count(Operation::Kind::kRead, Operation::Outcome::kOk);
  report.faults = faults_.troubles().counts();
  report.faults_injected = faults_.troubles().drawn();
  report.probes = checkers_.coverage.counts();
  report.healed_after = health_.healed_after();
  report.reigns = checkers_.leaders.reigns();
  report.takeovers = checkers_.leaders.takeovers();
  report.disk_bytes = kept_.DiskBytesMax();
  report.kept = checkers_.bounds.most();
  DataCheckOptions data;
  data.wall_zero = kWallStartMicros / 1000000 - kExpiryEpochUnixSeconds;
  data.wall_error_seconds = settings_.WallErrorSeconds(world_.now() - Instant(0));
  data.steps_per_key = settings_.run.steps_per_key;
  Judge(checkers_, data, &report);
  Demand(&report);
  return report;
}

void SimCluster::Demand(RunReport* report) const {
  const auto demand = [report](const char* what, int64_t done, int64_t least) {
    if (done < least)
      report->violations.push_back(
          absl::StrCat("the run proves too little: ", done, " ", what, " of at least ", least));
  };
  if (settings_.run.meta_state == SimClusterOptions::MetaState::kOlderCopyPutBack)
    demand("older copies of the meta server's state", lives_.meta().states_put_back, 1);
  if (settings_.run.topology.metas > 1) demand("meta servers that led", report->reigns, 1);
  // A run that ended with a question for a person may have done little.
  if (health_.IsLeftToOperator()) return;
  demand("acknowledged writes", report->acknowledged_writes, settings_.run.acknowledged_writes_min);
  demand("data operations", report->data_operations, settings_.run.data_operations_min);
}

}  // namespace arion::sim
