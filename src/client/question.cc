// SPDX-License-Identifier: Apache-2.0
#include "client/question.h"

#include <utility>

#include "base/crc.h"
#include "base/error_code.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

using Kind = Question::Kind;

// The hash that chooses the partition: of the hash key where there is one, else of the sort key
// (PartitionHash).
template <class Request>
Question OfHashKey(const char* name, Kind kind, const Request& request) {
  return {name, kind, Crc64(request.hash_key), EncodeWrapped(request)};
}

Question OfRawKey(const char* name, Kind kind, std::string raw_key) {
  const uint64_t hash = PartitionHash(raw_key);
  return {name, kind, hash, EncodeWrapped(Blob(std::move(raw_key)))};
}

// `error` is the storage status of a data response: the call itself succeeded (rpc/PROTOCOL.md
// 4.5).
absl::Status StatusOfStorage(int32_t error, Kind kind) {
  const auto text = [error] { return absl::StrCat("storage error ", error); };
  switch (static_cast<StorageError>(error)) {
    case StorageError::kOk:
      return absl::OkStatus();
    case StorageError::kNotFound:
      return absl::NotFoundError("no such record");
    case StorageError::kInvalidArgument:
    case StorageError::kNotSupported:
      return absl::InvalidArgumentError(text() + ": the server calls it not valid");
    default:
      break;
  }
  // The mutation was in the log before storage failed.
  if (kind == Kind::kWrite)
    return absl::DeadlineExceededError(text() + "; the write may or may not have happened");
  return absl::InternalError(text());
}

// What INCR and the checks call not valid is nearly always this.
template <class Response>
absl::StatusOr<Response> OrNoNumber(absl::StatusOr<Response> answer) {
  if (!absl::IsInvalidArgument(answer.status())) return answer;
  return absl::InvalidArgumentError("a value that is to be a number is none, or goes beyond int64");
}

// `fine`: an error that is an answer.
template <class Response>
absl::StatusOr<Response> Read(const Body& body, Kind kind, StorageError fine = StorageError::kOk) {
  if (!body.ok()) return body.status();
  absl::StatusOr<Response> response = DecodeWrapped<Response>(*body);
  if (!response.ok()) {
    const std::string text = absl::StrCat("unreadable answer: ", response.status().message());
    // The server did carry the write out, and its answer is lost: as after a timeout.
    if (kind == Kind::kRead) return absl::InternalError(text);
    return absl::DeadlineExceededError(text + "; the write may or may not have happened");
  }
  if (response->error != static_cast<int32_t>(fine))
    RETURN_IF_ERROR(StatusOfStorage(response->error, kind));
  return response;
}

}  // namespace

Question GetQuestion(std::string raw_key) {
  return OfRawKey(kRpcGet, Kind::kRead, std::move(raw_key));
}
Question TtlQuestion(std::string raw_key) {
  return OfRawKey(kRpcTtl, Kind::kRead, std::move(raw_key));
}
Question RemoveQuestion(std::string raw_key) {
  return OfRawKey(kRpcRemove, Kind::kWrite, std::move(raw_key));
}
Question SortKeyCountQuestion(std::string_view hash_key) {
  return {kRpcSortKeyCount, Kind::kRead, Crc64(hash_key), EncodeWrapped(Blob(hash_key))};
}
Question QuestionOf(const UpdateRequest& put) {
  return {kRpcPut, Kind::kWrite, PartitionHash(put.key), EncodeWrapped(put)};
}
Question QuestionOf(const MultiPutRequest& request) {
  return OfHashKey(kRpcMultiPut, Kind::kWrite, request);
}
Question QuestionOf(const MultiRemoveRequest& request) {
  return OfHashKey(kRpcMultiRemove, Kind::kWrite, request);
}
Question QuestionOf(const MultiGetRequest& request) {
  return OfHashKey(kRpcMultiGet, Kind::kRead, request);
}
Question QuestionOf(const IncrRequest& request) {
  // A second INCR would add once more, so it is not a plain write.
  return {kRpcIncr, Kind::kDecidedWrite, PartitionHash(request.key), EncodeWrapped(request)};
}
Question QuestionOf(const CheckAndSetRequest& request) {
  return OfHashKey(kRpcCheckAndSet, Kind::kDecidedWrite, request);
}
Question QuestionOf(const CheckAndMutateRequest& request) {
  return OfHashKey(kRpcCheckAndMutate, Kind::kDecidedWrite, request);
}
Question QuestionOf(const BatchGetRequest& request) {
  // A batch goes to one partition, so any of its keys gives the hash.
  const FullKey first = request.keys.empty() ? FullKey() : request.keys.front();
  const std::string_view hashed = first.hash_key.bytes.empty() ? first.sort_key : first.hash_key;
  return {kRpcBatchGet, Kind::kRead, Crc64(hashed), EncodeWrapped(request)};
}
Question QuestionOf(const GetScannerRequest& request, uint64_t partition_hash) {
  return {kRpcGetScanner, Kind::kRead, partition_hash, EncodeWrapped(request)};
}
Question QuestionOf(const ScanRequest& request, uint64_t partition_hash) {
  return {kRpcScan, Kind::kRead, partition_hash, EncodeWrapped(request)};
}

absl::Status PutAnswer(const Body& body) {
  return Read<UpdateResponse>(body, Kind::kWrite).status();
}
absl::Status MultiRemoveAnswer(const Body& body) {
  return Read<MultiRemoveResponse>(body, Kind::kWrite).status();
}
absl::StatusOr<std::string> GetAnswer(const Body& body) {
  ASSIGN_OR_RETURN(ReadResponse answer, Read<ReadResponse>(body, Kind::kRead));
  return std::move(answer.value.bytes);
}
absl::StatusOr<int32_t> TtlAnswer(const Body& body) {
  ASSIGN_OR_RETURN(const TtlResponse answer, Read<TtlResponse>(body, Kind::kRead));
  return answer.ttl_seconds;
}
absl::StatusOr<int64_t> IncrAnswer(const Body& body) {
  ASSIGN_OR_RETURN(const IncrResponse answer, OrNoNumber(Read<IncrResponse>(body, Kind::kWrite)));
  return answer.new_value;
}
absl::StatusOr<int64_t> CountAnswer(const Body& body) {
  ASSIGN_OR_RETURN(const CountResponse answer, Read<CountResponse>(body, Kind::kRead));
  if (answer.count < 0) return absl::DeadlineExceededError("not counted in time");
  return answer.count;
}
absl::StatusOr<CheckResponse> CheckAnswer(const Body& body) {
  return OrNoNumber(Read<CheckResponse>(body, Kind::kWrite, StorageError::kTryAgain));
}
absl::StatusOr<MultiGetResponse> MultiGetAnswer(const Body& body) {
  return Read<MultiGetResponse>(body, Kind::kRead, StorageError::kIncomplete);
}
absl::StatusOr<BatchGetResponse> BatchGetAnswer(const Body& body) {
  return Read<BatchGetResponse>(body, Kind::kRead);
}
absl::StatusOr<ScanResponse> ScanAnswer(const Body& body) {
  return Read<ScanResponse>(body, Kind::kRead, StorageError::kNotFound);
}

}  // namespace arion
