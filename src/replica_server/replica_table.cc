// SPDX-License-Identifier: Apache-2.0
#include "replica_server/replica_table.h"

#include <absl/strings/str_replace.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "disks/disk_watch.h"
#include "disks/open_file_budget.h"
#include "disks/replica_directory.h"
#include "followers/master_table.h"
#include "replica/replica.h"
#include "replica/replica_snapshot.h"
#include "replica_server/replica_questions.h"

namespace arion {
namespace {

constexpr absl::Duration kOpenAgainDelay = absl::Seconds(5);

}  // namespace

ReplicaTable::ReplicaTable(std::shared_ptr<const ReplicaHost> host, StrandPtr strand,
                           std::vector<bool> usable_directories,
                           absl::AnyInvocable<void()> on_changed)
    : host_(std::move(host)),
      strand_(std::move(strand)),
      places_(
          std::make_shared<ReplicaPlaces>(host_->disks, strand_, std::move(usable_directories))),
      on_changed_(std::move(on_changed)),
      refusals_([](const std::string& line) { LOG(ERROR) << line; }) {}

void ReplicaTable::SetPhase(PartitionId pid, Slot& slot, Phase phase) {
  slot.phase = phase;
  routes_.Set(pid, phase, slot.replica);
}

void ReplicaTable::PostToOpen(const std::function<void(Replica&)>& task) const {
  for (const auto& [pid, slot] : slots_)
    if (slot.phase == Phase::kOpen)
      slot.replica->strand()->Post([replica = slot.replica, task] { task(*replica); });
}

void ReplicaTable::Erase(PartitionId pid) {
  slots_.erase(pid);
  routes_.Erase(pid);
}

// ---- opening ----

// A replica that was found on a disk: it has its slot at once, so nobody makes it anew while it
// waits to be opened.
void ReplicaTable::Expect(FoundReplica found) {
  CHECK_ON_STRAND(strand_);
  const PartitionId pid = found.pid;
  Slot& slot = slots_[pid];
  slot.found = std::move(found);
  slot.awaits_recovery = true;
  SetPhase(pid, slot, Phase::kLoading);
}

void ReplicaTable::Recover(PartitionId pid) {
  CHECK_ON_STRAND(strand_);
  slots_.at(pid).awaits_recovery = false;
  in_pool_.insert(pid);
  Open(pid, Origin::kFound);
}

void ReplicaTable::LeftPool(PartitionId pid) {
  if (in_pool_.erase(pid) > 0) recovery_->LeftPool(pid);
}

// It serves; memory for the next is there once what it replayed is flushed.
void ReplicaTable::Settle(PartitionId pid) {
  if (!in_pool_.contains(pid)) return;
  const auto it = slots_.find(pid);
  if (it == slots_.end() || it->second.phase != Phase::kOpen || recovery_->MayKeepUnflushed(pid))
    return LeftPool(pid);
  const std::shared_ptr<void> until_flushed(
      nullptr, [self = weak_from_this(), reply_on = strand_, pid](void*) {
        reply_on->Post([self, pid] {
          if (const auto table = self.lock()) table->LeftPool(pid);
        });
      });
  it->second.replica->strand()->Post(
      [replica = it->second.replica, until_flushed] { replica->FlushReplayed(until_flushed); });
}

ErrorCode ReplicaTable::OpenFor(PartitionId pid, const AppInfo& app, Creation creation,
                                Event event) {
  CHECK_ON_STRAND(strand_);
  if (is_stopping_) return ErrorCode::kInvalidState;
  if (const auto it = slots_.find(pid); it != slots_.end()) {
    Slot& slot = it->second;
    // A learner gets what its group has: another server was the first.
    if (slot.first_copy != nullptr && std::holds_alternative<AddLearnerReceived>(event)) {
      StopFirstCopy(slot);
      Erase(pid);
      return OpenFor(pid, app, creation, std::move(event));
    }
    if (slot.phase == Phase::kOpen) {
      slot.replica->strand()->Post(
          [replica = slot.replica, event = std::move(event)] { replica->Notify(event); });
      return ErrorCode::kOk;
    }
    if (slot.phase == Phase::kClosed && slot.rest_until &&
        host_->env.clock().Now() < *slot.rest_until)
      return ErrorCode::kDiskInsufficient;  // whoever wants it will ask again
    slot.deferred = std::move(event);
    if (slot.phase == Phase::kClosed) Open(pid, Origin::kFound);
    return ErrorCode::kOk;
  }
  if (creation == Creation::kForbidden) {
    refusals_.Met(host_->env.clock().Now(),
                  "is not on this server's disks and may hold data elsewhere: not made anew",
                  absl::StrCat("[", pid.ToString(), "]"));
    return ErrorCode::kObjectNotFound;
  }
  if (places_->IsLeaving(pid)) return ErrorCode::kInvalidState;  // ask again
  const std::string name = FormatReplicaDirectoryName(pid, app.app_type);
  if (app.app_id != pid.app_id || pid.index < 0 || pid.index >= app.partition_count ||
      !ParseReplicaDirectoryName(name) || !IsSafeRelativeName(name)) {
    refusals_.Met(host_->env.clock().Now(),
                  "asked to create a replica of a table whose description is another's",
                  absl::StrCat("[", pid.ToString(), "] '", app.app_name, "' (", app.app_id, ", ",
                               app.partition_count, " partitions, type '", app.app_type, "'):"));
    return ErrorCode::kInvalidParameters;
  }
  if (OpenFileBudget* files = host_->options.open_files.get(); files != nullptr) {
    files->SetReplicas(CountOpen());
    if (!files->MayTakeReplica()) {
      LOG_EVERY_T(WARNING, 10) << "[" << pid
                               << "] is not taken, nor are others: " << files->Refusal();
      return ErrorCode::kDiskInsufficient;
    }
  }
  std::optional<ReplicaPlaces::Place> place = PlaceFor(pid, name);
  if (!place) {
    refusals_.Met(host_->env.clock().Now(), "no data directory can take a new replica",
                  absl::StrCat("[", pid.ToString(), "]"));
    return ErrorCode::kDiskInsufficient;
  }
  failed_.erase(pid);
  Slot& slot = slots_[pid];
  slot.found = {.pid = pid,
                .path = std::move(place->path),
                .data_directory = place->data_directory,
                .app = app,
                .replaces = std::move(place->replaces)};
  slot.deferred = std::move(event);
  if (creation == Creation::kFirst && FollowsMaster(app))
    CopyFirstContent(pid);
  else
    Open(pid, Origin::kJustCreated);
  return ErrorCode::kOk;
}

int64_t ReplicaTable::CountOpen() const {
  CHECK_ON_STRAND(strand_);
  return std::count_if(slots_.begin(), slots_.end(),
                       [](const auto& slot) { return slot.second.phase != Phase::kClosed; });
}

bool ReplicaTable::HasFailed(PartitionId pid) const {
  CHECK_ON_STRAND(strand_);
  const auto it = slots_.find(pid);
  if (it == slots_.end()) return failed_.contains(pid);
  return it->second.phase != Phase::kOpen && it->second.rest_until;
}

std::vector<DirectoryLoad> ReplicaTable::LoadsFor(int32_t app_id) const {
  std::vector<DirectoryLoad> loads(host_->disks->layout.data_directories.size());
  for (const auto& [pid, slot] : slots_) {
    DirectoryLoad& load = loads[slot.found.data_directory];
    ++load.replicas;
    if (pid.app_id == app_id) ++load.replicas_of_table;
  }
  return loads;
}

void ReplicaTable::Open(PartitionId pid, Origin origin, Beginning beginning) {
  Slot& slot = slots_[pid];
  slot.rest_until.reset();
  SetPhase(pid, slot, Phase::kLoading);
  StrandPtr strand = host_->env.NewStrand(absl::StrCat("replica ", pid.ToString()));
  if (origin == Origin::kFound && take_over_ != nullptr && take_over_->Needs(pid))
    return OpenInTwoSteps(pid, std::move(strand), slot.found);
  host_->env.disk_pool(ParentDirectory(slot.found.path))
      .Submit([self = weak_from_this(), host = host_, reply_on = strand_, strand, origin,
               found = slot.found, beginning = std::move(beginning)] {
        auto opened = std::make_shared<absl::StatusOr<OpenedReplica>>(absl::UnknownError(""));
        absl::Status created;
        if (origin == Origin::kJustCreated)
          created = CreateWith(*host->opening, found, beginning.content.get());
        if (created.ok()) *opened = OpenReplica(*host->opening, strand, found, origin);
        reply_on->Post([self, strand, pid = found.pid, created, opened] {
          const auto table = self.lock();
          if (table == nullptr) return;
          if (!created.ok()) return table->OnCreationFailed(pid, created);
          table->OnOpened(pid, strand, std::move(*opened));
          table->Settle(pid);
        });
      });
}

void ReplicaTable::OnOpened(PartitionId pid, StrandPtr strand,
                            absl::StatusOr<OpenedReplica> opened) {
  const auto it = slots_.find(pid);
  if (it == slots_.end()) return;
  Slot& slot = it->second;
  if (!opened.ok()) return OnOpenFailed(pid, opened.status());
  slot.replica = std::make_shared<Replica>(host_, strand, *std::move(opened));
  const std::weak_ptr<ReplicaTable> self = weak_from_this();
  strand->Post([replica = slot.replica, self, reply_on = strand_, pid, children = children_] {
    replica->Start(
        [self, reply_on, pid](Effects::Close close, const std::string& why) {
          reply_on->Post([self, pid, close, why] {
            if (const auto table = self.lock()) table->OnCloseRequested(pid, close, why);
          });
        },
        children);
  });
  // The lease may have been won while it was opened. It hears of that before any event that waited
  // for it.
  if (is_connected_)
    strand->Post([replica = slot.replica, term = lease_term_] { replica->OnConnected(term); });
  if (slot.deferred)
    strand->Post([replica = slot.replica, event = *std::exchange(slot.deferred, std::nullopt)] {
      replica->Notify(event);
    });
  SetPhase(pid, slot, Phase::kOpen);
  scratch_places_.erase(pid);
  recovery_->Ended(pid, RecoveryStep::kServing);
  if (is_stopping_) return OnCloseRequested(pid, Effects::Close::kForget, "the server stops");
  on_changed_();
}

// Nothing has its name; whoever still wants it will ask again.
void ReplicaTable::OnCreationFailed(PartitionId pid, const absl::Status& status) {
  const auto it = slots_.find(pid);
  if (it == slots_.end()) return;
  const FoundReplica& found = it->second.found;
  const Instant now = host_->env.clock().Now();
  if (absl::IsUnavailable(status)) {  // a master cluster's, and no disk is to blame
    refusals_.Met(
        now, absl::StrCat("does not get its first content, and is tried again: ", status.message()),
        absl::StrCat("[", pid.ToString(), "]"));
    Erase(pid);
    // Who hears of it proposes it again, and the master cluster's servers are asked again.
    strand_->PostAfter(kOpenAgainDelay, [self = weak_from_this()] {
      if (const auto table = self.lock()) table->on_changed_();
    });
    return CheckAllClosed();
  }
  refusals_.Met(
      now, absl::StrCat("replicas can't be created: ", absl::StatusCodeToString(status.code())),
      absl::StrCat("[", pid.ToString(), "] ", found.path, ": ", status.message(), ":"));
  failed_.insert(pid);
  if (absl::IsResourceExhausted(status))
    ReportNoSpace(found, status);
  else if (absl::IsPermissionDenied(status))
    places_->NoteFailure(found.data_directory);  // what is in the way stays as it is
  else
    SetFailedAside(found);
  Erase(pid);
  on_changed_();
  CheckAllClosed();
}

// Its log home may be what is full: what a crash left uncommitted is written anew there.
void ReplicaTable::ReportNoSpace(const FoundReplica& found, const absl::Status& why) {
  const size_t disk = found.data_directory, log_disk = host_->disks->layout.LogDiskOf(disk);
  host_->disks->watch->OnNoSpace(disk, why);
  if (log_disk != disk) host_->disks->watch->OnNoSpace(log_disk, why);
}

void ReplicaTable::OnOpenFailed(PartitionId pid, const absl::Status& status) {
  Slot& slot = slots_.at(pid);
  const std::string whom = absl::StrCat("[", pid.ToString(), "] ", slot.found.path);
  if (IsDamage(status))
    LOG(ERROR) << whom << " can't be opened: " << status;
  else
    refusals_.Met(host_->env.clock().Now(),
                  absl::StrCat("can't be opened, is tried again: ",
                               absl::StrReplaceAll(status.ToString(), {{slot.found.path, "..."}})),
                  whom);
  recovery_->Ended(pid, RecoveryStep::kFailed);
  if (absl::IsResourceExhausted(status)) ReportNoSpace(slot.found, status);
  if (IsDamage(status)) {
    failed_to_open_.insert(pid);
    SetFailedAside(slot.found);
    Erase(pid);
    on_changed_();
  } else if (!is_stopping_) {
    slot.rest_until = host_->env.clock().Now() + kOpenAgainDelay;
    strand_->PostAfter(kOpenAgainDelay, [self = weak_from_this(), pid] {
      const auto table = self.lock();
      if (table == nullptr || table->is_stopping_) return;
      const auto again = table->slots_.find(pid);
      if (again != table->slots_.end() && again->second.phase == Phase::kLoading)
        table->Open(pid, Origin::kFound);
    });
    return;
  } else {
    SetPhase(pid, slot, Phase::kClosed);
  }
  CheckAllClosed();
}

// ---- closing ----

void ReplicaTable::OnCloseRequested(PartitionId pid, Effects::Close close, const std::string& why) {
  const auto it = slots_.find(pid);
  if (it == slots_.end() || it->second.phase != Phase::kOpen) return;
  Slot& slot = it->second;
  LOG(INFO) << "[" << pid << "] closes: " << why;
  SetPhase(pid, slot, Phase::kClosing);
  const auto mode =
      close == Effects::Close::kSetAside ? Replica::CloseMode::kAsIs : Replica::CloseMode::kFlushed;
  slot.replica->strand()->Post(
      [replica = slot.replica, mode, self = weak_from_this(), reply_on = strand_, pid, close] {
        const ReplicaInfo report = replica->Report();
        replica->Close(mode, [self, reply_on, pid, close, report](const absl::Status& status) {
          reply_on->Post([self, pid, close, report, status] {
            const auto table = self.lock();
            if (table == nullptr) return;
            if (const auto slot = table->slots_.find(pid); slot != table->slots_.end())
              slot->second.last_report = report;
            table->OnClosed(pid, close, status);
          });
        });
      });
}

void ReplicaTable::OnClosed(PartitionId pid, Effects::Close close, const absl::Status& status) {
  const auto it = slots_.find(pid);
  if (it == slots_.end()) return;
  Slot& slot = it->second;
  slot.replica.reset();
  if (!status.ok()) {
    LOG(ERROR) << "[" << pid << "] close: " << status;
    if (close_status_.ok()) close_status_ = Annotate(status, slot.found.path);
  }
  if (close == Effects::Close::kSetAside) {
    SetFailedAside(slot.found);
    Erase(pid);
  } else {
    slot.last_report.status = PartitionStatus::kInactive;
    SetPhase(pid, slot, Phase::kClosed);
    if (slot.deferred && !is_stopping_) Open(pid, Origin::kFound);
  }
  if (!is_stopping_) on_changed_();
  CheckAllClosed();
}

void ReplicaTable::SetFailedAside(const FoundReplica& found) {
  failed_.insert(found.pid);
  places_->NoteFailure(found.data_directory);
  Vacate(found.pid, found.path, SetAside::kFailed);
}

void ReplicaTable::SetReplacedAside(const FoundReplica& replaced) {
  CHECK_ON_STRAND(strand_);
  LOG(WARNING) << "[" << replaced.pid << "] lies in two directories; " << replaced.path
               << " is set aside, the older copy";
  Vacate(replaced.pid, replaced.path, SetAside::kFailed);
}

void ReplicaTable::Vacate(PartitionId pid, const std::string& path, SetAside why) {
  places_->Vacate(pid, path, why, [self = weak_from_this(), pid, path] {
    if (const auto table = self.lock()) table->ForgetReplacedLater(pid, path);
  });
}

// Else the next start finds nothing there that it could replace; but by then another one may be.
void ReplicaTable::ForgetReplacedLater(PartitionId pid, const std::string& path) {
  const auto it = slots_.find(pid);
  if (it == slots_.end() || std::erase(it->second.found.replaces, path) == 0) return;
  host_->env.disk_pool(ParentDirectory(it->second.found.path))
      .Submit([host = host_, path, replacement = it->second.found.path] {
        const absl::Status forgotten = ForgetReplaced(host->env.files(), replacement, path);
        LOG_IF(WARNING, !forgotten.ok() && !absl::IsNotFound(forgotten))
            << replacement << " still says that it replaces " << path << ": " << forgotten;
      });
}

void ReplicaTable::SetAsideClosed(PartitionId pid, SetAside why) {
  CHECK_ON_STRAND(strand_);
  const auto it = slots_.find(pid);
  if (it == slots_.end() || it->second.phase != Phase::kClosed) return;
  Vacate(pid, it->second.found.path, why);
  Erase(pid);
}

void ReplicaTable::StepDown(Instant until, absl::AnyInvocable<void()> done) {
  CHECK_ON_STRAND(strand_);
  PostToOpen(&Replica::StepDown);
  AwaitSuccessors(until, std::move(done));
}

void ReplicaTable::AwaitSuccessors(Instant until, absl::AnyInvocable<void()> done) {
  static constexpr absl::Duration kPause = absl::Milliseconds(10);
  Gather<bool>(&Replica::HoldsOffice, [this, until, done = std::move(done)](
                                          std::map<PartitionId, bool> holds) mutable {
    const bool waits =
        std::any_of(holds.begin(), holds.end(), [](const auto& replica) { return replica.second; });
    if (!waits || host_->env.clock().Now() >= until) return done();
    strand_->PostAfter(kPause, [self = weak_from_this(), until, done = std::move(done)]() mutable {
      if (const auto table = self.lock()) table->StepDown(until, std::move(done));
    });
  });
}

void ReplicaTable::CloseAll(absl::AnyInvocable<void(absl::Status)> done) {
  CHECK_ON_STRAND(strand_);
  is_stopping_ = true;
  places_->Stop();
  all_closed_ = std::move(done);
  std::vector<PartitionId> open;
  for (const auto& [pid, slot] : slots_)
    if (slot.phase == Phase::kOpen) open.push_back(pid);
  for (const PartitionId pid : open)
    OnCloseRequested(pid, Effects::Close::kForget, "the server stops");
  for (auto& [pid, slot] : slots_)
    if (slot.phase == Phase::kLoading &&
        (slot.rest_until || slot.awaits_recovery || slot.first_copy != nullptr)) {
      StopFirstCopy(slot);
      SetPhase(pid, slot, Phase::kClosed);
    }
  CheckAllClosed();
}

void ReplicaTable::CheckAllClosed() {
  if (!is_stopping_ || !all_closed_) return;
  for (const auto& [pid, slot] : slots_)
    if (slot.phase != Phase::kClosed) return;
  auto done = std::move(all_closed_);
  all_closed_ = nullptr;
  done(close_status_);
}

// ---- the lease ----

void ReplicaTable::OnConnected(uint64_t term) {
  CHECK_ON_STRAND(strand_);
  is_connected_ = true;
  lease_term_ = term;
  PostToOpen([term](Replica& replica) { replica.OnConnected(term); });
}

void ReplicaTable::OnLeaseLost() {
  CHECK_ON_STRAND(strand_);
  is_connected_ = false;
  PostToOpen(&Replica::OnLeaseLost);
}

void ReplicaTable::OnMetaThawed() {
  CHECK_ON_STRAND(strand_);
  PostToOpen([](Replica& replica) { replica.Notify(MetaThawed{}); });
}

// ---- questions ----

void ReplicaTable::AskForCheckpoints(std::optional<PartitionId> only) {
  CHECK_ON_STRAND(strand_);
  for (const auto& [pid, slot] : slots_)
    if (slot.phase == Phase::kOpen && (!only || pid == *only))
      slot.replica->strand()->Post([replica = slot.replica] { replica->CheckpointNow(); });
}

template <class T>
void ReplicaTable::Gather(std::function<T(const Replica&)> ask,
                          absl::AnyInvocable<void(std::map<PartitionId, T>)> done) {
  std::vector<std::shared_ptr<Replica>> asked;
  for (const auto& [pid, slot] : slots_)
    if (slot.phase == Phase::kOpen) asked.push_back(slot.replica);
  AskReplicas<T>(asked, std::move(ask), strand_, weak_from_this(), std::move(done));
}

void ReplicaTable::Report(absl::AnyInvocable<void(std::vector<ReplicaInfo>)> done) {
  CHECK_ON_STRAND(strand_);
  Gather<ReplicaInfo>(&Replica::Report, [this, done = std::move(done)](
                                            std::map<PartitionId, ReplicaInfo> open) mutable {
    std::vector<ReplicaInfo> reports;
    for (const auto& [pid, slot] : slots_) {
      if (const auto it = open.find(pid); it != open.end()) {
        reports.push_back(it->second);
        continue;
      }
      ReplicaInfo report = slot.last_report;
      report.pid = pid;
      report.status = PartitionStatus::kInactive;
      report.app_type = slot.found.app.app_type;
      report.disk_tag = host_->disks->layout.data_directories[slot.found.data_directory].tag;
      if (slot.phase != Phase::kClosed) report.loading = true;
      reports.push_back(std::move(report));
    }
    done(std::move(reports));
  });
}

void ReplicaTable::DuplicationConfirms(
    absl::AnyInvocable<void(std::map<PartitionId, std::vector<DuplicationConfirmEntry>>)> done) {
  CHECK_ON_STRAND(strand_);
  Gather<std::vector<DuplicationConfirmEntry>>(&Replica::DuplicationConfirms, std::move(done));
}

void ReplicaTable::OnDuplications(
    const std::map<int32_t, std::map<int32_t, DuplicationEntry>>& by_table) {
  CHECK_ON_STRAND(strand_);
  const std::set<int32_t> before = std::exchange(duplicated_tables_, {});
  for (const auto& [table, duplications] : by_table) duplicated_tables_.insert(table);
  for (const auto& [pid, slot] : slots_) {
    const auto found = by_table.find(pid.app_id);
    const bool is_concerned = found != by_table.end() || before.contains(pid.app_id);
    if (slot.phase != Phase::kOpen || !is_concerned) continue;
    std::map<int32_t, DuplicationEntry> entries;
    if (found != by_table.end()) entries = found->second;
    slot.replica->strand()->Post([replica = slot.replica, entries = std::move(entries)] {
      replica->duplications().OnSynced(entries);
    });
  }
}

void ReplicaTable::CompactionTexts(
    absl::AnyInvocable<void(std::map<PartitionId, std::string>)> done) {
  CHECK_ON_STRAND(strand_);
  Gather<std::string>(&Replica::CompactionText, std::move(done));
}

void ReplicaTable::Tables(absl::AnyInvocable<void(std::vector<AppInfo>)> done) {
  CHECK_ON_STRAND(strand_);
  Gather<AppInfo>(&Replica::app,
                  [this, done = std::move(done)](std::map<PartitionId, AppInfo> open) mutable {
                    std::map<int32_t, AppInfo> newest;
                    for (const auto& [pid, app] : open) {
                      const auto [it, is_first] = newest.emplace(pid.app_id, app);
                      if (!is_first && app.version.value_or(0) > it->second.version.value_or(0))
                        it->second = app;
                    }
                    for (const auto& [pid, slot] : slots_)
                      newest.emplace(pid.app_id, slot.found.app);
                    std::vector<AppInfo> tables;
                    for (auto& [app_id, app] : newest) tables.push_back(std::move(app));
                    done(std::move(tables));
                  });
}

void ReplicaTable::Snapshot(absl::AnyInvocable<void(std::vector<ReplicaSnapshot>)> done) {
  CHECK_ON_STRAND(strand_);
  Gather<ReplicaSnapshot>(
      &Replica::Snapshot,
      [this, done = std::move(done)](std::map<PartitionId, ReplicaSnapshot> open) mutable {
        std::vector<ReplicaSnapshot> snapshots;
        for (const auto& [pid, slot] : slots_) {
          const auto it = open.find(pid);
          snapshots.push_back(it != open.end()
                                  ? it->second
                                  : ReplicaSnapshot{.pid = pid,
                                                    .status = PartitionStatus::kInactive,
                                                    .directory = slot.found.path,
                                                    // Opened while the others were asked: too.
                                                    .loading = slot.phase == Phase::kLoading ||
                                                               slot.phase == Phase::kOpen});
        }
        done(std::move(snapshots));
      });
}

}  // namespace arion
