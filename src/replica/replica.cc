// SPDX-License-Identifier: Apache-2.0
#include "replica/replica.h"

#include <absl/strings/numbers.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "replica/mutation_operations.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

constexpr absl::Duration kNoSpacePause = absl::Milliseconds(500);
constexpr absl::Duration kReplayWatchPeriod = absl::Seconds(1);
constexpr absl::Duration kCheckpointAgain = absl::Seconds(5);  // after one that lacked space

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

CoreOptions MakeCoreOptions(const ReplicaHost& host, const OpenedReplica& opened) {
  const ReplicaServerOptions& options = host.options;
  CoreOptions core;
  core.pid = opened.pid;
  core.self = host.self;
  core.app = opened.app;
  core.mutations_in_flight_max = options.max_mutations_in_flight;
  core.prepare_list_span_max = options.prepare_list_capacity;
  core.replica_count_min = options.mutation_2pc_min_replica_count;
  core.prepare_timeout = options.prepare_timeout;
  core.learner_prepare_timeout = options.learner_prepare_timeout;
  core.group_check_interval = options.group_check_interval;
  core.closed_linger = options.closed_replica_linger;
  return core;
}

// The answer of a call, or its RPC-level error; what does not decode counts as kInvalidData.
template <class T>
std::pair<ErrorCode, T> Decoded(const RpcResult& result) {
  if (result.error != ErrorCode::kOk) return {result.error, T{}};
  absl::StatusOr<T> value = DecodeWrapped<T>(result.body);
  if (!value.ok()) return {ErrorCode::kInvalidData, T{}};
  return {ErrorCode::kOk, *std::move(value)};
}

}  // namespace

Replica::Replica(std::shared_ptr<const ReplicaHost> host, StrandPtr strand, OpenedReplica opened)
    : host_(std::move(host)),
      strand_(std::move(strand)),
      pid_(opened.pid),
      directory_(opened.directory),
      disk_(opened.disk),
      log_disk_(host_->LogDiskOf(disk_)),
      server_name_(host_->self.ToString()),
      info_(opened.info),
      engine_(std::move(opened.engine)),
      log_(std::move(opened.log)),
      applies_(std::make_shared<ApplyQueue>(
          strand_,
          ApplyQueue::Hooks{
              .in_pool = [this](PoolWork work,
                                Then then) { InPool(std::move(work), std::move(then)); },
              .on_applied = [this](Decree decree) { Step(Applied{decree}); },
              .on_failed = [this](Decree decree,
                                  const absl::Status& status) { OnApplyFailed(decree, status); },
              .on_no_space =
                  [this](const absl::Status& status) { OnNoSpace("an apply", status); }})),
      core_(std::make_unique<ReplicaCore>(MakeCoreOptions(*host_, opened), opened.recovered,
                                          host_->env.clock().Now())),
      source_(host_->env.files(), host_->served, pid_, DataPathOf(directory_),
              host_->options.data_directories[disk_].tag),
      log_is_void_(opened.log_is_void) {}

void Replica::Start(CloseRequest on_close) {
  CHECK_ON_STRAND(strand_);
  on_close_ = std::move(on_close);
  if (log_is_void_) log_->StartAnew(engine_->last_applied());
  // Spread over the interval, so that the replicas of a server don't flush all at once.
  const int64_t interval_ms = absl::ToInt64Milliseconds(host_->options.checkpoint_interval);
  ScheduleCheckpoint(absl::Milliseconds(
      interval_ms / 2 +
      static_cast<int64_t>(host_->env.random().Below(static_cast<uint64_t>(interval_ms / 2 + 1)))));
  ArmWakeup();
}

std::string Replica::Tag() const {
  return absl::StrCat("[", pid_.ToString(), " ", core_->ballot().value(), " ",
                      core_->marks().last_committed.value(), "]");
}

// ---- requests ----

// A full disk, ours or a member's, is noticed before anything is logged.
ErrorCode Replica::SpaceGate() const {
  if (!host_->disks->HasSpace(disk_) || !host_->disks->HasSpace(log_disk_))
    return ErrorCode::kDiskInsufficient;
  for (const Endpoint member : full_members_)
    if (core_->configuration().IsSecondary(member)) return ErrorCode::kDiskInsufficient;
  return ErrorCode::kOk;
}

ErrorCode Replica::ReadGate(ReadKind kind) const {
  if (is_closed_ || engine_ == nullptr || !HoldsLease()) return ErrorCode::kInvalidState;
  return core_->ReadGate(kind);
}

