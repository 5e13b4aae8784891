// SPDX-License-Identifier: Apache-2.0
#include "replica_server/replica_server.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "copies/served_files.h"
#include "disks/data_directories.h"
#include "disks/disk_layout.h"
#include "disks/disk_snapshot.h"
#include "disks/disk_watch.h"
#include "disks/garbage_collector.h"
#include "disks/open_file_budget.h"
#include "legacy/shared_log_collector.h"
#include "legacy/shared_log_stats.h"
#include "membership/cluster_entry.h"
#include "membership/failure_detector_client.h"
#include "membership/join_notes.h"
#include "membership/server_lease.h"
#include "recovery/log_replay_stats.h"
#include "recovery/recovery.h"
#include "recovery/shared_log_take_over.h"
#include "replica/replica_host.h"
#include "replica/replica_snapshot.h"
#include "replica_server/config_sync.h"
#include "replica_server/duplication_sync.h"
#include "replica_server/replica_children.h"
#include "replica_server/replica_table.h"
#include "replica_server/request_router.h"

namespace arion {
namespace {

// Of a server that stops, for others to take over what it is primary of.
constexpr absl::Duration kStepDownPatience = absl::Seconds(1);

// Where requests come in. It exists as long as the server and opens when there is somebody who
// answers.
class Door {
 public:
  void Open(std::shared_ptr<RequestRouter> router) {
    router_ = std::move(router);
    is_open_.store(true, std::memory_order_release);
  }
  void Handle(InboundRequest request) const {
    if (!is_open_.load(std::memory_order_acquire))
      return request.responder.Reply(ErrorCode::kInactiveState);
    if (const auto router = router_.lock()) router->Handle(std::move(request));
  }

 private:
  std::weak_ptr<RequestRouter> router_;  // as it is from Open on
  std::atomic<bool> is_open_{false};
};

}  // namespace

class ReplicaServer::State : public std::enable_shared_from_this<ReplicaServer::State> {
 public:
  State(Environment& env, Transport& transport, EngineFactory& engines,
        ReplicaServerOptions options)
      // One strand for all parts of the server; each replica has its own.
      : strand_(env.NewStrand("replica server")) {
    // The log home is the last disk (DiskLayout).
    std::vector<DataDirectory> watched = options.layout.data_directories;
    if (!options.layout.log_home_directory.empty())
      watched.push_back({kLogHomeTag, options.layout.log_home_directory});
    const auto watch = std::make_shared<DiskWatch>(env, strand_, options.disk, watched);
    const auto disks = std::make_shared<const ServerDisks>(ServerDisks{env, options.layout, watch});
    const auto foreground = std::make_shared<ForegroundPace>();
    // Copies yield to all replicas' clients: the disk's flushes, and the server's answers.
    const auto waits = [watch, foreground](size_t disk) {
      return CopyThrottle::Waits{.flush = watch->FlushWait(disk),
                                 .read = foreground->ReadWait(),
                                 .write = foreground->WriteWait()};
    };
    const size_t count = options.layout.data_directories.size();
    const auto sending = std::make_shared<CopyThrottle>(options.send_limits, count, waits);
    const auto receiving = std::make_shared<CopyThrottle>(options.receive_limits, count, waits);
    const auto building = std::make_shared<CopyThrottle>(CopyLimits{}, count, waits);
    const auto verifying = std::make_shared<CopyThrottle>(options.verify_limits, count, waits);
    const auto opening = std::make_shared<const OpeningHost>(
        OpeningHost{.disks = disks,
                    .engines = engines,
                    .open_log = options.open_log ? options.open_log : PrivateLog::Open,
                    .log = {.durability = options.durability,
                            .segment_bytes_max = options.log_segment_bytes,
                            .reserve = options.log_reserve,
                            .preallocate = options.log_preallocate}});
    host_ = std::make_shared<const ReplicaHost>(
        ReplicaHost{.env = env,
                    .transport = transport,
                    .options = std::move(options),
                    .self = transport.local(),
                    .lease = std::make_shared<ServerLease>(),
                    .served = std::make_shared<ServedFiles>(env.files()),
                    .disks = disks,
                    .opening = opening,
                    .sending = sending,
                    .receiving = receiving,
                    .building = building,
                    .verifying = verifying,
                    .foreground = foreground});
    // Not opened yet: Start claims the directories.
    directories_.emplace(disks, host_->self);
    garbage_ = std::make_shared<GarbageCollector>(disks, strand_, host_->options.garbage);
    host_->slow_requests->SetKeptFrom(host_->options.slow_request_after);
    host_->verifications->SetInterval(host_->options.verify_interval);
    // Set at once, because the transport may already listen: requests before Start are refused, not
    // lost.
    host_->transport.SetHandler(
        [door = door_, other = host_->options.other_requests](InboundRequest request) {
          if (!other || !other(request)) door->Handle(std::move(request));
        });
  }

