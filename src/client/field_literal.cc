// SPDX-License-Identifier: Apache-2.0
#include "client/field_literal.h"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <absl/strings/numbers.h>
#include <rapidjson/document.h>

#include <cmath>
#include <string>

#include "base/status.h"

namespace arion {
namespace {

// As JSON writes them: no sign but a minus, no zero before other digits (as post codes have), no
// "nan", "inf" or hexadecimal: these are words.
bool IsNumber(std::string_view word) {
  if (word.starts_with('-')) word.remove_prefix(1);
  const bool has_idle_zero =
      word.size() > 1 && word[0] == '0' && absl::ascii_isdigit(static_cast<unsigned char>(word[1]));
  return !word.empty() && !has_idle_zero &&
         absl::ascii_isdigit(static_cast<unsigned char>(word.front())) &&
         word.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
}

absl::StatusOr<IndexedValue> ParseString(std::string_view word) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(word.data(), word.size());
  if (document.HasParseError() || !document.IsString())
    return absl::InvalidArgumentError(absl::StrCat(
        absl::CEscape(Text(word)), " begins with a quote and is no string as JSON writes them"));
  return IndexedValue(std::string(document.GetString(), document.GetStringLength()));
}

}  // namespace

absl::StatusOr<IndexedValue> ParseFieldLiteral(std::string_view word) {
  if (word.starts_with('"')) return ParseString(word);
  if (word == "true" || word == "false") return IndexedValue(word == "true");
  if (IsNumber(word)) {
    if (int64_t whole = 0; absl::SimpleAtoi(Text(word), &whole)) return IndexedValue(whole);
    double fraction = 0;
    if (absl::SimpleAtod(Text(word), &fraction) && std::isfinite(fraction))
      return IndexedValue(fraction);
  }
  return IndexedValue(std::string(word));
}

}  // namespace arion
