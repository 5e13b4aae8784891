// What users ask (include/arion/options.h), checked, as requests of the protocol: what can't be right
// is refused here, and nothing is sent. Pure.
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

#include "client/question.h"
#include "client/table_scan.h"

namespace arion {

absl::Status CheckHashKey(std::string_view hash_key);
absl::StatusOr<Question> AskToPut(std::string_view hash_key, std::string_view sort_key,
                                  std::string_view value, absl::Duration ttl, uint32_t now);
// `ask`: GetQuestion, TtlQuestion or RemoveQuestion.
absl::StatusOr<Question> AskOfKey(Question (*ask)(std::string raw_key), std::string_view hash_key,
                                  std::string_view sort_key);
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
absl::StatusOr<Question> AskToIncr(std::string_view hash_key, std::string_view sort_key, int64_t by,
                                   const IncrOptions& options, uint32_t now);
absl::StatusOr<Question> AskToCheckAndSet(const CheckedSet& set, uint32_t now);
absl::StatusOr<Question> AskToCheckAndMutate(const CheckedMutations& mutations, uint32_t now);
absl::StatusOr<GetScannerRequest> AskToScan(std::string_view hash_key, const ScanOptions& options);
absl::StatusOr<GetScannerRequest> AskToScanTable(const TableScanOptions& options);

// Internal: a key that is none.
absl::StatusOr<std::vector<Row>> RowsOf(std::vector<KeyValue> records);
MultiGetResult ResultOf(std::string_view hash_key, MultiGetResponse answer);
CheckOutcome OutcomeOf(CheckResponse answer);

}  // namespace arion
