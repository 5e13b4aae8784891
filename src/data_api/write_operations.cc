// SPDX-License-Identifier: Apache-2.0
#include "data_api/write_operations.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/log.h"
#include "base/overloaded.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "data_api/duplicated_writes.h"
#include "data_api/table_settings.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

bool IsHashKey(const Blob& bytes) { return bytes.bytes.size() <= kHashKeyBytesMax; }
bool IsCheckType(int32_t type) {
  return type >= static_cast<int32_t>(CheckType::kNoCheck) &&
         type <= static_cast<int32_t>(CheckType::kIntGreater);
}

// What can be refused by the form alone, before the write waits for anything.
bool HasForm(const UpdateRequest& r) { return IsRawKey(r.key); }
bool HasForm(const Blob& raw_key) { return IsRawKey(raw_key); }
bool HasForm(const MultiPutRequest& r) { return IsHashKey(r.hash_key) && !r.kvs.empty(); }
bool HasForm(const MultiRemoveRequest& r) { return IsHashKey(r.hash_key) && !r.sort_keys.empty(); }
bool HasForm(const IncrRequest& r) { return IsRawKey(r.key); }
bool HasForm(const CheckAndSetRequest& r) {
  return IsHashKey(r.hash_key) && IsCheckType(r.check_type);
}
bool HasForm(const CheckAndMutateRequest& r) {
  const auto is_known = [](const Mutate& m) {
    return m.operation == Mutate::kPut || m.operation == Mutate::kDelete;
  };
  return IsHashKey(r.hash_key) && !r.mutate_list.empty() &&
         std::all_of(r.mutate_list.begin(), r.mutate_list.end(), is_known) &&
         IsCheckType(r.check_type);
}
// Each was judged by itself.
bool HasForm(const std::vector<WriteOperation>&) { return true; }

template <class T>
// The first of three shapes: a hash key of its own, a raw key in a field, the raw key itself.
// IsAcceptable ensures that a raw key can be split.
std::string_view HashKeyOf(const T& request) {
  if constexpr (requires { request.hash_key; })
    return request.hash_key;
  else if constexpr (requires { request.key; })
    return SplitRawKey(request.key)->hash_key;
  else
    return SplitRawKey(request)->hash_key;
}

// Of the same three shapes.
template <class T>
bool AreOwned(const KeyOwnership& owned, const T& request) {
  if constexpr (requires { request.hash_key; }) {
    const std::string_view hash_key = request.hash_key;
    const auto owns = [&](std::string_view sort_key) { return owned.OwnsKey(hash_key, sort_key); };
    // Records without a hash key are spread by their sort keys.
    if (!hash_key.empty()) return owns({});
    const auto all = [](const auto& entries, const auto& is) {
      return std::all_of(entries.begin(), entries.end(), is);
    };
    if constexpr (requires { request.kvs; })
      return all(request.kvs, [&](const KeyValue& kv) { return owns(kv.key); });
    else if constexpr (requires { request.sort_keys; })
      return all(request.sort_keys, owns);
    else if constexpr (requires { request.mutate_list; })
      return owns(request.check_sort_key) &&
             all(request.mutate_list, [&](const Mutate& m) { return owns(m.sort_key); });
    else
      return owns(request.check_sort_key) &&
             (!request.set_diff_sort_key || owns(request.set_sort_key));
  } else if constexpr (requires { request.key; }) {
    return owned.OwnsKey(request.key);
  } else {
    return owned.OwnsKey(request);
  }
}

bool AreOwned(const KeyOwnership& owned, const std::vector<WriteOperation>& writes) {
  return std::all_of(writes.begin(), writes.end(),
                     [&](const WriteOperation& write) { return write.IsOwned(owned); });
}

