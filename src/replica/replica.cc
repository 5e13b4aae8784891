// SPDX-License-Identifier: Apache-2.0
#include "replica/replica.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/status.h"
#include "disks/disk_watch.h"
#include "pacifica/invariants.h"
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

}  // namespace

Replica::Replica(std::shared_ptr<const ReplicaHost> host, StrandPtr strand, OpenedReplica opened)
    : host_(std::move(host)),
      strand_(std::move(strand)),
      pid_(opened.pid),
      directory_(opened.directory),
      disk_(opened.disk),
      log_disk_(host_->disks->layout.LogDiskOf(disk_)),
      core_(std::make_unique<ReplicaCore>(MakeCoreOptions(*host_, opened), opened.recovered,
                                          host_->env.clock().Now())),
      stats_(host_->requests->Open(pid_, core_->app().app_name)),
      store_(host_, opened, work_, figures(), StoreHooks()),
      office_(host_, *core_, store_.engine(), disk_, log_disk_, [this] { return Tag(); }),
      work_(host_, strand_, directory_, disk_, store_.engine(), WorkHooks()),
      applies_(std::make_shared<ApplyQueue>(strand_, ApplyHooks())),
      log_is_void_(opened.log_is_void),
      partition_(Served()),
      admission_(partition_, {.requests = host_->requests,
                              .slow = host_->slow_requests,
                              .foreground = host_->foreground}),
      reads_(partition_, admission_, host_->env.random()),
      writes_(partition_, admission_,
              {.request_bytes_max = host_->options.max_allowed_write_bytes,
               .duplication_group = host_->options.duplication_group,
               .duplicate_lag_max = host_->options.duplicate_lag_max},
              {.new_token = [this] { return next_token_++; },
               .order = [this](const ClientWrite& write) { Step(write); },
               .is_duplicated =
                   [this] { return core_->app().duplicating || duplications_.IsActive(); }}),
      compaction_(host_->env.clock(), pid_, disk_, host_->compactions, work_, store_.engine(),
                  {.wishes = [this]() -> const CompactionWishes& {
                     return admission_.Settings().compaction;
                   },
                   .after_split = [this] { return owned_.DueCompaction(); },
                   .pace =
                       [this](uint64_t bytes) {
                         return host_->building->Take(disk_, bytes, host_->env.clock().Now());
                       },
                   .is_member = [this] { return office_.IsMember(); },
                   .on_compacted = [this] { checkpoints_.Renew(); },
                   .tag = [this] { return Tag(); }}),
      owned_(partition_, admission_, reads_, [this] { compaction_.Consider(); }),
      indexes_(host_->index_slots, store_.engine(), IndexHooks()),
      messages_(host_, strand_, pid_, disk_, log_disk_, office_, stats_, store_.engine(),
                store_.log(),
                {.owner = [this] { return std::weak_ptr<void>(weak_from_this()); },
                 .step = [this](const Event& event) { Step(event); },
                 .duplicated = [this] { return duplications_.Confirmed(); }}),
      verifying_(host_, pid_, disk_, *core_, office_, work_, *applies_, store_.engine(),
                 VerifyingHooks()),
      checkpoints_(host_, strand_, directory_, disk_, log_disk_, *core_, office_, work_,
                   store_.engine(), store_.log(), CheckpointsHooks()),
      shipping_(host_,
                LearnSource(host_->env.files(), host_->served, pid_, DataPathOf(directory_),
                            host_->disks->layout.data_directories[disk_].tag),
                disk_, *core_, work_, checkpoints_, messages_, store_.engine(), store_.log(),
                {.step = [this](const Event& event) { Step(event); },
                 .needed_by_followers = [this] { return duplications_.NeededOfCheckpoints(); },
                 .tag = [this] { return Tag(); }}),
      learning_(host_, strand_, pid_, directory_, disk_, stats_, work_, store_.engine(),
                store_.log(),
                {.exchange_engine =
                     [this](uint64_t serial, Decree expected, PoolWork exchange) {
                       store_.ExchangeEngine(serial, expected, std::move(exchange));
                     },
                 .step = [this](const Event& event) { Step(event); },
                 .tag = [this] { return Tag(); }}),
      split_member_(strand_, pid_, disk_, *core_, store_.engine(), MemberHooks()),
      split_(host_->env.clock(), *core_, host_->self, SplitHooks()),
      duplications_(strand_, pid_, *core_, host_->duplication, DuplicationHooks()),
      partition_count_(core_->app().partition_count) {}

