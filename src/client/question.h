// Question: a data request as bytes, with all that routing and retrying must know of it; and what
// the answers' bytes say. Pure.
//
//   client.Ask(table, GetQuestion(JoinRawKey("user1", "name")), {},
//              [](Body body) { absl::StatusOr<std::string> value = GetAnswer(body); ... });
//
// Shapes    Requests and answers are the protocol's (messages/client_messages.h), expiry times
//           absolute. Hash keys <= 65534 bytes.
// Errors    Of answers: as include/arion/table.h. A write whose answer can't be read, or whose
//           storage failed, is DeadlineExceeded: it may have happened. InvalidArgument: what the
//           server calls not valid; nothing was written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "messages/client_messages.h"

namespace arion {

// A request that is ready to be sent, any number of times. An empty `name` asks nothing: such an
// operation only waits until the table's partitions are known.
struct Question {
  // kDecidedWrite: the server decides it from what it holds, so it must not happen twice.
  enum class Kind { kRead, kWrite, kDecidedWrite };
  // The RPC code, a string literal.
  const char* name = "";
  Kind kind = Kind::kRead;
  // Chooses the partition, modulo their number.
  uint64_t partition_hash = 0;
  std::string body;
  // It is of more than one key: right only while the table has that many partitions
  // (TableRouter::present_count). 0: always.
  int32_t present_count = 0;
};

// Questions about one record, by its raw key (JoinRawKey).
Question GetQuestion(std::string raw_key);
Question TtlQuestion(std::string raw_key);
Question RemoveQuestion(std::string raw_key);
Question SortKeyCountQuestion(std::string_view hash_key);
Question QuestionOf(const UpdateRequest& put);
Question QuestionOf(const MultiPutRequest& request);
Question QuestionOf(const MultiRemoveRequest& request);
Question QuestionOf(const MultiGetRequest& request);
Question QuestionOf(const IncrRequest& request);
Question QuestionOf(const CheckAndSetRequest& request);
Question QuestionOf(const CheckAndMutateRequest& request);
// All its keys must be in one partition: the first of them routes the request.
Question QuestionOf(const BatchGetRequest& request);
// Scans of the partition that `partition_hash` falls into.
Question QuestionOf(const GetScannerRequest& request, uint64_t partition_hash);
Question QuestionOf(const ScanRequest& request, uint64_t partition_hash);

// An answer's bytes, or why there are none.
using Body = absl::StatusOr<std::string>;

// What the answer to a PUT, MULTI_PUT or REMOVE says.
absl::Status PutAnswer(const Body& body);
absl::Status MultiRemoveAnswer(const Body& body);
// The value. NotFound: there is no such record.
absl::StatusOr<std::string> GetAnswer(const Body& body);
// Seconds the record has still to live; -1: it never expires.
absl::StatusOr<int32_t> TtlAnswer(const Body& body);
// The new value. InvalidArgument: the record holds no number, or the sum is beyond int64.
absl::StatusOr<int64_t> IncrAnswer(const Body& body);
// DeadlineExceeded: the server gave up counting.
absl::StatusOr<int64_t> CountAnswer(const Body& body);
// Its `error` is kOk, or kTryAgain: the check did not pass and nothing was written.
absl::StatusOr<CheckResponse> CheckAnswer(const Body& body);
// Its `error` is kOk, or kIncomplete: there is more.
absl::StatusOr<MultiGetResponse> MultiGetAnswer(const Body& body);
// Only the records that exist, in the order of the keys asked for.
absl::StatusOr<BatchGetResponse> BatchGetAnswer(const Body& body);
// Its `error` is kOk, or kNotFound: the server has forgotten the scan.
absl::StatusOr<ScanResponse> ScanAnswer(const Body& body);

}  // namespace arion
