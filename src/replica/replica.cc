// SPDX-License-Identifier: Apache-2.0
#include "replica/replica.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/overloaded.h"
#include "base/status.h"
#include "replica/replica_options.h"
#include "replica/replica_snapshot.h"
#include "rpc/thrift_codec.h"
#include "wal/private_log.h"

namespace arion {
namespace {

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

template <class T>
std::string Wrapped(const ReplicaHost& host, const T& value) {
  return EncodeWrapped(value, host.options.peer_generation);
}

}  // namespace

Replica::Replica(std::shared_ptr<const ReplicaHost> host, StrandPtr strand, OpenedReplica opened)
    : host_(std::move(host)),
      strand_(std::move(strand)),
      pid_(opened.pid),
      directory_(opened.directory),
      disk_(opened.disk),
      log_disk_(host_->disks->layout.LogDiskOf(disk_)),
      info_(opened.info),
      engine_(std::move(opened.engine)),
      log_(std::move(opened.log)),
      core_(std::make_unique<ReplicaCore>(MakeCoreOptions(*host_, opened), opened.recovered,
                                          host_->env.clock().Now())),
      office_(host_, *core_, engine_, disk_, log_disk_, [this] { return Tag(); }),
      work_(host_, strand_, directory_, disk_, engine_,
            {.owner = [this] { return std::weak_ptr<void>(weak_from_this()); },
             .is_quiet = [this] { return appends_under_way_ == 0 && applies_->IsIdle(); },
             .on_quiet_wish = [this] { compaction_.Hurry(); },
             .tag = [this] { return Tag(); }}),
      applies_(std::make_shared<ApplyQueue>(
          strand_,
          ApplyQueue::Hooks{
              .in_disk_pool = [this](PoolWork work,
                                     Then then) { work_.InPool(std::move(work), std::move(then)); },
              .in_bulk_pool =
                  [this](PoolWork work, Then then) {
                    work_.InBulkPool(std::move(work), std::move(then));
                  },
              .on_applied = [this](Decree decree) { Step(Applied{decree}); },
              .on_failed = [this](Decree decree,
                                  const absl::Status& status) { OnApplyFailed(decree, status); },
              .on_no_space =
                  [this](const absl::Status& status) { work_.OnNoSpace("an apply", status); }})),
      source_(host_->env.files(), host_->served, pid_, DataPathOf(directory_),
              host_->disks->layout.data_directories[disk_].tag),
      log_is_void_(opened.log_is_void),
      stats_(host_->requests->Open(pid_, core_->app().app_name)),
      partition_{.clock = host_->env.clock(),
                 .strand = strand_,
                 .pid = pid_,
                 .server = host_->self.ToString(),
                 .stats = stats_,
                 .office = office_,
                 .engine = engine_,
                 .owner = [this] { return std::weak_ptr<void>(weak_from_this()); },
                 .in_pool = [this](PoolWork work,
                                   Then then) { work_.InPool(std::move(work), std::move(then)); },
                 .fence = [this](const std::string& why) { Fence(why); },
                 .tag = [this] { return Tag(); }},
      admission_(partition_, {.requests = host_->requests,
                              .slow = host_->slow_requests,
                              .foreground = host_->foreground}),
      reads_(partition_, admission_, host_->env.random()),
      writes_(partition_, admission_, host_->options.max_allowed_write_bytes,
              {.new_token = [this] { return next_token_++; },
               .order = [this](const ClientWrite& write) { Step(write); }}),
      compaction_(host_->env.clock(), pid_, disk_, host_->compactions, work_, engine_,
                  {.wishes = [this]() -> const CompactionWishes& {
                     return admission_.Settings().compaction;
                   },
                   .is_member = [this] { return office_.IsMember(); },
                   .tag = [this] { return Tag(); }}),
      verifying_(
          host_,
          pid_, disk_, *core_, office_, work_, *applies_, engine_,
          {.call =
               [this](Endpoint to, const char* name, std::string body, absl::Duration timeout,
                      absl::AnyInvocable<void(RpcResult)> on_result) {
                 Call(to, name, std::move(body), timeout,
                      [on_result = std::move(on_result)](Replica&, RpcResult result) mutable {
                        on_result(std::move(result));
                      });
               },
           .write_nothing = [this] { WriteNothing(); },
           .fence = [this](const std::string& why) { Fence(why); },
           .tag = [this] { return Tag(); }}) {
  figures().SetPlace(host_->disks->layout.data_directories[disk_].tag,
                     log_ == nullptr ? nullptr : log_->gauges());
  figures().SetEngine(engine_ == nullptr ? nullptr : engine_->meter());
}

Replica::~Replica() { host_->requests->Close(pid_, stats_); }

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
  WarmFromHotReads();
}