Replica::~Replica() { host_->requests->Close(pid_, stats_); }

void Replica::Start(CloseRequest on_close, std::shared_ptr<Children> children) {
  CHECK_ON_STRAND(strand_);
  on_close_ = std::move(on_close);
  split_member_.SetChildren(std::move(children));
  // The log's new beginning comes before anything is appended (OpenedReplica::log_is_void).
  if (log_is_void_) store_.log()->StartAnew(store_.engine()->last_applied());
  checkpoints_.Start();
  indexes_.Consider();
  ArmWakeup();
  // After all else: a cold cache costs time only.
  checkpoints_.WarmCache();
}

std::string Replica::Tag() const {
  return absl::StrCat("[", pid_.ToString(), " ", core_->ballot().value(), " ",
                      core_->marks().last_committed.value(), "]");
}

// ---- requests ----

ReplyToken Replica::Keep(Responder responder) {
  const ReplyToken token = next_token_++;
  messages_.Keep(token, std::move(responder));
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
  duplications_.NoteTold(request.confirmed_decree);
  Step(GroupCheckReceived{Keep(std::move(responder)), std::move(request)});
}

void Replica::Learn(LearnRequest request, Responder responder) {
  CHECK_ON_STRAND(strand_);
  if (office_.IsClosed())
    return responder.Reply(ErrorCode::kOk,
                           EncodeWrapped(LearnResponse{.err = ErrorCode::kInvalidState}));
  // Asked before the step, which needs the answer and must not touch the log itself.
  const LogCoverage coverage = checkpoints_.CoverageFrom(core_->LearnStart(request));
  std::optional<Decree> kept_from;
  // What is known of it may be as old as this one's last time as a secondary.
  if (core_->app().duplicating)
    kept_from = std::max(duplications_.FirstLacking().value_or(Decree(1)), store_.log()->Begins());
  if (kept_from && !checkpoints_.CanReadFrom(*kept_from)) kept_from.reset();
  const ReplyToken token = Keep(std::move(responder));
  shipping_.NoteAsking(token, request.learner);
  Step(LearnReceived{token, std::move(request), coverage, kept_from});
}

void Replica::LearnCompletion(GroupCheckResponse report, Responder responder) {
  CHECK_ON_STRAND(strand_);
  if (office_.IsClosed())
    return responder.Reply(ErrorCode::kOk, EncodeWrapped(LearnNotifyResponse{
                                               .pid = pid_, .err = ErrorCode::kInvalidState}));
  Step(LearnCompletionReceived{Keep(std::move(responder)), std::move(report)});
}

void Replica::ShipToFollower(Responder responder) {
  CHECK_ON_STRAND(strand_);
  if (!office_.MayServe() || core_->role() != PartitionStatus::kPrimary)
    return responder.Reply(ErrorCode::kOk,
                           EncodeWrapped(LearnResponse{.err = ErrorCode::kObjectNotFound}));
  shipping_.ShipToFollower(std::move(responder));
}

void Replica::OnSplitStep(const SplitMemberRequest& request, Responder responder) {
  CHECK_ON_STRAND(strand_);
  SplitMember::OnAnswer answer =
      [responder = std::move(responder)](const SplitMemberResponse& response) mutable {
        responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
      };
  if (office_.IsClosed())
    return answer({.err = ErrorCode::kInvalidState, .text = "the replica is closed"});
  split_member_.Answer(request, std::move(answer));
}

void Replica::Notify(const Event& event) {
  CHECK_ON_STRAND(strand_);
  if (const auto* synced = std::get_if<ConfigurationSynced>(&event)) split_.NoteSync(synced->entry);
  Step(event);
}