void Replica::Read(ReadCode code, InboundRequest request) {
  CHECK_ON_STRAND(strand_);
  if (code != ReadCode::kGet && code != ReadCode::kTtl)
    return ReadSeveral(code, std::move(request));
  const ReadKind kind =
      request.header.is_backup_request ? ReadKind::kBackup : ReadKind::kPrimaryOnly;
  if (const ErrorCode gate = ReadGate(kind); gate != ErrorCode::kOk)
    return request.responder.Reply(gate);
  absl::StatusOr<Blob> key = DecodeWrapped<Blob>(request.body);
  if (!key.ok()) return request.responder.Reply(ErrorCode::kInvalidData);
  const uint32_t now = ExpiryNow(host_->env.clock());
  if (!IsRawKey(*key))
    return AnswerRead(code, kind, absl::InvalidArgumentError("malformed key"), now,
                      std::move(request.responder));
  absl::StatusOr<Record> record = engine_->Get(*key, now, ReadTier::kCacheOnly);
  if (!absl::IsUnavailable(record.status()))
    return AnswerRead(code, kind, std::move(record), now, std::move(request.responder));

  auto from_disk = std::make_shared<absl::StatusOr<Record>>();
  InPool(
      [engine = engine_, key = *std::move(key), now, from_disk] {
        *from_disk = engine->Get(key, now, ReadTier::kAll);
        return absl::OkStatus();
      },
      [this, code, kind, now, from_disk,
       responder = std::move(request.responder)](const absl::Status&) mutable {
        AnswerRead(code, kind, std::move(*from_disk), now, std::move(responder));
      });
}

void Replica::AnswerRead(ReadCode code, ReadKind kind, absl::StatusOr<Record> record, uint32_t now,
                         Responder responder) {
  // Checked again: what was read counts only if this server may still speak for the partition (P1).
  if (const ErrorCode gate = ReadGate(kind); gate != ErrorCode::kOk) return responder.Reply(gate);
  StorageError error = StorageError::kOk;
  if (absl::IsNotFound(record.status()))
    error = StorageError::kNotFound;
  else if (absl::IsInvalidArgument(record.status()))
    error = StorageError::kInvalidArgument;
  else if (absl::IsDataLoss(record.status()))
    error = StorageError::kCorruption;
  else if (!record.ok())
    error = StorageError::kIOError;

  if (code == ReadCode::kGet) {
    ReadResponse response{.error = static_cast<int32_t>(error),
                          .app_id = pid_.app_id,
                          .partition_index = pid_.index,
                          .server = server_name_};
    if (record.ok()) response.value.bytes = std::move(record->value);
    responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
  } else {
    TtlResponse response{.error = static_cast<int32_t>(error),
                         .app_id = pid_.app_id,
                         .partition_index = pid_.index,
                         .server = server_name_};
    if (record.ok())
      response.ttl_seconds =
          record->expire_ts == 0 ? -1 : static_cast<int32_t>(record->expire_ts - now);
    responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
  }
  const bool failed = error == StorageError::kCorruption || error == StorageError::kIOError;
  if (failed && !absl::IsResourceExhausted(record.status()))
    Fence(absl::StrCat("read: ", record.status().ToString()));
}

ReplyToken Replica::Keep(Responder responder) {
  const ReplyToken token = next_token_++;
  peers_.emplace_hint(peers_.end(), token, std::move(responder));
  return token;
}

void Replica::Prepare(PrepareRequest request, Responder responder) {
  CHECK_ON_STRAND(strand_);
  if (is_closed_)
    return responder.Reply(ErrorCode::kOk,
                           EncodeWrapped(PrepareAck{.pid = pid_, .err = ErrorCode::kInvalidState}));
  Step(PrepareReceived{Keep(std::move(responder)), std::move(request)});
}

void Replica::GroupCheck(GroupCheckRequest request, Responder responder) {
  CHECK_ON_STRAND(strand_);
  if (is_closed_)
    return responder.Reply(ErrorCode::kOk,
                           EncodeWrapped(GroupCheckResponse{
                               .pid = pid_, .err = ErrorCode::kInvalidState, .node = host_->self}));
  Step(GroupCheckReceived{Keep(std::move(responder)), std::move(request)});
}

void Replica::Learn(LearnRequest request, Responder responder) {
  CHECK_ON_STRAND(strand_);
  if (is_closed_)
    return responder.Reply(ErrorCode::kOk,
                           EncodeWrapped(LearnResponse{.err = ErrorCode::kInvalidState}));
  const LogCoverage coverage =
      log_->Covers(core_->LearnStart(request)) ? LogCoverage::kCovered : LogCoverage::kDropped;
  const ReplyToken token = Keep(std::move(responder));
  learners_asking_[token] = request.learner;
  Step(LearnReceived{token, std::move(request), coverage});
}

void Replica::LearnCompletion(GroupCheckResponse report, Responder responder) {
  CHECK_ON_STRAND(strand_);
  if (is_closed_)
    return responder.Reply(ErrorCode::kOk, EncodeWrapped(LearnNotifyResponse{
                                               .pid = pid_, .err = ErrorCode::kInvalidState}));
  Step(LearnCompletionReceived{Keep(std::move(responder)), std::move(report)});
}

void Replica::Notify(const Event& event) {
  CHECK_ON_STRAND(strand_);
  Step(event);
}

void Replica::OnConnected(uint64_t term) {
  CHECK_ON_STRAND(strand_);
  is_connected_ = true;
  lease_term_ = term;
  Step(Connected{});
}