std::string Replica::Tag() const {
  return absl::StrCat("[", pid_.ToString(), " ", core_->ballot().value(), " ",
                      core_->marks().last_committed.value(), "]");
}

// ---- requests ----

ReplyToken Replica::Keep(Responder responder) {
  const ReplyToken token = next_token_++;
  peers_.emplace_hint(peers_.end(), token, std::move(responder));
  return token;
}

void Replica::WriteNothing() {
  Step(ClientWrite{next_token_++, {Update{.code = WriteCode::kEmpty}}});
}

void Replica::Prepare(PrepareRequest request, Responder responder) {
  CHECK_ON_STRAND(strand_);
  if (office_.IsClosed())
    return responder.Reply(ErrorCode::kOk,
                           EncodeWrapped(PrepareAck{.pid = pid_, .err = ErrorCode::kInvalidState}));
  Step(PrepareReceived{Keep(std::move(responder)), std::move(request)});
}

void Replica::GroupCheck(GroupCheckRequest request, Responder responder) {
  CHECK_ON_STRAND(strand_);
  if (office_.IsClosed())
    return responder.Reply(ErrorCode::kOk,
                           EncodeWrapped(GroupCheckResponse{
                               .pid = pid_, .err = ErrorCode::kInvalidState, .node = host_->self}));
  Step(GroupCheckReceived{Keep(std::move(responder)), std::move(request)});
}

void Replica::Learn(LearnRequest request, Responder responder) {
  CHECK_ON_STRAND(strand_);
  if (office_.IsClosed())
    return responder.Reply(ErrorCode::kOk,
                           EncodeWrapped(LearnResponse{.err = ErrorCode::kInvalidState}));
  const LogCoverage coverage = CoverageFrom(core_->LearnStart(request));
  const ReplyToken token = Keep(std::move(responder));
  learners_asking_[token] = request.learner;
  Step(LearnReceived{token, std::move(request), coverage});
}

void Replica::LearnCompletion(GroupCheckResponse report, Responder responder) {
  CHECK_ON_STRAND(strand_);
  if (office_.IsClosed())
    return responder.Reply(ErrorCode::kOk, EncodeWrapped(LearnNotifyResponse{
                                               .pid = pid_, .err = ErrorCode::kInvalidState}));
  Step(LearnCompletionReceived{Keep(std::move(responder)), std::move(report)});
}

void Replica::Notify(const Event& event) {
  CHECK_ON_STRAND(strand_);
  const uint64_t serial = core_->app_serial();
  Step(event);
  if (core_->app_serial() == serial) return;
  compaction_.Consider();
  if (admission_.Settings().compaction.Any())
    host_->compactions->Changed();  // what was told of the last one
}

void Replica::OnConnected(uint64_t term) {
  CHECK_ON_STRAND(strand_);
  office_.Connect(term);
  Step(Connected{});
}

void Replica::OnLeaseLost() {
  CHECK_ON_STRAND(strand_);
  office_.LoseLease();
  Step(LeaseLost{});
}

// ---- the step loop ----

void Replica::Step(const Event& event, Instant now) {
  CHECK(strand_->IsCurrent()) << Tag() << " a step off its strand";
  if (office_.IsClosed()) return;
  last_step_ = now;
  const int64_t odd = core_->counters().odd_messages;
  Effects effects = core_->Step(event, now);
  NoteLearners();
  figures().Note(core_->marks(), now);
  if (const int64_t more = core_->counters().odd_messages - odd; more > 0)
    figures().Count(ReplicaCount::kOddMessages, static_cast<uint64_t>(more));
  if (!CarryOutAtOnce(effects)) effects_.push_back(std::move(effects));
  Drain();
}

// Most effects have nothing to wait for.
bool Replica::CarryOutAtOnce(Effects& effects) {
  if (is_draining_ || !effects_.empty() || effects.HasFirstSteps()) return false;
  HoldForApplies();
  if (holds_ > 0) return false;
  is_draining_ = true;
  CarryOut(effects);
  is_draining_ = false;
  return true;
}

