// Replica: one replica in motion. Turns requests into the core's events, calls Step, carries out
// the effects: log, engine, messages, answers. What a member must do the core judges. Judged here is
// when to checkpoint and warm the cache.
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
// Parts     replica.cc the step loop and its effects · replica_learning.cc shipping and learning ·
//           replica_maintenance.cc checkpoints, work in the pool, the end ·
//           replica_compaction.h compactions on request · replica_verifying.h are copies equal ·
//           disk_work.h jobs in the disk's pools · replica_office.h what may be done now ·
//           client_requests/ what clients ask
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client_requests/admission.h"
#include "client_requests/client_reads.h"
#include "client_requests/client_writes.h"
#include "client_requests/served_partition.h"
#include "copies/file_fetcher.h"
#include "copies/learn_source.h"
#include "copies/learned_files.h"
#include "data_api/queue_time.h"
#include "messages/client_messages.h"
#include "messages/meta_messages.h"
#include "pacifica/replica_core.h"
#include "recovery/replica_opener.h"
#include "replica/apply_queue.h"
#include "replica/disk_work.h"
#include "replica/replica_compaction.h"
#include "replica/replica_host.h"
#include "replica/replica_office.h"
#include "replica/replica_snapshot.h"
#include "replica/replica_verifying.h"

namespace arion {

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

  void Start(CloseRequest on_close);

