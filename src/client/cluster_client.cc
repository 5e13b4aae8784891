// SPDX-License-Identifier: Apache-2.0
#include "client/cluster_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/crc.h"
#include "base/log.h"
#include "base/mutation.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "messages/client_messages.h"

namespace arion {
namespace {

enum class Kind { kRead, kWrite, kOpen };

// No server refuses a smaller write for its size.
constexpr size_t kWriteBytesAlwaysTaken = 1'000'000;

absl::Status StatusOfStorage(int32_t error, Kind kind) {
  switch (static_cast<StorageError>(error)) {
    case StorageError::kOk:
      return absl::OkStatus();
    case StorageError::kNotFound:
      return absl::NotFoundError("no such record");
    case StorageError::kInvalidArgument:
    case StorageError::kNotSupported:
      return absl::InvalidArgumentError(absl::StrCat("storage error ", error));
    default:
      break;
  }
  // The mutation was in the log before storage failed.
  if (kind == Kind::kWrite) {
    return absl::DeadlineExceededError(
        absl::StrCat("storage error ", error, "; the write may or may not have happened"));
  }
  return absl::InternalError(absl::StrCat("storage error ", error));
}

absl::Status WriteOutcome(const absl::StatusOr<std::string>& body) {
  if (!body.ok()) return body.status();
  absl::StatusOr<UpdateResponse> response = DecodeWrapped<UpdateResponse>(*body);
  if (!response.ok()) {
    return absl::DeadlineExceededError(
        absl::StrCat("unreadable answer; the write may or may not have happened: ",
                     response.status().message()));
  }
  return StatusOfStorage(response->error, Kind::kWrite);
}

template <class Response>
absl::StatusOr<Response> ReadOutcome(const absl::StatusOr<std::string>& body) {
  if (!body.ok()) return body.status();
  absl::StatusOr<Response> response = DecodeWrapped<Response>(*body);
  if (!response.ok()) {
    return absl::InternalError(absl::StrCat("unreadable answer: ", response.status().message()));
  }
  RETURN_IF_ERROR(StatusOfStorage(response->error, Kind::kRead));
  return response;
}

}  // namespace

struct ClusterClient::Operation {
  Kind kind = Kind::kRead;
  std::string table;
  std::string name;  // RPC code
  std::string body;
  uint64_t partition_hash = 0;
  WriteRetries retries = WriteRetries::kAlways;
  absl::AnyInvocable<void(absl::StatusOr<std::string>)> done;  // empty: finished

