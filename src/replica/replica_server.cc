// SPDX-License-Identifier: Apache-2.0
#include "replica/replica_server.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "replica/config_sync.h"
#include "replica/data_directory_claim.h"
#include "replica/failure_detector_client.h"
#include "replica/garbage_collector.h"
#include "replica/known_directories.h"
#include "replica/log_place.h"
#include "replica/recovery.h"
#include "replica/replica_host.h"
#include "replica/replica_table.h"
#include "replica/request_router.h"
#include "replica/served_files.h"
#include "replica/server_lease.h"
#include "replica/shared_log_collector.h"
#include "replica/shared_log_take_over.h"

namespace arion {
namespace {

// Of a server that stops, for others to take over what it is primary of.
constexpr absl::Duration kStepDownPatience = absl::Seconds(1);

// The operator has to act; a broken disk, which the others can do without, is none of these.
bool MustRefuse(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kResourceExhausted:
      return true;
    default:
      return false;
  }
}

// One data directory at the start.
struct Sight {
  void Take(const ReplicaHost& host, size_t i) {
    FileSystem& files = host.env.files();
    const std::string& path = host.options.data_directories[i].path;
    auto claimed = DataDirectoryClaim::Claim(files, path, host.self);
    status = claimed.status();
    if (!status.ok()) return;
    claim = *std::move(claimed);
    auto listed = ScanDataDirectory(files, path, i, &ignored);
    status = listed.status();
    if (!status.ok()) return;
    found = *std::move(listed);
    // Before anything is opened: no log may be taken for empty that lies elsewhere.
    for (const FoundReplica& replica : found) {
      const absl::Status log = CheckLogPlace(files, host.options.log_home_directory, replica.path);
      if (placed.ok() && absl::IsFailedPrecondition(log)) placed = log;
    }
  }