void Replica::OnLeaseLost() {
  CHECK_ON_STRAND(strand_);
  is_connected_ = false;
  Step(LeaseLost{});
}

// ---- the step loop ----

void Replica::Step(const Event& event) {
  if (is_closed_) return;
  Queue(core_->Step(event, host_->env.clock().Now()));
  Drain();
}

void Replica::Queue(Effects effects) {
  core_->Check();
  effects_.push_back(std::move(effects));
}

void Replica::Drain() {
  if (is_draining_) return;
  is_draining_ = true;
  HoldForApplies();
  while (!effects_.empty() && holds_ == 0 && !is_closed_) {
    if (!CarryOutFirstSteps(effects_.front())) continue;
    Effects effects = std::move(effects_.front());
    effects_.pop_front();
    CarryOut(effects);
    HoldForApplies();
  }
  is_draining_ = false;
  if (is_closed_) return;
  ArmWakeup();
  BeginWrites();
}

bool Replica::CarryOutFirstSteps(Effects& effects) {
  if (effects.persist_ballot || effects.persist_standing) {
    const Ballot ballot =
        std::exchange(effects.persist_ballot, std::nullopt).value_or(info_.ballot);
    StoreBallot(ballot, std::exchange(effects.persist_standing, std::nullopt));
    return false;
  }
  if (effects.restart_log) {
    RestartLogAt(std::exchange(effects.restart_log, std::nullopt)->applied);
    return false;
  }
  return true;
}

void Replica::Release() {
  --holds_;
  Drain();
}

void Replica::CarryOut(Effects& effects) {
  for (const RoleChange& change : effects.role_changes)
    LOG(INFO) << Tag() << " " << PartitionStatusName(change.from) << " -> "
              << PartitionStatusName(change.to) << " under ballot " << change.ballot << ": "
              << change.why;
  if (!effects.role_changes.empty()) {
    source_.KeepOnly(core_->learners());
    if (!MayBePrimaryAgain()) {
      scans_.Clear();
      RefuseUndecidedWrites(ErrorCode::kInvalidState);
    }
  }

  // The log first: its write and the prepares run side by side, and the disk is the slower of the
  // two.
  for (LogAppend& append : effects.append) Append(std::move(append));
  for (Envelope& envelope : effects.send) Send(std::move(envelope));
  if (!effects.apply.empty()) applies_->Apply(engine_, effects.apply);
  for (PeerReply& reply : effects.replies) Answer(std::move(reply));
  for (const ClientReply& reply : effects.client_replies) AnswerClient(reply);
  for (const ReplyToken token : effects.dropped) {
    peers_.erase(token);
    learners_asking_.erase(token);
  }
  for (ShipState& ship : effects.ship) Ship(std::move(ship));
  if (effects.learner_work) StartLearnerWork(*std::move(effects.learner_work));
  if (effects.close != Effects::Close::kNo) AskToClose(effects.close, effects.close_why);
}

void Replica::ArmWakeup() {
  const Instant at = core_->NextWakeup();
  if (at == Instant::InfiniteFuture() || (wakeup_timer_ != kNoTimer && wakeup_at_ <= at)) return;
  if (wakeup_timer_ != kNoTimer) strand_->Cancel(wakeup_timer_);
  wakeup_at_ = at;
  wakeup_timer_ = strand_->PostAfter(
      std::max(at - host_->env.clock().Now(), absl::ZeroDuration()), [self = weak_from_this()] {
        const auto replica = self.lock();
        if (replica == nullptr || replica->is_closed_) return;
        replica->wakeup_timer_ = kNoTimer;
        if (replica->host_->env.clock().Now() >= replica->core_->NextWakeup())
          replica->Step(Tick{});
        else
          replica->ArmWakeup();
      });
}

void Replica::Fence(const std::string& why) {
  if (is_closed_) return;
  LOG(ERROR) << Tag() << " fenced: " << why;
  Step(Fenced{why});
}

void Replica::AskToClose(Effects::Close close, const std::string& why) {
  if (is_closed_ || !on_close_) return;
  CloseRequest on_close = std::move(on_close_);
  on_close_ = nullptr;
  on_close(close, why);
}

void Replica::HoldForApplies() {
  constexpr size_t kWaitingBytesMax = 32 << 20;
  const size_t limit = holds_for_applies_ ? kWaitingBytesMax / 2 : kWaitingBytesMax;
  const bool is_behind = applies_->waiting_bytes() > limit;
  if (is_behind == holds_for_applies_) return;
  holds_for_applies_ = is_behind;
  holds_ += is_behind ? 1 : -1;
}

// ---- the log and .init-info ----

void Replica::StoreInfo(InitInfo info, absl::AnyInvocable<void()> then) {
  ++holds_;
  InPoolOnceThereIsRoom(
      std::make_shared<PoolWork>([&files = host_->env.files(), directory = directory_, info] {
        return StoreInitInfo(files, directory, info);
      }),
      [this, info, then = std::move(then)](const absl::Status& status) mutable {
        if (is_closed_) return;
        if (!status.ok()) {
          effects_.clear();  // none of them may be carried out without it
          --holds_;
          const std::string why = absl::StrCat("store ", kInitInfoName, ": ", status.ToString());
          host_->disks->OnIoError(disk_, why);
          return Fence(why);
        }
        info_ = info;
        then();
        Release();
      });
}