  // ---- requests ----
  void Write(WriteCode code, InboundRequest request, RequestTimes times) {
    writes_.Write(code, std::move(request), times);
  }
  void Read(ReadCode code, InboundRequest request, RequestTimes times) {
    reads_.Read(code, std::move(request), times);
  }
  // Is not answered.
  void ClearScanner(const InboundRequest& request) { reads_.ClearScanner(request); }
  void Prepare(PrepareRequest request, Responder responder);
  void GroupCheck(GroupCheckRequest request, Responder responder);
  void Learn(LearnRequest request, Responder responder);
  void LearnCompletion(GroupCheckResponse report, Responder responder);
  CountContentResponse CountContent(const CountContentRequest& request) {
    return verifying_.Count(request);
  }
  VerifyReplicasResponse VerifyReplicas(const VerifyReplicasRequest& request) {
    return verifying_.Answer(request);
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

  // Somebody waits for what is applied to be durable.
  void CheckpointNow();
  // Has what its log held written by the engine; lets go of `until_flushed` then.
  void FlushReplayed(std::shared_ptr<void> until_flushed);
  // No file of an older version's shared log is left.
  void ForgetSharedLog();

  // ---- questions ----
  ReplicaSnapshot Snapshot() const;
  ReplicaInfo Report() const;
  const AppInfo& app() const { return core_->app(); }
  std::string CompactionText() const { return compaction_.Text(); }  // for people

  // Takes nothing more. kFlushed: engine and log are closed cleanly. kAsIs: dropped as they are,
  // for a directory that is set aside. `done` runs on the strand when no work touches the directory
  // any more.
  enum class CloseMode { kFlushed, kAsIs };
  void Close(CloseMode mode, absl::AnyInvocable<void(absl::Status)> done);

 private:
  static constexpr absl::Duration kCheckpointAgain =
      absl::Seconds(5);  // after one that lacked space, or something

  using PoolWork = DiskWork::PoolWork;
  using EngineWork = DiskWork::EngineWork;
  using Then = DiskWork::Then;

  // ---- the step loop ----
  void Step(const Event& event) { Step(event, host_->env.clock().Now()); }
  void Step(const Event& event, Instant now);
  void Drain();
  bool CarryOutAtOnce(Effects& effects);
  bool CarryOutFirstSteps(
      Effects& effects);  // false: they wait for the disk, Drain is called again
  void CarryOut(Effects& effects);
  void Release();
  void Fence(const std::string& why);
  void ArmWakeup();
  // Effects wait while more is committed than the engine keeps up with.
  void HoldForApplies();

  // ---- effects ----
  void StoreBallot(Ballot ballot, std::optional<Standing> standing);
  void RestartLogAt(Decree applied);
  void StoreInfo(InitInfo info, absl::AnyInvocable<void()> then);
  void Append(LogAppend append);
  void OnLogged(const absl::Status& status);
  void OnApplyFailed(Decree decree, const absl::Status& status);
  void Send(Envelope envelope);
  void SendMessage(SendPrepare& m);
  void SendMessage(SendGroupCheck& m);
  void SendMessage(SendAddLearner& m);
  void SendMessage(SendRemove& m);
  void SendMessage(SendLearn& m);
  void SendMessage(SendLearnCompletion& m);
  void SendMessage(SendConfigurationUpdate& m);
  void Call(Endpoint to, const char* name, std::string body, absl::Duration timeout,
            absl::AnyInvocable<void(Replica&, RpcResult)> on_result);
  void Answer(PeerReply reply);
  // Whose session has ended holds no checkpoint and no log any longer.
  void NoteLearners();
  void Ship(ShipState ship);
  std::string EncodedForPeer(const LearnResponse& response) const;  // also in the pool
  void ReplyLearn(ReplyToken token, const LearnResponse& response, std::string encoded);
  LogCoverage CoverageFrom(Decree start) const;
  void OnLogDamaged(const absl::Status& status);
  void WriteBehindDamage();
  void AskToClose(Effects::Close close, const std::string& why);
  void AskTableToClose(Effects::Close close, const std::string& why);

  // ---- learner's work ----
  void NoteLearning(const RoleChange& change);
  void NoteLearned(const LearnResponse& response);
  void StartLearnerWork(LearnerWork work);
  FetchPlan PlanOf(const LearnResponse& response);
  void InstallCheckpoint(LearnerWork work);
  void InstallCopied(uint64_t serial, const std::string& source, Decree decree);
  void CopyLog(LearnerWork work);
  void ReadLog(uint64_t serial);
  // `what` is for the log; `then` once all is here. It ends the work if that fails.
  void Fetch(uint64_t serial, FetchPlan plan, std::string what,
             absl::AnyInvocable<void(Replica&)> then);
  // What an interrupted copy left is of no use to a member.
  void DropCopies();
  void Discard(uint64_t serial);
  void FlushForLearner(uint64_t serial);
  // Closes the engine, lets `exchange` change what lies in data/, opens it again; it must then
  // stand at `expected`. The log is void from the first moment on. Waits for other stores of
  // .init-info, so that none of them comes behind its own.
  void ExchangeEngine(uint64_t serial, Decree expected, PoolWork exchange);
  void OnExchanged(uint64_t serial, const InitInfo& info, std::shared_ptr<Engine> engine,
                   const absl::Status& status);
  void FinishLearnerWork(uint64_t serial, LearnerWorkDone::Result result);
  void FailLearnerWork(uint64_t serial, const absl::Status& why);

  // ---- disk work ----
  void WarmFromHotReads();
  void WarmCache(std::shared_ptr<const std::vector<std::string>> keys, size_t from);
  void InPool(PoolWork work, Then then) { work_.InPool(std::move(work), std::move(then)); }
  void OnNoSpace(std::string_view what, const absl::Status& status) {
    work_.OnNoSpace(what, status);
  }
  void After(absl::Duration delay, absl::AnyInvocable<void(Replica&)> task) {
    work_.After(delay, [this, task = std::move(task)]() mutable { task(*this); });
  }
  void Maintain(EngineWork work, Then then) { work_.Maintain(std::move(work), std::move(then)); }
  void ScheduleCheckpoint(absl::Duration delay);
  void WatchReplay();
  void CheckpointIfNeeded();
  void OnDurable(Decree decree);
  void DropUnneededLog(Decree durable);
  void FinishClose(CloseMode mode, absl::AnyInvocable<void(absl::Status)> done);

  // An empty write.
  void WriteNothing();
  ReplyToken Keep(Responder responder);

  ReplicaFigures& figures() { return stats_->figures(); }
  std::string Tag() const;  // "[2.1 3 17]"

  std::shared_ptr<const ReplicaHost> host_;
  StrandPtr strand_;
  const PartitionId pid_;
  const std::string directory_;
  const size_t disk_;               // of the data
  const size_t log_disk_;           // often the same
  InitInfo info_;                   // as on disk
  std::shared_ptr<Engine> engine_;  // null only while it is exchanged
  std::shared_ptr<PrivateLog> log_;
  Decree log_damaged_through_;  // nobody is sent to it for these or earlier ones; 0: none
  const std::unique_ptr<ReplicaCore> core_;
  ReplicaOffice office_;  // closed: no event goes to the core any more
  DiskWork work_;
  const std::shared_ptr<ApplyQueue> applies_;
  LearnSource source_;
  CloseRequest on_close_;

  std::deque<Effects> effects_;
  bool is_draining_ = false;
  int holds_ = 0;  // things of the disk that effects_ waits for
  bool holds_for_applies_ = false;
  const bool log_is_void_;  // at the start

  const std::shared_ptr<RequestStats> stats_;
  Instant last_step_;  // when the last event came

  uint64_t next_token_ = 1;
  std::map<ReplyToken, Responder> peers_;
  QueueTime requests_waiting_;
  std::map<ReplyToken, Endpoint> learners_asking_;
  std::vector<Endpoint> learners_;  // the core's

  bool has_stepped_down_ = false;

  int64_t appends_under_way_ = 0;
  uint64_t next_logged_ = 0;  // sequence that the log reports next, while appends are under way
  bool is_checkpointing_ = false;
  bool is_replay_watched_ = false;
  const ServedPartition partition_;
  Admission admission_;
  ClientReads reads_;
  ClientWrites writes_;
  ReplicaCompaction compaction_;
  ReplicaVerifying verifying_;
  std::shared_ptr<FileFetcher> fetcher_;         // null: no copy is under way
  std::shared_ptr<LearnedFiles> learned_files_;  // null: none are read; the pool's meanwhile
  int copies_dropping_ = 0;                      // in the pool

  Instant wakeup_at_ = Instant::InfiniteFuture();
  TimerId wakeup_timer_ = kNoTimer;
  TimerId checkpoint_timer_ = kNoTimer;
};

}  // namespace arion
