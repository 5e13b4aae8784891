// What users ask (include/arion/options.h), checked, as requests of the protocol. What can't be
// right is refused here, and nothing is sent. Pure.
//
// Units     `now`: seconds since 2016 (env/clock.h, ExpiryNow).
// Errors    InvalidArgument, with the limit and what was given.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/types/span.h>
#include <arion/options.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messages/client_messages.h"
#include "messages/index_messages.h"

namespace arion {

struct Question;

// At most 65534 bytes. Empty is allowed: operations on one record take an empty hash key.
absl::Status CheckHashKey(std::string_view hash_key);
// The TTL is above zero, rounded up to seconds, and ends in 2084 at the latest; or infinite.
absl::StatusOr<Question> AskToPut(std::string_view hash_key, std::string_view sort_key,
                                  std::string_view value, absl::Duration ttl, uint32_t now);
// A request about one record. `ask`: GetQuestion, TtlQuestion or RemoveQuestion.
absl::StatusOr<Question> AskOfKey(Question (*ask)(std::string raw_key), std::string_view hash_key,
                                  std::string_view sort_key);
// Requests about several records of one hash key, which is not empty. Their lists are not empty,
// their limits not below 0.
absl::StatusOr<Question> AskToMultiPut(std::string_view hash_key,
                                       absl::Span<const SortKeyValue> values, absl::Duration ttl,
                                       uint32_t now);
absl::StatusOr<Question> AskToMultiGet(std::string_view hash_key, const MultiGetOptions& options);
absl::StatusOr<Question> AskToMultiGetKeys(std::string_view hash_key,
                                           absl::Span<const std::string_view> sort_keys,
                                           const MultiGetOptions& options);
absl::StatusOr<Question> AskToMultiRemove(std::string_view hash_key,
                                          absl::Span<const std::string_view> sort_keys);
absl::StatusOr<Question> AskToCount(std::string_view hash_key);
// No TTL in the options: the record keeps its expiry time.
absl::StatusOr<Question> AskToIncr(std::string_view hash_key, std::string_view sort_key, int64_t by,
                                   const IncrOptions& options, uint32_t now);
absl::StatusOr<Question> AskToCheckAndSet(const CheckedSet& set, uint32_t now);
absl::StatusOr<Question> AskToCheckAndMutate(const CheckedMutations& mutations, uint32_t now);
// Requests that open a scan. A prefix filter of sort keys narrows the bounds, so that the server
// reads less. 0 <= part < parts.
absl::StatusOr<GetScannerRequest> AskToScan(std::string_view hash_key, const ScanOptions& options);
absl::StatusOr<GetScannerRequest> AskToScanTable(const TableScanOptions& options);

// By an index. NaN is no bound.
absl::StatusOr<FindRequest> AskToFind(std::string_view index, const FindOptions& options);

// Records of a scan as rows. Internal: a record's key is not a raw key.
absl::StatusOr<std::vector<Row>> RowsOf(std::vector<KeyValue> records);
// Answers as users see them. The protocol's error codes become MultiGetResult::is_complete and
// CheckOutcome::is_passed.
MultiGetResult ResultOf(std::string_view hash_key, MultiGetResponse answer);
CheckOutcome OutcomeOf(CheckResponse answer);
// Internal: no raw key, or a field of a kind that is not known here.
absl::StatusOr<IndexedRow> RowOf(FoundRow found);

}  // namespace arion