void Replica::StoreBallot(Ballot ballot, std::optional<Standing> standing) {
  InitInfo info = info_;
  if (standing) info.is_learner = *standing == Standing::kLearner;
  info.ballot = std::max(info.ballot, ballot);
  // Never lower: it may mark mutations that came from elsewhere and are not flushed yet
  // (spec/replication.md T-01).
  info.durable = std::max(info.durable, engine_->last_durable());
  StoreInfo(info, [] {});
}

void Replica::RestartLogAt(Decree applied) {
  ++holds_;
  WhenQuiet([this, applied] {  // what is under way still belongs to the old content
    InitInfo info = info_;
    info.durable = std::max(info.durable, applied);
    info.offset_in_private_log = log_->end_offset();
    info.is_learner = true;
    StoreInfo(info, [this, applied] { log_->StartAnew(applied); });
    Release();
  });
}

void Replica::Append(LogAppend append) {
  // The log reports in order (L2) and sequences ascend by one, so the callback need not carry its
  // own: it stays small enough to need no memory.
  if (appends_under_way_ == 0) next_logged_ = append.sequence;
  CHECK_EQ(append.sequence, next_logged_ + static_cast<uint64_t>(appends_under_way_)) << Tag();
  ++appends_under_way_;
  WatchReplay();
  log_->Append(std::move(append.mutation), [self = weak_from_this()](const absl::Status& status) {
    if (const auto replica = self.lock()) replica->OnLogged(status);
  });
}

void Replica::OnLogged(const absl::Status& status) {
  CHECK_ON_STRAND(strand_);
  const uint64_t sequence = next_logged_++;
  --appends_under_way_;
  if (status.ok()) {
    Step(Logged{sequence});
  } else {
    if (!is_closed_) {
      LOG(ERROR) << Tag() << " log write failed: " << status;
      host_->disks->OnIoError(log_disk_, absl::StrCat("log write: ", status.ToString()));
    }
    Step(Logged{sequence, ErrorCode::kDiskIoError});
  }
  CheckQuiet();
}

void Replica::OnApplyFailed(Decree decree, const absl::Status& status) {
  LOG(ERROR) << Tag() << " apply decree " << decree << ": " << status;
  if (absl::IsDataLoss(status))
    host_->disks->OnIoError(disk_, absl::StrCat("apply: ", status.ToString()));
  Step(Applied{decree, ErrorCode::kLocalAppFailure});
}

// ---- messages ----

void Replica::Call(Endpoint to, const char* name, std::string body, absl::Duration timeout,
                   absl::AnyInvocable<void(Replica&, RpcResult)> on_result) {
  host_->transport.Call(
      to,
      {.name = name,
       .body = std::move(body),
       .thread_hash = pid_.thread_hash(),
       .timeout = timeout},
      strand_,
      [self = weak_from_this(), on_result = std::move(on_result)](RpcResult result) mutable {
        if (const auto replica = self.lock()) on_result(*replica, std::move(result));
      });
}

void Replica::Send(Envelope envelope) {
  const PeerGeneration generation = host_->options.peer_generation;
  std::visit(
      Overloaded{
          [&](const SendPrepare& m) {
            Call(m.to, kRpcPrepare, EncodePrepare(m.request, generation), m.timeout,
                 [to = m.to, serial = m.serial](Replica& self, const RpcResult& result) {
                   auto [error, ack] = Decoded<PrepareAck>(result);
                   self.Step(PrepareAcked{to, serial, error, std::move(ack)});
                 });
          },
          [&](const SendGroupCheck& m) {
            Call(m.to, kRpcGroupCheck, EncodeWrapped(m.request, generation), m.timeout,
                 [to = m.to, ballot = m.request.config.ballot](Replica& self,
                                                               const RpcResult& result) {
                   auto [error, response] = Decoded<GroupCheckResponse>(result);
                   if (error == ErrorCode::kOk) self.NoteSpaceOf(to, response.disk_status);
                   self.Step(GroupCheckAnswered{to, ballot, error, std::move(response)});
                 });
          },
          [&](const SendAddLearner& m) {
            host_->transport.SendOneWay(m.to, {.name = kRpcAddLearner,
                                               .body = EncodeWrapped(m.request, generation),
                                               .thread_hash = pid_.thread_hash()});
          },
          [&](const SendRemove& m) {
            host_->transport.SendOneWay(m.to, {.name = kRpcRemoveReplica,
                                               .body = EncodeWrapped(m.config, generation),
                                               .thread_hash = pid_.thread_hash()});
          },
          [&](SendLearn& m) {
            m.request.max_gced_decree =
                log_->Covers(Decree(1)) ? 0 : engine_->last_durable().value();
            Call(m.to, kRpcLearn, EncodeWrapped(m.request, generation), m.timeout,
                 [serial = m.serial](Replica& self, const RpcResult& result) {
                   auto [error, response] = Decoded<LearnResponse>(result);
                   self.Step(LearnAnswered{serial, error, std::move(response)});
                 });
          },
          [&](const SendLearnCompletion& m) {
            Call(m.to, kRpcLearnCompletion, EncodeWrapped(m.report, generation), m.timeout,
                 [signature = m.report.learner_signature](Replica& self, const RpcResult& result) {
                   auto [error, response] = Decoded<LearnNotifyResponse>(result);
                   self.Step(LearnCompletionAnswered{signature, error, std::move(response)});
                 });
          },
          [&](const SendConfigurationUpdate& m) {
            const auto answered = [serial = m.serial](Replica& self, const RpcResult& result) {
              auto [error, response] = Decoded<ConfigurationUpdateResponse>(result);
              if (serial != 0)
                self.Step(ConfigurationUpdateAnswered{serial, error, std::move(response)});
            };
            const Endpoint meta = host_->lease->leader();
            if (meta.IsValid())
              return Call(meta, kRpcUpdateConfiguration, EncodeWrapped(m.request, generation),
                          m.timeout, answered);
            strand_->Post([self = weak_from_this(), answered] {
              if (const auto replica = self.lock())
                answered(*replica, {.error = ErrorCode::kNetworkFailure});
            });
          }},
      envelope);
}

