// SPDX-License-Identifier: Apache-2.0
#include "client/user_requests.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/raw_key.h"
#include "base/status.h"
#include "client/question.h"
#include "env/clock.h"
#include "messages/index_definition.h"

namespace arion {
namespace {

// Public options are cast to the protocol's numbers.
static_assert(kHashKeyLimitBytes == kHashKeyBytesMax);
static_assert(static_cast<int32_t>(Check::Type::kNumberGreater) ==
              static_cast<int32_t>(CheckType::kIntGreater));
static_assert(static_cast<int32_t>(KeyFilter::Match::kPostfix) ==
              static_cast<int32_t>(FilterType::kPostfix));

// Of operations on several records: an empty hash key has no place of its own.
absl::Status CheckSharedHashKey(std::string_view hash_key) {
  if (hash_key.empty())
    return absl::InvalidArgumentError("the hash key is empty; here it has 1 to 65534 bytes");
  return CheckHashKey(hash_key);
}

absl::Status CheckLimit(int32_t given, std::string_view name) {
  if (given >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Text(name), " is ", given, "; at least 0, which is the server's limit"));
}

absl::Status CheckNotEmpty(size_t count, std::string_view what) {
  if (count > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("no ", Text(what), " given; at least 1"));
}

// Absolute, 0 = never. The times of the protocol end in 2084.
absl::StatusOr<int32_t> ExpiryOf(absl::Duration ttl, uint32_t now) {
  if (ttl == absl::InfiniteDuration()) return 0;
  // Rounded up: the protocol counts whole seconds, and a record must not go before its time.
  const int64_t seconds = absl::ToInt64Seconds(absl::Ceil(ttl, absl::Seconds(1)));
  const int64_t most = int64_t{std::numeric_limits<int32_t>::max()} - now;
  if (ttl > absl::ZeroDuration() && seconds <= most) return static_cast<int32_t>(now + seconds);
  return absl::InvalidArgumentError(
      absl::StrCat("the TTL is ", absl::FormatDuration(ttl), "; above 0 and at most ", most, "s"));
}

std::vector<Blob> Blobs(absl::Span<const std::string_view> texts) {
  return {texts.begin(), texts.end()};
}

template <class Request>
// Both conditional writes begin with the same four fields.
void SetCheck(std::string_view hash_key, std::string_view check_sort_key, const Check& check,
              CheckedValue checked_value, Request& request) {
  request.hash_key = hash_key;
  request.check_sort_key = check_sort_key;
  request.check_type = static_cast<int32_t>(check.type);
  request.check_operand = check.operand;
  request.return_check_value = checked_value == CheckedValue::kReturn;
}

absl::StatusOr<MultiGetRequest> MultiGetBase(std::string_view hash_key,
                                             const MultiGetOptions& options) {
  RETURN_IF_ERROR(CheckSharedHashKey(hash_key));
  RETURN_IF_ERROR(CheckLimit(options.count_max, "count_max"));
  RETURN_IF_ERROR(CheckLimit(options.bytes_max, "bytes_max"));
  return MultiGetRequest{.hash_key = hash_key,
                         .max_kv_count = options.count_max,
                         .max_kv_size = options.bytes_max,
                         .no_value = options.values == Values::kOmit};
}

// What a prefix leaves of a scan's bounds; the filter itself would read all the others too.
void Narrow(std::string_view raw_prefix, GetScannerRequest& request) {
  if (request.start_key.bytes < raw_prefix) {
    request.start_key = raw_prefix;
    request.start_inclusive = true;
  }
  const std::string end = EndOfPrefix(raw_prefix);
  if (end < request.stop_key.bytes) {
    request.stop_key = end;
    request.stop_inclusive = false;
  }
}

absl::StatusOr<std::optional<FieldValue>> BoundOf(const std::optional<IndexedValue>& bound) {
  if (!bound.has_value()) return std::nullopt;
  const auto* fraction = std::get_if<double>(&*bound);
  if (fraction != nullptr && std::isnan(*fraction))
    return absl::InvalidArgumentError("a bound is not a number (NaN), which no record is");
  return std::visit([](const auto& value) { return FieldValue::Of(value); }, *bound);
}

absl::StatusOr<IndexedValue> ValueOf(FieldValue field) {
  switch (field.kind) {
    case FieldValue::kBool:
      return IndexedValue(field.integer != 0);
    case FieldValue::kInteger:
      return IndexedValue(field.integer);
    case FieldValue::kDouble:
      return IndexedValue(field.number());
    case FieldValue::kString:
      return IndexedValue(std::move(field.string.bytes));
    default:
      return absl::InternalError(absl::StrCat("an answer has a field of kind ", field.kind));
  }
}

}  // namespace