void Replica::OnTable() {
  table_serial_ = core_->app_serial();
  owned_.Consider();
  compaction_.Consider();
  indexes_.Consider();
  // The meta server shows when the last compaction ended, which a new wish changes the meaning of.
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
  // Files of learners that the step ended must not be served any longer.
  shipping_.NoteLearners();
  figures().Note(core_->marks(), now);
  if (const int64_t more = core_->counters().odd_messages - odd; more > 0)
    figures().Count(ReplicaCount::kOddMessages, static_cast<uint64_t>(more));
  // Behind others, or something must be durable first.
  if (!CarryOutAtOnce(effects)) effects_.push_back(std::move(effects));
  Drain();
  if (core_->app_serial() != table_serial_) OnTable();
}

// Most effects have nothing to wait for.
bool Replica::CarryOutAtOnce(Effects& effects) {
  if (is_draining_ || !effects_.empty() || effects.HasFirstSteps() || IsCountNew()) return false;
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
    // It holds now; Release comes back here.
    if (!CarryOutFirstSteps(effects_.front())) continue;
    Effects effects = std::move(effects_.front());
    effects_.pop_front();
    CarryOut(effects);
    HoldForApplies();
  }
  is_draining_ = false;
  if (office_.IsClosed()) return;
  ArmWakeup();
  // Any step may have brought what writes and held requests wait for.
  writes_.Begin();
  if (split_.IsActive()) split_.Proceed();
  duplications_.Proceed();
  admission_.ReleaseHeld();
}

bool Replica::CarryOutFirstSteps(Effects& effects) {
  // Half of its keys moved. It is durable before anything is said under the ballot that says so.
  if (IsCountNew()) {
    partition_count_ = core_->app().partition_count;
    store_.StoreApp(core_->app());
    return false;
  }
  // One store for both: each costs a flush.
  if (effects.persist_ballot || effects.persist_standing) {
    const Ballot ballot =
        std::exchange(effects.persist_ballot, std::nullopt).value_or(store_.info().ballot);
    store_.StoreBallot(ballot, std::exchange(effects.persist_standing, std::nullopt));
    return false;
  }
  if (effects.restart_log) {
    const RestartLog restart = *std::exchange(effects.restart_log, std::nullopt);
    store_.RestartLogAt(restart.applied, restart.behind);
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
    learning_.NoteRole(change);
    LOG(INFO) << Tag() << " " << PartitionStatusName(change.from) << " -> "
              << PartitionStatusName(change.to) << " under ballot " << change.ballot << ": "
              << change.why;
  }
  // Before messages and replies go out: nobody may be answered under the former role.
  if (!effects.role_changes.empty()) {
    if (office_.IsMember()) learning_.DropCopies();
    if (core_->role() != PartitionStatus::kPrimary) host_->verifications->NotPrimaryAnyMore(pid_);
    if (core_->role() != PartitionStatus::kSecondary) applies_->CatchUp();
    if (!office_.IsMember()) verifying_.EndCounting();
    if (!office_.MayBePrimaryAgain()) {
      reads_.EndScans();
      writes_.RefuseUndecided(ErrorCode::kInvalidState);
    }
  }

  // The prepares first: what a member has to write begins a message later than the write here.
  for (Envelope& envelope : effects.send) messages_.Send(std::move(envelope));
  for (LogAppend& append : effects.append) Append(std::move(append));
  for (const MutationPtr& mutation : effects.apply)
    writes_.times().Committed(mutation->decree, last_step_);
  if (!effects.apply.empty()) applies_->Apply(store_.engine(), effects.apply, UrgencyOfApplies());
  for (const PeerReply& reply : effects.replies) Answer(reply);
  for (const ClientReply& reply : effects.client_replies) writes_.Answer(reply, last_step_);
  for (const ReplyToken token : effects.dropped) {
    messages_.GiveUp(token);
    shipping_.GiveUp(token);
  }
  for (ShipState& ship : effects.ship) shipping_.Ship(std::move(ship));
  if (effects.learner_work) learning_.Begin(*std::move(effects.learner_work));
  if (effects.close != Effects::Close::kNo) AskToClose(effects.close, effects.close_why);
}