void Replica::NoteSpaceOf(Endpoint member, DiskStatus status) {
  if (status != DiskStatus::kSpaceInsufficient)
    full_members_.erase(member);
  else if (full_members_.insert(member).second)
    LOG(WARNING) << Tag() << " " << member << " lacks space: new writes are refused";
}

void Replica::Answer(PeerReply reply) {
  if (const auto* learn = std::get_if<LearnResponse>(&reply.body))
    return ReplyLearn(reply.token, *learn);
  const auto it = peers_.find(reply.token);
  if (it == peers_.end()) return;
  Responder responder = std::move(it->second);
  peers_.erase(it);
  if (auto* check = std::get_if<GroupCheckResponse>(&reply.body))
    check->disk_status =
        host_->disks->StateForPeers(host_->disks->HasSpace(log_disk_) ? disk_ : log_disk_);
  const PeerGeneration generation = host_->options.peer_generation;
  responder.Reply(
      ErrorCode::kOk,
      std::visit([&](const auto& body) { return EncodeWrapped(body, generation); }, reply.body));
}

void Replica::ReplyLearn(ReplyToken token, const LearnResponse& response) {
  const auto it = peers_.find(token);
  if (it == peers_.end()) return;
  Responder responder = std::move(it->second);
  peers_.erase(it);
  const auto learner = learners_asking_.find(token);
  if (learner != learners_asking_.end()) {
    // Past its checkpoint: the files need not be kept for it any longer.
    if (response.err == ErrorCode::kOk && response.type != LearnType::kApp)
      source_.KeepShare(learner->second, nullptr);
    learners_asking_.erase(learner);
  }
  responder.Reply(ErrorCode::kOk, EncodeWrapped(response, host_->options.peer_generation));
}

void Replica::Ship(ShipState ship) {
  auto shipped = std::make_shared<ShipState>(std::move(ship));
  auto share = std::make_shared<std::shared_ptr<void>>();
  EngineWork work;
  if (shipped->what == ShipState::What::kLog)
    work = [this, log = log_, shipped](Engine&) { return source_.ReadLog(*log, shipped.get()); };
  else
    work = [this, shipped, share](Engine& engine) {
      return source_.ReadCheckpoint(engine, shipped.get(), share.get());
    };
  Maintain(std::move(work), [this, shipped, share](const absl::Status& status) {
    if (!status.ok()) {
      LOG(WARNING) << Tag() << " nothing to ship to a learner: " << status;
      if (absl::IsResourceExhausted(status)) OnNoSpace("a learner's checkpoint", status);
      shipped->response.err = ErrorCode::kGetLearnStateFailed;
      shipped->response.state = LearnState{};
    } else if (const auto learner = learners_asking_.find(shipped->token);
               learner != learners_asking_.end() && *share != nullptr) {
      source_.KeepShare(learner->second, std::move(*share));
    }
    ReplyLearn(shipped->token, shipped->response);
  });
}

// ---- learner's work ----

void Replica::StartLearnerWork(LearnerWork work) {
  switch (work.what) {
    case LearnerWork::What::kInstallCheckpoint:
      return InstallCheckpoint(std::move(work));
    case LearnerWork::What::kDiscard:
      return Discard(work.serial);
    case LearnerWork::What::kFlush:
      return FlushForLearner(work.serial);
  }
}

void Replica::FinishLearnerWork(uint64_t serial, LearnerWorkDone::Result result) {
  LearnerWorkDone done{.serial = serial, .result = result};
  if (result == LearnerWorkDone::Result::kDone) {
    done.applied = engine_->last_applied();
    done.durable = engine_->last_flushed();
  }
  Step(done);
}

