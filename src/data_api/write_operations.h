// WriteOperation: a client's write decoded, and what becomes of it: updates for the log and the
// answer (rpc/PROTOCOL.md 5). INCR and CHECK_... are decided here, once, from the record they look
// at; the log then holds plain puts and removes.
//
//   ASSIGN_OR_RETURN(WriteOperation write, WriteOperation::Decode(code, std::move(body)));
//   if (!write.IsAcceptable()) return Answer(write.Refusal());
//   std::optional<Record> record;  // read where write.NeedsRecord(), under write.record_key()
//   WriteOutcome outcome = std::move(write).Decide(record, settings, now);
//
// Errors    InvalidArgument: the body does not decode. What decodes and can't be right is an
//           outcome with an error and without updates.
// Threads   One at a time. Reads no clock: `now` comes from the caller.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error_code.h"
#include "base/key_ownership.h"
#include "base/mutation.h"
#include "engine/engine.h"
#include "messages/client_messages.h"
#include "messages/duplicate_messages.h"

namespace arion {

struct TableSettings;

// The answer to a client's write, and what is logged for it.
struct WriteOutcome {
  StorageError error = StorageError::kOk;
  // Of one mutation, in this order. Empty: nothing is written.
  std::vector<Update> updates;
  // INCR: the new value. MULTI_REMOVE: how many sort keys it named.
  int64_t number = 0;
  // CHECK_...: whether the client wants the checked value, whether there was one, and the value.
  bool check_value_returned = false;
  bool check_value_exist = false;
  std::string check_value;
};
// The answer's body. `decree`: the mutation that holds the write.
std::string EncodeAnswer(WriteCode code, const WriteOutcome& outcome, PartitionId pid,
                         Decree decree, const std::string& server);

// Codes that clients send; a cluster that duplicates a table to this one is a client, too.
inline bool IsClientWrite(WriteCode code) {
  return code >= WriteCode::kPut && code <= WriteCode::kDuplicate;
}
// Whether the outcome depends on a record: INCR, CHECK_...
inline bool IsDecided(WriteCode code) {
  return code >= WriteCode::kIncr && code <= WriteCode::kCheckAndMutate;
}

// One request. Everything below ForEachHashKey needs IsAcceptable().
class WriteOperation {
 public:
  // A code of one client's write, so not kDuplicate. `body` is kept: it is logged as it came where
  // that is possible.
  static absl::StatusOr<WriteOperation> Decode(WriteCode code, std::string body);
  // A DUPLICATE that is not to be refused (duplicated_writes.h); `body` is what `request` was
  // decoded from. InvalidArgument: one of its writes does not decode, or has no form. One of an
  // empty list writes nothing: that is what its cluster made of it.
  static absl::StatusOr<WriteOperation> OfDuplicate(DuplicateRequest request, std::string body);

  WriteCode code() const { return code_; }
  // As it came.
  const std::string& body() const { return body_; }
  // What it removes leaves tombstones in the log's mutation, and only then.
  void LeaveTombstones() { leaves_tombstones_ = true; }
  // False: the form alone refuses it (a key that is too long, an empty list, an unknown check).
  // Such a write has no keys and is not decided.
  bool IsAcceptable() const { return is_acceptable_; }
  // The outcome of a write that is not acceptable.
  WriteOutcome Refusal() const { return {.error = StorageError::kInvalidArgument}; }
  // By which writes are ordered (write_order.h): one, but for a DUPLICATE, which may have several,
  // also one twice, or none. Each lives as long as this is not moved from.
  void ForEachHashKey(absl::FunctionRef<void(std::string_view)> use) const;
  // Whether all its keys are the partition's.
  bool IsOwned(const KeyOwnership& owned) const;
  // How much its keys and values take once each key is whole: a short list under a long hash key
  // grows. At least the size of the body.
  uint64_t expanded_bytes() const;

  // Whether the outcome depends on a record, and which one (a raw key).
  bool NeedsRecord() const { return IsDecided(code_); }
  std::string record_key() const;
  // `record`: what is there at `now`; nullopt: nothing. It is looked at only where NeedsRecord().
  // `now`: seconds since 2016. Ends this operation: its bytes go into the updates.
  WriteOutcome Decide(const std::optional<Record>& record, const TableSettings& settings,
                      uint32_t now) &&;

 private:
  using Request = std::variant<UpdateRequest, Blob, MultiPutRequest, MultiRemoveRequest,
                               IncrRequest, CheckAndSetRequest, CheckAndMutateRequest,
                               // Of a DUPLICATE; without those that write nothing.
                               std::vector<WriteOperation>>;

  bool WritesNothing() const;
  WriteOutcome DecideUnmarked(const std::optional<Record>& record, const TableSettings& settings,
                              uint32_t now);

  WriteCode code_ = WriteCode::kPut;
  bool is_acceptable_ = true;
  bool leaves_tombstones_ = false;
  Request request_;
  // As it came; where possible it is what is logged.
  std::string body_;
};

// The number that `text` is, as a whole. Leading blanks and a sign are allowed; 0x: hexadecimal, 0:
// octal. nullopt: it is none, or beyond int64.
std::optional<int64_t> ParseInteger(std::string_view text);

// What a check of CHECK_... says.
enum class CheckResult { kPassed, kNotPassed, kNotAnInteger };
// Checks the record's value (nullopt: there is no record) against `operand`. kNotAnInteger: an
// integer check where the value or the operand is none.
CheckResult CheckValue(CheckType type, const std::optional<Record>& record,
                       std::string_view operand);

}  // namespace arion