  Instant deadline;
  int attempts = 0;
  bool in_flight = false;
  bool may_have_happened = false;
  bool has_fresh_routes = false;  // since the last pause
  TimerId timer = kNoTimer;       // set as soon as something but the transport is waited for
  absl::Status last = absl::DeadlineExceededError("not asked");
};

struct ClusterClient::Table {
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
  auto operation = std::make_shared<Operation>();
  operation->kind = Kind::kOpen;
  operation->table = table;
  operation->done = [done = std::move(done)](absl::StatusOr<std::string> body) mutable {
    done(body.status());
  };
  TableNamed(table).router.ForgetAll();
  Start(std::move(operation));
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
  Ask(table, kRpcPut, EncodeWrapped(request), PartitionHash(request.key),
      [done = std::move(done)](absl::StatusOr<std::string> body) mutable {
        done(WriteOutcome(body));
      });
}

void ClusterClient::Ask(const std::string& table, const char* name, std::string body,
                        uint64_t partition_hash, BodyCallback done) {
  const std::optional<WriteCode> write = FindWriteCode(name);
  const bool is_decided = write == WriteCode::kIncr || write == WriteCode::kCheckAndSet ||
                          write == WriteCode::kCheckAndMutate;
  auto operation = std::make_shared<Operation>();
  operation->kind = write ? Kind::kWrite : Kind::kRead;
  operation->table = table;
  operation->name = name;
  operation->body = std::move(body);
  operation->partition_hash = partition_hash;
  operation->retries = is_decided ? WriteRetries::kAfterRefusals : options_.write_retries;
  operation->done = std::move(done);
  Start(std::move(operation));
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

void ClusterClient::AskOfKey(const std::string& table, const char* name, std::string_view hash_key,
                             std::string_view sort_key, BodyCallback done) {
  if (hash_key.size() > kHashKeyBytesMax) {
    return strand_->Post([done = std::move(done)]() mutable {
      done(absl::InvalidArgumentError("hash key over 65534 bytes"));
    });
  }
  const Blob key = JoinRawKey(hash_key, sort_key);
  Ask(table, name, EncodeWrapped(key), PartitionHash(key), std::move(done));
}

void ClusterClient::Remove(const std::string& table, std::string_view hash_key,
                           std::string_view sort_key, StatusCallback done) {
  AskOfKey(table, kRpcRemove, hash_key, sort_key,
           [done = std::move(done)](absl::StatusOr<std::string> body) mutable {
             done(WriteOutcome(body));
           });
}

void ClusterClient::Get(const std::string& table, std::string_view hash_key,
                        std::string_view sort_key, ValueCallback done) {
  AskOfKey(table, kRpcGet, hash_key, sort_key,
           [done = std::move(done)](absl::StatusOr<std::string> body) mutable {
             absl::StatusOr<ReadResponse> response = ReadOutcome<ReadResponse>(body);
             if (!response.ok()) return done(response.status());
             done(std::move(response->value.bytes));
           });
}

void ClusterClient::Ttl(const std::string& table, std::string_view hash_key,
                        std::string_view sort_key, TtlCallback done) {
  AskOfKey(table, kRpcTtl, hash_key, sort_key,
           [done = std::move(done)](absl::StatusOr<std::string> body) mutable {
             absl::StatusOr<TtlResponse> response = ReadOutcome<TtlResponse>(body);
             if (!response.ok()) return done(response.status());
             done(response->ttl_seconds);
           });
}

ClusterClient::Table& ClusterClient::TableNamed(const std::string& name) {
  std::unique_ptr<Table>& table = tables_[name];
  if (table == nullptr) table = std::make_unique<Table>();
  return *table;
}

void ClusterClient::Start(OperationPtr operation) {
  CHECK_ON_STRAND(strand_);
  operation->deadline = environment_.clock().Now() + options_.timeout;
  Advance(operation);
}

void ClusterClient::Advance(const OperationPtr& operation) {
  if (!operation->done) return;
  const Table& table = TableNamed(operation->table);
  if (!table.router.IsKnown()) return WaitForRoutes(operation);
  if (operation->kind == Kind::kOpen) return Finish(operation, std::string());
  const TableRouter::Route route = table.router.Find(operation->partition_hash);
  if (route.primary.IsValid()) return Send(operation, route);
  if (!operation->has_fresh_routes) return WaitForRoutes(operation);
  operation->last =
      absl::UnavailableError(absl::StrCat("partition ", route.pid.ToString(), " has no primary"));
  RetryLater(operation);
}

void ClusterClient::Send(const OperationPtr& operation, TableRouter::Route route) {
  const absl::Duration left = operation->deadline - environment_.clock().Now();
  if (left <= absl::ZeroDuration()) return Expire(operation);
  operation->has_fresh_routes = false;
  operation->in_flight = true;
  const bool another_may_follow =
      operation->kind == Kind::kRead || operation->retries == WriteRetries::kAlways;
  OutboundRequest request{
      .name = operation->name,
      .body = operation->body,
      .pid = route.pid,
      .thread_hash = route.pid.thread_hash(),
      .partition_hash = operation->partition_hash,
      .timeout = another_may_follow ? std::min(left, options_.attempt_timeout) : left};
  transport_.Call(route.primary, std::move(request), strand_,
                  [weak = weak_from_this(), operation, route](RpcResult result) {
                    if (auto self = weak.lock()) {
                      self->OnAnswer(operation, route, std::move(result));
                    }
                  });
}

void ClusterClient::OnAnswer(const OperationPtr& operation, TableRouter::Route asked,
                             RpcResult result) {
  operation->in_flight = false;
  if (result.error == ErrorCode::kOk) return Finish(operation, std::move(result.body));
  AttemptVerdict verdict = JudgeAttempt(result.error);
  const std::string text =
      absl::StrCat(asked.primary.ToString(), " says ", Text(ErrorCodeName(result.error)),
                   " for partition ", asked.pid.ToString());
  if (result.error == ErrorCode::kInvalidData && operation->body.size() > kWriteBytesAlwaysTaken) {
    verdict.effect = AttemptVerdict::Effect::kNone;
  }
  const bool may_have_happened = verdict.effect == AttemptVerdict::Effect::kMayHaveHappened;
  operation->may_have_happened |= may_have_happened;
  operation->last =
      may_have_happened ? absl::DeadlineExceededError(text) : absl::Status(verdict.refusal, text);
  Forget(operation, asked, verdict.routes);
  if (verdict.next == AttemptVerdict::Next::kGiveUp) return Refuse(operation, operation->last);
  if (may_have_happened && operation->kind == Kind::kWrite &&
      operation->retries == WriteRetries::kAfterRefusals) {
    return Expire(operation);
  }
  RetryLater(operation);
}

void ClusterClient::Forget(const OperationPtr& operation, TableRouter::Route asked,
                           AttemptVerdict::Routes routes) {
  if (routes == AttemptVerdict::Routes::kKeep) return;
  Table& table = TableNamed(operation->table);
  if (table.router.IsKnown() && table.router.app_id() == asked.pid.app_id) {
    const TableRouter::Route known = table.router.Find(operation->partition_hash);
    // Another operation may have learned better since this one asked.
    if (known.pid != asked.pid || known.primary != asked.primary) return;
    if (routes == AttemptVerdict::Routes::kForgetTable) table.router.ForgetAll();
    if (routes == AttemptVerdict::Routes::kForgetPartition) table.router.Forget(asked.pid.index);
  }
  if (operation->done) Refresh(operation->table);
}

void ClusterClient::RetryLater(const OperationPtr& operation) {
  if (!operation->done) return;
  operation->has_fresh_routes = false;
  ++operation->attempts;
  const absl::Duration pause =
      PauseAfter(operation->attempts, options_.pause, environment_.random());
  if (environment_.clock().Now() + pause >= operation->deadline) return Expire(operation);
  strand_->PostAfter(pause, [weak = weak_from_this(), operation] {
    if (auto self = weak.lock()) self->Advance(operation);
  });
}

void ClusterClient::WaitForRoutes(const OperationPtr& operation) {
  const absl::Duration left = operation->deadline - environment_.clock().Now();
  if (left <= absl::ZeroDuration()) return Expire(operation);
  if (operation->timer == kNoTimer) {
    operation->timer = strand_->PostAfter(left, [weak = weak_from_this(), operation] {
      if (auto self = weak.lock()) self->Expire(operation);
    });
  }
  TableNamed(operation->table).waiting.push_back(operation);
  Refresh(operation->table);
}

void ClusterClient::Refresh(const std::string& table_name) {
  Table& table = TableNamed(table_name);
  if (table.asking) return;
  table.asking = true;
  meta_->Call<QueryConfigResponse>(
      kRpcQueryConfig, QueryConfigRequest{.app_name = table_name},
      environment_.clock().Now() + options_.timeout,
      [weak = weak_from_this(), table_name](absl::StatusOr<QueryConfigResponse> answer) {
        if (auto self = weak.lock()) self->OnRoutes(table_name, std::move(answer));
      });
}

void ClusterClient::OnRoutes(const std::string& table_name,
                             absl::StatusOr<QueryConfigResponse> answer) {
  Table& table = TableNamed(table_name);
  table.asking = false;
  absl::Status status = answer.status();
  if (status.ok()) status = StatusOfMetaError(answer->err, absl::StrCat("table ", table_name));
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
      RetryLater(operation);
    }
  }
}

void ClusterClient::Refuse(const OperationPtr& operation, absl::Status why) {
  if (operation->kind == Kind::kWrite && operation->may_have_happened) {
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
  // A write that reached nobody, or was refused by all, is refused.
  if (operation->kind == Kind::kWrite && !operation->may_have_happened) {
    return Refuse(operation, absl::UnavailableError(
                                 absl::StrCat("nothing was written: ", operation->last.message())));
  }
  Refuse(operation, operation->last);
}

void ClusterClient::Finish(const OperationPtr& operation, absl::StatusOr<std::string> body) {
  if (!operation->done) return;
  if (operation->timer != kNoTimer) strand_->Cancel(operation->timer);
  auto done = std::move(operation->done);
  operation->done = nullptr;
  done(std::move(body));
}

}  // namespace arion
