// Values of indexed fields as people write them: words of the shell, arguments of a page.
//
// Shapes    5, -7: a whole number. 1.5, 2e3, and whole numbers beyond 64 bits: a fraction. true,
//           false. 007 is none of them. "5": a string, with JSON's escapes. Any other word is a
//           string as it stands.
// Errors    InvalidArgument: it begins with a quote and is no JSON string.
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <arion/options.h>

#include <string_view>

namespace arion {

absl::StatusOr<IndexedValue> ParseFieldLiteral(std::string_view word);

}  // namespace arion