// Only these three repeat the hash key for each of their entries.
uint64_t ExpandedBytes(const MultiPutRequest& r) {
  uint64_t bytes = 0;
  for (const KeyValue& kv : r.kvs)
    bytes += r.hash_key.bytes.size() + kv.key.bytes.size() + kv.value.bytes.size();
  return bytes;
}
uint64_t ExpandedBytes(const MultiRemoveRequest& r) {
  uint64_t bytes = 0;
  for (const Blob& sort_key : r.sort_keys) bytes += r.hash_key.bytes.size() + sort_key.bytes.size();
  return bytes;
}
uint64_t ExpandedBytes(const CheckAndMutateRequest& r) {
  uint64_t bytes = 0;
  for (const Mutate& m : r.mutate_list)
    bytes += r.hash_key.bytes.size() + m.sort_key.bytes.size() + m.value.bytes.size();
  return bytes;
}
uint64_t ExpandedBytes(const std::vector<WriteOperation>& writes) {
  uint64_t bytes = 0;
  for (const WriteOperation& write : writes) bytes += write.expanded_bytes();
  return bytes;
}
template <class T>
uint64_t ExpandedBytes(const T&) {
  return 0;  // not more than the body
}

// What is logged for a decided write: a plain put with its final value and expiry, the same as a
// client's PUT.
Update PutUpdate(std::string raw_key, Blob value, uint32_t expire_ts) {
  return {
      .code = WriteCode::kPut,
      .serialization = 1,
      .data = EncodeWrapped(UpdateRequest{.key = std::move(raw_key),
                                          .value = std::move(value),
                                          .expire_ts_seconds = static_cast<int32_t>(expire_ts)})};
}
Update RemoveUpdate(std::string raw_key) {
  return {.code = WriteCode::kRemove,
          .serialization = 1,
          .data = EncodeWrapped(Blob(std::move(raw_key)))};
}

WriteOutcome Increment(IncrRequest request, const std::optional<Record>& record,
                       const TableSettings& settings, uint32_t now) {
  WriteOutcome outcome;
  int64_t old_value = 0;
  // An empty value counts as 0; a value that is no number is an error, not 0 (rpc/PROTOCOL.md 5.5).
  if (record && !record->value.empty()) {
    const std::optional<int64_t> parsed = ParseInteger(record->value);
    if (!parsed) {
      outcome.error = StorageError::kInvalidArgument;
      return outcome;
    }
    old_value = *parsed;
  }
  if (__builtin_add_overflow(old_value, request.increment, &outcome.number)) {
    outcome.error = StorageError::kInvalidArgument;
    // The client gets the value that stays.
    outcome.number = old_value;
    return outcome;
  }
  // Below 0: the old expiry goes. 0: it stays. Where none is left, the table's default counts.
  int32_t expire_ts = std::max(request.expire_ts_seconds, 0);
  if (request.expire_ts_seconds == 0 && record) expire_ts = static_cast<int32_t>(record->expire_ts);
  outcome.updates.push_back(PutUpdate(std::move(request.key.bytes), std::to_string(outcome.number),
                                      settings.Expiry(expire_ts, now)));
  return outcome;
}

// The check of CHECK_AND_SET and CHECK_AND_MUTATE; an error says that nothing is to be written.
template <class Request>
WriteOutcome CheckFirst(const Request& request, const std::optional<Record>& record) {
  WriteOutcome outcome;
  // The client gets the value also where the check fails: that is how it learns why.
  if (request.return_check_value) {
    outcome.check_value_returned = true;
    outcome.check_value_exist = record.has_value();
    if (record) outcome.check_value = record->value;
  }
  switch (CheckValue(static_cast<CheckType>(request.check_type), record, request.check_operand)) {
    case CheckResult::kPassed:
      break;
    case CheckResult::kNotPassed:
      // Not an error of the server: the answer's `error` says that the check did not pass.
      outcome.error = StorageError::kTryAgain;
      break;
    case CheckResult::kNotAnInteger:
      outcome.error = StorageError::kInvalidArgument;
      break;
  }
  return outcome;
}

