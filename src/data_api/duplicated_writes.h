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

// Whether one of them is to yield to a later record of its key, which is not done here.
bool WantsToYield(const DuplicateRequest& request);
// The answer to a request that must not be taken: of a cluster that is not in the group, of this
// cluster itself, or with a code that can't be duplicated. nullopt: neither.
std::optional<DuplicateResponse> RefusalOf(const DuplicateRequest& request,
                                           const DuplicationGroup& group);

}  // namespace arion
