// DUPLICATE: writes of another cluster in one request (rpc/PROTOCOL.md 5.8). A primary judges it as
// a whole before it is logged; members apply what the log holds and judge nothing, so they agree
// whatever their configurations are.
//
// Shapes    Up to 2.3 the request is one write; later it is a list of them. Both are in logs; only
//           lists are taken from senders.
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/duplication_group.h"
#include "base/mutation.h"
#include "messages/duplicate_messages.h"

namespace arion {

// As logs have it, in either form. InvalidArgument: it does not decode.
absl::StatusOr<DuplicateRequest> DecodeLoggedDuplicate(std::string_view body);
// As senders have it. InvalidArgument: it does not decode, or is no list.
absl::StatusOr<DuplicateRequest> DecodeSentDuplicate(std::string_view body);

// The operation that it names, if that can be duplicated: puts and removes only, which need no
// record to be decided.
std::optional<WriteCode> CodeOf(const DuplicateEntry& entry);
// The name of its operation for people: printable and short, for it may be any bytes.
std::string NameOf(const DuplicateEntry& entry);

// How far into the future the time of a duplicated write may be: this cluster's own writes get
// later ones from then on, for as long.
inline constexpr absl::Duration kAheadMax = absl::Hours(24);
// The answer to a request that must not be taken: of a cluster that is not in the group, of this
// cluster itself, with a code that can't be duplicated, or of a time that can't be right by this
// server's clock (`now_us`: since 1970). nullopt: neither.
std::optional<DuplicateResponse> RefusalOf(const DuplicateRequest& request,
                                           const DuplicationGroup& group, int64_t now_us);

// A REMOVE or MULTI_REMOVE in the log of a table that is duplicated itself leaves tombstones
// (engine.h): its body ends with a field that says so, which is passed over by whoever does not
// know it, version 2.5.0 among them. Bodies of other codes, and those that do not decode, have
// none.
std::string WithTombstoneMark(WriteCode code, std::string body);
bool HasTombstoneMark(WriteCode code, std::string_view body);
// As a client sends it.
std::string WithoutTombstoneMark(WriteCode code, std::string body);

}  // namespace arion
