// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/literals.h"

#include <absl/strings/str_split.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/status.h"
#include "client/field_literal.h"

namespace arion::shell {
std::string_view TypeOf(const IndexedValue& value) {
  static constexpr std::string_view kTypes[] = {"bool", "integer", "double", "string"};
  static_assert(std::size(kTypes) == std::variant_size_v<IndexedValue>);
  return kTypes[value.index()];
}

std::string LiteralText(const IndexedValue& value,
                        const std::function<std::string(std::string_view)>& shown) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* whole = std::get_if<int64_t>(&value)) return std::to_string(*whole);
  if (const auto* text = std::get_if<std::string>(&value)) return shown(*text);
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), std::get<double>(value)).ptr;
  return std::string(digits, end);
}

absl::StatusOr<FindOptions> ParseCondition(const Words& words, size_t from) {
  FindOptions options;
  const size_t count = words.size() - std::min(from, words.size());
  if (count == 0) return options;
  const std::string& how = words[from];
  if (count != (how == "between" ? 3 : 2))
    return absl::InvalidArgumentError(
        "a condition is =, <, <=, > or >= and a value, prefix and a text, or between and two "
        "values");
  if (how == "prefix") {
    // Any text: prefix 1 finds strings that begin with a 1.
    options.prefix = words[from + 1];
    return options;
  }
  ASSIGN_OR_RETURN(IndexedValue first, ParseFieldLiteral(words[from + 1]));
  if (how == "between") {
    options.lower = std::move(first);
    ASSIGN_OR_RETURN(options.upper, ParseFieldLiteral(words[from + 2]));
    return options;
  }
  if (how != "=" && how != "<" && how != "<=" && how != ">" && how != ">=")
    return absl::InvalidArgumentError(
        absl::StrCat(Escape(how), " is no condition; one of =, <, <=, >, >=, prefix, between"));
  if (how.starts_with('<')) {
    options.upper_bound = how == "<" ? Bound::kExclusive : Bound::kInclusive;
    options.upper = std::move(first);
    return options;
  }
  options.lower_bound = how == ">" ? Bound::kExclusive : Bound::kInclusive;
  if (how == "=") options.upper = first;
  options.lower = std::move(first);
  return options;
}

absl::StatusOr<std::vector<IndexWords>> ParseIndexWords(const Words& words, size_t from) {
  // Together: a definition may be written with blanks, and commas stand where people put them.
  std::string text;
  for (size_t i = from; i < words.size(); ++i) absl::StrAppend(&text, words[i], " ");
  std::vector<std::string> pieces(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    // Those within brackets are the definition's own.
    if (c == ',' && depth <= 0)
      pieces.emplace_back();
    else
      pieces.back() += c;
  }
  std::vector<IndexWords> indexes;
  for (const std::string& piece : pieces) {
    const std::vector<std::string> parts =
        absl::StrSplit(piece, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
    if (parts.size() < 3 || (parts[1] != "on" && parts[1] != "ON"))
      return absl::InvalidArgumentError(
          "an index is NAME on DEFINITION; several are separated by commas");
    IndexWords& index = indexes.emplace_back(IndexWords{.name = parts[0]});
    for (size_t i = 2; i < parts.size(); ++i) index.definition += parts[i];
  }
  return indexes;
}

}  // namespace arion::shell