WriteOutcome CheckAndSet(CheckAndSetRequest request, const std::optional<Record>& record,
                         const TableSettings& settings, uint32_t now) {
  WriteOutcome outcome = CheckFirst(request, record);
  if (outcome.error != StorageError::kOk) return outcome;
  // The record that is set may be another one than the record that is checked; both have one hash
  // key.
  const Blob& sort_key = request.set_diff_sort_key ? request.set_sort_key : request.check_sort_key;
  outcome.updates.push_back(PutUpdate(JoinRawKey(request.hash_key, sort_key),
                                      std::move(request.set_value),
                                      settings.Expiry(request.set_expire_ts_seconds, now)));
  return outcome;
}

WriteOutcome CheckAndMutate(CheckAndMutateRequest request, const std::optional<Record>& record,
                            const TableSettings& settings, uint32_t now) {
  WriteOutcome outcome = CheckFirst(request, record);
  if (outcome.error != StorageError::kOk) return outcome;
  for (Mutate& m : request.mutate_list) {
    std::string raw_key = JoinRawKey(request.hash_key, m.sort_key);
    outcome.updates.push_back(m.operation == Mutate::kPut
                                  ? PutUpdate(std::move(raw_key), std::move(m.value),
                                              settings.Expiry(m.set_expire_ts_seconds, now))
                                  : RemoveUpdate(std::move(raw_key)));
  }
  return outcome;
}

// A put that is logged as it came, unless the table's default gives it an expiry.
template <class Request>
std::string WithExpiry(Request request, std::string body, const TableSettings& settings,
                       uint32_t now) {
  const auto expire_ts = static_cast<int32_t>(settings.Expiry(request.expire_ts_seconds, now));
  // Unchanged: the body is logged as it came, without encoding it again.
  if (expire_ts == request.expire_ts_seconds) return body;
  request.expire_ts_seconds = expire_ts;
  return EncodeWrapped(request);
}

}  // namespace

std::string EncodeAnswer(WriteCode code, const WriteOutcome& outcome, PartitionId pid,
                         Decree decree, const std::string& server) {
  const auto error = static_cast<int32_t>(outcome.error);
  switch (code) {
    case WriteCode::kMultiRemove:
      return EncodeWrapped(MultiRemoveResponse{.error = error,
                                               .count = outcome.number,
                                               .app_id = pid.app_id,
                                               .partition_index = pid.index,
                                               .decree = decree.value(),
                                               .server = server});
    case WriteCode::kIncr:
      return EncodeWrapped(IncrResponse{.error = error,
                                        .new_value = outcome.number,
                                        .app_id = pid.app_id,
                                        .partition_index = pid.index,
                                        .decree = decree.value(),
                                        .server = server});
    case WriteCode::kCheckAndSet:
    case WriteCode::kCheckAndMutate:
      return EncodeWrapped(CheckResponse{.error = error,
                                         .check_value_returned = outcome.check_value_returned,
                                         .check_value_exist = outcome.check_value_exist,
                                         .check_value = outcome.check_value,
                                         .app_id = pid.app_id,
                                         .partition_index = pid.index,
                                         .decree = decree.value(),
                                         .server = server});
    case WriteCode::kDuplicate:
      return EncodeWrapped(DuplicateResponse{.error = error});
    default:
      return EncodeWrapped(UpdateResponse{.error = error,
                                          .app_id = pid.app_id,
                                          .partition_index = pid.index,
                                          .decree = decree.value(),
                                          .server = server});
  }
}

