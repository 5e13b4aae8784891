// SPDX-License-Identifier: Apache-2.0
#include "data_api/duplicated_writes.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error_code.h"
#include "base/status.h"
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

bool WantsToYield(const DuplicateRequest& request) {
  return std::any_of(request.entries.begin(), request.entries.end(),
                     [](const DuplicateEntry& one) { return one.verify_timetag.value_or(false); });
}

// The hints are those of 2.5.0: its operators search for them.
std::optional<DuplicateResponse> RefusalOf(const DuplicateRequest& request,
                                           const DuplicationGroup& group) {
  const auto refused = [](std::string hint) {
    return DuplicateResponse{.error = static_cast<int32_t>(StorageError::kInvalidArgument),
                             .error_hint = std::move(hint)};
  };
  for (const DuplicateEntry& entry : request.entries) {
    const int64_t cluster_id = entry.cluster_id.value_or(0);
    if (!group.Has(cluster_id)) return refused("request cluster id is unconfigured");
    if (cluster_id == group.own_id) return refused("self-duplicating");
    if (!CodeOf(entry)) return refused(absl::StrCat("unrecognized task code ", NameOf(entry)));
  }
  return std::nullopt;
}

}  // namespace arion
