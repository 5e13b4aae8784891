// Keys and values as they are stored, in hexadecimal digits, as tools for RocksDB's files show
// them.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <absl/time/time.h>

#include "base/raw_key.h"
#include "base/status.h"
#include "base/value_schema.h"
#include "env/clock.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

// "0x" in front may be left out.
absl::StatusOr<std::string> BytesOf(std::string_view digits) {
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  if (digits.size() % 2 != 0 ||
      digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
    return UsageError("bytes are two hexadecimal digits each");
  return absl::HexStringToBytes(Text(digits));
}

absl::StatusOr<Outcome> KeyToHex(Session& session, const Words& arguments) {
  if (arguments.size() != 2) return UsageError("a hash key and a sort key (\"\" when it is empty)");
  if (arguments[0].size() > kHashKeyBytesMax)
    return UsageError(absl::StrCat("a hash key has ", kHashKeyBytesMax, " bytes at most"));
  const std::string hex =
      absl::AsciiStrToUpper(absl::BytesToHexString(JoinRawKey(arguments[0], arguments[1])));
  Outcome outcome;
  outcome.answer.Add("hash_key", session.Shown(arguments[0]))
      .Add("sort_key", session.Shown(arguments[1]))
      .Add("rdb_key", hex)
      .Say(hex);
  return outcome;
}

absl::StatusOr<Outcome> HexToKey(Session& session, const Words& arguments) {
  if (arguments.size() != 1) return UsageError("a stored key in hexadecimal digits");
  ASSIGN_OR_RETURN(const std::string bytes, BytesOf(arguments[0]));
  const std::optional<KeyParts> key = SplitRawKey(bytes);
  if (!key)
    return absl::FailedPreconditionError(
        "no stored key: it begins with two bytes that say how long its hash key is");
  Outcome outcome;
  outcome.answer.Add("hash_key", session.Shown(key->hash_key))
      .Add("sort_key", session.Shown(key->sort_key));
  return outcome;
}

std::string ExpiryText(int64_t unix_micros) {
  return absl::FormatTime("%Y-%m-%d_%H:%M:%E3S", absl::FromUnixMicros(unix_micros),
                          absl::LocalTimeZone());
}

absl::StatusOr<Outcome> HexToValue(Session& session, const Words& arguments) {
  const bool is_v0 = arguments.size() == 2 && arguments[1] == "0";
  if (arguments.empty() || arguments.size() > 2 ||
      (arguments.size() == 2 && !is_v0 && arguments[1] != "1"))
    return UsageError("a stored value in hexadecimal digits, and 0 where data-version says 0");
  ASSIGN_OR_RETURN(const std::string bytes, BytesOf(arguments[0]));
  const auto value = ParseValue(is_v0 ? ValueSchema::kV0 : ValueSchema::kV1, bytes);
  if (!value.ok())
    return absl::FailedPreconditionError(
        absl::StrCat("no stored value: ", value.status().message()));
  const int64_t expires = value->expire_ts + kExpiryEpochUnixSeconds;
  Outcome outcome;
  outcome.answer
      .Add("expires",
           value->expire_ts == 0 ? std::string("never") : ExpiryText(expires * 1'000'000))
      .Add("written", value->time_tag == TimeTag{} ? std::string("not known")
                                                   : ExpiryText(value->time_tag.timestamp_us))
      .Add("cluster_id", int64_t{value->time_tag.cluster_id})
      .Add("user_data", session.Shown(value->user_data));
  return outcome;
}

}  // namespace

std::vector<Command> StoredBytesCommands() {
  using Completes = Command::Completes;
  return {{"rdb_key_str2hex", "HASH_KEY SORT_KEY",
           "a record's key as it is stored, in hexadecimal digits", Completes::kNothing, KeyToHex},
          {"rdb_key_hex2str", "HEX", "the hash key and the sort key of a stored key",
           Completes::kNothing, HexToKey},
          {"rdb_value_hex2str", "HEX [DATA_VERSION]",
           "what a stored value holds; of DATA_VERSION 1 (data-version says which) or 0",
           Completes::kNothing, HexToValue}};
}

}  // namespace arion::shell
