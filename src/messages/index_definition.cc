// SPDX-License-Identifier: Apache-2.0
#include "messages/index_definition.h"

#include <absl/status/status.h>
#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <algorithm>

#include "base/status.h"

namespace arion {
namespace {

constexpr char kExpected[] =
    "expected $.a.b, $.a[0], value, or bytes(OFFSET,LENGTH); ;generation=N and ;paused may follow";
constexpr int32_t kElementMax = 1'000'000;
constexpr uint32_t kBytesEndMax = 64 << 20;
constexpr uint32_t kBytesLengthMax = 1024;

absl::Status Wrong(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(Text(what), ": ", kExpected));
}

bool IsMemberByte(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '@' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// From behind "$" on.
absl::StatusOr<std::vector<IndexDefinition::Step>> ParsePath(std::string_view text) {
  std::vector<IndexDefinition::Step> path;
  while (!text.empty()) {
    if (path.size() == kIndexPathDepthMax)
      return Wrong(absl::StrCat("a path has at most ", kIndexPathDepthMax, " steps"));
    const bool is_element = text.front() == '[';
    if (!is_element && text.front() != '.') return Wrong("a step begins with . or [");
    text.remove_prefix(1);
    if (is_element) {
      const size_t end = text.find(']');
      int32_t element = -1;
      if (end == std::string_view::npos || !absl::SimpleAtoi(Text(text.substr(0, end)), &element) ||
          element < 0 || element > kElementMax)
        return Wrong("[N] names an element, from 0 on");
      path.push_back({.member = {}, .element = element});
      text.remove_prefix(end + 1);
      continue;
    }
    const auto end = std::find_if_not(text.begin(), text.end(), IsMemberByte);
    if (end == text.begin()) return Wrong("a member has a name of letters, digits, _, - or @");
    path.push_back({.member = std::string(text.begin(), end)});
    text.remove_prefix(static_cast<size_t>(end - text.begin()));
  }
  if (path.empty()) return Wrong("a path has at least one step");
  return path;
}

absl::Status ParseSource(std::string_view text, IndexDefinition* definition) {
  using enum IndexDefinition::Source;
  if (text == "value") {
    definition->source = kValue;
    return absl::OkStatus();
  }
  if (text.starts_with('$')) {
    definition->source = kField;
    ASSIGN_OR_RETURN(definition->path, ParsePath(text.substr(1)));
    return absl::OkStatus();
  }
  if (!text.starts_with("bytes(") || !text.ends_with(')')) return Wrong("unknown source");
  const std::vector<std::string> numbers =
      absl::StrSplit(Text(text.substr(6, text.size() - 7)), ',');
  definition->source = kBytes;
  if (numbers.size() != 2 || !absl::SimpleAtoi(numbers[0], &definition->offset) ||
      !absl::SimpleAtoi(numbers[1], &definition->length) || definition->length == 0 ||
      definition->length > kBytesLengthMax || definition->offset > kBytesEndMax)
    return Wrong(absl::StrCat("bytes take an offset and 1 to ", kBytesLengthMax, " bytes"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<IndexDefinition> IndexDefinition::Parse(std::string_view text) {
  if (text.size() > kIndexDefinitionBytesMax) return Wrong("too long");
  const std::vector<std::string> parts = absl::StrSplit(arion::Text(text), ';');
  IndexDefinition definition;
  RETURN_IF_ERROR(ParseSource(parts[0], &definition));
  for (size_t i = 1; i < parts.size(); ++i) {
    std::string_view part = parts[i];
    constexpr std::string_view kGeneration = "generation=";
    if (part == "paused" && !definition.is_paused) {
      definition.is_paused = true;
    } else if (part.starts_with(kGeneration) && definition.generation == 0) {
      part.remove_prefix(kGeneration.size());
      if (!absl::SimpleAtoi(arion::Text(part), &definition.generation) ||
          definition.generation <= 0)
        return Wrong("a generation is a number from 1 on");
    } else {
      return Wrong(absl::StrCat("\"", arion::Text(part), "\" is unknown or comes twice"));
    }
  }
  return definition;
}

std::string IndexDefinition::Text() const {
  std::string text;
  switch (source) {
    case Source::kValue:
      text = "value";
      break;
    case Source::kBytes:
      text = absl::StrCat("bytes(", offset, ",", length, ")");
      break;
    case Source::kField:
      text = "$";
      for (const Step& step : path) {
        if (step.element >= 0)
          absl::StrAppend(&text, "[", step.element, "]");
        else
          absl::StrAppend(&text, ".", step.member);
      }
  }
  if (generation > 0) absl::StrAppend(&text, ";generation=", generation);
  if (is_paused) absl::StrAppend(&text, ";paused");
  return text;
}

bool IndexDefinition::IsSameContent(const IndexDefinition& other) const {
  IndexDefinition same = other;
  same.generation = generation;
  same.is_paused = is_paused;
  return *this == same;
}

bool IsIndexName(std::string_view name) {
  return !name.empty() && name.size() <= kIndexNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
         });
}

std::optional<std::string_view> IndexNameOf(std::string_view env_key) {
  const std::string_view prefix = kIndexEnvPrefix;
  if (!env_key.starts_with(prefix)) return std::nullopt;
  return env_key.substr(prefix.size());
}

std::string IndexEnvKey(std::string_view name) { return absl::StrCat(kIndexEnvPrefix, Text(name)); }

}  // namespace arion