absl::Status CheckHashKey(std::string_view hash_key) {
  if (hash_key.size() <= kHashKeyBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the hash key has ", hash_key.size(), " bytes; at most ", kHashKeyBytesMax));
}

absl::StatusOr<Question> AskToPut(std::string_view hash_key, std::string_view sort_key,
                                  std::string_view value, absl::Duration ttl, uint32_t now) {
  RETURN_IF_ERROR(CheckHashKey(hash_key));
  ASSIGN_OR_RETURN(const int32_t expiry, ExpiryOf(ttl, now));
  return QuestionOf(UpdateRequest{
      .key = JoinRawKey(hash_key, sort_key), .value = value, .expire_ts_seconds = expiry});
}

absl::StatusOr<Question> AskOfKey(Question (*ask)(std::string raw_key), std::string_view hash_key,
                                  std::string_view sort_key) {
  RETURN_IF_ERROR(CheckHashKey(hash_key));
  return ask(JoinRawKey(hash_key, sort_key));
}

absl::StatusOr<Question> AskToMultiPut(std::string_view hash_key,
                                       absl::Span<const SortKeyValue> values, absl::Duration ttl,
                                       uint32_t now) {
  RETURN_IF_ERROR(CheckSharedHashKey(hash_key));
  RETURN_IF_ERROR(CheckNotEmpty(values.size(), "values"));
  ASSIGN_OR_RETURN(const int32_t expiry, ExpiryOf(ttl, now));
  MultiPutRequest request{.hash_key = hash_key, .expire_ts_seconds = expiry};
  for (const SortKeyValue& value : values)
    request.kvs.push_back({.key = value.sort_key, .value = value.value});
  return QuestionOf(request);
}

absl::StatusOr<Question> AskToMultiGet(std::string_view hash_key, const MultiGetOptions& options) {
  ASSIGN_OR_RETURN(MultiGetRequest request, MultiGetBase(hash_key, options));
  request.start_sort_key = options.range.start;
  request.stop_sort_key = options.range.stop;
  request.start_inclusive = options.range.start_bound == Bound::kInclusive;
  request.stop_inclusive = options.range.stop_bound == Bound::kInclusive;
  request.sort_key_filter_type = static_cast<int32_t>(options.sort_key_filter.match);
  request.sort_key_filter_pattern = options.sort_key_filter.pattern;
  request.reverse = options.from == MultiGetOptions::From::kStop;
  return QuestionOf(request);
}

absl::StatusOr<Question> AskToMultiGetKeys(std::string_view hash_key,
                                           absl::Span<const std::string_view> sort_keys,
                                           const MultiGetOptions& options) {
  ASSIGN_OR_RETURN(MultiGetRequest request, MultiGetBase(hash_key, options));
  RETURN_IF_ERROR(CheckNotEmpty(sort_keys.size(), "sort keys"));
  request.sort_keys = Blobs(sort_keys);
  return QuestionOf(request);
}

absl::StatusOr<Question> AskToMultiRemove(std::string_view hash_key,
                                          absl::Span<const std::string_view> sort_keys) {
  RETURN_IF_ERROR(CheckSharedHashKey(hash_key));
  RETURN_IF_ERROR(CheckNotEmpty(sort_keys.size(), "sort keys"));
  return QuestionOf(MultiRemoveRequest{.hash_key = hash_key, .sort_keys = Blobs(sort_keys)});
}

absl::StatusOr<Question> AskToCount(std::string_view hash_key) {
  RETURN_IF_ERROR(CheckSharedHashKey(hash_key));
  return SortKeyCountQuestion(hash_key);
}

absl::StatusOr<Question> AskToIncr(std::string_view hash_key, std::string_view sort_key, int64_t by,
                                   const IncrOptions& options, uint32_t now) {
  // INCR has its own meaning of 0, unlike a PUT: the record keeps its expiry time.
  constexpr int32_t kKeep = 0, kNever = -1;
  RETURN_IF_ERROR(CheckHashKey(hash_key));
  IncrRequest request{.key = JoinRawKey(hash_key, sort_key), .increment = by};
  if (options.ttl.has_value()) {
    ASSIGN_OR_RETURN(const int32_t expiry, ExpiryOf(*options.ttl, now));
    request.expire_ts_seconds = expiry == 0 ? kNever : expiry;
  } else {
    request.expire_ts_seconds = kKeep;
  }
  return QuestionOf(request);
}

absl::StatusOr<Question> AskToCheckAndSet(const CheckedSet& set, uint32_t now) {
  RETURN_IF_ERROR(CheckSharedHashKey(set.hash_key));
  ASSIGN_OR_RETURN(const int32_t expiry, ExpiryOf(set.ttl, now));
  CheckAndSetRequest request;
  SetCheck(set.hash_key, set.check_sort_key, set.check, set.checked_value, request);
  // Without a sort key to set, the checked record itself is written; the server then ignores
  // set_sort_key.
  request.set_diff_sort_key = set.set_sort_key.has_value();
  request.set_sort_key = set.set_sort_key.value_or("");
  request.set_value = set.set_value;
  request.set_expire_ts_seconds = expiry;
  return QuestionOf(request);
}

absl::StatusOr<Question> AskToCheckAndMutate(const CheckedMutations& mutations, uint32_t now) {
  RETURN_IF_ERROR(CheckSharedHashKey(mutations.hash_key));
  RETURN_IF_ERROR(CheckNotEmpty(mutations.mutations.size(), "mutations"));
  CheckAndMutateRequest request;
  SetCheck(mutations.hash_key, mutations.check_sort_key, mutations.check, mutations.checked_value,
           request);
  for (const SortKeyMutation& mutation : mutations.mutations) {
    const bool is_put = mutation.kind == SortKeyMutation::Kind::kPut;
    ASSIGN_OR_RETURN(const int32_t expiry, ExpiryOf(mutation.ttl, now));
    request.mutate_list.push_back({.operation = is_put ? Mutate::kPut : Mutate::kDelete,
                                   .sort_key = mutation.sort_key,
                                   .value = mutation.value,
                                   .set_expire_ts_seconds = expiry});
  }
  return QuestionOf(request);
}

absl::StatusOr<GetScannerRequest> AskToScan(std::string_view hash_key, const ScanOptions& options) {
  RETURN_IF_ERROR(CheckSharedHashKey(hash_key));
  RETURN_IF_ERROR(CheckLimit(options.batch_size, "batch_size"));
  const SortKeyRange& range = options.range;
  GetScannerRequest request{.start_key = JoinRawKey(hash_key, range.start),
                            .stop_key = JoinRawKey(hash_key, range.stop),
                            .start_inclusive = range.start_bound == Bound::kInclusive,
                            .stop_inclusive = range.stop_bound == Bound::kInclusive,
                            .batch_size = options.batch_size,
                            .no_value = options.values == Values::kOmit};
  // To the last sort key: the end of the hash key's records.
  if (range.stop.empty()) {
    request.stop_key = EndOfPrefix(JoinRawKey(hash_key, ""));
    request.stop_inclusive = false;
  }
  const KeyFilter& filter = options.sort_key_filter;
  request.sort_key_filter_type = static_cast<int32_t>(filter.match);
  request.sort_key_filter_pattern = filter.pattern;
  if (filter.match == KeyFilter::Match::kPrefix)
    Narrow(JoinRawKey(hash_key, filter.pattern), request);
  request.return_expire_ts = options.expiry_times == ExpiryTimes::kReturn;
  return request;
}

absl::StatusOr<GetScannerRequest> AskToScanTable(const TableScanOptions& options) {
  RETURN_IF_ERROR(CheckLimit(options.batch_size, "batch_size"));
  if (options.part < 0 || options.part >= options.parts)
    return absl::InvalidArgumentError(
        absl::StrCat("part ", options.part, " of ", options.parts, "; 0 <= part < parts"));
  if (options.after) RETURN_IF_ERROR(CheckHashKey(options.after->hash_key));
  GetScannerRequest request{.batch_size = options.batch_size,
                            .no_value = options.values == Values::kOmit};
  request.hash_key_filter_type = static_cast<int32_t>(options.hash_key_filter.match);
  request.hash_key_filter_pattern = options.hash_key_filter.pattern;
  request.sort_key_filter_type = static_cast<int32_t>(options.sort_key_filter.match);
  request.sort_key_filter_pattern = options.sort_key_filter.pattern;
  request.return_expire_ts = options.expiry_times == ExpiryTimes::kReturn;
  return request;
}

absl::StatusOr<FindRequest> AskToFind(std::string_view index, const FindOptions& options) {
  if (!IsIndexName(index))
    return absl::InvalidArgumentError(absl::StrCat(
        "the name of an index has 1 to ", kIndexNameBytesMax, " letters, digits, _ and -"));
  if (options.limit < 1)
    return absl::InvalidArgumentError(absl::StrCat("limit is ", options.limit, "; at least 1"));
  if (options.prefix.has_value() && (options.lower.has_value() || options.upper.has_value()))
    return absl::InvalidArgumentError("a prefix and a bound are given; one of them");
  FindRequest request{.index = std::string(index),
                      .lower_inclusive = options.lower_bound == Bound::kInclusive,
                      .upper_inclusive = options.upper_bound == Bound::kInclusive,
                      .descending = options.order == FindOptions::Order::kDescending,
                      .limit = options.limit,
                      .with_value = options.values == Values::kReturn,
                      .may_scan = options.while_building == FindOptions::WhileBuilding::kScan};
  ASSIGN_OR_RETURN(request.lower, BoundOf(options.lower));
  ASSIGN_OR_RETURN(request.upper, BoundOf(options.upper));
  if (options.prefix.has_value()) request.prefix = Blob(*options.prefix);
  if (!options.after.empty()) request.after = Blob(options.after);
  return request;
}

absl::StatusOr<std::vector<Row>> RowsOf(std::vector<KeyValue> records) {
  std::vector<Row> rows;
  rows.reserve(records.size());
  for (KeyValue& record : records) {
    // A scan's answer has raw keys: the hash key's length, the hash key, the sort key.
    const std::optional<KeyParts> key = SplitRawKey(record.key);
    if (!key.has_value()) return absl::InternalError("an answer holds a key that is none");
    Row& row = rows.emplace_back(Row{.hash_key = std::string(key->hash_key),
                                     .sort_key = std::string(key->sort_key),
                                     .value = std::move(record.value.bytes)});
    if (!record.expire_ts_seconds.has_value()) continue;
    const uint32_t expiry = static_cast<uint32_t>(*record.expire_ts_seconds);
    row.expires = expiry == 0 ? absl::InfiniteFuture()
                              : absl::FromUnixSeconds(kExpiryEpochUnixSeconds + expiry);
  }
  return rows;
}

MultiGetResult ResultOf(std::string_view hash_key, MultiGetResponse answer) {
  MultiGetResult result;
  // The only other error that comes here is kIncomplete (MultiGetAnswer).
  result.is_complete = answer.error == 0;
  result.rows.reserve(answer.kvs.size());
  for (KeyValue& record : answer.kvs)
    result.rows.push_back({.hash_key = std::string(hash_key),
                           .sort_key = std::move(record.key.bytes),
                           .value = std::move(record.value.bytes)});
  return result;
}

CheckOutcome OutcomeOf(CheckResponse answer) {
  // The only other error that comes here is kTryAgain, a check that did not pass.
  CheckOutcome outcome{.is_passed = answer.error == 0};
  if (answer.check_value_returned && answer.check_value_exist)
    outcome.value = std::move(answer.check_value.bytes);
  return outcome;
}

absl::StatusOr<IndexedRow> RowOf(FoundRow found) {
  const std::optional<KeyParts> key = SplitRawKey(found.key);
  if (!key.has_value()) return absl::InternalError("an answer holds a key that is none");
  IndexedRow row{.hash_key = std::string(key->hash_key), .sort_key = std::string(key->sort_key)};
  ASSIGN_OR_RETURN(row.field, ValueOf(std::move(found.field)));
  if (found.value.has_value()) row.value = std::move(found.value->bytes);
  return row;
}

}  // namespace arion
