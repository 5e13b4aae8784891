// SPDX-License-Identifier: Apache-2.0
#include "client/cluster_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/mutation.h"
#include "base/status.h"
#include "client/meta_caller.h"
#include "messages/client_messages.h"
#include "messages/meta_messages.h"

namespace arion {
namespace {

// No server refuses a smaller write for its size.
constexpr size_t kWriteBytesAlwaysTaken = 1'000'000;

constexpr absl::Duration kSoon = absl::Milliseconds(1);

bool IsWrite(Question::Kind kind) { return kind != Question::Kind::kRead; }

bool IsSame(const TableRouter::Route& a, const TableRouter::Route& b) {
  return a.pid == b.pid && a.primary == b.primary;
}

}  // namespace

struct ClusterClient::Operation {
  Question question;  // without a name: it only waits for the routes
  AskOptions options;
  BodyCallback done;  // empty: finished

  std::weak_ptr<ClusterClient> client;
  const std::string* table_name = nullptr;  // until it is started
  Table* table = nullptr;
  WriteRetries retries = WriteRetries::kAlways;
  Instant deadline;
  int attempts = 0;          // that were sent
  TableRouter::Route asked;  // by the latest attempt
  bool is_asking = false;    // the latest attempt has no answer yet
  int in_flight = 0;         // attempts without one
  absl::Duration patience;   // with the server asked, before it is asked once more
  Instant ask_again_at;
  std::optional<WatchList::iterator> watched;
  int pauses = 0;
  bool comes_back = false;  // after a pause, or with the routes
  bool may_have_happened = false;
  std::optional<std::string> happened;  // what a write is answered once its latest attempt is over
  bool has_fresh_routes = false;        // since the last pause
  TimerId timer = kNoTimer;             // set as soon as something but the transport is waited for
  TimerId backup_timer = kNoTimer;
  absl::Status last = absl::OkStatus();  // what the latest attempt came to; OK: none was made
};

struct ClusterClient::Table {
  std::string name;
  TableRouter router;
  bool asking = false;
  std::vector<OperationPtr> waiting;
};

std::shared_ptr<ClusterClient> ClusterClient::Create(Environment& environment, Transport& transport,
                                                     StrandPtr strand,
                                                     ClusterClientOptions options) {
  return std::shared_ptr<ClusterClient>(
      new ClusterClient(environment, transport, std::move(strand), std::move(options)));
}

ClusterClient::ClusterClient(Environment& environment, Transport& transport, StrandPtr strand,
                             ClusterClientOptions options)
    : environment_(environment),
      transport_(transport),
      strand_(strand),
      options_(std::move(options)),
      meta_(
          std::make_shared<MetaCaller>(environment, transport, std::move(strand),
                                       MetaCallerOptions{.meta_servers = options_.meta_servers})) {}

ClusterClient::~ClusterClient() = default;

// Routes are forgotten first: the table may have been dropped and made anew, and the answer must be
// the meta server's.
void ClusterClient::OpenTable(const std::string& table, StatusCallback done) {
  TableNamed(table).router.ForgetAll();
  Ask(table, Question(), {},
      [done = std::move(done)](absl::StatusOr<std::string> body) mutable { done(body.status()); });
}

void ClusterClient::LearnShares(const std::string& table, const AskOptions& options,
                                absl::AnyInvocable<void(absl::StatusOr<Shares>)> done) {
  Ask(table, Question(), options,
      // The empty question ends as soon as the routes are known; a Table never moves, so it may be
      // referred to.
      [known = &TableNamed(table), done = std::move(done)](auto body) mutable {
        if (!body.ok()) return done(body.status());
        done(known->router.Shares());
      });
}

// What is told is a courtesy (the end of a scan): without a route it is not worth a lookup.
void ClusterClient::Tell(const std::string& table, const char* name, std::string body,
                         uint64_t partition_hash) {
  CHECK_ON_STRAND(strand_);
  const TableRouter& router = TableNamed(table).router;
  if (!router.IsKnown()) return;
  const TableRouter::Route route = router.Find(partition_hash);
  if (!route.primary.IsValid()) return;
  transport_.SendOneWay(route.primary, {.name = name,
                                        .body = std::move(body),
                                        .pid = route.pid,
                                        .thread_hash = route.pid.thread_hash(),
                                        .partition_hash = partition_hash});
}

ClusterClient::Shares ClusterClient::SharesOf(const std::string& table) {
  return TableNamed(table).router.Shares();
}

ClusterClient::Table& ClusterClient::TableNamed(const std::string& name) {
  std::unique_ptr<Table>& table = tables_[name];
  if (table == nullptr) table = std::make_unique<Table>(Table{.name = name});
  return *table;
}

ClusterClient::OperationPtr ClusterClient::Prepare(Question question, const AskOptions& options,
                                                   BodyCallback done) {
  auto operation = std::make_shared<Operation>();
  operation->question = std::move(question);
  operation->options = options;
  operation->done = std::move(done);
  return operation;
}

void ClusterClient::StartLater(const std::string& table, OperationPtr operation) {
  operation->client = weak_from_this();
  operation->table_name = &table;
  strand_->Post([operation = std::move(operation)] {
    if (auto self = operation->client.lock()) self->Start(*operation->table_name, operation);
  });
}

void ClusterClient::Start(const std::string& table, OperationPtr operation) {
  CHECK_ON_STRAND(strand_);
  const AskOptions& options = operation->options;
  operation->client = weak_from_this();
  operation->table = &TableNamed(table);
  // A repetition of what the server decides would be decided anew, by what the first one left.
  operation->retries = operation->question.kind == Question::Kind::kDecidedWrite
                           ? WriteRetries::kAfterRefusals
                           : options.write_retries.value_or(options_.write_retries);
  operation->deadline = Deadline(options);
  // Never inline: what may be over already waits for its turn.
  // The others wait for the network at least, so their callbacks never run inside this call. They
  // save the turn.
  const bool may_end_at_once =
      *operation->question.name == '\0' || options.timeout.value_or(options_.timeout) < kSoon;
  if (!may_end_at_once) return Advance(operation);
  strand_->Post([operation] {
    if (auto self = operation->client.lock()) self->Advance(operation);
  });
}

void ClusterClient::Advance(const OperationPtr& operation) {
  operation->comes_back = false;
  // It may have ended while it waited for this turn.
  if (!operation->done || operation->happened) return;
  const TableRouter& router = operation->table->router;
  if (!router.IsKnown()) return WaitForRoutes(operation);
  if (*operation->question.name == '\0') return Finish(operation, std::string());
  const int32_t present = operation->question.present_count;
  if (present != 0 && present != router.present_count())
    return Finish(operation, absl::AbortedError("the table was split meanwhile"));
  const TableRouter::Route route = router.Find(operation->question.partition_hash);
  if (route.primary.IsValid()) return Send(operation, route);
  // A lookup has just said that there is no primary: wait a moment before the next one.
  if (!operation->has_fresh_routes) return WaitForRoutes(operation);
  operation->last =
      absl::UnavailableError(absl::StrCat("partition ", route.pid.ToString(), " has no primary"));
  RetryLater(operation, options_.pause.WithoutPrimary());
}

void ClusterClient::Send(const OperationPtr& operation, TableRouter::Route route) {
  const Instant now = environment_.clock().Now();
  if (now >= operation->deadline) return Expire(operation);
  operation->has_fresh_routes = false;
  const bool is_asked = operation->is_asking && IsSame(route, operation->asked);
  // The same server may still work on it: a second request would only add to its load.
  if (is_asked && now < operation->ask_again_at) return Watch(operation);
  // A write is answered only when all its copies are done with: that costs more than a read's.
  const int rounds = IsWrite(operation->question.kind) ? 2 : 1;
  operation->patience = is_asked ? 2 * operation->patience : rounds * options_.attempt_timeout;
  operation->ask_again_at = now + operation->patience;
  operation->asked = route;
  operation->is_asking = true;
  ++operation->in_flight;
  // An answer is known by its attempt's number: only the latest one decides what follows.
  const int attempt = ++operation->attempts;
  // In whole milliseconds: the transport has a queue for each timeout.
  const absl::Duration timeout = absl::Ceil(operation->deadline - now, absl::Milliseconds(1));
  transport_.Call(route.primary, RequestOf(*operation, route.pid, timeout), strand_,
                  [operation, attempt, route](RpcResult result) {
                    if (auto self = operation->client.lock())
                      self->OnAnswer(operation, attempt, route, std::move(result));
                  });
  AskSecondaryLater(operation);
  // Where nothing may be sent again, silence changes nothing: the deadline ends it.
  const bool another_may_follow =
      !IsWrite(operation->question.kind) || operation->retries == WriteRetries::kAlways;
  if (another_may_follow) Watch(operation);
}

// No operation has a timer of its own for this: all are watched for equally long.
void ClusterClient::Watch(const OperationPtr& operation) {
  Unwatch(*operation);
  const Instant until = environment_.clock().Now() + options_.attempt_timeout;
  // All wait equally long, so the list stays ordered by adding at its end.
  operation->watched = watched_.insert(watched_.end(), {until, operation});
  WatchLater();
}

void ClusterClient::Unwatch(Operation& operation) {
  if (operation.watched) watched_.erase(*operation.watched);
  operation.watched = std::nullopt;
}

void ClusterClient::WatchLater() {
  if (watch_timer_ != kNoTimer || watched_.empty()) return;
  const absl::Duration left = watched_.front().until - environment_.clock().Now();
  watch_timer_ = strand_->PostAfter(left, [weak = weak_from_this()] {
    auto self = weak.lock();
    if (self == nullptr) return;
    const Instant now = self->environment_.clock().Now();
    while (!self->watched_.empty() && self->watched_.front().until <= now) {
      const OperationPtr operation = self->watched_.front().operation;
      self->Unwatch(*operation);
      self->OnSilence(operation);
    }
    self->watch_timer_ = kNoTimer;
    self->WatchLater();
  });
}

// The server may be slow, or gone: meta knows.
void ClusterClient::OnSilence(const OperationPtr& operation) {
  // Where a pause or a lookup is under way already, that is the way back.
  if (operation->comes_back || !operation->is_asking) return;
  // The lookup does not end the attempt: should the route prove right, the server is still being
  // waited for.
  Forget(operation, operation->asked, AttemptVerdict::Routes::kForgetPartition);
  Advance(operation);
}

OutboundRequest ClusterClient::RequestOf(const Operation& operation, PartitionId pid,
                                         absl::Duration timeout) const {
  return {.name = operation.question.name,
          .body = operation.question.body,
          .pid = pid,
          .thread_hash = pid.thread_hash(),
          .partition_hash = operation.question.partition_hash,
          .timeout = timeout};
}

void ClusterClient::AskSecondaryLater(const OperationPtr& operation) {
  const absl::Duration after = operation->options.backup_after;
  const bool may = !IsWrite(operation->question.kind) && after < absl::InfiniteDuration();
  // Once an operation: repeated attempts at the primary do not multiply the load of secondaries.
  if (!may || operation->backup_timer != kNoTimer) return;
  operation->backup_timer = strand_->PostAfter(after, [operation] {
    if (auto self = operation->client.lock()) self->AskSecondary(operation);
  });
}

void ClusterClient::AskSecondary(const OperationPtr& operation) {
  const absl::Duration left = operation->deadline - environment_.clock().Now();
  const TableRouter& router = operation->table->router;
  if (!operation->done || left <= absl::ZeroDuration() || !router.IsKnown()) return;
  // A secondary may lack the last writes; who sets backup_after accepts that.
  // The route may have changed since the primary was asked.
  const PartitionId pid = router.Find(operation->question.partition_hash).pid;
  const std::vector<Endpoint>& secondaries = router.Secondaries(pid.index);
  if (secondaries.empty()) return;
  OutboundRequest request = RequestOf(*operation, pid, left);
  request.is_backup_request = true;
  // By chance, so that all secondaries share what a slow primary leaves.
  transport_.Call(secondaries[environment_.random().Below(secondaries.size())], std::move(request),
                  strand_, [operation](RpcResult result) {
                    auto self = operation->client.lock();
                    // What it can't say is the primary's to say.
                    if (self != nullptr && result.error == ErrorCode::kOk)
                      self->Finish(operation, std::move(result.body));
                  });
}

void ClusterClient::OnAnswer(const OperationPtr& operation, int attempt,
                             const TableRouter::Route& asked, RpcResult result) {
  --operation->in_flight;
  const bool is_latest = attempt == operation->attempts;
  if (is_latest) operation->is_asking = false;
  if (result.error == ErrorCode::kOk) {
    // What the same server has still to do must not come over what others write after this answer.
    const bool happens_again = IsWrite(operation->question.kind) && operation->is_asking &&
                               IsSame(asked, operation->asked);
    if (!happens_again) return Finish(operation, std::move(result.body));
    // The answer is kept until the attempt beside it has ended.
    operation->happened = std::move(result.body);
    return Unwatch(*operation);
  }
  // A write that has happened is not undone by what a later attempt says. It only waits for that
  // attempt's end.
  if (operation->happened) {
    if (is_latest) Finish(operation, *std::move(operation->happened));
    return;
  }
  // The attempt's error is judged by itself; what earlier attempts may have done is added below.
  AttemptVerdict verdict = JudgeAttempt(result.error);
  const std::string text =
      absl::StrCat(asked.primary.ToString(), " says ", Text(ErrorCodeName(result.error)),
                   " for partition ", asked.pid.ToString());
  // No server refuses a smaller write for its size. A larger one was refused before anything
  // happened.
  if (result.error == ErrorCode::kInvalidData &&
      operation->question.body.size() > kWriteBytesAlwaysTaken) {
    verdict.effect = AttemptVerdict::Effect::kNone;
  }
  const bool says_nothing = verdict.effect == AttemptVerdict::Effect::kMayHaveHappened;
  const bool may_have_happened = says_nothing && !result.was_never_sent;
  // Never taken back: a later refusal says nothing of the earlier attempt (cluster_client/K3).
  operation->may_have_happened |= may_have_happened;
  operation->last =
      says_nothing ? absl::DeadlineExceededError(text) : absl::Status(verdict.refusal, text);
  Forget(operation, asked, verdict.routes);
  if (!is_latest) return;  // what began later goes on
  Unwatch(*operation);
  if (verdict.next == AttemptVerdict::Next::kGiveUp) return Refuse(operation, operation->last);
  // cluster_client/K4
  if (may_have_happened && IsWrite(operation->question.kind) &&
      operation->retries == WriteRetries::kAfterRefusals) {
    return Expire(operation);
  }
  // The right server may need time; a new primary may be there at once.
  const bool is_right_server = verdict.routes == AttemptVerdict::Routes::kKeep;
  RetryLater(operation, is_right_server ? options_.pause : options_.pause.WithoutPrimary());
}

void ClusterClient::Forget(const OperationPtr& operation, const TableRouter::Route& asked,
                           AttemptVerdict::Routes routes) {
  if (routes == AttemptVerdict::Routes::kKeep) return;
  TableRouter& router = operation->table->router;
  // Routes of a table that another one of its name has replaced are gone already.
  if (router.IsKnown() && router.app_id() == asked.pid.app_id) {
    const TableRouter::Route known = router.Find(operation->question.partition_hash);
    // Another operation may have learned better since this one asked.
    if (known.pid != asked.pid || known.primary != asked.primary) return;
    if (routes == AttemptVerdict::Routes::kForgetTable) router.ForgetAll();
    if (routes == AttemptVerdict::Routes::kForgetPartition) router.Forget(asked.pid.index);
  }
  // At once, while the operation pauses: the answer is there when it comes back.
  if (operation->done) Refresh(*operation->table);
}

void ClusterClient::RetryLater(const OperationPtr& operation, const RetryPause& limits) {
  if (!operation->done || operation->comes_back) return;
  operation->has_fresh_routes = false;
  ++operation->pauses;
  const absl::Duration pause = PauseAfter(operation->pauses, limits, environment_.random());
  // Nothing can come after the pause: say so now.
  if (environment_.clock().Now() + pause >= operation->deadline) return Expire(operation);
  // Waiting counts as a way back, so that no second one is begun.
  operation->comes_back = true;
  strand_->PostAfter(pause, [operation] {
    if (auto self = operation->client.lock()) self->Advance(operation);
  });
}

void ClusterClient::WaitForRoutes(const OperationPtr& operation) {
  const absl::Duration left = operation->deadline - environment_.clock().Now();
  if (left <= absl::ZeroDuration()) return Expire(operation);
  if (operation->timer == kNoTimer) {
    operation->timer = strand_->PostAfter(left, [operation] {
      if (auto self = operation->client.lock()) self->Expire(operation);
    });
  }
  operation->comes_back = true;
  operation->table->waiting.push_back(operation);
  Refresh(*operation->table);
}

void ClusterClient::Refresh(Table& table) {
  // One lookup at a time serves all operations of the table.
  if (table.asking) return;
  table.asking = true;
  // With the client's own timeout: the operations that wait have deadlines of their own, and the
  // answer is of use to those that come later.
  meta_->Call<QueryConfigResponse>(
      kRpcQueryConfig, QueryConfigRequest{.app_name = table.name}, Deadline({}),
      [weak = weak_from_this(), &table](absl::StatusOr<QueryConfigResponse> answer) {
        if (auto self = weak.lock()) self->OnRoutes(table, std::move(answer));
      });
}

void ClusterClient::OnRoutes(Table& table, absl::StatusOr<QueryConfigResponse> answer) {
  // First, so that an operation that is not helped may ask again.
  table.asking = false;
  absl::Status status = answer.status();
  if (status.ok()) status = StatusOfMetaError(answer->err, absl::StrCat("table ", table.name));
  if (status.ok()) status = table.router.Update(*answer);
  // The table is gone: what was known of it must not be used for one of the same name.
  if (absl::IsNotFound(status)) table.router.ForgetAll();
  // Taken out as a whole: an operation that goes on may come to wait again.
  for (const OperationPtr& operation : std::exchange(table.waiting, {})) {
    operation->comes_back = false;
    if (!operation->done) continue;
    if (status.ok()) {
      operation->has_fresh_routes = true;
      Advance(operation);
    } else if (absl::IsNotFound(status) || absl::IsPermissionDenied(status)) {
      Refuse(operation, status);
    } else {
      // The meta servers are asked anew after a pause, as long as the deadline allows it.
      operation->last = status;
      RetryLater(operation, options_.pause);
    }
  }
}

void ClusterClient::Refuse(const OperationPtr& operation, absl::Status why) {
  // Its first answer counts, whatever became of the attempt beside it.
  if (operation->happened) return Finish(operation, *std::move(operation->happened));
  // An attempt that is still under way may succeed after this.
  const bool may_have_happened = operation->may_have_happened || operation->in_flight > 0;
  if (IsWrite(operation->question.kind) && may_have_happened) {
    why = absl::DeadlineExceededError(
        absl::StrCat("the write may or may not have happened: ", why.message()));
  }
  Finish(operation, std::move(why));
}

void ClusterClient::Expire(const OperationPtr& operation) {
  if (operation->in_flight > 0) {
    operation->may_have_happened = true;
    operation->last = absl::DeadlineExceededError("no answer in time");
  }
  if (operation->last.ok()) operation->last = absl::DeadlineExceededError("not asked in time");
  // A write that reached nobody, or was refused by all, is refused.
  if (IsWrite(operation->question.kind) && !operation->may_have_happened) {
    return Refuse(operation, absl::UnavailableError(
                                 absl::StrCat("nothing was written: ", operation->last.message())));
  }
  Refuse(operation, operation->last);
}

void ClusterClient::Finish(const OperationPtr& operation, absl::StatusOr<std::string> body) {
  if (!operation->done) return;
  if (operation->timer != kNoTimer) strand_->Cancel(operation->timer);
  if (operation->backup_timer != kNoTimer) strand_->Cancel(operation->backup_timer);
  Unwatch(*operation);
  // Moved out first: the callback may start, or end, other operations.
  auto done = std::move(operation->done);
  operation->done = nullptr;
  done(std::move(body));
}

}  // namespace arion
