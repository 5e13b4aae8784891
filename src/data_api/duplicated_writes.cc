// SPDX-License-Identifier: Apache-2.0
#include "data_api/duplicated_writes.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include <string>
#include <utility>

#include "base/error_code.h"
#include "base/status.h"
#include "messages/client_messages.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

// The first field of what is wrapped. In the request of 2.3 it is no list (legacy/FORMAT.md).
bool HoldsAList(std::string_view wrapped) {
  constexpr size_t kWrapperBytes = 3;  // type and id of its one field
  constexpr char kList = 0x0f;
  return wrapped.size() > kWrapperBytes && wrapped[kWrapperBytes] == kList;
}

}  // namespace

absl::StatusOr<DuplicateRequest> DecodeLoggedDuplicate(std::string_view body) {
  if (HoldsAList(body)) return DecodeWrapped<DuplicateRequest>(body);
  ASSIGN_OR_RETURN(DuplicateEntry alone, DecodeWrapped<DuplicateEntry>(body));
  DuplicateRequest request;
  request.entries.push_back(std::move(alone));
  return request;
}

absl::StatusOr<DuplicateRequest> DecodeSentDuplicate(std::string_view body) {
  if (!HoldsAList(body)) return absl::InvalidArgumentError("not a list of writes");
  return DecodeWrapped<DuplicateRequest>(body);
}

std::optional<WriteCode> CodeOf(const DuplicateEntry& entry) {
  const std::optional<WriteCode> code =
      FindWriteCode(entry.task_code ? std::string_view(*entry.task_code) : std::string_view());
  // The codes are in this order.
  if (!code || *code < WriteCode::kPut || *code > WriteCode::kMultiRemove) return std::nullopt;
  return code;
}

std::string NameOf(const DuplicateEntry& entry) {
  constexpr size_t kShownBytesMax = 64;
  if (!entry.task_code) return "";
  return absl::CHexEscape(Text(*entry.task_code).substr(0, kShownBytesMax));
}

// The hints are those of 2.5.0: its operators search for them.
std::optional<DuplicateResponse> RefusalOf(const DuplicateRequest& request,
                                           const DuplicationGroup& group, int64_t now_us) {
  const auto refused = [](std::string hint) {
    return DuplicateResponse{.error = static_cast<int32_t>(StorageError::kInvalidArgument),
                             .error_hint = std::move(hint)};
  };
  const absl::Time latest = absl::FromUnixMicros(now_us) + kAheadMax;
  for (const DuplicateEntry& entry : request.entries) {
    const int64_t cluster_id = entry.cluster_id.value_or(0);
    if (!group.Has(cluster_id)) return refused("request cluster id is unconfigured");
    if (cluster_id == group.own_id) return refused("self-duplicating");
    if (!CodeOf(entry)) return refused(absl::StrCat("unrecognized task code ", NameOf(entry)));
    const int64_t time_us = entry.timestamp_us.value_or(0);
    // Not "invalid argument": it passes once a clock is set.
    if (time_us < 0 || absl::FromUnixMicros(time_us) > latest)
      return DuplicateResponse{
          .error = static_cast<int32_t>(StorageError::kTryAgain),
          .error_hint = absl::StrCat(
              "a write of ", absl::FormatTime(absl::FromUnixMicros(time_us), absl::UTCTimeZone()),
              ", here it is ", absl::FormatTime(absl::FromUnixMicros(now_us), absl::UTCTimeZone()),
              ": a clock is wrong by more than ", absl::FormatDuration(kAheadMax),
              "; set the clocks of both clusters' servers")};
  }
  return std::nullopt;
}

namespace {

// A true bool, id 1004, and the wrapper's end byte, which without it stands in its place.
constexpr std::string_view kTombstoneMark("\x02\x03\xec\x01\0", 5);

// What it removes, as it would be encoded without a mark; nullopt: it does not decode, or is no
// remove.
std::optional<std::string> Unmarked(WriteCode code, std::string_view body) {
  const auto again = [](const auto& decoded) {
    return decoded.ok() ? std::optional(EncodeWrapped(*decoded)) : std::nullopt;
  };
  if (code == WriteCode::kRemove) return again(DecodeWrapped<Blob>(body));
  if (code == WriteCode::kMultiRemove) return again(DecodeWrapped<MultiRemoveRequest>(body));
  return std::nullopt;
}

}  // namespace

std::string WithTombstoneMark(WriteCode code, std::string body) {
  std::optional<std::string> unmarked = Unmarked(code, body);
  if (!unmarked) return body;
  unmarked->pop_back();
  return std::move(*unmarked).append(kTombstoneMark);
}

bool HasTombstoneMark(WriteCode code, std::string_view body) {
  // A key may end so, too; then nothing stands behind it.
  if (!body.ends_with(kTombstoneMark)) return false;
  const std::optional<std::string> unmarked = Unmarked(code, body);
  return unmarked && unmarked->size() - 1 + kTombstoneMark.size() == body.size();
}

std::string WithoutTombstoneMark(WriteCode code, std::string body) {
  return HasTombstoneMark(code, body) ? *Unmarked(code, body) : body;
}

}  // namespace arion
