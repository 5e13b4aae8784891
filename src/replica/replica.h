// Replica: one replica in motion. Turns requests into the core's events, calls Step, carries out
// the effects: log, engine, messages, answers. What a member must do the core judges; here is the
// order in which its effects are carried out, and what they wait for.
//
// Shapes    Effects are carried out strictly in the order of their Steps; those that must wait
//           for the disk first (a ballot, a log made void, an engine exchanged) hold back
//           everything behind them, reads excepted.
// Errors    A failed log write, apply or sync fences the replica for good; the server sets its
//           directory aside. A part of the log that can't be read for a learner does not: it gets a
//           checkpoint, and one is made at once. A full disk fences nothing: new writes are
//           refused, reads go on, what needs room (log, applies, .init-info, checkpoints, learner's
//           work) is tried again.
// Threads   Strand-bound: every method on strand(). Callbacks given to it run on the strand. A step
//           off it ends the process.
// Lifetime  Held by shared_ptr; the host outlives it. Destruction without Close is a crash.
// Promises  replica/P1  No client is answered kOk while the lease is not held; reads check it again
//               after reading.
//           replica/P2  A mutation is applied in decree order, once; an answer to its client
//               follows the apply.
//           replica/P3  INCR and CHECK_... are decided once, from a state that holds every earlier
//               write to their hash key and all that an earlier primary may have committed.
// Parts     None knows the replica; each header says what it is given. replica_store.h engine, log,
//           .init-info · replica_office.h what may be done now · disk_work.h jobs in pools ·
//           apply_queue.h · replica_messages.h other servers · client_requests/ admission, writes,
//           reads · replica_checkpoints.h · replica_compaction.h · replica_verifying.h ·
//           replica_shipping.h, replica_learning.h · splits/ two partitions of one
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "client_requests/admission.h"
#include "client_requests/client_reads.h"
#include "client_requests/client_writes.h"
#include "client_requests/owned_keys.h"
#include "client_requests/served_partition.h"
#include "data_api/apply_queue.h"
#include "data_api/queue_time.h"
#include "duplication/partition_duplications.h"
#include "indexes/index_upkeep.h"
#include "messages/meta_messages.h"
#include "pacifica/replica_core.h"
#include "recovery/replica_opener.h"
#include "replica/disk_work.h"
#include "replica/replica_checkpoints.h"
#include "replica/replica_compaction.h"
#include "replica/replica_host.h"
#include "replica/replica_learning.h"
#include "replica/replica_messages.h"
#include "replica/replica_office.h"
#include "replica/replica_shipping.h"
#include "replica/replica_snapshot.h"
#include "replica/replica_store.h"
#include "replica/replica_verifying.h"
#include "splits/children.h"
#include "splits/partition_split.h"
#include "splits/split_member.h"

namespace arion {

// Made by the ReplicaTable from an OpenedReplica, which then calls Start, gives it requests, and at
// last Close.
class Replica : public std::enable_shared_from_this<Replica> {
 public:
  // The core asked to be closed; called once, on the strand. `why` is for the log.
  using CloseRequest = absl::AnyInvocable<void(Effects::Close, const std::string& why)>;

  Replica(std::shared_ptr<const ReplicaHost> host, StrandPtr strand, OpenedReplica opened);
  ~Replica();

  // Immutable after construction.
  const StrandPtr& strand() const { return strand_; }
  PartitionId pid() const { return pid_; }
  const std::string& directory() const { return directory_; }
  // Clients' requests on their way to the strand; thread-safe.
  QueueTime& requests_waiting() { return requests_waiting_; }

  // `children`: what becomes of those that a split makes.
  void Start(CloseRequest on_close, std::shared_ptr<Children> children);

  // ---- requests ----
  void Write(WriteCode code, InboundRequest request, RequestTimes times) {
    writes_.Write(code, std::move(request), times);
  }
  void Read(ReadCode code, InboundRequest request, RequestTimes times) {
    reads_.Read(code, std::move(request), times);
  }
  // Ends a scan; clients expect no answer.
  void ClearScanner(const InboundRequest& request) { reads_.ClearScanner(request); }
  void Prepare(PrepareRequest request, Responder responder);
  void GroupCheck(GroupCheckRequest request, Responder responder);
  void Learn(LearnRequest request, Responder responder);
  void LearnCompletion(GroupCheckResponse report, Responder responder);
  // What a follower cluster begins with, if it is primary and may serve.
  void ShipToFollower(Responder responder);
  void OnSplitStep(const SplitMemberRequest& request, Responder responder);
  ReplicaVerifying& verifying() { return verifying_; }
  // Other clusters that the table is duplicated to.
  PartitionDuplications& duplications() { return duplications_; }
  std::vector<DuplicationConfirmEntry> DuplicationConfirms() const {
    return duplications_.Confirms();
  }
  // Events that want no answer: AddLearnerReceived, RemoveReceived, ProposalReceived,
  // ConfigurationSynced, TableChanged, MissingInSync, MetaThawed.
  void Notify(const Event& event);
  // The lease is held under `term`; the config sync that follows comes later.
  void OnConnected(uint64_t term);
  void OnLeaseLost();