absl::StatusOr<WriteOperation> WriteOperation::Decode(WriteCode code, std::string body) {
  WriteOperation operation;
  operation.code_ = code;
  switch (code) {
    case WriteCode::kPut: {
      ASSIGN_OR_RETURN(operation.request_, DecodeWrapped<UpdateRequest>(body));
      break;
    }
    case WriteCode::kRemove: {
      ASSIGN_OR_RETURN(operation.request_, DecodeWrapped<Blob>(body));
      break;
    }
    case WriteCode::kMultiPut: {
      ASSIGN_OR_RETURN(operation.request_, DecodeWrapped<MultiPutRequest>(body));
      break;
    }
    case WriteCode::kMultiRemove: {
      ASSIGN_OR_RETURN(operation.request_, DecodeWrapped<MultiRemoveRequest>(body));
      break;
    }
    case WriteCode::kIncr: {
      ASSIGN_OR_RETURN(operation.request_, DecodeWrapped<IncrRequest>(body));
      break;
    }
    case WriteCode::kCheckAndSet: {
      ASSIGN_OR_RETURN(operation.request_, DecodeWrapped<CheckAndSetRequest>(body));
      break;
    }
    case WriteCode::kCheckAndMutate: {
      ASSIGN_OR_RETURN(operation.request_, DecodeWrapped<CheckAndMutateRequest>(body));
      break;
    }
    default:
      return absl::InvalidArgumentError("not a client's write");
  }
  // The form is judged once, here: all that follows may rely on it.
  operation.is_acceptable_ =
      std::visit([](const auto& request) { return HasForm(request); }, operation.request_);
  operation.body_ = std::move(body);
  return operation;
}

absl::StatusOr<WriteOperation> WriteOperation::OfDuplicate(DuplicateRequest request,
                                                           std::string body) {
  std::vector<WriteOperation> writes;
  writes.reserve(request.entries.size());
  for (DuplicateEntry& entry : request.entries) {
    const std::optional<WriteCode> code = CodeOf(entry);
    CHECK(code) << "a request that is to be refused";
    ASSIGN_OR_RETURN(WriteOperation write,
                     Decode(*code, std::move(entry.raw_message).value_or(Blob()).bytes));
    if (write.WritesNothing()) continue;
    if (!write.is_acceptable_)
      return absl::InvalidArgumentError("a duplicated write with a malformed key");
    writes.push_back(std::move(write));
  }
  WriteOperation operation;
  operation.code_ = WriteCode::kDuplicate;
  operation.request_ = std::move(writes);
  operation.body_ = std::move(body);
  return operation;
}

// An older version logs such a request as it came, and answers it with an error.
bool WriteOperation::WritesNothing() const {
  if (const auto* put = std::get_if<MultiPutRequest>(&request_))
    return put->kvs.empty() && IsHashKey(put->hash_key);
  if (const auto* remove = std::get_if<MultiRemoveRequest>(&request_))
    return remove->sort_keys.empty() && IsHashKey(remove->hash_key);
  return false;
}

void WriteOperation::ForEachHashKey(absl::FunctionRef<void(std::string_view)> use) const {
  CHECK(is_acceptable_);
  std::visit(Overloaded{[&](const auto& request) { use(HashKeyOf(request)); },
                        [&](const std::vector<WriteOperation>& writes) {
                          for (const WriteOperation& write : writes) write.ForEachHashKey(use);
                        }},
             request_);
}

bool WriteOperation::IsOwned(const KeyOwnership& owned) const {
  CHECK(is_acceptable_);
  return !owned.IsChecked() ||
         std::visit([&](const auto& request) { return AreOwned(owned, request); }, request_);
}

uint64_t WriteOperation::expanded_bytes() const {
  return std::max<uint64_t>(
      body_.size(),
      std::visit([](const auto& request) { return ExpandedBytes(request); }, request_));
}

std::string WriteOperation::record_key() const {
  CHECK(is_acceptable_ && NeedsRecord());
  // INCR names a raw key; the CHECK_... requests name hash key and sort key.
  if (const auto* incr = std::get_if<IncrRequest>(&request_)) return incr->key.bytes;
  if (const auto* set = std::get_if<CheckAndSetRequest>(&request_))
    return JoinRawKey(set->hash_key, set->check_sort_key);
  const auto& mutate = std::get<CheckAndMutateRequest>(request_);
  return JoinRawKey(mutate.hash_key, mutate.check_sort_key);
}

WriteOutcome WriteOperation::Decide(const std::optional<Record>& record,
                                    const TableSettings& settings, uint32_t now) && {
  WriteOutcome outcome = DecideUnmarked(record, settings, now);
  for (Update& update : outcome.updates)
    update.data = leaves_tombstones_ ? WithTombstoneMark(update.code, std::move(update.data))
                                     // A client's own mark says nothing.
                                     : WithoutTombstoneMark(update.code, std::move(update.data));
  return outcome;
}

