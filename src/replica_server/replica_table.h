// ReplicaTable: which replicas this server has and what state they are in; opens, creates,
// closes and sets them aside.
//
// Shapes    Phases: kLoading -> kOpen -> kClosing -> kClosed or gone. A closed replica keeps its
//           directory and is still reported, until meta lists it as garbage.
// Threads   Strand-bound to the server's strand, except Find and OpenOf: any thread.
// Lifetime  Held by shared_ptr. The host outlives it.
// Promises  replica_table/T1  Each directory is opened in its disk's pool, in the order of the
//               Recovery; one that can't be understood is renamed <dir>.<µs>.err, and the others go
//               on.
//           replica_table/T2  A replica is created only where the caller says that nothing can have
//               been lost.
//           replica_table/T3  A replica that goes is made anew when its directory has durably lost
//               its name. Where the renaming fails it is tried again (replica_places.h), and the
//               new one may be made on another disk, as may that of one that can't be read. Its own
//               directory durably says which it replaces before it has its name, so the next start
//               knows which counts.
//           replica_table/T4  What a master cluster holds (followers/) is taken over by nobody but
//               a partition's first primary: it is asked for only by a proposal under ballot 0,
//               where no directory is here, and a replica that has it, but was not the first, sets
//               it aside before it learns (is_foreign in disks/init_info.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/repeated_lines.h"
#include "client_requests/client_writes.h"
#include "disks/replica_directory.h"
#include "disks/replica_places.h"
#include "legacy/shared_log_collector.h"
#include "recovery/recovery.h"
#include "recovery/shared_log_take_over.h"
#include "replica/replica_host.h"
#include "replica_server/replica_routes.h"
#include "splits/children.h"

namespace arion {

class FirstContentCopy;
struct CopiedContent;
struct FirstContent;
class Replica;
struct ReplicaSnapshot;

// One for a server: Expect and Recover at the start, OpenFor later, CloseAll at the end.
class ReplicaTable : public std::enable_shared_from_this<ReplicaTable> {
 public:
  using Phase = ReplicaRoutes::Phase;
  using Route = ReplicaRoutes::Route;

  // `on_changed`: what this server would report changed (a replica opened, closed or went).
  ReplicaTable(std::shared_ptr<const ReplicaHost> host, StrandPtr strand,
               std::vector<bool> usable_directories, absl::AnyInvocable<void()> on_changed);

  // Thread-safe. nullopt: not here.
  std::optional<Route> Find(PartitionId pid) const { return routes_.Find(pid); }
  // The open ones of a table. Thread-safe.
  std::vector<std::shared_ptr<Replica>> OpenOf(int32_t app_id) const {
    return routes_.OpenOf(app_id);
  }

  // What a scan found: here, and loading until Recover opens it, with what a shared log has of it.
  // `recovery`: set before the first Expect. `take_over`: null, or set before the first Recover;
  // held until ForgetSharedLog.
  void Expect(FoundReplica found);
  void Recover(PartitionId pid);
  // What the meta server says of one that is not open yet.
  void LearnRole(PartitionId pid, LastRole role) { recovery_->SetRole(pid, role); }
  void SetRecovery(std::shared_ptr<Recovery> recovery) { recovery_ = std::move(recovery); }
  void SetTakeOver(std::shared_ptr<SharedLogTakeOver> take_over) {
    take_over_ = std::move(take_over);
  }
  // No file of a shared log is left: so say the .init-infos from now on.
  void ForgetSharedLog();
  // For its collector: which replicas are open and what of it they hold in checkpoints, which not.
  void AskForSharedLog(std::function<void(SharedLogCollector::Replicas)> done);
  // That open replica makes a checkpoint then; nothing happens if it is gone.
  void CheckpointAfter(PartitionId pid, absl::Duration after);
  // Those that hold open files, or are about to.
  int64_t CountOpen() const;
  // Has the replica of `app` opened, made anew if it is not here and `creation` allows it; then it
  // gets `event`. An error: it does not come to this. kDiskInsufficient: no directory takes it, or
  // the limit of open files carries none more.
  // kInvalidState: the server stops, or the former one of that partition is being set aside.
  // kFirst: allowed, and it would be the partition's first primary, so a follower table's replica
  // begins with what its master has.
  enum class Creation { kAllowed, kForbidden, kFirst };
  ErrorCode OpenFor(PartitionId pid, const AppInfo& app, Creation creation, Event event);
  // A local fault ended it (it is gone, or waits to be opened again), and nobody has asked for it
  // since.
  bool HasFailed(PartitionId pid) const;
  // TakeReplaced found it; before Recover.
  void SetReplacedAside(const FoundReplica& replaced);
  // A directory of a replica that can't be read now; before Recover.
  void Ignore(const std::string& path) { places_->Ignore(path); }
  // Meta says: not needed any more. Only closed replicas go.
  void SetGarbageAside(PartitionId pid) { SetAsideClosed(pid, SetAside::kGarbage); }