void Replica::Answer(const PeerReply& reply) {
  if (const auto* learn = std::get_if<LearnResponse>(&reply.body))
    return shipping_.Answer(reply.token, *learn);
  messages_.Answer(reply);
}

void Replica::ArmWakeup() {
  const Instant at = core_->NextWakeup();
  // An earlier timer is kept: it finds out by itself that it is too early.
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

ApplyQueue::Urgency Replica::UrgencyOfApplies() const {
  using enum ApplyQueue::Urgency;
  if (core_->role() == PartitionStatus::kPotentialSecondary) return kLast;
  const bool is_read = core_->role() != PartitionStatus::kSecondary;
  return is_read || work_.IsQuietAwaited() ? kSoon : kLater;
}

void Replica::Fence(const std::string& why) {
  if (office_.IsClosed()) return;
  LOG(ERROR) << Tag() << " fenced: " << why;
  Step(Fenced{why});
}

void Replica::AskToClose(Effects::Close close, const std::string& why) {
  if (office_.IsClosed() || !on_close_) return;
  // What a learner got from elsewhere is not in its own log. So it is flushed before the replica
  // closes, and a lack of space is waited for.
  if (close != Effects::Close::kSetAside && store_.IsInMemoryOnly())
    return work_.Maintain([](Engine& engine) { return engine.Flush(); },
                          [this, close, why](const absl::Status& status) {
                            if (!IsRefusal(status)) return AskTableToClose(close, why);
                            work_.OnNoSpace("what was learned", status);
                            work_.After(DiskWork::kNoSpacePause,
                                        [this, close, why] { AskToClose(close, why); });
                          });
  AskTableToClose(close, why);
}

void Replica::AskTableToClose(Effects::Close close, const std::string& why) {
  if (office_.IsClosed() || !on_close_) return;
  // Asked once; the table closes the replica, which may be in the middle of this step.
  CloseRequest on_close = std::move(on_close_);
  on_close_ = nullptr;
  on_close(close, why);
}

void Replica::HoldForApplies() {
  constexpr size_t kWaitingBytesMax = 32 << 20;
  // Hysteresis, so that effects do not stop and go with every mutation.
  const size_t limit = holds_for_applies_ ? kWaitingBytesMax / 2 : kWaitingBytesMax;
  const bool is_behind = applies_->waiting_bytes() > limit;
  if (is_behind == holds_for_applies_) return;
  holds_for_applies_ = is_behind;
  holds_ += is_behind ? 1 : -1;
}

// ---- the log ----

void Replica::ForgetSharedLog() {
  CHECK_ON_STRAND(strand_);
  if (office_.IsClosed() || store_.info().offset_in_shared_log == 0) return;
  // Stores of .init-info must not overtake each other.
  if (holds_ > 0 || is_draining_)  // another store may be under way
    return work_.After(DiskWork::kNoSpacePause, [this] { ForgetSharedLog(); });
  store_.ForgetSharedLog();
}

void Replica::Append(LogAppend append) {
  // The log reports in order (private_log/L2) and sequences ascend by one, so the callback need not
  // carry its own: it stays small enough to need no memory.
  if (appends_under_way_ == 0) next_logged_ = append.sequence;
  CHECK_EQ(append.sequence, next_logged_ + static_cast<uint64_t>(appends_under_way_)) << Tag();
  ++appends_under_way_;
  if (core_->role() == PartitionStatus::kPrimary)
    writes_.times().Appended(append.mutation->decree, append.sequence, last_step_);
  checkpoints_.WatchReplay();
  store_.log()->Append(std::move(append.mutation),
                       [self = weak_from_this()](const absl::Status& status) {
                         if (const auto replica = self.lock()) replica->OnLogged(status);
                       });
}

void Replica::OnLogged(const absl::Status& status) {
  CHECK_ON_STRAND(strand_);
  const uint64_t sequence = next_logged_++;
  --appends_under_way_;
  if (status.ok()) {
    const Instant now = host_->env.clock().Now();
    writes_.times().Durable(sequence, store_.log()->reported_write_began(), now);
    Step(Logged{sequence}, now);
  } else {
    if (!office_.IsClosed()) {
      LOG(ERROR) << Tag() << " log write failed: " << status;
      host_->disks->watch->OnIoError(log_disk_, absl::StrCat("log write: ", status.ToString()));
    }
    Step(Logged{sequence, ErrorCode::kDiskIoError});
    // The core treats a failed write as the end of this member.
  }
  work_.CheckQuiet();
}

void Replica::OnApplyFailed(Decree decree, const absl::Status& status) {
  LOG(ERROR) << Tag() << " apply decree " << decree << ": " << status;
  if (absl::IsDataLoss(status))
    host_->disks->watch->OnIoError(disk_, absl::StrCat("apply: ", status.ToString()));
  Step(Applied{decree, ErrorCode::kLocalAppFailure});
}

// ---- checkpoints ----

void Replica::CheckpointNow() {
  CHECK_ON_STRAND(strand_);
  if (!office_.IsClosed()) checkpoints_.MakeIfNeeded();
}

void Replica::FlushReplayed(std::shared_ptr<void> until_flushed) {
  CHECK_ON_STRAND(strand_);
  if (!office_.IsClosed()) checkpoints_.FlushReplayed(std::move(until_flushed));
}

// ---- closing ----

void Replica::StepDown() {
  CHECK_ON_STRAND(strand_);
  if (office_.IsClosed() || has_stepped_down_ || !office_.IsPrimaryOfOthers()) return;
  has_stepped_down_ = true;
  // The proposal that the meta server would make; the core answers it by its rules.
  Step(ProposalReceived{{.info = core_->app(),
                         .config = core_->configuration(),
                         .type = ConfigType::kDowngradeToSecondary,
                         .node = host_->self}});
}

bool Replica::HoldsOffice() const {
  CHECK_ON_STRAND(strand_);
  return office_.IsHeld();
}

void Replica::Close(CloseMode mode, absl::AnyInvocable<void(absl::Status)> done) {
  CHECK_ON_STRAND(strand_);
  // The office first: from here on no step, no read and no write begins.
  office_.Close();
  store_.Close();
  on_close_ = nullptr;
  if (wakeup_timer_ != kNoTimer) strand_->Cancel(wakeup_timer_);
  checkpoints_.Close();
  learning_.Close();
  effects_.clear();
  work_.Close();
  compaction_.Close();
  indexes_.Close();
  split_.Close();
  duplications_.Close();
  // Else the next start would replay it.
  if (mode == CloseMode::kFlushed) applies_->CatchUp();
  applies_->Abandon();
  writes_.Close();
  admission_.Close();
  reads_.Close();
  verifying_.Close();
  host_->verifications->NotPrimaryAnyMore(pid_);
  messages_.Refuse();
  // All parts are closed before the log drains, so nothing is appended to it any more.
  shipping_.Close();
  // First the log: its drain also ends writes that wait for space, which would never become quiet.
  store_.log()->Drain([self = shared_from_this(), mode, done = std::move(done)]() mutable {
    self->work_.WhenQuiet([self = self.get(), mode, done = std::move(done)]() mutable {
      self->store_.Finish(mode, self->reads_.HotKeys(), std::move(done));
    });
  });
}

// ---- questions ----

ReplicaSnapshot Replica::Snapshot() const {
  CHECK_ON_STRAND(strand_);
  const Watermarks marks = core_->marks();
  const PrivateLog::Stats log =
      store_.log() == nullptr ? PrivateLog::Stats() : store_.log()->stats();
  std::optional<ValueSchema> data_version;
  if (store_.engine() != nullptr) data_version = store_.engine()->data_version();
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
          .log_begins = store_.log() == nullptr ? Decree() : store_.log()->Begins(),
          .valid_start_in_shared_log = store_.info().offset_in_shared_log,
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
          .content_verdict = content_verdict,
          .is_unborn = store_.info().is_unborn ? std::optional(true) : std::nullopt,
          .split_progress = marks.role == PartitionStatus::kPrimary ? split_.Text() : std::nullopt};
}

}  // namespace arion