  // The server is about to stop: another member may take over, if there is one. Once.
  void StepDown();
  // It is primary of others, or an update of its configuration is in flight.
  bool HoldsOffice() const;

  // Makes a checkpoint soon: somebody waits for what is applied to be durable.
  void CheckpointNow();
  // Has the engine write what the log held; drops `until_flushed` then.
  void FlushReplayed(std::shared_ptr<void> until_flushed);
  // No file of an older version's shared log is left.
  void ForgetSharedLog();

  // ---- questions ----
  ReplicaSnapshot Snapshot() const;
  ReplicaInfo Report() const;
  const AppInfo& app() const { return core_->app(); }
  // For people.
  std::string CompactionText() const { return compaction_.Text(); }

  // Takes nothing more. kFlushed: engine and log are closed cleanly. kAsIs: dropped as they are,
  // for a directory that is set aside. `done` runs on the strand when no work touches the directory
  // any more.
  using CloseMode = ReplicaStore::CloseMode;
  void Close(CloseMode mode, absl::AnyInvocable<void(absl::Status)> done);

 private:
  using PoolWork = DiskWork::PoolWork;
  using Then = DiskWork::Then;

  // ---- what the parts are given; made before the parts that they call ----
  ReplicaStore::Hooks StoreHooks();
  DiskWork::Hooks WorkHooks();
  ApplyQueue::Hooks ApplyHooks();
  ServedPartition Served();
  IndexUpkeep::Hooks IndexHooks();
  ReplicaVerifying::Hooks VerifyingHooks();
  ReplicaCheckpoints::Hooks CheckpointsHooks();
  SplitMember::Hooks MemberHooks();
  void ReadHistoryInPool(Decree first, Decree through, SplitMember::OnMutations then);
  PartitionSplit::Hooks SplitHooks();
  PartitionDuplications::Hooks DuplicationHooks();

  // ---- the step loop ----
  void Step(const Event& event) { Step(event, host_->env.clock().Now()); }
  void Step(const Event& event, Instant now);
  void Drain();
  // Its description has changed.
  void OnTable();
  bool CarryOutAtOnce(Effects& effects);
  // False: they wait for the disk, Drain is called again.
  bool CarryOutFirstSteps(Effects& effects);
  void CarryOut(Effects& effects);
  void Release();
  ApplyQueue::Urgency UrgencyOfApplies() const;
  void Fence(const std::string& why);
  void ArmWakeup();
  // Effects wait while more is committed than the engine keeps up with.
  void HoldForApplies();

  // ---- effects ----
  void Append(LogAppend append);
  void OnLogged(const absl::Status& status);
  void OnApplyFailed(Decree decree, const absl::Status& status);
  void Answer(const PeerReply& reply);
  void AskToClose(Effects::Close close, const std::string& why);
  void AskTableToClose(Effects::Close close, const std::string& why);

  bool IsCountNew() const { return partition_count_ != core_->app().partition_count; }
  // An empty write.
  void WriteNothing();
  ReplyToken Keep(Responder responder);

  ReplicaFigures& figures() { return stats_->figures(); }
  // "[2.1 3 17]".
  std::string Tag() const;

  std::shared_ptr<const ReplicaHost> host_;
  StrandPtr strand_;
  const PartitionId pid_;
  const std::string directory_;
  // The disk of the data, and that of the log.
  const size_t disk_;
  const size_t log_disk_;
  const std::unique_ptr<ReplicaCore> core_;
  const std::shared_ptr<RequestStats> stats_;
  ReplicaStore store_;
  // Closed: no event goes to the core any more.
  ReplicaOffice office_;
  DiskWork work_;
  const std::shared_ptr<ApplyQueue> applies_;
  CloseRequest on_close_;

  std::deque<Effects> effects_;
  bool is_draining_ = false;
  // How many changes on the disk effects_ waits for.
  int holds_ = 0;
  bool holds_for_applies_ = false;
  // As the opening left it.
  const bool log_is_void_;

  // When the last event came.
  Instant last_step_;

  uint64_t next_token_ = 1;
  QueueTime requests_waiting_;
  bool has_stepped_down_ = false;
  // Of the description of the table that the parts know.
  uint64_t table_serial_ = kAppRemembered;

  int64_t appends_under_way_ = 0;
  // The sequence that the log reports next, while appends are under way.
  uint64_t next_logged_ = 0;
  const ServedPartition partition_;
  Admission admission_;
  ClientReads reads_;
  ClientWrites writes_;
  ReplicaCompaction compaction_;
  OwnedKeys owned_;
  IndexUpkeep indexes_;
  ReplicaMessages messages_;
  ReplicaVerifying verifying_;
  ReplicaCheckpoints checkpoints_;
  ReplicaShipping shipping_;
  ReplicaLearning learning_;
  SplitMember split_member_;
  PartitionSplit split_;
  PartitionDuplications duplications_;
  // By how many partitions it owns keys, as its directory says, or is about to.
  int32_t partition_count_;
  Instant wakeup_at_ = Instant::InfiniteFuture();
  TimerId wakeup_timer_ = kNoTimer;
};

}  // namespace arion
