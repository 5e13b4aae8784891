// Literals: values of indexed fields as words of the shell, and as they are shown.
//
// Shapes    5, -7: a whole number. 1.5, 2e3, and whole numbers beyond 64 bits: a fraction. true,
//           false. 007 is none of them. "5": a string, with JSON's escapes; the shell takes quotes of its own away, so
//           this one is written '"5"'. Any other word is a string as it stands.
// Errors    InvalidArgument: it begins with a quote and is no JSON string.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <arion/options.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/shell/words.h"

namespace arion::shell {

absl::StatusOr<IndexedValue> ParseLiteral(std::string_view word);
// bool, integer, double, string.
std::string_view TypeOf(const IndexedValue& value);
// Numbers so that they are read back as the same; strings by `shown`.
std::string LiteralText(const IndexedValue& value,
                        const std::function<std::string(std::string_view)>& shown);

// "= LITERAL", "< LITERAL", "prefix LITERAL", "between A B", or nothing: all. The views in the
// options point into `words`.
absl::StatusOr<FindOptions> ParseCondition(const Words& words, size_t from);

// What stands behind `create_index TABLE`: names with definitions, in their order.
struct IndexWords {
  std::string name;
  std::string definition;
  bool operator==(const IndexWords&) const = default;
};
// "a on $.a, b on bytes(16, 8)". Neither names nor definitions are checked.
absl::StatusOr<std::vector<IndexWords>> ParseIndexWords(const Words& words, size_t from);

}  // namespace arion::shell