  absl::Status Start();
  void Stop(std::function<void(absl::Status)> done);
  void StopParts(std::function<void(absl::Status)> done);
  void Handle(InboundRequest request) { door_->Handle(std::move(request)); }
  void Reconfigure(const ReplicaServerOptions& options);
  void SetMetaServers(std::vector<Endpoint> meta_servers);
  void Tables(std::function<void(std::vector<AppInfo>)> done);
  void CompactionTexts(std::function<void(std::map<PartitionId, std::string>)> done);
  void Snapshot(std::function<void(std::vector<ReplicaSnapshot>)> done);
  void AskForCheckpoints(std::optional<PartitionId> only);
  std::vector<DiskSnapshot> Disks() const;
  RecoveryReport RecoveryNow() const {
    return host_->opening->progress->Report(host_->env.clock().Now());
  }
  const LogReplayStats& replay() const { return *host_->opening->replay; }
  const SharedLogStats& shared_log() const { return *host_->shared_log_stats; }
  const RequestBook& requests() const { return *host_->requests; }
  std::shared_ptr<const IndexBook> indexes() const { return host_->indexes; }
  std::shared_ptr<const DuplicationBook> duplications() const { return host_->duplication->book(); }
  const SlowRequests& slow_requests() const { return *host_->slow_requests; }
  const ServerLease& lease() const { return *host_->lease; }
  const VerificationBook& verifications() const { return *host_->verifications; }
  const JoinNotes& join() const { return *host_->join; }
  int64_t verified_bytes() const {
    int64_t bytes = 0;
    for (size_t i = 0; i < host_->disks->layout.data_directories.size(); ++i)
      bytes += host_->verifying->BytesOf(i);
    return bytes;
  }
  void OnRefused(std::function<void(const absl::Status&)> refused) {
    on_refused_ = std::move(refused);
  }

 private:
  void MakeParts();
  void MakeEntry();
  void EverySecond();
  void Recover(std::vector<FoundReplica> found);
  void TakeOver(SharedLogCatalog catalog);
  void Collect();