WriteOutcome WriteOperation::DecideUnmarked(const std::optional<Record>& record,
                                            const TableSettings& settings, uint32_t now) {
  CHECK(is_acceptable_);
  const auto as_it_came = [this](std::string data) {
    WriteOutcome outcome;
    outcome.updates.push_back({.code = code_, .serialization = 1, .data = std::move(data)});
    return outcome;
  };
  return std::visit(
      Overloaded{
          [&](UpdateRequest& r) {
            return as_it_came(WithExpiry(std::move(r), std::move(body_), settings, now));
          },
          [&](Blob&) { return as_it_came(std::move(body_)); },
          [&](MultiPutRequest& r) {
            return as_it_came(WithExpiry(std::move(r), std::move(body_), settings, now));
          },
          [&](MultiRemoveRequest& r) {
            WriteOutcome outcome = as_it_came(std::move(body_));
            outcome.number = static_cast<int64_t>(r.sort_keys.size());
            return outcome;
          },
          [&](IncrRequest& r) { return Increment(std::move(r), record, settings, now); },
          [&](CheckAndSetRequest& r) { return CheckAndSet(std::move(r), record, settings, now); },
          [&](CheckAndMutateRequest& r) {
            return CheckAndMutate(std::move(r), record, settings, now);
          },
          // With the expiries that its cluster gave it.
          [&](std::vector<WriteOperation>&) { return as_it_came(std::move(body_)); }},
      request_);
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  // strtoll needs a zero behind the text. Base 0 gives the prefixes 0x and 0.
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  const int64_t value = std::strtoll(copy.c_str(), &end, 0);
  // A zero byte within the text ends the number early; then it is not whole.
  const bool is_whole = end != copy.c_str() && end == copy.c_str() + copy.size();
  if (!is_whole || errno == ERANGE) return std::nullopt;
  return value;
}

CheckResult CheckValue(CheckType type, const std::optional<Record>& record,
                       std::string_view operand) {
  const auto passed_if = [](bool passed) {
    return passed ? CheckResult::kPassed : CheckResult::kNotPassed;
  };
  using enum CheckType;
  if (type == kNoCheck) return CheckResult::kPassed;
  // These two pass without a record. All other checks need one.
  if (type == kNotExist) return passed_if(!record);
  if (type == kNotExistOrEmpty) return passed_if(!record || record->value.empty());
  if (!record) return CheckResult::kNotPassed;
  const std::string_view value = record->value;
  switch (type) {
    case kExist:
      return CheckResult::kPassed;
    case kNotEmpty:
      return passed_if(!value.empty());
    case kMatchAnywhere:
      return passed_if(value.find(operand) != std::string_view::npos);
    case kMatchPrefix:
      return passed_if(value.starts_with(operand));
    case kMatchPostfix:
      return passed_if(value.ends_with(operand));
    case kBytesLess:  // compares bytes as unsigned
      return passed_if(value < operand);
    case kBytesLessOrEqual:
      return passed_if(value <= operand);
    case kBytesEqual:
      return passed_if(value == operand);
    case kBytesGreaterOrEqual:
      return passed_if(value >= operand);
    case kBytesGreater:
      return passed_if(value > operand);
    default:
      break;
  }
  const std::optional<int64_t> left = ParseInteger(value);
  // The operand is parsed only if the value is a number: either of them alone decides the result.
  const std::optional<int64_t> right = left ? ParseInteger(operand) : std::nullopt;
  if (!right) return CheckResult::kNotAnInteger;
  switch (type) {
    case kIntLess:
      return passed_if(*left < *right);
    case kIntLessOrEqual:
      return passed_if(*left <= *right);
    case kIntEqual:
      return passed_if(*left == *right);
    case kIntGreaterOrEqual:
      return passed_if(*left >= *right);
    default:
      return passed_if(*left > *right);
  }
}

}  // namespace arion
