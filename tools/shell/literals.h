// Literals: values of indexed fields as words of the shell, and as they are shown.
//
// Shapes    client/field_literal.h; the shell takes quotes of its own away, so the string 5 is written
//           '"5"'.
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