  absl::Status status;
  std::unique_ptr<DataDirectoryClaim> claim;  // null: refused
  std::vector<FoundReplica> found;
  std::vector<std::string> ignored;
  absl::Status placed;
};

// Not where this version has opened it and noted that no shared log has anything of it.
bool MayNeedSharedLog(const ReplicaHost& host, const FoundReplica& replica) {
  FileSystem& files = host.env.files();
  const LogPlace place = LogPlaceOf(host.options.log_home_directory, replica.path);
  const absl::StatusOr<InitInfo> info = LoadInitInfo(files, replica.path);
  return !Exists(files, place.identity_path) || !info.ok() || info->offset_in_shared_log != 0;
}

// Where requests come in: there as long as the server is, open once there is who answers.
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
      : strand_(env.NewStrand("replica server")) {
    std::vector<DataDirectory> watched = options.data_directories;
    if (!options.log_home_directory.empty())
      watched.push_back({kLogHomeTag, options.log_home_directory});
    auto disks = std::make_shared<DiskWatch>(env, strand_, options.disk, watched);
    const auto foreground = std::make_shared<ForegroundPace>();
    const auto waits = [disks, foreground](size_t disk) {
      return CopyThrottle::Waits{.flush = disks->FlushWait(disk),
                                 .read = foreground->ReadWait(),
                                 .write = foreground->WriteWait()};
    };
    const size_t count = options.data_directories.size();
    const auto sending = std::make_shared<CopyThrottle>(options.send_limits, count, waits);
    const auto receiving = std::make_shared<CopyThrottle>(options.receive_limits, count, waits);
    host_ = std::make_shared<const ReplicaHost>(
        ReplicaHost{.env = env,
                    .transport = transport,
                    .engines = engines,
                    .options = std::move(options),
                    .self = transport.local(),
                    .lease = std::make_shared<ServerLease>(),
                    .served = std::make_shared<ServedFiles>(env.files()),
                    .disks = std::move(disks),
                    .sending = sending,
                    .receiving = receiving,
                    .foreground = foreground});
    garbage_ = std::make_shared<GarbageCollector>(host_, strand_);
    host_->slow_requests->SetKeptFrom(host_->options.slow_request_after);
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
  void Tables(std::function<void(std::vector<AppInfo>)> done);
  void CompactionTexts(std::function<void(std::map<PartitionId, std::string>)> done);
  void Snapshot(std::function<void(std::vector<ReplicaSnapshot>)> done);
  void AskForCheckpoints(std::optional<PartitionId> only);
  std::vector<DiskSnapshot> Disks() const;
  RecoveryReport RecoveryNow() const { return host_->recovery->Report(host_->env.clock().Now()); }
  const LogReplayStats& replay() const { return *host_->replay; }
  const SharedLogStats& shared_log() const { return *host_->shared_log_stats; }
  const RequestBook& requests() const { return *host_->requests; }
  const SlowRequests& slow_requests() const { return *host_->slow_requests; }
  const ServerLease& lease() const { return *host_->lease; }
  void OnRefused(std::function<void(const absl::Status&)> refused) {
    on_refused_ = std::move(refused);
  }

 private:
  absl::Status CheckNames() const;
  // Claims the data directories and lists what lies there.
  absl::StatusOr<std::vector<FoundReplica>> FindReplicas();
  std::vector<bool> AskDisks(const std::vector<bool>& asked,
                             const std::function<std::function<void()>(size_t)>& job_of) const;
  void LookAtDirectories(std::vector<bool>* asked);
  absl::Status RefuseUnmounted(std::vector<bool>* asked);
  void RememberDirectories();
  absl::StatusOr<SharedLogCatalog> FindOldSharedLog(const std::vector<FoundReplica>& found);
  bool LiesOnHangingDisk(const std::string& path) const;
  void LearnDevices(const std::string& shared_log) const;
  void MarkUnreadable(size_t index, const absl::Status& status);
  std::vector<bool> UsableDirectories() const;
  void MakeParts();
  void EverySecond();
  void Recover(std::vector<FoundReplica> found);
  void TakeOver(SharedLogCatalog catalog);
  void Collect();

  const StrandPtr strand_;
  const std::shared_ptr<Door> door_ = std::make_shared<Door>();
  std::shared_ptr<const ReplicaHost> host_;
  std::vector<std::unique_ptr<DataDirectoryClaim>> claims_;  // by position; null: unreadable
  std::vector<bool> hangs_;                                  // by position
  std::unique_ptr<DataDirectoryClaim> home_claim_;           // null: logs lie beside the data
  std::vector<std::string> unreadable_tags_;
  std::string first_unreadable_;      // why
  std::vector<DirectoryLook> looks_;  // before anything was changed; by position
  SharedLogCollector::Found found_;   // for the collector
  std::shared_ptr<ReplicaTable> table_;
  std::shared_ptr<Recovery> recovery_;
  std::shared_ptr<SharedLogTakeOver> take_over_;   // null: there is no shared log
  std::shared_ptr<SharedLogCollector> collector_;  // the same
  std::function<void(const absl::Status&)> on_refused_;
  std::shared_ptr<ConfigSync> sync_;
  TimerId second_ = kNoTimer;
  std::shared_ptr<RequestRouter> router_;
  std::shared_ptr<FailureDetectorClient> detector_;
  std::shared_ptr<GarbageCollector> garbage_;
};

absl::Status ReplicaServer::State::Start() {
  RETURN_IF_ERROR(CheckNames());
  if (const std::string& home = host_->options.log_home_directory; !home.empty()) {
    ASSIGN_OR_RETURN(home_claim_, DataDirectoryClaim::Claim(host_->env.files(), home, host_->self));
  }
  ASSIGN_OR_RETURN(std::vector<FoundReplica> found, FindReplicas());
  ASSIGN_OR_RETURN(SharedLogCatalog shared_log, FindOldSharedLog(found));
  RememberDirectories();
  LearnDevices(shared_log.directory);
  MakeParts();
  if (!shared_log.directory.empty()) TakeOver(std::move(shared_log));
  std::vector<bool> readable = UsableDirectories();
  if (home_claim_ != nullptr) readable.push_back(true);
  host_->disks->Start(readable);
  LOG(INFO) << "replica server " << host_->self << " loads " << found.size() << " replicas from "
            << claims_.size() - unreadable_tags_.size() << " data directories; durability "
            << DurabilityName(host_->options.durability) << ", " << host_->engines.description();
  strand_->Post([self = shared_from_this(), found = std::move(found), readable]() mutable {
    if (self->take_over_ != nullptr) {
      std::set<PartitionId> expected;
      for (const FoundReplica& replica : found) expected.insert(replica.pid);
      self->take_over_->Start(std::move(expected));
    }
    self->Recover(std::move(found));
    self->detector_->Start();
    self->garbage_->Start(std::move(readable));
    self->EverySecond();
  });
  door_->Open(router_);
  return absl::OkStatus();
}

absl::Status ReplicaServer::State::CheckNames() const {
  std::set<std::string> tags = {kLogHomeTag}, paths = {host_->options.log_home_directory};
  for (const DataDirectory& directory : host_->options.data_directories)
    if (!tags.insert(directory.tag).second || !paths.insert(directory.path).second)
      return absl::InvalidArgumentError(
          absl::StrCat("data directory ", directory.tag, ":", directory.path, " is named twice"));
  return absl::OkStatus();
}

void ReplicaServer::State::MarkUnreadable(size_t index, const absl::Status& status) {
  const DataDirectory& directory = host_->options.data_directories[index];
  LOG(ERROR) << "data directory " << directory.tag << ":" << directory.path
             << " can't be used, its replicas are missing: " << status;
  if (unreadable_tags_.empty())
    first_unreadable_ = absl::StrCat(directory.path, ": ", status.message());
  claims_[index] = nullptr;
  unreadable_tags_.push_back(directory.tag);
}

// Runs a job for each disk that is asked, all at once where that can be had; false: it hangs, or
// was not asked. A job that hangs may end later.
std::vector<bool> ReplicaServer::State::AskDisks(
    const std::vector<bool>& asked,
    const std::function<std::function<void()>(size_t)>& job_of) const {
  std::vector<std::function<void()>> jobs;
  for (size_t i = 0; i < asked.size(); ++i)
    if (asked[i]) jobs.push_back(job_of(i));
  if (!host_->options.ask_disks) {
    for (const auto& job : jobs) job();
    return asked;
  }
  const std::vector<bool> done = host_->options.ask_disks(std::move(jobs));
  std::vector<bool> answered = asked;
  size_t job = 0;
  for (size_t i = 0; i < asked.size(); ++i)
    if (asked[i]) answered[i] = done[job++];
  return answered;
}

void ReplicaServer::State::LookAtDirectories(std::vector<bool>* asked) {
  const auto& directories = host_->options.data_directories;
  std::vector<std::shared_ptr<DirectoryLook>> looks;
  for (const DataDirectory& directory : directories)
    looks.push_back(std::make_shared<DirectoryLook>(DirectoryLook{.path = directory.path}));
  const std::vector<bool> answered = AskDisks(*asked, [&](size_t i) {
    return [host = host_, look = looks[i]] {
      auto seen = LookAtDirectory(host->env.files(), look->path);
      if (seen.ok()) *look = *std::move(seen);  // else the claim says what is wrong
    };
  });
  for (size_t i = 0; i < directories.size(); ++i) {
    looks_.push_back(answered[i] ? *looks[i] : DirectoryLook{.path = directories[i].path});
    found_.unloaded.insert(looks_[i].replicas.begin(), looks_[i].replicas.end());
    found_.set_aside.insert(looks_[i].set_aside.begin(), looks_[i].set_aside.end());
    if (answered[i]) continue;
    (*asked)[i] = false;
    hangs_[i] = true;
    MarkUnreadable(i, absl::DeadlineExceededError("the disk does not answer"));
  }
}

absl::Status ReplicaServer::State::RefuseUnmounted(std::vector<bool>* asked) {
  std::vector<std::string> shared_logs;
  for (const std::string& directory : host_->options.shared_log_directories)
    if (!LiesOnHangingDisk(directory)) shared_logs.push_back(directory);
  ASSIGN_OR_RETURN(const std::string shared_log, FindSharedLog(host_->env.files(), shared_logs));
  const auto& accepted = host_->options.new_data_directories;
  for (size_t i = 0; i < looks_.size(); ++i) {
    if (!(*asked)[i]) continue;
    const std::string& tag = host_->options.data_directories[i].tag;
    const bool is_accepted = std::find(accepted.begin(), accepted.end(), tag) != accepted.end();
    LOG_IF(WARNING, is_accepted && !looks_[i].is_blank)
        << "new_data_directories names " << tag
        << ", which is in use by now: remove it, so that a disk that is not mounted is noticed";
    if (is_accepted || !looks_[i].is_blank) continue;
    const std::string why = WhyNotNew(looks_[i], looks_, shared_log);
    if (why.empty()) continue;
    (*asked)[i] = false;
    MarkUnreadable(i, absl::FailedPreconditionError(absl::StrCat(
                          why, "; is its disk mounted? If it is to be used as it is, start with ",
                          "new_data_directories = ", tag)));
  }
  return absl::OkStatus();
}

// Those that can be used now, and those that were before and are still configured.
void ReplicaServer::State::RememberDirectories() {
  std::set<std::string> all;
  for (size_t i = 0; i < looks_.size(); ++i) {
    const auto knows = [&](const DirectoryLook& look) {
      return look.known && look.known->contains(looks_[i].path);
    };
    if (claims_[i] != nullptr || std::any_of(looks_.begin(), looks_.end(), knows))
      all.insert(looks_[i].path);
  }
  AskDisks(UsableDirectories(), [&](size_t i) {
    return [host = host_, look = looks_[i], all] {
      const absl::Status written = arion::RememberDirectories(host->env.files(), look, all);
      LOG_IF(WARNING, !written.ok()) << "that there are " << all.size()
                                     << " data directories is not written down: " << written;
    };
  });
}

absl::StatusOr<std::vector<FoundReplica>> ReplicaServer::State::FindReplicas() {
  std::vector<bool> asked;
  std::vector<std::shared_ptr<Sight>> sights;
  for (const DataDirectory& directory : host_->options.data_directories) {
    asked.push_back(directory.answers);
    sights.push_back(std::make_shared<Sight>());
  }
  claims_.resize(asked.size());
  hangs_.resize(asked.size());
  LookAtDirectories(&asked);
  RETURN_IF_ERROR(RefuseUnmounted(&asked));
  const std::vector<bool> answered = AskDisks(asked, [&](size_t i) {
    return [host = host_, sight = sights[i], i] { sight->Take(*host, i); };
  });
  std::vector<FoundReplica> found;
  for (size_t i = 0; i < sights.size(); ++i) {
    if (!asked[i]) continue;
    if (!answered[i]) {
      hangs_[i] = true;
      MarkUnreadable(i, absl::DeadlineExceededError("the disk does not answer"));
      continue;
    }
    Sight& sight = *sights[i];
    if (!sight.status.ok()) {
      if (MustRefuse(sight.status) && sight.claim == nullptr) return sight.status;
      MarkUnreadable(i, sight.status);
      continue;
    }
    RETURN_IF_ERROR(sight.placed);
    claims_[i] = std::move(sight.claim);
    for (const std::string& name : sight.ignored) LOG(WARNING) << "not loaded: " << name;
    for (FoundReplica& replica : sight.found) {
      found_.unloaded.erase(replica.pid);
      found.push_back(std::move(replica));
    }
  }
  if (unreadable_tags_.size() == claims_.size())
    return absl::FailedPreconditionError(
        absl::StrCat("no data directory can be used; the log has the reason of each, the first is ",
                     first_unreadable_));
  RETURN_IF_ERROR(CheckNoDuplicates(found));
  return found;
}

bool ReplicaServer::State::LiesOnHangingDisk(const std::string& path) const {
  const auto& directories = host_->options.data_directories;
  for (size_t i = 0; i < directories.size(); ++i)
    if (hangs_[i] && path.starts_with(ParentDirectory(directories[i].path))) return true;
  return false;
}

absl::StatusOr<SharedLogCatalog> ReplicaServer::State::FindOldSharedLog(
    const std::vector<FoundReplica>& found) {
  FileSystem& files = host_->env.files();
  std::vector<std::string> directories;
  for (const std::string& directory : host_->options.shared_log_directories) {
    if (!LiesOnHangingDisk(directory)) {
      directories.push_back(directory);
      continue;
    }
    for (const FoundReplica& replica : found)
      if (MayNeedSharedLog(*host_, replica))
        return absl::FailedPreconditionError(
            absl::StrCat("the disk of ", directory, " does not answer, and ", replica.path,
                         " may need an older version's shared log from there; wait for the disk"));
  }
  ASSIGN_OR_RETURN(const std::string directory, FindSharedLog(files, directories));
  if (directory.empty()) return SharedLogCatalog();
  return ListSharedLog(files, directory);
}

// Which disk a path lies on is found out here, where that may wait for the disk.
void ReplicaServer::State::LearnDevices(const std::string& shared_log) const {
  std::vector<std::string> paths = {host_->options.log_home_directory, shared_log};
  for (size_t i = 0; i < claims_.size(); ++i)
    if (claims_[i] != nullptr) paths.push_back(host_->options.data_directories[i].path);
  for (const std::string& path : paths)
    if (!path.empty()) host_->env.disk_pool(path);
}

void ReplicaServer::State::Recover(std::vector<FoundReplica> found) {
  recovery_ = std::make_shared<Recovery>(
      host_, strand_, found, [table = std::weak_ptr<ReplicaTable>(table_)](PartitionId pid) {
        if (const auto live = table.lock()) live->Recover(pid);
      });
  table_->SetRecovery(recovery_);
  for (FoundReplica& replica : found) table_->Expect(std::move(replica));
  recovery_->Start();
}

void ReplicaServer::State::TakeOver(SharedLogCatalog catalog) {
  const std::weak_ptr<State> self = weak_from_this();
  take_over_ = std::make_shared<SharedLogTakeOver>(
      host_, strand_, std::move(catalog),
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
  if (!unreadable_tags_.empty()) found_.disks = CollectionInput::Disks::kSomeMissing;
  collector_ = std::make_shared<SharedLogCollector>(
      host_, strand_, table_, found_, take_over_->catalog(),
      take_over_->damages().empty() ? Disposal::kRemove : Disposal::kSetAside,
      [sync = sync_](SharedLogCollector::Missing missing) {
        sync->AskAboutMissing(std::move(missing.replicas), std::move(missing.on_unneeded));
      });
  collector_->Start(take_over_->max_of_newest());
}

std::vector<bool> ReplicaServer::State::UsableDirectories() const {
  std::vector<bool> usable;
  for (const auto& claim : claims_) usable.push_back(claim != nullptr);
  return usable;
}

void ReplicaServer::State::MakeParts() {
  const std::weak_ptr<State> self = weak_from_this();
  table_ = std::make_shared<ReplicaTable>(host_, strand_, UsableDirectories(), [self] {
    if (const auto state = self.lock()) state->sync_->Soon();
  });
  sync_ = std::make_shared<ConfigSync>(host_, strand_, table_, unreadable_tags_);
  host_->disks->OnSlowChanged([self] {
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
                             .generation = host_->options.peer_generation},
      FailureDetectorClient::Events{.on_gained =
                                        [self] {
                                          const auto state = self.lock();
                                          if (state == nullptr) return;
                                          const uint64_t term = state->host_->lease->term();
                                          state->table_->OnConnected(term);
                                          state->sync_->OnConnected(term);
                                        },
                                    .on_lost =
                                        [self] {
                                          const auto state = self.lock();
                                          if (state == nullptr) return;
                                          state->sync_->OnLeaseLost();
                                          state->table_->OnLeaseLost();
                                        }});
}

void ReplicaServer::State::EverySecond() {
  const Instant now = host_->env.clock().Now();
  host_->foreground->OnSecond();
  host_->sending->OnSecond(now);
  host_->receiving->OnSecond(now);
  host_->requests->ForgetGone(now);
  if (host_->peers->OnSecond(now)) sync_->Soon();
  second_ = strand_->PostAfter(absl::Seconds(1), [self = weak_from_this()] {
    if (const auto state = self.lock()) state->EverySecond();
  });
}

void ReplicaServer::State::Stop(std::function<void(absl::Status)> done) {
  if (router_ == nullptr) {  // never started
    strand_->Post([done = std::move(done)] { done(absl::OkStatus()); });
    return;
  }
  strand_->Post([self = shared_from_this(), done = std::move(done)]() mutable {
    LOG(INFO) << "replica server " << self->host_->self << " stops";
    self->table_->StepDown(
        self->host_->env.clock().Now() + kStepDownPatience,
        [self, done = std::move(done)]() mutable { self->StopParts(std::move(done)); });
  });
}

void ReplicaServer::State::StopParts(std::function<void(absl::Status)> done) {
  router_->Stop();
  strand_->Post([self = shared_from_this(), done = std::move(done)]() mutable {
    self->strand_->Cancel(self->second_);
    self->host_->disks->Stop();
    self->garbage_->Stop();
    self->detector_->Stop();
    self->sync_->OnLeaseLost();
    if (self->recovery_ != nullptr) self->recovery_->Stop();
    if (self->take_over_ != nullptr) self->take_over_->Stop();
    if (self->collector_ != nullptr) self->collector_->Stop();
    self->table_->CloseAll([self, done = std::move(done)](const absl::Status& status) {
      // Unlocking waits for the disk.
      size_t first = 0;
      while (self->claims_[first] == nullptr) ++first;
      self->host_->env.disk_pool(self->host_->options.data_directories[first].path)
          .Submit([self, done, status]() mutable {
            self->claims_.clear();
            self->home_claim_ = nullptr;
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
  host_->slow_requests->SetKeptFrom(options.slow_request_after);
  host_->sending->SetLimits(options.send_limits);
  host_->receiving->SetLimits(options.receive_limits);
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
  std::vector<DiskSnapshot> disks = host_->disks->Snapshot();
  const std::vector<GarbageCollector::Count> garbage = garbage_->Counts();
  for (size_t i = 0; i < disks.size(); ++i) {
    disks[i].failed_replicas = garbage[i].failed;
    disks[i].unneeded_replicas = garbage[i].unneeded;
    disks[i].move_targets = garbage[i].move_targets;
    disks[i].move_sources = garbage[i].move_sources;
    if (i == host_->options.data_directories.size()) break;  // the log home
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
const ServerLease& ReplicaServer::lease() const { return state_->lease(); }
void ReplicaServer::OnRefused(std::function<void(const absl::Status&)> refused) {
  state_->OnRefused(std::move(refused));
}

}  // namespace arion