void Replica::Drain() {
  if (is_draining_) return;
  is_draining_ = true;
  HoldForApplies();
  while (!effects_.empty() && holds_ == 0 && !office_.IsClosed()) {
    if (!CarryOutFirstSteps(effects_.front())) continue;
    Effects effects = std::move(effects_.front());
    effects_.pop_front();
    CarryOut(effects);
    HoldForApplies();
  }
  is_draining_ = false;
  if (office_.IsClosed()) return;
  ArmWakeup();
  writes_.Begin();
  admission_.ReleaseHeld();
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
  for (const RoleChange& change : effects.role_changes) {
    NoteLearning(change);
    LOG(INFO) << Tag() << " " << PartitionStatusName(change.from) << " -> "
              << PartitionStatusName(change.to) << " under ballot " << change.ballot << ": "
              << change.why;
  }
  if (!effects.role_changes.empty()) {
    if (office_.IsMember()) DropCopies();
    if (core_->role() != PartitionStatus::kPrimary) host_->verifications->NotPrimaryAnyMore(pid_);
    if (!office_.IsMember()) verifying_.EndCounting();
    if (!office_.MayBePrimaryAgain()) {
      reads_.EndScans();
      writes_.RefuseUndecided(ErrorCode::kInvalidState);
    }
  }

  // The log first: its write and the prepares run side by side, and the disk is the slower of the
  // two.
  for (LogAppend& append : effects.append) Append(std::move(append));
  for (Envelope& envelope : effects.send) Send(std::move(envelope));
  for (const MutationPtr& mutation : effects.apply)
    writes_.times().Committed(mutation->decree, last_step_);
  if (!effects.apply.empty())
    applies_->Apply(engine_, effects.apply,
                    core_->role() == PartitionStatus::kPotentialSecondary
                        ? ApplyQueue::Urgency::kLast
                        : ApplyQueue::Urgency::kSoon);
  for (PeerReply& reply : effects.replies) Answer(std::move(reply));
  for (const ClientReply& reply : effects.client_replies) writes_.Answer(reply, last_step_);
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
        if (replica == nullptr || replica->office_.IsClosed()) return;
        replica->wakeup_timer_ = kNoTimer;
        if (replica->host_->env.clock().Now() >= replica->core_->NextWakeup())
          replica->Step(Tick{});
        else
          replica->ArmWakeup();
      });
}

void Replica::Fence(const std::string& why) {
  if (office_.IsClosed()) return;
  LOG(ERROR) << Tag() << " fenced: " << why;
  Step(Fenced{why});
}

void Replica::AskToClose(Effects::Close close, const std::string& why) {
  if (office_.IsClosed() || !on_close_) return;
  // What a learner got from elsewhere is in no log of its own: without room for it, it is waited for.
  const bool is_in_memory_only = engine_ != nullptr && engine_->last_flushed() < info_.durable;
  if (close != Effects::Close::kSetAside && is_in_memory_only)
    return Maintain([](Engine& engine) { return engine.Flush(); },
                    [this, close, why](const absl::Status& status) {
                      if (!IsRefusal(status)) return AskTableToClose(close, why);
                      OnNoSpace("what was learned", status);
                      After(DiskWork::kNoSpacePause,
                            [close, why](Replica& r) { r.AskToClose(close, why); });
                    });
  AskTableToClose(close, why);
}

