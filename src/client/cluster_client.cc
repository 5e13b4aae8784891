// SPDX-License-Identifier: Apache-2.0
#include "client/cluster_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/mutation.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "messages/client_messages.h"

namespace arion {
namespace {

// No server refuses a smaller write for its size.
constexpr size_t kWriteBytesAlwaysTaken = 1'000'000;

constexpr absl::Duration kSoon = absl::Milliseconds(1);

bool IsWrite(Question::Kind kind) { return kind != Question::Kind::kRead; }

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
  TableRouter::Route asked;  // by the latest attempt
  int attempts = 0;
  bool in_flight = false;
  bool may_have_happened = false;
  bool has_fresh_routes = false;  // since the last pause
  TimerId timer = kNoTimer;       // set as soon as something but the transport is waited for
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

void ClusterClient::OpenTable(const std::string& table, StatusCallback done) {
  TableNamed(table).router.ForgetAll();
  Ask(table, Question(), {},
      [done = std::move(done)](absl::StatusOr<std::string> body) mutable { done(body.status()); });
}

void ClusterClient::LearnPartitionCount(const std::string& table, const AskOptions& options,
                                        absl::AnyInvocable<void(absl::StatusOr<int32_t>)> done) {
  Ask(table, Question(), options,
      [known = &TableNamed(table), done = std::move(done)](auto body) mutable {
        if (!body.ok()) return done(body.status());
        done(known->router.partition_count());
      });
}

void ClusterClient::Put(const std::string& table, std::string_view hash_key,
                        std::string_view sort_key, std::string_view value, int32_t ttl_seconds,
                        StatusCallback done) {
  if (hash_key.size() > kHashKeyBytesMax || ttl_seconds < 0) {
    return strand_->Post([done = std::move(done)]() mutable {
      done(absl::InvalidArgumentError("hash key over 65534 bytes, or a TTL below zero"));
    });
  }
  UpdateRequest request{.key = JoinRawKey(hash_key, sort_key), .value = value};
  if (ttl_seconds > 0) {
    request.expire_ts_seconds =
        static_cast<int32_t>(ExpiryNow(environment_.clock()) + static_cast<uint32_t>(ttl_seconds));
  }
  Ask(table, QuestionOf(request), {},
      [done = std::move(done)](auto body) mutable { done(PutAnswer(body)); });
}

void ClusterClient::Ask(const std::string& table, const char* name, std::string body,
                        uint64_t partition_hash, BodyCallback done) {
  const std::optional<WriteCode> write = FindWriteCode(name);
  const bool is_decided = write == WriteCode::kIncr || write == WriteCode::kCheckAndSet ||
                          write == WriteCode::kCheckAndMutate;
  const auto kind = is_decided ? Question::Kind::kDecidedWrite
                    : write    ? Question::Kind::kWrite
                               : Question::Kind::kRead;
  Ask(table, Question{name, kind, partition_hash, std::move(body)}, {}, std::move(done));
}

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

int32_t ClusterClient::PartitionCount(const std::string& table) {
  const TableRouter& router = TableNamed(table).router;
  return router.IsKnown() ? router.partition_count() : 0;
}

void ClusterClient::AskOfKey(const std::string& table, Question (*ask)(std::string raw_key),
                             std::string_view hash_key, std::string_view sort_key,
                             BodyCallback done) {
  if (hash_key.size() > kHashKeyBytesMax) {
    return strand_->Post([done = std::move(done)]() mutable {
      done(absl::InvalidArgumentError("hash key over 65534 bytes"));
    });
  }
  Ask(table, ask(JoinRawKey(hash_key, sort_key)), {}, std::move(done));
}

void ClusterClient::Remove(const std::string& table, std::string_view hash_key,
                           std::string_view sort_key, StatusCallback done) {
  AskOfKey(table, RemoveQuestion, hash_key, sort_key,
           [done = std::move(done)](auto body) mutable { done(PutAnswer(body)); });
}

void ClusterClient::Get(const std::string& table, std::string_view hash_key,
                        std::string_view sort_key, ValueCallback done) {
  AskOfKey(table, GetQuestion, hash_key, sort_key,
           [done = std::move(done)](auto body) mutable { done(GetAnswer(body)); });
}

void ClusterClient::Ttl(const std::string& table, std::string_view hash_key,
                        std::string_view sort_key, TtlCallback done) {
  AskOfKey(table, TtlQuestion, hash_key, sort_key,
           [done = std::move(done)](auto body) mutable { done(TtlAnswer(body)); });
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
  operation->retries = operation->question.kind == Question::Kind::kDecidedWrite
                           ? WriteRetries::kAfterRefusals
                           : options.write_retries.value_or(options_.write_retries);
  operation->deadline = Deadline(options);
  // Never inline: what may be over already waits for its turn.
  const bool may_end_at_once =
      *operation->question.name == '\0' || options.timeout.value_or(options_.timeout) < kSoon;
  if (!may_end_at_once) return Advance(operation);
  strand_->Post([operation] {
    if (auto self = operation->client.lock()) self->Advance(operation);
  });
}

void ClusterClient::Advance(const OperationPtr& operation) {
  if (!operation->done) return;
  const TableRouter& router = operation->table->router;
  if (!router.IsKnown()) return WaitForRoutes(operation);
  if (*operation->question.name == '\0') return Finish(operation, std::string());
  const TableRouter::Route route = router.Find(operation->question.partition_hash);
  if (route.primary.IsValid()) return Send(operation, route);
  if (!operation->has_fresh_routes) return WaitForRoutes(operation);
  operation->last =
      absl::UnavailableError(absl::StrCat("partition ", route.pid.ToString(), " has no primary"));
  RetryLater(operation, options_.pause.WithoutPrimary());
}

void ClusterClient::Send(const OperationPtr& operation, TableRouter::Route route) {
  const absl::Duration left = operation->deadline - environment_.clock().Now();
  if (left <= absl::ZeroDuration()) return Expire(operation);
  operation->has_fresh_routes = false;
  operation->in_flight = true;
  operation->asked = route;
  const bool another_may_follow =
      !IsWrite(operation->question.kind) || operation->retries == WriteRetries::kAlways;
  const absl::Duration timeout =
      another_may_follow ? std::min(left, options_.attempt_timeout) : left;
  transport_.Call(route.primary, RequestOf(*operation, route.pid, timeout), strand_,
                  [operation](RpcResult result) {
                    if (auto self = operation->client.lock())
                      self->OnAnswer(operation, std::move(result));
                  });
  AskSecondaryLater(operation);
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
  if (!may || operation->backup_timer != kNoTimer) return;
  operation->backup_timer = strand_->PostAfter(after, [operation] {
    if (auto self = operation->client.lock()) self->AskSecondary(operation);
  });
}

void ClusterClient::AskSecondary(const OperationPtr& operation) {
  const absl::Duration left = operation->deadline - environment_.clock().Now();
  const TableRouter& router = operation->table->router;
  if (!operation->done || left <= absl::ZeroDuration() || !router.IsKnown()) return;
  const PartitionId pid = router.Find(operation->question.partition_hash).pid;
  const std::vector<Endpoint>& secondaries = router.Secondaries(pid.index);
  if (secondaries.empty()) return;
  OutboundRequest request = RequestOf(*operation, pid, left);
  request.is_backup_request = true;
  transport_.Call(secondaries[environment_.random().Below(secondaries.size())], std::move(request),
                  strand_, [operation](RpcResult result) {
                    auto self = operation->client.lock();
                    // What it can't say is the primary's to say.
                    if (self != nullptr && result.error == ErrorCode::kOk)
                      self->Finish(operation, std::move(result.body));
                  });
}

void ClusterClient::OnAnswer(const OperationPtr& operation, RpcResult result) {
  operation->in_flight = false;
  if (result.error == ErrorCode::kOk) return Finish(operation, std::move(result.body));
  const TableRouter::Route asked = operation->asked;
  AttemptVerdict verdict = JudgeAttempt(result.error);
  const std::string text =
      absl::StrCat(asked.primary.ToString(), " says ", Text(ErrorCodeName(result.error)),
                   " for partition ", asked.pid.ToString());
  if (result.error == ErrorCode::kInvalidData &&
      operation->question.body.size() > kWriteBytesAlwaysTaken) {
    verdict.effect = AttemptVerdict::Effect::kNone;
  }
  const bool says_nothing = verdict.effect == AttemptVerdict::Effect::kMayHaveHappened;
  const bool may_have_happened = says_nothing && !result.was_never_sent;
  operation->may_have_happened |= may_have_happened;
  operation->last =
      says_nothing ? absl::DeadlineExceededError(text) : absl::Status(verdict.refusal, text);
  Forget(operation, verdict.routes);
  if (verdict.next == AttemptVerdict::Next::kGiveUp) return Refuse(operation, operation->last);
  if (may_have_happened && IsWrite(operation->question.kind) &&
      operation->retries == WriteRetries::kAfterRefusals) {
    return Expire(operation);
  }
  const bool is_right_server = verdict.routes == AttemptVerdict::Routes::kKeep;
  RetryLater(operation, is_right_server ? options_.pause : options_.pause.WithoutPrimary());
}

void ClusterClient::Forget(const OperationPtr& operation, AttemptVerdict::Routes routes) {
  if (routes == AttemptVerdict::Routes::kKeep) return;
  const TableRouter::Route& asked = operation->asked;
  TableRouter& router = operation->table->router;
  if (router.IsKnown() && router.app_id() == asked.pid.app_id) {
    const TableRouter::Route known = router.Find(operation->question.partition_hash);
    // Another operation may have learned better since this one asked.
    if (known.pid != asked.pid || known.primary != asked.primary) return;
    if (routes == AttemptVerdict::Routes::kForgetTable) router.ForgetAll();
    if (routes == AttemptVerdict::Routes::kForgetPartition) router.Forget(asked.pid.index);
  }
  if (operation->done) Refresh(*operation->table);
}

void ClusterClient::RetryLater(const OperationPtr& operation, const RetryPause& limits) {
  if (!operation->done) return;
  operation->has_fresh_routes = false;
  ++operation->attempts;
  const absl::Duration pause = PauseAfter(operation->attempts, limits, environment_.random());
  if (environment_.clock().Now() + pause >= operation->deadline) return Expire(operation);
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
  operation->table->waiting.push_back(operation);
  Refresh(*operation->table);
}

void ClusterClient::Refresh(Table& table) {
  if (table.asking) return;
  table.asking = true;
  meta_->Call<QueryConfigResponse>(
      kRpcQueryConfig, QueryConfigRequest{.app_name = table.name},
      environment_.clock().Now() + options_.timeout,
      [weak = weak_from_this(), &table](absl::StatusOr<QueryConfigResponse> answer) {
        if (auto self = weak.lock()) self->OnRoutes(table, std::move(answer));
      });
}

void ClusterClient::OnRoutes(Table& table, absl::StatusOr<QueryConfigResponse> answer) {
  table.asking = false;
  absl::Status status = answer.status();
  if (status.ok()) status = StatusOfMetaError(answer->err, absl::StrCat("table ", table.name));
  if (status.ok()) status = table.router.Update(*answer);
  if (absl::IsNotFound(status)) table.router.ForgetAll();
  for (const OperationPtr& operation : std::exchange(table.waiting, {})) {
    if (!operation->done) continue;
    if (status.ok()) {
      operation->has_fresh_routes = true;
      Advance(operation);
    } else if (absl::IsNotFound(status) || absl::IsPermissionDenied(status)) {
      Refuse(operation, status);
    } else {
      operation->last = status;
      RetryLater(operation, options_.pause);
    }
  }
}

void ClusterClient::Refuse(const OperationPtr& operation, absl::Status why) {
  if (IsWrite(operation->question.kind) && operation->may_have_happened) {
    why = absl::DeadlineExceededError(
        absl::StrCat("the write may or may not have happened: ", why.message()));
  }
  Finish(operation, std::move(why));
}

void ClusterClient::Expire(const OperationPtr& operation) {
  if (operation->in_flight) {
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
  auto done = std::move(operation->done);
  operation->done = nullptr;
  done(std::move(body));
}

}  // namespace arion