void Replica::FlushForLearner(uint64_t serial) {
  Maintain([](Engine& engine) { return engine.Flush(); },
           [this, serial](const absl::Status& status) {
             if (absl::IsResourceExhausted(status)) {
               OnNoSpace("a flush", status);
               return After(kNoSpacePause, [serial](Replica& r) { r.FlushForLearner(serial); });
             }
             if (!status.ok()) LOG(ERROR) << Tag() << " flush: " << status;
             FinishLearnerWork(serial, status.ok() ? LearnerWorkDone::Result::kDone
                                                   : LearnerWorkDone::Result::kLocalFailed);
           });
}

void Replica::InstallCheckpoint(LearnerWork work) {
  const LearnResponse& response = work.response;
  const LearnState& state = response.state;
  FetchPlan plan{.source = response.learnee,
                 .pid = pid_,
                 .source_directory = response.base_local_dir,
                 .source_disk_tag = response.replica_disk_tag.value_or(""),
                 .target_directory = LearnPathOf(directory_),
                 .pool_path = directory_,
                 .generation = host_->options.peer_generation};
  bool is_sound = !state.files.empty();
  const std::string directory = is_sound ? ParentDirectory(state.files.front()) : "";
  for (size_t i = 0; i < state.files.size(); ++i) {
    FileToFetch file{.name = state.files[i]};
    if (state.file_sizes && i < state.file_sizes->size())
      file.size = static_cast<uint64_t>((*state.file_sizes)[i]);
    uint32_t crc = 0;
    if (state.file_checksums && i < state.file_checksums->size() &&
        absl::SimpleHexAtoi((*state.file_checksums)[i], &crc))
      file.crc32c = crc;
    is_sound = is_sound && ParentDirectory(file.name) == directory;
    plan.files.push_back(std::move(file));
  }
  if (!is_sound) {
    LOG(WARNING) << Tag() << " " << response.learnee << " offers files that are no checkpoint";
    return FinishLearnerWork(work.serial, LearnerWorkDone::Result::kRemoteFailed);
  }
  LOG(INFO) << Tag() << " copies " << plan.files.size() << " files of the checkpoint at decree "
            << state.to_decree_included << " from " << response.learnee;
  const Decree decree = state.to_decree_included;
  const std::string source = ParentDirectory(JoinPath(plan.target_directory, state.files.front()));
  fetcher_ = std::make_shared<FileFetcher>(host_->env, host_->transport, strand_, std::move(plan));
  fetcher_->Start([this, serial = work.serial, decree, source](const absl::Status& status) {
    if (!status.ok()) {
      LOG(WARNING) << Tag() << " learning: " << status;
      if (absl::IsResourceExhausted(status)) OnNoSpace("a learner's copy", status);
      const bool may_pass = absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
      return FinishLearnerWork(serial, may_pass ? LearnerWorkDone::Result::kRemoteFailed
                                                : LearnerWorkDone::Result::kLocalFailed);
    }
    ExchangeEngine(
        serial, decree,
        [&engines = host_->engines, &files = host_->env.files(), source, decree,
         directory = directory_]() -> absl::Status {
          RETURN_IF_ERROR(engines.InstallCheckpoint(source, decree, DataPathOf(directory)));
          return files.RemoveAll(LearnPathOf(directory));
        });
  });
}

void Replica::Discard(uint64_t serial) {
  LOG(WARNING) << Tag() << " sets its data aside: they come from a history the group no longer has";
  ExchangeEngine(
      serial, Decree(0),
      [&files = host_->env.files(), directory = directory_,
       now_us = host_->env.clock().WallMicros()]() -> absl::Status {
        const std::string data = DataPathOf(directory);
        if (Exists(files, data))
          RETURN_IF_ERROR(files.Rename(data, absl::StrCat(data, ".", now_us, ".discarded")));
        return files.SyncDirectory(directory);
      });
}

void Replica::ExchangeEngine(uint64_t serial, Decree expected, PoolWork exchange) {
  ++holds_;
  scans_.Clear();
  WhenQuiet([this, serial, expected, exchange = std::move(exchange)]() mutable {
    InitInfo info = info_;
    info.durable = std::min(info.durable, expected);
    info.offset_in_private_log = log_->end_offset();
    // Each step may be repeated, or is not when it has succeeded.
    struct Exchange {
      std::shared_ptr<Engine> old, fresh;
      PoolWork install;
    };
    auto state = std::make_shared<Exchange>(
        Exchange{.old = std::move(engine_), .install = std::move(exchange)});
    InPoolOnceThereIsRoom(
        std::make_shared<PoolWork>([this, info, expected, state]() -> absl::Status {
          if (state->old != nullptr) {
            RETURN_IF_ERROR(StoreInitInfo(host_->env.files(), directory_, info));
            RETURN_IF_ERROR(state->old->Close());
            state->old = nullptr;
          }
          if (state->install) {
            RETURN_IF_ERROR(state->install());
            state->install = nullptr;
          }
          ASSIGN_OR_RETURN(state->fresh, host_->engines.Open(DataPathOf(directory_)));
          if (state->fresh->last_applied() == expected) return absl::OkStatus();
          return absl::DataLossError(absl::StrCat("the new content stands at decree ",
                                                  state->fresh->last_applied().value(), ", not at ",
                                                  expected.value()));
        }),
        [this, serial, info, state](const absl::Status& status) {
          OnExchanged(serial, info, std::move(state->fresh), status);
        });
  });
}

