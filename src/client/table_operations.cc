// SPDX-License-Identifier: Apache-2.0
#include "client/table_operations.h"

#include <utility>

#include "base/crc.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

enum class Doubt { kNone, kMayHaveHappened };

absl::Status StatusOfStorage(int32_t error, Doubt doubt) {
  const std::string text = absl::StrCat("storage error ", error);
  switch (static_cast<StorageError>(error)) {
    case StorageError::kOk:
      return absl::OkStatus();
    case StorageError::kInvalidArgument:
    case StorageError::kNotSupported:
      return absl::InvalidArgumentError(text);
    default:
      break;
  }
  if (doubt == Doubt::kMayHaveHappened)
    return absl::DeadlineExceededError(text + "; the write may or may not have happened");
  return absl::InternalError(text);
}

// `fine`: an error that is an answer.
template <class Response>
absl::StatusOr<Response> Read(const absl::StatusOr<std::string>& body, Doubt doubt,
                              StorageError fine = StorageError::kOk) {
  if (!body.ok()) return body.status();
  absl::StatusOr<Response> response = DecodeWrapped<Response>(*body);
  if (!response.ok()) {
    const std::string text = absl::StrCat("unreadable answer: ", response.status().message());
    return doubt == Doubt::kNone ? absl::InternalError(text) : absl::DeadlineExceededError(text);
  }
  if (response->error != static_cast<int32_t>(fine))
    RETURN_IF_ERROR(StatusOfStorage(response->error, doubt));
  return response;
}

// Whether the keys can be sent at all; if not, `done` hears of it.
template <class Done>
bool Refuses(ClusterClient& client, std::string_view hash_key, Done& done) {
  if (hash_key.size() <= kHashKeyBytesMax) return false;
  client.strand()->Post([done = std::move(done)]() mutable {
    done(absl::InvalidArgumentError("hash key over 65534 bytes"));
  });
  return true;
}

template <class Response, class Request>
void AskOfHashKey(ClusterClient& client, const std::string& table, const char* name,
                  const Request& request, std::string_view hash_key, Doubt doubt, StorageError fine,
                  Answered<Response> done) {
  if (Refuses(client, hash_key, done)) return;
  client.Ask(table, name, EncodeWrapped(request), PartitionHash(JoinRawKey(hash_key, "")),
             [doubt, fine, done = std::move(done)](absl::StatusOr<std::string> body) mutable {
               done(Read<Response>(body, doubt, fine));
             });
}

}  // namespace

void MultiPut(ClusterClient& client, const std::string& table, const MultiPutRequest& request,
              ClusterClient::StatusCallback done) {
  AskOfHashKey<UpdateResponse>(
      client, table, kRpcMultiPut, request, request.hash_key, Doubt::kMayHaveHappened,
      StorageError::kOk, [done = std::move(done)](auto answer) mutable { done(answer.status()); });
}

void MultiRemove(ClusterClient& client, const std::string& table, const MultiRemoveRequest& request,
                 ClusterClient::StatusCallback done) {
  AskOfHashKey<MultiRemoveResponse>(
      client, table, kRpcMultiRemove, request, request.hash_key, Doubt::kMayHaveHappened,
      StorageError::kOk, [done = std::move(done)](auto answer) mutable { done(answer.status()); });
}

void Incr(ClusterClient& client, const std::string& table, const IncrRequest& request,
          Answered<int64_t> done) {
  client.Ask(table, kRpcIncr, EncodeWrapped(request), PartitionHash(request.key),
             [done = std::move(done)](absl::StatusOr<std::string> body) mutable {
               auto answer = Read<IncrResponse>(body, Doubt::kMayHaveHappened);
               if (!answer.ok()) return done(answer.status());
               done(answer->new_value);
             });
}

void CheckAndSet(ClusterClient& client, const std::string& table, const CheckAndSetRequest& request,
                 Answered<CheckResponse> done) {
  AskOfHashKey(client, table, kRpcCheckAndSet, request, request.hash_key, Doubt::kMayHaveHappened,
               StorageError::kTryAgain, std::move(done));
}

void CheckAndMutate(ClusterClient& client, const std::string& table,
                    const CheckAndMutateRequest& request, Answered<CheckResponse> done) {
  AskOfHashKey(client, table, kRpcCheckAndMutate, request, request.hash_key,
               Doubt::kMayHaveHappened, StorageError::kTryAgain, std::move(done));
}

void MultiGet(ClusterClient& client, const std::string& table, const MultiGetRequest& request,
              Answered<MultiGetResponse> done) {
  AskOfHashKey(client, table, kRpcMultiGet, request, request.hash_key, Doubt::kNone,
               StorageError::kIncomplete, std::move(done));
}