void Replica::AskTableToClose(Effects::Close close, const std::string& why) {
  if (office_.IsClosed() || !on_close_) return;
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
  work_.InPoolOnceThereIsRoom(
      std::make_shared<PoolWork>([&files = host_->env.files(), directory = directory_, info] {
        return StoreInitInfo(files, directory, info);
      }),
      [this, info, then = std::move(then)](const absl::Status& status) mutable {
        if (office_.IsClosed()) return;
        if (!status.ok()) {
          effects_.clear();  // none of them may be carried out without it
          --holds_;
          const std::string why = absl::StrCat("store ", kInitInfoName, ": ", status.ToString());
          host_->disks->watch->OnIoError(disk_, why);
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
  // (pacifica/PROTOCOL.md 9.4).
  info.durable = std::max(info.durable, engine_->last_durable());
  StoreInfo(info, [] {});
}

void Replica::ForgetSharedLog() {
  CHECK_ON_STRAND(strand_);
  if (office_.IsClosed() || info_.offset_in_shared_log == 0) return;
  if (holds_ > 0 || is_draining_)  // another store may be under way
    return After(DiskWork::kNoSpacePause, [](Replica& r) { r.ForgetSharedLog(); });
  InitInfo info = info_;
  info.offset_in_shared_log = 0;
  StoreInfo(info, [] {});
}

void Replica::RestartLogAt(Decree applied) {
  ++holds_;
  work_.WhenQuiet([this, applied] {  // what is under way still belongs to the old content
    InitInfo info = info_;
    info.durable = std::max(info.durable, applied);
    info.offset_in_shared_log = host_->opening->SharedLogEnd();
    info.offset_in_private_log = log_->end_offset();
    info.is_learner = true;
    StoreInfo(info, [this, applied] { log_->StartAnew(applied); });
    Release();
  });
}

void Replica::Append(LogAppend append) {
  // The log reports in order (private_log/L2) and sequences ascend by one, so the callback need not
  // carry its own: it stays small enough to need no memory.
  if (appends_under_way_ == 0) next_logged_ = append.sequence;
  CHECK_EQ(append.sequence, next_logged_ + static_cast<uint64_t>(appends_under_way_)) << Tag();
  ++appends_under_way_;
  if (core_->role() == PartitionStatus::kPrimary)
    writes_.times().Appended(append.mutation->decree, append.sequence, last_step_);
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
    const Instant now = host_->env.clock().Now();
    writes_.times().Durable(sequence, log_->reported_write_began(), now);
    Step(Logged{sequence}, now);
  } else {
    if (!office_.IsClosed()) {
      LOG(ERROR) << Tag() << " log write failed: " << status;
      host_->disks->watch->OnIoError(log_disk_, absl::StrCat("log write: ", status.ToString()));
    }
    Step(Logged{sequence, ErrorCode::kDiskIoError});
  }
  work_.CheckQuiet();
}

void Replica::OnApplyFailed(Decree decree, const absl::Status& status) {
  LOG(ERROR) << Tag() << " apply decree " << decree << ": " << status;
  if (absl::IsDataLoss(status))
    host_->disks->watch->OnIoError(disk_, absl::StrCat("apply: ", status.ToString()));
  Step(Applied{decree, ErrorCode::kLocalAppFailure});
}

// ---- messages ----

void Replica::Call(Endpoint to, const char* name, std::string body, absl::Duration timeout,
                   absl::AnyInvocable<void(Replica&, RpcResult)> on_result) {
  host_->transport.Call(
      to,
      {.name = name,
       .body = std::move(body),
       .thread_hash = std::string_view(name) == kRpcUpdateConfiguration ? 0 : pid_.thread_hash(),
       .timeout = timeout},
      strand_,
      [self = weak_from_this(), on_result = std::move(on_result)](RpcResult result) mutable {
        if (const auto replica = self.lock()) on_result(*replica, std::move(result));
      });
}

void Replica::Send(Envelope envelope) {
  std::visit([this](auto& message) { SendMessage(message); }, envelope);
}

void Replica::SendMessage(SendPrepare& m) {
  const bool is_member = m.request.config.status == PartitionStatus::kSecondary;
  Call(m.to, kRpcPrepare, EncodePrepare(m.request, host_->options.peer_generation), m.timeout,
       [to = m.to, serial = m.serial, is_member, sent = host_->env.clock().Now()](
           Replica& self, const RpcResult& result) {
         auto [error, ack] = Decoded<PrepareAck>(result);
         if (is_member && error == ErrorCode::kOk && ack.err == ErrorCode::kOk)
           self.host_->peers->OnAck(to, self.host_->env.clock().Now() - sent);
         if (error != ErrorCode::kOk || ack.err != ErrorCode::kOk)
           self.figures().Count(ReplicaCount::kPreparesFailed);
         self.Step(PrepareAcked{to, serial, error, std::move(ack)});
       });
}

void Replica::SendMessage(SendGroupCheck& m) {
  Call(m.to, kRpcGroupCheck, Wrapped(*host_, m.request), m.timeout,
       [to = m.to, ballot = m.request.config.ballot](Replica& self, const RpcResult& result) {
         auto [error, response] = Decoded<GroupCheckResponse>(result);
         if (error == ErrorCode::kOk) self.office_.NoteSpaceOf(to, response.disk_status);
         if (error != ErrorCode::kOk || response.err != ErrorCode::kOk)
           self.figures().Count(ReplicaCount::kGroupChecksFailed);
         self.Step(GroupCheckAnswered{to, ballot, error, std::move(response)});
       });
}

void Replica::SendMessage(SendAddLearner& m) {
  host_->transport.SendOneWay(m.to, {.name = kRpcAddLearner,
                                     .body = Wrapped(*host_, m.request),
                                     .thread_hash = pid_.thread_hash()});
}

void Replica::SendMessage(SendRemove& m) {
  host_->transport.SendOneWay(m.to, {.name = kRpcRemoveReplica,
                                     .body = Wrapped(*host_, m.config),
                                     .thread_hash = pid_.thread_hash()});
}

void Replica::SendMessage(SendLearn& m) {
  const bool has_none = m.request.last_committed_decree_in_prepare_list == Decree(0);
  m.request.max_gced_decree = !log_->Covers(Decree(1)) ? engine_->last_durable().value()
                              : has_none               ? -1
                                                       : 0;
  Call(m.to, kRpcLearn, Wrapped(*host_, m.request), m.timeout,
       [serial = m.serial](Replica& self, const RpcResult& result) {
         auto [error, response] = Decoded<LearnResponse>(result);
         if (error == ErrorCode::kOk && response.err == ErrorCode::kOk) self.NoteLearned(response);
         self.Step(LearnAnswered{serial, error, std::move(response)});
       });
}

void Replica::SendMessage(SendLearnCompletion& m) {
  Call(m.to, kRpcLearnCompletion, Wrapped(*host_, m.report), m.timeout,
       [signature = m.report.learner_signature](Replica& self, const RpcResult& result) {
         auto [error, response] = Decoded<LearnNotifyResponse>(result);
         self.Step(LearnCompletionAnswered{signature, error, std::move(response)});
       });
}

void Replica::SendMessage(SendConfigurationUpdate& m) {
  const auto answered = [serial = m.serial](Replica& self, const RpcResult& result) {
    auto [error, response] = Decoded<ConfigurationUpdateResponse>(result);
    if (serial != 0) self.Step(ConfigurationUpdateAnswered{serial, error, std::move(response)});
  };
  const Endpoint meta = host_->lease->leader();
  if (meta.IsValid())
    return Call(meta, kRpcUpdateConfiguration, Wrapped(*host_, m.request), m.timeout, answered);
  strand_->Post([self = weak_from_this(), answered] {
    if (const auto replica = self.lock()) answered(*replica, {.error = ErrorCode::kNetworkFailure});
  });
}

void Replica::Answer(PeerReply reply) {
  if (const auto* learn = std::get_if<LearnResponse>(&reply.body))
    return ReplyLearn(reply.token, *learn, EncodedForPeer(*learn));
  const auto it = peers_.find(reply.token);
  if (it == peers_.end()) return;
  Responder responder = std::move(it->second);
  peers_.erase(it);
  if (auto* check = std::get_if<GroupCheckResponse>(&reply.body))
    check->disk_status = host_->disks->watch->StateForPeers(
        host_->disks->watch->HasSpace(log_disk_) ? disk_ : log_disk_);
  const PeerGeneration generation = host_->options.peer_generation;
  responder.Reply(
      ErrorCode::kOk,
      std::visit([&](const auto& body) { return EncodeWrapped(body, generation); }, reply.body));
}

// ---- questions ----

ReplicaSnapshot Replica::Snapshot() const {
  CHECK_ON_STRAND(strand_);
  const Watermarks marks = core_->marks();
  const PrivateLog::Stats log = log_ == nullptr ? PrivateLog::Stats() : log_->stats();
  std::optional<ValueSchema> data_version;
  if (engine_ != nullptr) data_version = engine_->data_version();
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
          .log_bytes = log.bytes,
          .valid_start_in_shared_log = info_.offset_in_shared_log,
          .compaction = compaction_.Status(CompactionWishes::From(core_->app().envs)),
          .data_version = data_version};
}

ReplicaInfo Replica::Report() const {
  CHECK_ON_STRAND(strand_);
  std::optional<int32_t> content_verdict;
  if (const auto verdict = host_->verifications->VerdictOf(pid_); verdict)
    content_verdict = static_cast<int32_t>(*verdict);
  const Watermarks marks = core_->marks();
  const int64_t times_older = core_->TimesOlder();
  return {.pid = pid_,
          .ballot = marks.ballot,
          .status = marks.role,
          .last_committed_decree = marks.last_committed,
          .last_prepared_decree = marks.last_prepared,
          .last_durable_decree = marks.last_durable,
          .app_type = core_->app().app_type,
          .disk_tag = host_->disks->layout.data_directories[disk_].tag,
          .manual_compact_status =
              static_cast<int32_t>(compaction_.Status(CompactionWishes::From(core_->app().envs))),
          .durability = static_cast<int8_t>(host_->options.durability),
          .unclean = core_->last_stop() == LastStop::kUnclean,
          .last_mutation_ballot = core_->last_mutation_ballot(),
          .times_older = times_older > 0 ? std::optional(times_older) : std::nullopt,
          .is_unproven = core_->IsProven() ? std::nullopt : std::optional(true),
          .table_version = core_->app().version,
          .content_verdict = content_verdict};
}

}  // namespace arion