  const StrandPtr strand_;
  const std::shared_ptr<Door> door_ = std::make_shared<Door>();
  std::shared_ptr<const ReplicaHost> host_;
  std::optional<DataDirectories> directories_;
  std::shared_ptr<ReplicaTable> table_;
  std::shared_ptr<Recovery> recovery_;
  std::shared_ptr<SharedLogTakeOver> take_over_;   // null: there is no shared log
  std::shared_ptr<SharedLogCollector> collector_;  // the same
  std::function<void(const absl::Status&)> on_refused_;
  std::shared_ptr<ConfigSync> sync_;
  std::shared_ptr<DuplicationSync> duplication_sync_;
  TimerId second_ = kNoTimer;
  std::shared_ptr<RequestRouter> router_;
  std::shared_ptr<FailureDetectorClient> detector_;
  std::shared_ptr<ClusterEntry> entry_;  // null: nobody is asked before the first beacon
  std::shared_ptr<GarbageCollector> garbage_;
};

absl::Status ReplicaServer::State::Start() {
  // The order: claims and lists, the older version's shared log, then what the next start wants to
  // know, and devices while waiting is allowed. Only then parts that run.
  ASSIGN_OR_RETURN(std::vector<FoundReplica> found, directories_->Open());
  ASSIGN_OR_RETURN(SharedLogCatalog shared_log, directories_->FindOldSharedLog(found));
  directories_->Remember();
  directories_->LearnDevices(shared_log.directory);
  MakeParts();
  MakeEntry();
  if (!shared_log.directory.empty()) TakeOver(std::move(shared_log));
  std::vector<bool> readable = directories_->Usable();
  const auto usable = std::count(readable.begin(), readable.end(), true);
  if (directories_->has_log_home()) readable.push_back(true);
  host_->disks->watch->Start(readable);
  LOG(INFO) << "replica server " << host_->self << " loads " << found.size() << " replicas from "
            << usable << " data directories; durability "
            << DurabilityName(host_->options.durability) << ", "
            << host_->opening->engines.description();
  // Everything on the strand from here on: the first replica may open before this function returns.
  strand_->Post([self = shared_from_this(), found = std::move(found), readable]() mutable {
    // The take-over expects its replicas before the first one can join it.
    if (self->take_over_ != nullptr) {
      std::set<PartitionId> expected;
      for (const FoundReplica& replica : found) expected.insert(replica.pid);
      self->take_over_->Start(std::move(expected));
    }
    // Replicas before beacons: a server that is admitted is given work at once.
    self->Recover(std::move(found));
    if (self->entry_ != nullptr)
      self->entry_->Start();
    else
      self->detector_->Start();
    self->garbage_->Start(std::move(readable));
    self->EverySecond();
  });
  // Last: requests find a router, and replicas that answer "loading".
  door_->Open(router_);
  return absl::OkStatus();
}

void ReplicaServer::State::Recover(std::vector<FoundReplica> found) {
  recovery_ = std::make_shared<Recovery>(
      host_->disks, strand_, host_->options.recovery, host_->opening->progress, found,
      // Weak, because the table holds the Recovery.
      [table = std::weak_ptr<ReplicaTable>(table_)](PartitionId pid) {
        if (const auto live = table.lock()) live->Recover(pid);
      });
  // Known before the replicas that report to it.
  table_->SetRecovery(recovery_);
  for (FoundReplica& replica : found) table_->Expect(std::move(replica));
  for (const FoundReplica& replica : directories_->replaced()) table_->SetReplacedAside(replica);
  for (const std::string& path : directories_->ignored()) table_->Ignore(path);
  recovery_->Start();
}

void ReplicaServer::State::TakeOver(SharedLogCatalog catalog) {
  const std::weak_ptr<State> self = weak_from_this();
  take_over_ = std::make_shared<SharedLogTakeOver>(
      host_->opening, strand_, std::move(catalog), host_->shared_log_stats,
      host_->options.shared_log.damaged,
      SharedLogTakeOver::Events{.on_refused =
                                    [refused = on_refused_](const absl::Status& status) {
                                      if (refused) refused(status);
                                    },
                                .on_read =
                                    [self] {
                                      if (const auto state = self.lock()) state->Collect();
                                    }});
  table_->SetTakeOver(take_over_);
}

void ReplicaServer::State::Collect() {
  using Disposal = SharedLogCollector::Disposal;
  collector_ = std::make_shared<SharedLogCollector>(
      host_->env, strand_, host_->options.shared_log,
      // The collector asks through functions, so that legacy/ need not know the server's parts.
      SharedLogCollector::Server{
          .ask_replicas = [table = table_](auto done) { table->AskForSharedLog(std::move(done)); },
          .flush = [table = table_](PartitionId pid,
                                    absl::Duration after) { table->CheckpointAfter(pid, after); },
          .ask_about_missing =
              [sync = sync_](SharedLogCollector::Missing missing) {
                sync->AskAboutMissing(std::move(missing.replicas), std::move(missing.on_unneeded));
              },
          .on_gone =
              [table = table_, opening = host_->opening] {
                // No shared log any more: replicas that are made from now on need not name its end.
                opening->shared_log_end->store(0);
                table->ForgetSharedLog();
              }},
      directories_->not_loaded(), take_over_->catalog(),
      take_over_->damages().empty() ? Disposal::kRemove : Disposal::kSetAside,
      host_->shared_log_stats);
  collector_->Start(take_over_->max_of_newest());
}

void ReplicaServer::State::MakeParts() {
  const std::weak_ptr<State> self = weak_from_this();
  table_ = std::make_shared<ReplicaTable>(host_, strand_, directories_->Usable(), [self] {
    if (const auto state = self.lock()) state->sync_->Soon();
  });
  sync_ = std::make_shared<ConfigSync>(host_, strand_, table_, directories_->unreadable_tags());
  duplication_sync_ = std::make_shared<DuplicationSync>(host_, strand_, table_);
  table_->SetChildren(std::make_shared<ReplicaChildren>(strand_, table_, sync_));
  host_->disks->watch->OnChanged([self] {
    if (const auto state = self.lock()) state->sync_->Soon();
  });
  host_->compactions->OnChanged([self] {
    if (const auto state = self.lock())
      state->strand_->Post([sync = state->sync_] { sync->Soon(); });
  });
  router_ = std::make_shared<RequestRouter>(host_, strand_, table_, sync_);
  detector_ = std::make_shared<FailureDetectorClient>(
      host_->env, host_->transport, strand_, host_->lease,
      FailureDetectorOptions{.meta_servers = host_->options.meta_servers,
                             .beacon_interval = host_->options.beacon_interval,
                             .lease = host_->options.lease,
                             .generation = host_->options.peer_generation,
                             .older_servers = host_->options.older_servers},
      FailureDetectorClient::Events{.on_gained =
                                        [self] {
                                          const auto state = self.lock();
                                          if (state == nullptr) return;
                                          // The term that this callback is about: the lease may be
                                          // lost again on the way to the replicas.
                                          const uint64_t term = state->host_->lease->term();
                                          state->table_->OnConnected(term);
                                          state->sync_->OnConnected(term);
                                          state->duplication_sync_->OnConnected(term);
                                        },
                                    .on_lost =
                                        [self] {
                                          const auto state = self.lock();
                                          if (state == nullptr) return;
                                          // First the sync, so that it sends nothing for a term
                                          // that has ended.
                                          state->sync_->OnLeaseLost();
                                          state->duplication_sync_->OnLeaseLost();
                                          state->table_->OnLeaseLost();
                                        },
                                    .on_thawed =
                                        [self] {
                                          if (const auto state = self.lock())
                                            state->table_->OnMetaThawed();
                                        },
                                    .on_unanswered =
                                        [self] {
                                          const auto state = self.lock();
                                          if (state == nullptr) return;
                                          const auto& told =
                                              state->host_->options.on_meta_unanswered;
                                          if (told) told();
                                        }});
}

void ReplicaServer::State::MakeEntry() {
  OlderServers* const older = host_->options.older_servers.get();
  if (older == nullptr) return;
  const std::weak_ptr<State> self = weak_from_this();
  older->OnStranger([self] {
    const auto state = self.lock();
    if (state == nullptr) return;
    state->strand_->Post([sync = state->sync_] { sync->Soon(); });
    // A server that is not known yet may have joined; the meta server's list says.
  });
  if (!older->are_let_in()) return;
  entry_ = std::make_shared<ClusterEntry>(
      host_->transport, strand_,
      ClusterEntry::Options{.meta_servers = host_->options.meta_servers,
                            .cluster_name = host_->options.cluster_name,
                            .older_servers = host_->options.older_servers},
      host_->join,
      ClusterEntry::Events{.on_meta_unanswered = host_->options.on_meta_unanswered,
                           .what_is_loading =
                               [host = host_] {
                                 // An older version's meta server takes a report for all there is,
                                 // so loading must have ended.
                                 const RecoveryReport report =
                                     host->opening->progress->Report(host->env.clock().Now());
                                 if (report.phase == RecoveryReport::Phase::kDone)
                                   return std::string();
                                 return absl::StrCat("replicas are still loaded, ", report.all.done,
                                                     " of ", report.all.replicas);
                               },
                           .on_admitted =
                               [self] {
                                 if (const auto state = self.lock()) state->detector_->Start();
                               }});
}

void ReplicaServer::State::EverySecond() {
  const Instant now = host_->env.clock().Now();
  host_->foreground->OnSecond();
  host_->sending->OnSecond(now);
  host_->receiving->OnSecond(now);
  host_->building->OnSecond(now);
  host_->verifying->OnSecond(now);
  host_->requests->ForgetGone(now);
  table_->OnSecond(now);
  if (host_->peers->OnSecond(now)) sync_->Soon();
  // The number of replicas first: the shares depend on it.
  if (OpenFileBudget* files = host_->options.open_files.get(); files != nullptr) {
    files->SetReplicas(table_->CountOpen());
    if (files->OnSecond(now)) sync_->Soon();
  }
  second_ = strand_->PostAfter(absl::Seconds(1), [self = weak_from_this()] {
    if (const auto state = self.lock()) state->EverySecond();
  });
}

void ReplicaServer::State::Stop(std::function<void(absl::Status)> done) {
  // Nothing was started, so nothing needs to end.
  if (router_ == nullptr) {  // never started
    strand_->Post([done = std::move(done)] { done(absl::OkStatus()); });
    return;
  }
  strand_->Post([self = shared_from_this(), done = std::move(done)]() mutable {
    LOG(INFO) << "replica server " << self->host_->self << " stops";
    // Beacons say so before roles are given up: the meta server then chooses others at once.
    self->detector_->SayStops();
    // A second at most for others to take over; the rest finds out by the lease.
    self->table_->StepDown(
        self->host_->env.clock().Now() + kStepDownPatience,
        [self, done = std::move(done)]() mutable { self->StopParts(std::move(done)); });
  });
}

void ReplicaServer::State::StopParts(std::function<void(absl::Status)> done) {
  // No new request is routed; those on their way are answered by their replicas.
  router_->Stop();
  strand_->Post([self = shared_from_this(), done = std::move(done)]() mutable {
    self->strand_->Cancel(self->second_);
    self->host_->disks->watch->Stop();
    self->garbage_->Stop();
    if (self->entry_ != nullptr) self->entry_->Stop();
    // The lease goes before replicas close: no read is answered by a replica that is on its way
    // out.
    self->detector_->Stop();
    self->sync_->OnLeaseLost();
    self->duplication_sync_->OnLeaseLost();
    if (self->recovery_ != nullptr) self->recovery_->Stop();
    if (self->take_over_ != nullptr) self->take_over_->Stop();
    if (self->collector_ != nullptr) self->collector_->Stop();
    self->table_->CloseAll([self, done = std::move(done)](const absl::Status& status) {
      // Unlocking waits for the disk.
      // Any usable directory's pool will do.
      self->host_->env.disk_pool(self->directories_->FirstUsable())
          .Submit([self, done, status]() mutable {
            self->directories_->Release();
            self->strand_->Post([done, status, self] { done(status); });
          });
    });
  });
}

void ReplicaServer::State::AskForCheckpoints(std::optional<PartitionId> only) {
  strand_->Post([self = shared_from_this(), only] {
    if (self->table_ != nullptr) self->table_->AskForCheckpoints(only);
  });
}

void ReplicaServer::State::Reconfigure(const ReplicaServerOptions& options) {
  // Only these can change in operation; the rest is fixed at the start.
  host_->slow_requests->SetKeptFrom(options.slow_request_after);
  host_->sending->SetLimits(options.send_limits);
  host_->receiving->SetLimits(options.receive_limits);
  host_->verifying->SetLimits(options.verify_limits);
  host_->verifications->SetInterval(options.verify_interval);
}

void ReplicaServer::State::SetMetaServers(std::vector<Endpoint> meta_servers) {
  strand_->Post([self = shared_from_this(), meta_servers = std::move(meta_servers)] {
    self->detector_->SetMetaServers(meta_servers);
    if (self->entry_ != nullptr) self->entry_->SetMetaServers(meta_servers);
  });
}

void ReplicaServer::State::Tables(std::function<void(std::vector<AppInfo>)> done) {
  strand_->Post([self = shared_from_this(), done = std::move(done)] {
    if (self->table_ == nullptr) return done({});
    self->table_->Tables([done](std::vector<AppInfo> tables) { done(std::move(tables)); });
  });
}

void ReplicaServer::State::CompactionTexts(
    std::function<void(std::map<PartitionId, std::string>)> done) {
  strand_->Post([self = shared_from_this(), done = std::move(done)] {
    if (self->table_ == nullptr) return done({});
    self->table_->CompactionTexts(
        [done](std::map<PartitionId, std::string> texts) { done(std::move(texts)); });
  });
}

std::vector<DiskSnapshot> ReplicaServer::State::Disks() const {
  std::vector<DiskSnapshot> disks = host_->disks->watch->Snapshot();
  const std::vector<GarbageCollector::Count> garbage = garbage_->Counts();
  for (size_t i = 0; i < disks.size(); ++i) {
    disks[i].failed_replicas = garbage[i].failed;
    disks[i].unneeded_replicas = garbage[i].unneeded;
    disks[i].move_targets = garbage[i].move_targets;
    disks[i].move_sources = garbage[i].move_sources;
    disks[i].discarded_data = garbage[i].discarded;
    // Copies are counted by data directory.
    if (i == host_->disks->layout.data_directories.size()) break;  // the log home
    disks[i].copy_sent_bytes = host_->sending->BytesOf(i);
    disks[i].copy_received_bytes = host_->receiving->BytesOf(i);
  }
  return disks;
}

void ReplicaServer::State::Snapshot(std::function<void(std::vector<ReplicaSnapshot>)> done) {
  strand_->Post([self = shared_from_this(), done = std::move(done)] {
    if (self->table_ == nullptr) return done({});
    self->table_->Snapshot(
        [done](std::vector<ReplicaSnapshot> snapshots) { done(std::move(snapshots)); });
  });
}

ReplicaServer::ReplicaServer(Environment& env, Transport& transport, EngineFactory& engines,
                             ReplicaServerOptions options)
    : state_(std::make_shared<State>(env, transport, engines, std::move(options))) {}

ReplicaServer::~ReplicaServer() = default;

absl::Status ReplicaServer::Start() { return state_->Start(); }
void ReplicaServer::Stop(std::function<void(absl::Status)> done) { state_->Stop(std::move(done)); }
void ReplicaServer::Handle(InboundRequest request) { state_->Handle(std::move(request)); }
void ReplicaServer::Reconfigure(const ReplicaServerOptions& options) {
  state_->Reconfigure(options);
}
void ReplicaServer::SetMetaServers(std::vector<Endpoint> meta_servers) {
  state_->SetMetaServers(std::move(meta_servers));
}
void ReplicaServer::Tables(std::function<void(std::vector<AppInfo>)> done) {
  state_->Tables(std::move(done));
}
void ReplicaServer::CompactionTexts(std::function<void(std::map<PartitionId, std::string>)> done) {
  state_->CompactionTexts(std::move(done));
}
void ReplicaServer::Snapshot(std::function<void(std::vector<ReplicaSnapshot>)> done) {
  state_->Snapshot(std::move(done));
}
void ReplicaServer::AskForCheckpoints(std::optional<PartitionId> only) {
  state_->AskForCheckpoints(only);
}
std::vector<DiskSnapshot> ReplicaServer::Disks() const { return state_->Disks(); }
RecoveryReport ReplicaServer::RecoveryNow() const { return state_->RecoveryNow(); }
const LogReplayStats& ReplicaServer::replay() const { return state_->replay(); }
const SharedLogStats& ReplicaServer::shared_log() const { return state_->shared_log(); }
const RequestBook& ReplicaServer::requests() const { return state_->requests(); }
const SlowRequests& ReplicaServer::slow_requests() const { return state_->slow_requests(); }
std::shared_ptr<const IndexBook> ReplicaServer::indexes() const { return state_->indexes(); }
std::shared_ptr<const DuplicationBook> ReplicaServer::duplications() const {
  return state_->duplications();
}
const ServerLease& ReplicaServer::lease() const { return state_->lease(); }
const VerificationBook& ReplicaServer::verifications() const { return state_->verifications(); }
const JoinNotes& ReplicaServer::join() const { return state_->join(); }
int64_t ReplicaServer::verified_bytes() const { return state_->verified_bytes(); }
void ReplicaServer::OnRefused(std::function<void(const absl::Status&)> refused) {
  state_->OnRefused(std::move(refused));
}

}  // namespace arion
