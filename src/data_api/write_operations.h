// WriteOperation: a client's write decoded, and what becomes of it: updates for the log and the
// answer (rpc/PROTOCOL.md 5). INCR and CHECK_... are decided here, once, from the
// record they look at; the log then holds plain puts and removes.
//
// Errors    InvalidArgument: the body does not decode. What decodes and can't be right is an
//           outcome with an error and without updates.
// Threads   One at a time. Reads no clock: `now` comes from the caller.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error_code.h"
#include "base/mutation.h"
#include "data_api/table_settings.h"
#include "engine/engine.h"
#include "messages/client_messages.h"

namespace arion {

// What a client is told of its write, and what is logged for it.
struct WriteOutcome {
  StorageError error = StorageError::kOk;
  std::vector<Update> updates;  // of one mutation; empty: nothing is written
  int64_t number = 0;           // INCR: the new value; MULTI_REMOVE: the count
  bool check_value_returned = false;
  bool check_value_exist = false;
  std::string check_value;
};
std::string EncodeAnswer(WriteCode code, const WriteOutcome& outcome, PartitionId pid,
                         Decree decree, const std::string& server);

// Codes that clients send.
inline bool IsClientWrite(WriteCode code) {
  return code >= WriteCode::kPut && code <= WriteCode::kCheckAndMutate;
}

class WriteOperation {
 public:
  // IsClientWrite(code).
  static absl::StatusOr<WriteOperation> Decode(WriteCode code, std::string body);

  WriteCode code() const { return code_; }
  // Whether the form alone refuses it. Only an acceptable one has keys and is decided.
  bool IsAcceptable() const { return is_acceptable_; }
  WriteOutcome Refusal() const { return {.error = StorageError::kInvalidArgument}; }
  std::string_view hash_key() const;
  // What its keys and values take once each key is whole: a short list under a long hash key grows.
  uint64_t expanded_bytes() const;

  // Whether the outcome depends on a record, and on which (a raw key).
  bool NeedsRecord() const;
  std::string record_key() const;
  // `record`: what is there at `now`, nullopt: nothing; not looked at unless needed. Ends this
  // operation: its bytes go into the updates.
  WriteOutcome Decide(const std::optional<Record>& record, const TableSettings& settings,
                      uint32_t now) &&;

 private:
  using Request = std::variant<UpdateRequest, Blob, MultiPutRequest, MultiRemoveRequest,
                               IncrRequest, CheckAndSetRequest, CheckAndMutateRequest>;

  WriteCode code_ = WriteCode::kPut;
  bool is_acceptable_ = true;
  Request request_;
  std::string body_;  // as it came; what is logged as it is
};

// The integers in values: all of `text`, with leading blanks and a sign; 0x: hexadecimal, 0: octal.
std::optional<int64_t> ParseInteger(std::string_view text);

enum class CheckResult { kPassed, kNotPassed, kNotAnInteger };
CheckResult CheckValue(CheckType type, const std::optional<Record>& record,
                       std::string_view operand);

}  // namespace arion