  // Of splits (replica_children.cc); the promises are children.h's. `children` is given to each
  // replica that opens; before the first one.
  void SetChildren(std::shared_ptr<Children> children) { children_ = std::move(children); }
  void LookForChild(const ChildSeed& seed, Children::OnState done);
  void MakeChild(ChildSeed seed);
  void GiveTail(PartitionId child, ParentTail tail);
  // It is unborn, and nobody can register it any more: closes it, or removes it where it is closed.
  void PutChildAway(PartitionId pid);

  void OnConnected(uint64_t term);
  void OnLeaseLost();
  void OnMetaThawed();
  // Says what ended of what is not said each time.
  void OnSecond(Instant now) { refusals_.Look(now); }

  // Of one open replica, or of all.
  void AskForCheckpoints(std::optional<PartitionId> only);
  // All replicas, those loading and closed included, ordered by partition.
  void Report(absl::AnyInvocable<void(std::vector<ReplicaInfo>)> done);
  // What replicas here have duplicated, of those that are open; empty lists too.
  void DuplicationConfirms(
      absl::AnyInvocable<void(std::map<PartitionId, std::vector<DuplicationConfirmEntry>>)> done);
  // By table, and by its id: what open replicas are to duplicate. Those of tables that were named
  // last time and are not now duplicate nothing any more.
  void OnDuplications(const std::map<int32_t, std::map<int32_t, DuplicationEntry>>& by_table);
  // The tables of these replicas, each once: as an open one knows it, else as its directory says.
  void Tables(absl::AnyInvocable<void(std::vector<AppInfo>)> done);
  void Snapshot(absl::AnyInvocable<void(std::vector<ReplicaSnapshot>)> done);
  void CompactionTexts(absl::AnyInvocable<void(std::map<PartitionId, std::string>)> done);
  // Lets other members take over where a replica is primary; `done` when none is any more, or it is
  // too late.
  void StepDown(Instant until, absl::AnyInvocable<void()> done);
  // Opens nothing more; closes everything cleanly and in parallel. The first error, if any.
  void CloseAll(absl::AnyInvocable<void(absl::Status)> done);

 private:
  struct Slot {
    Phase phase = Phase::kLoading;
    FoundReplica found;
    bool awaits_recovery = false;
    std::shared_ptr<Replica> replica;
    // For when it is open.
    std::optional<Event> deferred;
    // While closed.
    ReplicaInfo last_report;
    // A local fault closed it, or kept it from opening: requests before this time are refused.
    std::optional<Instant> rest_until;
    // Null: no first content is being copied, and its directory is there or is being made.
    std::shared_ptr<FirstContentCopy> first_copy;
  };
  // What a new one begins with; `content` null: with nothing. `hold` keeps it until it is taken.
  struct Beginning {
    std::shared_ptr<const FirstContent> content;
    std::shared_ptr<void> hold;
  };