void Replica::OnExchanged(uint64_t serial, const InitInfo& info, std::shared_ptr<Engine> engine,
                          const absl::Status& status) {
  source_.Forget();
  if (is_closed_) {
    engine_ = std::move(engine);  // for Close, which waits for this
    return;
  }
  if (!status.ok()) {
    LOG(ERROR) << Tag() << " new content: " << status;
    effects_.clear();  // there is no engine to carry them out on
    --holds_;
    return FinishLearnerWork(serial, LearnerWorkDone::Result::kLocalFailed);
  }
  engine_ = std::move(engine);
  info_ = info;
  log_->StartAnew(engine_->last_applied());
  FinishLearnerWork(serial, LearnerWorkDone::Result::kDone);
  Release();
}

// ---- disk work ----

void Replica::InPool(PoolWork work, Then then) {
  ++pool_jobs_;
  // The job holds the replica: it must not go while the disk works for it.
  pool().Submit(
      [self = shared_from_this(), work = std::move(work), then = std::move(then)]() mutable {
        absl::Status status = work();
        work = nullptr;  // lets go of the engine here, not on the strand
        StrandPtr strand = self->strand_;
        strand->Post(
            [self = std::move(self), status = std::move(status), then = std::move(then)]() mutable {
              --self->pool_jobs_;
              then(std::move(status));
              self->CheckQuiet();
            });
      });
}

void Replica::InPoolOnceThereIsRoom(std::shared_ptr<PoolWork> work, Then then) {
  InPool([work] { return (*work)(); },
         [this, work, then = std::move(then)](const absl::Status& status) mutable {
           if (!absl::IsResourceExhausted(status)) return then(status);
           if (is_closed_) return;
           OnNoSpace("the replica's state", status);
           After(kNoSpacePause, [work, then = std::move(then)](Replica& replica) mutable {
             replica.InPoolOnceThereIsRoom(work, std::move(then));
           });
         });
}

void Replica::OnNoSpace(std::string_view what, const absl::Status& status) {
  LOG_EVERY_N(WARNING, 20) << Tag() << " no space for " << what << ", tried again: " << status;
  host_->disks->OnNoSpace(disk_);
}

void Replica::After(absl::Duration delay, absl::AnyInvocable<void(Replica&)> task) {
  strand_->PostAfter(delay, [self = weak_from_this(), task = std::move(task)]() mutable {
    const auto replica = self.lock();
    if (replica != nullptr && !replica->is_closed_) task(*replica);
  });
}

void Replica::Maintain(EngineWork work, Then then) {
  maintenance_.emplace_back(std::move(work), std::move(then));
  StartMaintenance();
}

void Replica::StartMaintenance() {
  if (is_maintaining_ || maintenance_.empty() || !when_quiet_.empty() || engine_ == nullptr) return;
  is_maintaining_ = true;
  auto [work, then] = std::move(maintenance_.front());
  maintenance_.pop_front();
  InPool([engine = engine_, work = std::move(work)]() mutable { return work(*engine); },
         [this, then = std::move(then)](const absl::Status& status) mutable {
           is_maintaining_ = false;
           then(status);
           StartMaintenance();
         });
}

void Replica::WhenQuiet(absl::AnyInvocable<void()> then) {
  when_quiet_.push_back(std::move(then));
  CheckQuiet();
}

void Replica::CheckQuiet() {
  while (!when_quiet_.empty() && pool_jobs_ == 0 && appends_under_way_ == 0 && applies_->IsIdle()) {
    absl::AnyInvocable<void()> then = std::move(when_quiet_.front());
    when_quiet_.pop_front();
    then();
  }
  if (!is_closed_) StartMaintenance();
}

void Replica::ScheduleCheckpoint(absl::Duration delay) {
  if (checkpoint_timer_ != kNoTimer) strand_->Cancel(checkpoint_timer_);
  checkpoint_timer_ = strand_->PostAfter(delay, [self = weak_from_this()] {
    const auto replica = self.lock();
    if (replica == nullptr || replica->is_closed_) return;
    replica->checkpoint_timer_ = kNoTimer;
    replica->CheckpointIfNeeded();
    replica->ScheduleCheckpoint(replica->host_->options.checkpoint_interval);
  });
}