void CountSortKeys(ClusterClient& client, const std::string& table, std::string_view hash_key,
                   Answered<int64_t> done) {
  AskOfHashKey<CountResponse>(
      client, table, kRpcSortKeyCount, Blob(hash_key), hash_key, Doubt::kNone, StorageError::kOk,
      [done = std::move(done)](absl::StatusOr<CountResponse> answer) mutable {
        if (!answer.ok()) return done(answer.status());
        if (answer->count < 0) return done(absl::DeadlineExceededError("not counted in time"));
        done(answer->count);
      });
}

// ---- scans ----

TableScan::TableScan(std::shared_ptr<ClusterClient> client, std::string table,
                     GetScannerRequest request)
    : client_(std::move(client)), table_(std::move(table)), request_(std::move(request)) {}

std::shared_ptr<TableScan> TableScan::OfHashKey(std::shared_ptr<ClusterClient> client,
                                                std::string table, GetScannerRequest request) {
  std::shared_ptr<TableScan> scan(
      new TableScan(std::move(client), std::move(table), std::move(request)));
  const std::optional<KeyParts> parts = SplitRawKey(scan->request_.start_key);
  scan->partition_hash_ =
      parts ? PartitionHash(JoinRawKey(parts->hash_key, "")) : PartitionHash("");
  scan->request_.validate_partition_hash = false;
  return scan;
}

std::shared_ptr<TableScan> TableScan::OfTable(std::shared_ptr<ClusterClient> client,
                                              std::string table, GetScannerRequest request) {
  std::shared_ptr<TableScan> scan(
      new TableScan(std::move(client), std::move(table), std::move(request)));
  scan->is_of_table_ = true;
  scan->request_.start_key = std::string(2, '\0');
  scan->request_.start_inclusive = true;
  scan->request_.stop_key = "\xff\xff";
  scan->request_.full_scan = true;
  scan->request_.validate_partition_hash = true;
  scan->partitions_left_ = -1;
  return scan;
}

void TableScan::Next(Answered<std::vector<KeyValue>> done) {
  if (scan_id_ == kNotBegun && is_of_table_ && partitions_left_ < 0)
    return client_->OpenTable(
        table_, [self = shared_from_this(), done = std::move(done)](absl::Status status) mutable {
          const int32_t count = status.ok() ? self->client_->PartitionCount(self->table_) : 0;
          if (count == 0)
            return done(status.ok() ? absl::UnavailableError("the table's partitions are not known")
                                    : status);
          self->partitions_left_ = count - 1;
          self->partition_hash_ = static_cast<uint64_t>(count - 1);
          self->Next(std::move(done));
        });
  if (scan_id_ == kNotBegun) return Begin(std::move(done));
  if (scan_id_ == kScanEnded) {
    if (partitions_left_ == 0)
      return client_->strand()->Post(
          [done = std::move(done)]() mutable { done(std::vector<KeyValue>()); });
    --partitions_left_;
    partition_hash_ = static_cast<uint64_t>(partitions_left_);
    request_.start_key = std::string(2, '\0');
    request_.start_inclusive = true;
    return Begin(std::move(done));
  }
  client_->Ask(table_, kRpcScan, EncodeWrapped(ScanRequest{.context_id = scan_id_}),
               partition_hash_,
               [self = shared_from_this(), done = std::move(done)](auto body) mutable {
                 self->OnBatch(std::move(done), std::move(body));
               });
}

void TableScan::Begin(Answered<std::vector<KeyValue>> done) {
  scan_id_ = kNotBegun;  // until it is answered: who asks again begins again
  client_->Ask(table_, kRpcGetScanner, EncodeWrapped(request_), partition_hash_,
               [self = shared_from_this(), done = std::move(done)](auto body) mutable {
                 self->OnBatch(std::move(done), std::move(body));
               });
}

void TableScan::OnBatch(Answered<std::vector<KeyValue>> done, absl::StatusOr<std::string> body) {
  auto answer = Read<ScanResponse>(body, Doubt::kNone, StorageError::kNotFound);
  if (!answer.ok()) return done(answer.status());
  if (answer->error != 0) return Begin(std::move(done));  // forgotten, or of another server
  scan_id_ = answer->context_id;
  if (answer->kvs.empty()) return Next(std::move(done));
  request_.start_key = answer->kvs.back().key;
  request_.start_inclusive = false;
  done(std::move(answer->kvs));
}

void TableScan::Close() {
  if (scan_id_ < 0) return;
  client_->Tell(table_, kRpcClearScanner, EncodeWrapped(scan_id_), partition_hash_);
  scan_id_ = kScanEnded;
  partitions_left_ = 0;
}

}  // namespace arion
