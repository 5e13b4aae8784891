// Question: a data request as bytes, with all that routing and retrying must know of it; and what
// the answers' bytes say. Pure.
//
// Shapes    Requests and answers are the protocol's (messages/client_messages.h), expiry times
//           absolute. Hash keys <= 65534 bytes.
// Errors    Of answers: as include/arion/table.h; a write whose answer can't be read, or whose
//           storage failed, is DeadlineExceeded: it may have happened. InvalidArgument: what the
//           server calls that; nothing was written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "messages/client_messages.h"

namespace arion {

struct Question {
  // kDecidedWrite: it is decided from what is there, so it must not happen twice.
  enum class Kind { kRead, kWrite, kDecidedWrite };
  const char* name = "";  // RPC code
  Kind kind = Kind::kRead;
  uint64_t partition_hash = 0;
  std::string body;
};

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
// All its keys are in one partition.
Question QuestionOf(const BatchGetRequest& request);
// Of the partition that `partition_hash` is in.
Question QuestionOf(const GetScannerRequest& request, uint64_t partition_hash);
Question QuestionOf(const ScanRequest& request, uint64_t partition_hash);

using Body = absl::StatusOr<std::string>;  // an answer's bytes, or why there are none

absl::Status PutAnswer(const Body& body);  // MULTI_PUT, REMOVE too
absl::Status MultiRemoveAnswer(const Body& body);
absl::StatusOr<std::string> GetAnswer(const Body& body);
absl::StatusOr<int32_t> TtlAnswer(const Body& body);    // seconds; -1: never expires
absl::StatusOr<int64_t> IncrAnswer(const Body& body);   // the new value
absl::StatusOr<int64_t> CountAnswer(const Body& body);  // DeadlineExceeded: not counted in time
absl::StatusOr<CheckResponse> CheckAnswer(const Body& body);        // `error` kTryAgain: not passed
absl::StatusOr<MultiGetResponse> MultiGetAnswer(const Body& body);  // `error` kIncomplete: more
absl::StatusOr<BatchGetResponse> BatchGetAnswer(const Body& body);
absl::StatusOr<ScanResponse> ScanAnswer(const Body& body);  // `error` kNotFound: forgotten

}  // namespace arion