// Only while something is appended: an idle replica keeps no timer.
void Replica::WatchReplay() {
  if (is_replay_watched_) return;
  is_replay_watched_ = true;
  After(kReplayWatchPeriod, [](Replica& r) {
    r.is_replay_watched_ = false;
    if (r.log_->EstimatedReplay(r.core_->marks().last_durable) > r.host_->options.replay_max)
      r.CheckpointIfNeeded();
  });
}

void Replica::CheckpointIfNeeded() {
  source_.KeepOnly(core_->learners());
  const PartitionStatus role = core_->role();
  if (role != PartitionStatus::kPrimary && role != PartitionStatus::kSecondary) return;
  if (holds_ > 0 || is_checkpointing_ || engine_->last_applied() <= engine_->last_durable()) return;
  is_checkpointing_ = true;
  Maintain([](Engine& engine) { return engine.Checkpoint().status(); },
           [this](const absl::Status& status) {
             is_checkpointing_ = false;
             if (status.ok()) return OnDurable(engine_->last_durable());
             if (absl::IsResourceExhausted(status)) {
               OnNoSpace("a checkpoint", status);
               return ScheduleCheckpoint(kCheckpointAgain);
             }
             const std::string why = absl::StrCat("checkpoint: ", status.ToString());
             host_->disks->OnIoError(disk_, why);
             Fence(why);
           });
}

void Replica::OnDurable(Decree decree) {
  // An apply in the pool may have reached the engine and not the core.
  decree = std::min(decree, core_->marks().last_applied);
  Step(DurableAdvanced{decree});
  if (is_closed_) return;
  LogNeeds needs{.checkpoint = decree};
  if (!core_->learners().empty()) needs.learner = core_->FirstLogDecreeNeeded() - 1;
  log_->DropUnneeded(needs);
}

// ---- closing ----

void Replica::Close(CloseMode mode, absl::AnyInvocable<void(absl::Status)> done) {
  CHECK_ON_STRAND(strand_);
  is_closed_ = true;
  on_close_ = nullptr;
  if (wakeup_timer_ != kNoTimer) strand_->Cancel(wakeup_timer_);
  if (checkpoint_timer_ != kNoTimer) strand_->Cancel(checkpoint_timer_);
  if (fetcher_ != nullptr) fetcher_->Cancel();
  effects_.clear();
  maintenance_.clear();
  applies_->Abandon();
  // Whether those that the core has were committed is not known here.
  for (auto& [token, write] : clients_)
    write.responder.Reply(write.phase == ClientWriteUnderWay::Phase::kOrdered
                              ? ErrorCode::kTimeout
                              : ErrorCode::kInvalidState);
  clients_.clear();
  scans_.Clear();
  if (scan_timer_ != kNoTimer) strand_->Cancel(scan_timer_);
  peers_.clear();
  source_.KeepOnly({});
  when_quiet_.clear();
  // First the log: what waits there for space must not be waited for.
  log_->Drain([self = shared_from_this(), mode, done = std::move(done)]() mutable {
    self->WhenQuiet([self = self.get(), mode, done = std::move(done)]() mutable {
      self->FinishClose(mode, std::move(done));
    });
  });
}

void Replica::FinishClose(CloseMode mode, absl::AnyInvocable<void(absl::Status)> done) {
  InPool(
      [mode, engine = std::move(engine_), log = log_]() mutable -> absl::Status {
        if (mode == CloseMode::kAsIs) return absl::OkStatus();
        absl::Status closed = engine == nullptr ? absl::OkStatus() : engine->Close();
        // What a full disk did not let the engine write is in the log.
        if (closed.ok() || absl::IsResourceExhausted(closed)) closed.Update(log->Close());
        return closed;
      },
      [self = shared_from_this(), done = std::move(done)](const absl::Status& status) mutable {
        self->log_.reset();
        done(status);
      });
}

// ---- questions ----

ReplicaSnapshot Replica::Snapshot() const {
  CHECK_ON_STRAND(strand_);
  const Watermarks marks = core_->marks();
  const PrivateLog::Stats log = log_ == nullptr ? PrivateLog::Stats() : log_->stats();
  return {.pid = pid_,
          .status = marks.role,
          .ballot = marks.ballot,
          .last_durable = marks.last_durable,
          .last_applied = marks.last_applied,
          .last_committed = marks.last_committed,
          .last_logged = marks.last_logged,
          .last_prepared = marks.last_prepared,
          .directory = directory_,
          .log_files = log.files,
          .log_bytes = log.bytes};
}

ReplicaInfo Replica::Report() const {
  CHECK_ON_STRAND(strand_);
  const Watermarks marks = core_->marks();
  return {.pid = pid_,
          .ballot = marks.ballot,
          .status = marks.role,
          .last_committed_decree = marks.last_committed,
          .last_prepared_decree = marks.last_prepared,
          .last_durable_decree = marks.last_durable,
          .app_type = core_->app().app_type,
          .disk_tag = host_->options.data_directories[disk_].tag,
          .durability = static_cast<int8_t>(host_->options.durability),
          .unclean = core_->last_stop() == LastStop::kUnclean,
          .last_mutation_ballot = core_->last_mutation_ballot()};
}

}  // namespace arion
