// SPDX-License-Identifier: Apache-2.0
#include "meta/meta_server.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "messages/tool_messages.h"
#include "meta/meta_server_state.h"
#include "meta_judgement/balance_planner.h"
#include "meta_judgement/forget_server.h"
#include "meta_judgement/partition_guardian.h"
#include "meta_overview/split_progress.h"
#include "meta_state/replica_reports.h"
#include "meta_state/state_went_back.h"
#include "meta_state/table_split.h"
#include "meta_state/unix_seconds.h"

namespace arion {
namespace {

constexpr absl::Duration kFirstResendDelay = absl::Seconds(1);
// Each move of a copy takes disk and network from clients.
constexpr size_t kMovesAtOnce = 2;
// After a standstill: how long beacons that waited may take to be read before silence counts again.
constexpr absl::Duration kStandstillExcuse = absl::Milliseconds(100);
constexpr uint64_t kFirstReportNumberMax = uint64_t{1} << 62;  // far from those of a former life

bool SameIntent(const std::optional<Intent>& a, const std::optional<Intent>& b) {
  if (!a || !b) return !a && !b;
  return a->SaysTheSame(*b);
}

void NotePassedOver(Partition& partition, std::optional<Endpoint> node, Instant now) {
  std::erase_if(partition.passed_over, [&](const auto& entry) { return entry.second <= now; });
  if (!node) return;
  const bool is_new = partition.passed_over.insert_or_assign(*node, now + kPassedOverFor).second;
  LOG_IF(WARNING, is_new) << "meta: [" << partition.config.pid << " " << partition.config.ballot
                          << "] " << *node << " takes no replica, for whatever reason: others come "
                          << "first for " << absl::FormatDuration(kPassedOverFor);
}

// Of a state that can't be understood.
absl::Status WithWayBack(const absl::Status& status, const MetaStore& store) {
  if (!absl::IsDataLoss(status)) return status;
  return absl::DataLossError(absl::StrCat(status.message(), ". The way back: ", store.WayBack()));
}

}  // namespace

MetaServer::State::State(Environment& env, Transport& transport, std::shared_ptr<MetaStore> store,
                         MetaServerOptions options, std::shared_ptr<MetaServerStats> stats)
    : env_(env),
      transport_(transport),
      options_(std::move(options)),
      codec_(options_.peer_generation),
      strand_(env.NewStrand("meta")),
      owned_store_(std::move(store)),
      store_(*owned_store_, env.clock(), strand_, owner_life_, [this] { SchedulePlan(); }),
      stats_(std::move(stats)),
      detector_({.grace = options_.grace,
                 .stable_running = options_.stable_running,
                 .max_successive_unstable_restarts = options_.max_successive_unstable_restarts}),
      wall_clocks_(env.clock(), state_, options_.clock_offset_max, [this] { SchedulePlan(); }),
      older_servers_(transport, env.clock(), strand_, owner_life_, state_, codec_,
                     [this](InboundRequest beacon) { OnRequest(std::move(beacon)); }),
      servers_(UsesOfServers(), EventsOfServers()),
      learners_({.state = state_,
                 .transport = transport,
                 .codec = codec_,
                 .clock = env.clock(),
                 .strand = strand_,
                 .life = owner_life_},
                [this](PartitionId pid) { configurations_.JudgeHeld(pid); }),
      configurations_({.state = state_,
                       .detector = detector_,
                       .numbers = numbers_,
                       .store = store_,
                       .learners = learners_,
                       .options = options_,
                       .codec = codec_,
                       .clock = env.clock(),
                       .changes = stats_->configuration_changes},
                      {.settled = [this](int32_t app_id) { table_changes_.Continue(app_id); },
                       .split = [this](Table& table) { table_news_.Begin(table); },
                       .plan = [this] { SchedulePlan(); }}),
      table_news_({.state = state_,
                   .transport = transport,
                   .codec = codec_,
                   .clock = env.clock(),
                   .strand = strand_,
                   .life = owner_life_}),
      table_changes_(state_, store_, env.clock(), EventsOfTableChanges()),
      tables_({.state = state_,
               .store = store_,
               .changes = table_changes_,
               .options = options_,
               .codec = codec_,
               .clock = env.clock(),
               .strand = strand_,
               .life = owner_life_,
               .plan = [this] { SchedulePlan(); }}),
      splits_({.state = state_,
               .store = store_,
               .changes = table_changes_,
               .options = options_,
               .codec = codec_,
               .clock = env.clock()}),
      duplications_(UsesOfDuplications()),
      recovery_(UsesOfRecovery(),
                {.leases_end = [this] { return servers_.leases_end(); },
                 .begun = [this] { BeginRecovery(); },
                 .ended = [this](RecoveryRequests::End end) { EndRecovery(end); }}),
      admin_({.state = state_,
              .store = store_,
              .reserved_names = table_changes_.reserved_names(),
              .options = options_,
              .codec = codec_,
              .clock = env.clock(),
              .transport = transport,
              .plan = [this] { SchedulePlan(); }}),
      told_(state_, store_, options_),
      numbers_(static_cast<int64_t>(env_.random().Below(kFirstReportNumberMax))) {
  servers_.AddTo(handlers_);
  configurations_.AddTo(handlers_);
  tables_.AddTo(handlers_);
  splits_.AddTo(handlers_);
  duplications_.AddTo(handlers_);
  recovery_.AddTo(handlers_);
  admin_.AddTo(handlers_);
}

// ---- what the parts are given ----

ServerRequests::Uses MetaServer::State::UsesOfServers() {
  return {.state = state_,
          .detector = detector_,
          .numbers = numbers_,
          .wall_clocks = wall_clocks_,
          .older_servers = older_servers_,
          .options = options_,
          .codec = codec_,
          .clock = env_.clock(),
          .life = 1 + static_cast<int64_t>(env_.random().Below(INT64_MAX)),
          .deaths = stats_->server_deaths};
}

ServerRequests::Events MetaServer::State::EventsOfServers() {
  return {.excused_until =
              [this] {
                NoteStandstill();  // of the process alone: beacons waited, too
                return excused_until_;
              },
          .plan = [this] { SchedulePlan(); }};
}

TableChanges::Events MetaServer::State::EventsOfTableChanges() {
  return {.changed =
              [this](Table& table) {
                table_news_.Begin(table);
                SchedulePlan();
              },
          .given_up = [this] { SchedulePlan(); },
          .judgeable = [this](PartitionId pid) { configurations_.JudgeHeld(pid); },
          .again = [this](InboundRequest request) { OnRequest(std::move(request)); }};
}

DuplicationRequests::Uses MetaServer::State::UsesOfDuplications() {
  return {.state = state_,
          .store = store_,
          .changes = table_changes_,
          .options = options_,
          .codec = codec_,
          .env = env_,
          .transport = transport_,
          .strand = strand_,
          .life = owner_life_};
}

RecoveryRequests::Uses MetaServer::State::UsesOfRecovery() {
  return {.state = state_,
          .detector = detector_,
          .numbers = numbers_,
          .store = store_,
          .changes = table_changes_,
          .options = options_,
          .codec = codec_,
          .transport = transport_,
          .clock = env_.clock(),
          .strand = strand_,
          .life = owner_life_};
}

absl::Status MetaServer::State::Start() {
  owner_life_.Begin(weak_from_this());
  // On the caller's thread, which may wait.
  auto entries = store_.Load();
  if (!entries.ok()) return WithWayBack(entries.status(), *owned_store_);
  using Lacking = ClusterState::Lacking;
  auto state = ClusterState::Load(
      *entries, owned_store_->MayStoreInPart() ? Lacking::kIsMade : Lacking::kIsDamage);
  if (!state.ok()) return WithWayBack(state.status(), *owned_store_);
  strand_->Post([weak = weak_from_this(), loaded = *std::move(state)]() mutable {
    if (auto self = weak.lock()) self->Begin(std::move(loaded));
  });
  return absl::OkStatus();
}

RequestHandler MetaServer::State::Handler() {
  return [weak = weak_from_this(), other = options_.other_requests](InboundRequest request) {
    if (other && other(request)) return;
    if (auto self = weak.lock()) self->Handle(std::move(request));
  };
}

void MetaServer::State::Handle(InboundRequest request) {
  auto shared = std::make_shared<InboundRequest>(std::move(request));
  strand_->Post([weak = weak_from_this(), shared] {
    if (auto self = weak.lock()) self->OnRequest(std::move(*shared));
  });
}

void MetaServer::State::Reconfigure(const MetaServerOptions& options) {
  strand_->Post([weak = weak_from_this(), options] {
    auto self = weak.lock();
    if (!self) return;
    // The detector, for one, took its grace at construction.
    TakeChangeable(options, &self->options_);
    self->SchedulePlan();
  });
}

void MetaServer::State::Stop(std::function<void()> done) {
  strand_->Post([self = shared_from_this(), done = std::move(done)] {
    // First, so that nothing below causes another plan.
    self->phase_ = Phase::kStopped;
    self->store_.Stop();
    self->tables_.Stop();
    self->duplications_.Stop();
    self->recovery_.Stop();
    self->strand_->Cancel(self->timer_);
    if (done) done();
  });
}

void MetaServer::State::Overview(std::function<void(ClusterOverview)> done) {
  strand_->Post([weak = weak_from_this(), done = std::move(done)] {
    auto self = weak.lock();
    if (!self) return;
    // What is shown for a day is forgotten here, where it is shown: no timer is needed.
    for (auto& [endpoint, node] : self->state_.nodes)
      if (self->Now() - node.older_since > kOlderShownFor) node.older_copies = 0;
    ForgetWhatWentBack(self->state_, self->Now());
    ClusterOverview overview =
        OverviewOf(self->state_, self->Level(), self->options_.mutation_2pc_min_replica_count);
    overview.store = self->store_.room();
    AddSplitTimes(self->state_, self->Now(), &overview);
    if (auto foreign = self->older_servers_.Foreign())
      overview.warnings.push_back(*std::move(foreign));
    if (auto warning = StoreWarning(self->store_.room(), self->store_.failure()))
      overview.warnings.push_back(*std::move(warning));
    done(std::move(overview));
  });
}

void MetaServer::State::Begin(ClusterState loaded) {
  store_.Look();
  state_ = std::move(loaded);
  state_.tight_percent = options_.disk_room_percent;
  // The lower of the two: the setting may hold a cluster back, never set it free.
  if (const std::optional<FunctionLevel> on_start = options_.function_level_on_start)
    state_.function_level = std::min(state_.function_level.value_or(*on_start), *on_start);
  // Servers that no configuration names are unknown again. Those that live say so by their next
  // beacon; the others would be waited for in vain.
  std::erase_if(state_.nodes, [&](const auto& node) {
    return WhyNeeded(state_, node.first, UnixSeconds(env_.clock())).empty();
  });
  servers_.Begin();
  configurations_.Begin(servers_.start_ends());
  for (auto& [app_id, table] : state_.tables) {
    for (Partition& partition : table.partitions) {
      // When the primary went is not stored. Counted from now, everybody gets a grace to report.
      if (!partition.config.primary.IsValid()) partition.headless_since = Now();
    }
    if (table.split) table.split->measured_since = Now();
    if (table.info.version)
      table_news_.Begin(table);  // the change may have been the last thing stored
  }
  if (options_.recover_from_replica_servers && state_.tables.empty()) {
    phase_ = Phase::kAwaitsRecovery;
    LOG(WARNING) << "meta: no table is stored; waits to be told which replica servers to recover "
                    "from";
    return;
  }
  phase_ = Phase::kServing;
  LOG(INFO) << "meta: serving " << state_.tables.size() << " tables, " << state_.nodes.size()
            << " known servers, level " << FunctionLevelName(state_.SetLevel());
  RunPlan();
}

void MetaServer::State::BeginRecovery() {
  phase_before_recovery_ = phase_;
  phase_ = Phase::kUnderRecovery;
}

void MetaServer::State::EndRecovery(RecoveryRequests::End end) {
  const bool is_done = end == RecoveryRequests::End::kRecovered;
  phase_ = is_done ? Phase::kServing : phase_before_recovery_;
  if (phase_ == Phase::kServing) RunPlan();
}

void MetaServer::State::OnRequest(InboundRequest request) {
  CHECK_ON_STRAND(strand_);
  const RequestHandlers::Handler* handler = handlers_.Find(request.header.name);
  // An unknown code is answered in every phase: the sender need not try again.
  if (handler == nullptr) {
    if (phase_ == Phase::kServing && admin_.AnswersAsDisabled(request)) return;
    return request.responder.Reply(ErrorCode::kHandlerNotFound);
  }
  // Recovery's own request passes in both phases; whoever repeats it joins the one under way.
  const bool recovers = phase_ == Phase::kAwaitsRecovery || phase_ == Phase::kUnderRecovery;
  if (phase_ == Phase::kServing || (recovers && request.header.name == kRpcStartRecovery)) {
    return (*handler)(request);
  }
  const ErrorCode why = recovers ? ErrorCode::kUnderRecovery : ErrorCode::kServiceNotActive;
  // A question for routes has its error inside the answer (rpc/PROTOCOL.md 7.1).
  if (request.header.name == kRpcQueryConfig) {
    return codec_.Answer(request, QueryConfigResponse{.err = why});
  }
  request.responder.Reply(why);
}

// ---- plans ----

void MetaServer::State::SchedulePlan() {
  if (plan_is_scheduled_) return;
  plan_is_scheduled_ = true;
  strand_->Post([weak = weak_from_this()] {
    auto self = weak.lock();
    if (self && self->plan_is_scheduled_) self->RunPlan();
  });
}

void MetaServer::State::RunPlan() {
  plan_is_scheduled_ = false;
  if (phase_ != Phase::kServing) return;
  NoteStandstill();
  const Instant now = Now();
  // Before the plan, so that it sees who is dead by now.
  if (now >= excused_until_) servers_.Expire();
  GuardianPlan plan = PlanPartitions(state_, Level(), GuardianOf(options_), now);
  // The earliest of all that could make a difference: a death, what the guardian waits for, the
  // interval.
  Instant wake =
      std::min({detector_.NextDeadline(), plan.next_look, now + options_.guardian_interval});
  if (state_.is_beginning) wake = std::min(wake, std::max(servers_.start_ends(), excused_until_));
  const bool can_store = store_.CanStore(now);
  if (!can_store && !store_.is_failed()) wake = std::min(wake, store_.retry_at());
  for (GuardianPlan::Step& step : plan.steps) {
    Partition& partition = *state_.FindPartition(step.pid);
    // The same proposal keeps its bookkeeping: how often it was sent, and when.
    if (!SameIntent(partition.intent, step.intent)) partition.intent = step.intent;
    NotePassedOver(partition, step.passed_over, now);
    if (step.older) NoteOlderCopy(state_, partition, *step.older, now);
    if (step.planned) partition.planned = *std::move(step.planned);
    if (partition.IsBehind()) {
      LOG_EVERY_N(WARNING, 20) << "meta: [" << step.pid << " " << partition.config.ballot
                               << "] stored, " << partition.shown.ballot
                               << " known to a server: " << step.reason;
    }
    if (step.IsChoiceFailed(partition.config)) stats_->primary_choice_failures.Add();
    if (!can_store) continue;  // nor may a primary stop serving to ask for what was proposed
    if (step.write) {
      LOG(INFO) << "meta: [" << step.pid << " " << partition.config.ballot << "] " << step.reason;
      configurations_.Store(partition, *std::move(step.write));
    } else if (partition.intent) {
      wake = std::min(wake, SendWhenDue(partition, now));
    }
  }
  // Neither is needed to serve: on a full disk the rest of the room is for failovers.
  if (can_store && !store_.room().is_short) {
    BalanceWhenDue(now);
    told_.StoreWhenDue(now);
  }
  for (auto& [app_id, table] : state_.tables) {
    if (!table.untold.empty()) wake = std::min(wake, table_news_.TellWhenDue(table, now));
  }
  WakeAt(wake);
}

void MetaServer::State::BalanceWhenDue(Instant now) {
  // At most once an interval: moves are to take little from clients.
  if (now < balance_at_ || Level() < FunctionLevel::kLively) return;
  balance_at_ = now + options_.guardian_interval;
  const BalanceBy by = options_.balance_only_moves_primaries ? BalanceBy::kPrimaries
                                                             : BalanceBy::kPrimariesAndCopies;
  for (const BalanceMove& move : PlanBalance(state_, kMovesAtOnce, by)) {
    LOG(INFO) << "meta: [" << move.pid << "] moves for balance, "
              << (move.kind == BalanceMove::Kind::kCopySecondary ? "a copy" : "the primary")
              << " from " << move.from << " to " << move.to;
    // The guardian carries it out like an administrator's plan: one way for all moves.
    state_.FindPartition(move.pid)->planned = StepsOf(move);
    SchedulePlan();
  }
}

// Says when it is due next.
Instant MetaServer::State::SendWhenDue(Partition& partition, Instant now) {
  Intent& intent = *partition.intent;
  auto delay = [&] {
    // A one-way message may be lost, so it is repeated; ever less often, because most targets that
    // do not act can't.
    absl::Duration doubled = kFirstResendDelay * (1 << std::clamp(intent.times_sent - 1, 0, 10));
    return std::min(doubled, options_.guardian_interval);
  };
  if (intent.times_sent > 0 && now < intent.last_sent + delay()) return intent.last_sent + delay();
  ++intent.times_sent;
  intent.last_sent = now;
  if (!intent.first_sent) intent.first_sent = now;
  const PartitionConfiguration& config = partition.config;
  // The whole configuration goes along: the target may have missed earlier changes.
  const Table& table = *state_.FindTable(config.pid.app_id);
  ConfigurationUpdateRequest proposal{.info = InfoFor(table, config.pid.index),
                                      .config = config,
                                      .type = intent.type,
                                      .node = intent.node};
  transport_.SendOneWay(intent.target, {.name = kRpcConfigProposal,
                                        .body = codec_.Encode(proposal),
                                        .thread_hash = config.pid.thread_hash()});
  return now + delay();
}

// A meta server that stood still has heard nobody: what arrived meanwhile is read before it judges.
// Seen by the timer, or by what is read before it and makes it plan.
void MetaServer::State::NoteStandstill() {
  if (Now() - wake_at_ > options_.grace / 4) excused_until_ = Now() + kStandstillExcuse;
}

void MetaServer::State::WakeAt(Instant when) {
  NoteStandstill();
  strand_->Cancel(timer_);
  // At least 1 ms: what is due at once must not keep the strand from everything else.
  absl::Duration delay = std::max(std::max(when, excused_until_) - Now(), absl::Milliseconds(1));
  wake_at_ = Now() + delay;
  timer_ = strand_->PostAfter(delay, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->RunPlan();
  });
}

MetaServer::MetaServer(Environment& env, Transport& transport, std::shared_ptr<MetaStore> store,
                       MetaServerOptions options, std::shared_ptr<MetaServerStats> stats)
    : state_(std::make_shared<State>(env, transport, std::move(store), std::move(options),
                                     std::move(stats))) {}

MetaServer::~MetaServer() = default;

RequestHandler MetaServer::Handler() const { return state_->Handler(); }
absl::Status MetaServer::Start() { return state_->Start(); }
void MetaServer::Stop(std::function<void()> done) { state_->Stop(std::move(done)); }
void MetaServer::Handle(InboundRequest request) { state_->Handle(std::move(request)); }
void MetaServer::Reconfigure(const MetaServerOptions& options) { state_->Reconfigure(options); }
void MetaServer::Overview(std::function<void(ClusterOverview)> done) {
  state_->Overview(std::move(done));
}
const MetaServerStats& MetaServer::stats() const { return state_->stats(); }

}  // namespace arion