  void Open(PartitionId pid, Origin origin) { Open(pid, origin, {}); }
  void Open(PartitionId pid, Origin origin, Beginning beginning);
  // Of follower tables (replica_followers.cc).
  std::optional<ReplicaPlaces::Place> PlaceFor(PartitionId pid, const std::string& name) const;
  // The directory of a new one, in its disk's pool.
  static absl::Status CreateWith(const OpeningHost& host, const FoundReplica& found,
                                 const FirstContent* content);
  void CopyFirstContent(PartitionId pid);
  void OnFirstContent(PartitionId pid, const absl::StatusOr<CopiedContent>& copied);
  // Of a slot without a directory.
  void StopFirstCopy(Slot& slot);
  // Where the child is to be made; nullopt: not now.
  std::optional<ReplicaPlaces::Place> PlaceOf(const ChildSeed& seed) const;
  void JudgeChild(const ChildSeed& seed, const ReplicaInfo& found, Children::OnState done);
  void OpenInTwoSteps(PartitionId pid, StrandPtr strand, FoundReplica found);
  // Of one whose shared log went while it was begun.
  void FinishOpening(PartitionId pid, StrandPtr strand, std::unique_ptr<ReplicaOpening> opening);
  void LeftPool(PartitionId pid);
  void Settle(PartitionId pid);
  void OnOpened(PartitionId pid, StrandPtr strand, absl::StatusOr<OpenedReplica> opened);
  void OnCreationFailed(PartitionId pid, const absl::Status& status);
  void OnOpenFailed(PartitionId pid, const absl::Status& status);
  void ReportNoSpace(const FoundReplica& found, const absl::Status& why);
  void OnCloseRequested(PartitionId pid, Effects::Close close, const std::string& why);
  void OnClosed(PartitionId pid, Effects::Close close, const absl::Status& status);
  void SetFailedAside(const FoundReplica& found);
  void SetAsideClosed(PartitionId pid, SetAside why);
  void Vacate(PartitionId pid, const std::string& path, SetAside why);
  void ForgetReplacedLater(PartitionId pid, const std::string& path);
  void SetPhase(PartitionId pid, Slot& slot, Phase phase);
  void Erase(PartitionId pid);
  void CheckAllClosed();
  // For a new replica of that table.
  std::vector<DirectoryLoad> LoadsFor(int32_t app_id) const;

  void AwaitSuccessors(Instant until, absl::AnyInvocable<void()> done);
  // On the strand of each open replica, in the order of their partitions.
  void PostToOpen(const std::function<void(Replica&)>& task) const;
  // Asks each open replica on its strand by `ask`; `done` gets the answers by partition.
  template <class T>
  void Gather(std::function<T(const Replica&)> ask,
              absl::AnyInvocable<void(std::map<PartitionId, T>)> done);

  std::shared_ptr<const ReplicaHost> host_;
  StrandPtr strand_;
  const std::shared_ptr<ReplicaPlaces> places_;
  absl::AnyInvocable<void()> on_changed_;
  std::map<PartitionId, Slot> slots_;
  bool is_connected_ = false;
  uint64_t lease_term_ = 0;
  bool is_stopping_ = false;
  absl::Status close_status_;
  std::shared_ptr<Children> children_;
  std::shared_ptr<Recovery> recovery_;
  std::shared_ptr<SharedLogTakeOver> take_over_;
  // Those of the recovery.
  std::set<PartitionId> in_pool_;
  // And were set aside since the start.
  std::set<PartitionId> failed_to_open_;
  // Ended here by a local fault, or not even made; no slot is left.
  std::set<PartitionId> failed_;
  // Where the scratch directory of a first content is that is not complete, by data directory.
  std::map<PartitionId, size_t> scratch_places_;
  // That OnDuplications named last.
  std::set<int32_t> duplicated_tables_;
  // Why replicas are not made here: the meta server asks for each, always.
  RepeatedLines refusals_;
  absl::AnyInvocable<void(absl::Status)> all_closed_;
  ReplicaRoutes routes_;
};

}  // namespace arion
