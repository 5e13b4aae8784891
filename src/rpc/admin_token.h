// An administrator's token travels beside a request's argument, in the same anonymous struct, as field
// 1000: who knows nothing of it passes it over. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace arion {

// `wrapped` is what EncodeWrapped made.
void AddAdminToken(std::string_view token, std::string* wrapped);
std::string AdminTokenOf(std::string_view wrapped);  // empty: there is none, or it can't be read

}  // namespace arion
