// An administrator's token travels beside a request's argument, in the same anonymous struct, as
// field 1000. A reader that knows nothing of it passes it over.
//
// Errors    None: what can't be read has no token, and is judged as without one.
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace arion {

// Adds the token to `wrapped`, which EncodeWrapped made. Once for each request.
void AddAdminToken(std::string_view token, std::string* wrapped);
// The token of a wrapped argument; empty: there is none, or it can't be read.
std::string AdminTokenOf(std::string_view wrapped);

}  // namespace arion
