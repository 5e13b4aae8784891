// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/find_model.h"

#include <absl/strings/escaping.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <bit>

#include "base/status.h"

namespace arion::sim {
namespace {

// Of a string, this much counts for its place.
constexpr size_t kStringBytesMax = 512;

// What stands behind `"name":`, up to the end of the member.
std::optional<std::string_view> Member(std::string_view object, std::string_view name) {
  if (!object.starts_with('{')) return std::nullopt;
  const std::string key = absl::StrCat("\"", Text(name), "\":");
  const size_t at = object.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  return object.substr(at + key.size());
}

std::optional<std::string_view> Element(std::string_view array, int32_t number) {
  if (!array.starts_with('[')) return std::nullopt;
  const size_t end = array.find(']');
  array = array.substr(1, end - 1);
  for (; number > 0; --number) {
    const size_t comma = array.find(',');
    if (comma == std::string_view::npos) return std::nullopt;
    array.remove_prefix(comma + 1);
  }
  return array.empty() ? std::nullopt : std::optional(array);
}

std::optional<FieldValue> Scalar(std::string_view text) {
  if (text.starts_with('"'))
    return FieldValue::Of(std::string(text.substr(1, text.find('"', 1) - 1)));
  text = text.substr(0, text.find_first_of(",]}"));
  if (text == "true" || text == "false") return FieldValue::Of(text == "true");
  int64_t integer = 0;
  if (absl::SimpleAtoi(Text(text), &integer)) return FieldValue::Of(integer);
  double number = 0;
  if (absl::SimpleAtod(Text(text), &number)) return FieldValue::Of(number);
  return std::nullopt;  // null, an object, an array
}

void AppendBigEndian(uint64_t number, int bytes, std::string* text) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    text->push_back(static_cast<char>(number >> shift));
}

// The workloads' numbers are small: each is a double.
double NumberOf(const FieldValue& field) {
  return field.kind == FieldValue::kInteger ? static_cast<double>(field.integer) : field.number();
}

// Both of one kind, as far as the order goes.
bool AreAlike(const FieldValue& a, const FieldValue& b) {
  const auto kind = [](const FieldValue& f) {
    return f.kind == FieldValue::kDouble ? static_cast<int32_t>(FieldValue::kInteger) : f.kind;
  };
  return kind(a) == kind(b);
}

int Compare(const FieldValue& a, const FieldValue& b) {
  if (a.kind == FieldValue::kString) return a.string.bytes.compare(b.string.bytes);
  if (a.kind == FieldValue::kBool) return static_cast<int>(a.integer - b.integer);
  const double x = NumberOf(a), y = NumberOf(b);
  return x < y ? -1 : x > y ? 1 : 0;
}

bool IsAskedFor(const FindRequest& request, const FieldValue& field) {
  if (request.prefix)
    return field.kind == FieldValue::kString &&
           std::string_view(field.string).starts_with(request.prefix->bytes);
  if (request.lower) {
    if (!AreAlike(field, *request.lower)) return false;
    const int order = Compare(field, *request.lower);
    if (order < 0 || (order == 0 && !request.lower_inclusive)) return false;
  }
  if (request.upper) {
    if (!AreAlike(field, *request.upper)) return false;
    const int order = Compare(field, *request.upper);
    if (order > 0 || (order == 0 && !request.upper_inclusive)) return false;
  }
  return true;
}

bool IsInPage(const FindPage& page, std::string_view position) {
  const FindRequest& request = page.request;
  const auto is_behind = [&request](std::string_view place, std::string_view other) {
    return request.descending ? place < other : place > other;
  };
  if (request.after && !is_behind(position, request.after->bytes)) return false;
  return !page.next || !is_behind(position, *page.next);
}

}  // namespace

std::optional<FieldValue> IndexedField(const IndexDefinition& definition, std::string_view value) {
  switch (definition.source) {
    case IndexDefinition::Source::kValue:
      return FieldValue::Of(std::string(value));
    case IndexDefinition::Source::kBytes:
      if (value.size() < size_t{definition.offset} + definition.length) return std::nullopt;
      return FieldValue::Of(std::string(value.substr(definition.offset, definition.length)));
    case IndexDefinition::Source::kField:
      break;
  }
  std::optional<std::string_view> at = value;
  for (const IndexDefinition::Step& step : definition.path) {
    at = step.element >= 0 ? Element(*at, step.element) : Member(*at, step.member);
    if (!at) return std::nullopt;
  }
  return Scalar(*at);
}

std::string FoundPosition(const FieldValue& field, std::string_view raw_key) {
  std::string position;
  switch (field.kind) {
    case FieldValue::kBool:
      position.push_back(field.integer != 0 ? 0x22 : 0x21);
      break;
    case FieldValue::kInteger:
    case FieldValue::kDouble: {
      constexpr uint64_t kSign = uint64_t{1} << 63;
      const uint64_t bits = std::bit_cast<uint64_t>(NumberOf(field) + 0.0);
      position.push_back(0x30);
      AppendBigEndian((bits & kSign) != 0 ? ~bits : bits | kSign, 8, &position);
      AppendBigEndian(0x8000, 2, &position);  // nothing is left beside the double
      break;
    }
    default:
      position.push_back(0x40);
      for (const char c : std::string_view(field.string).substr(0, kStringBytesMax)) {
        position.push_back(c);
        if (c == 0) position.push_back(static_cast<char>(0xff));
      }
      AppendBigEndian(1, 2, &position);
  }
  position += raw_key;
  return position;
}

std::optional<std::string> PlaceInPage(const FindPage& page, std::string_view raw_key,
                                       std::string_view value) {
  const std::optional<FieldValue> field = IndexedField(page.definition, value);
  if (!field || !IsAskedFor(page.request, *field)) return std::nullopt;
  std::string position = FoundPosition(*field, raw_key);
  if (!IsInPage(page, position)) return std::nullopt;
  return position;
}

std::string DescribePage(const FindPage& page) {
  const FindRequest& request = page.request;
  const auto describe = [](const FieldValue& field) {
    if (field.kind == FieldValue::kString) return absl::StrCat("\"", field.string.bytes, "\"");
    if (field.kind == FieldValue::kBool) return std::string(field.integer != 0 ? "true" : "false");
    return absl::StrCat(NumberOf(field));
  };
  std::string text = absl::StrCat("by ", page.definition.Text());
  if (request.prefix) absl::StrAppend(&text, " prefix \"", request.prefix->bytes, "\"");
  if (request.lower)
    absl::StrAppend(&text, request.lower_inclusive ? " from " : " behind ",
                    describe(*request.lower));
  if (request.upper)
    absl::StrAppend(&text, request.upper_inclusive ? " to " : " before ", describe(*request.upper));
  if (request.descending) absl::StrAppend(&text, " descending");
  absl::StrAppend(&text, " limit ", request.limit);
  if (request.after) absl::StrAppend(&text, " after ", absl::CHexEscape(request.after->bytes));
  if (page.next) absl::StrAppend(&text, " ended at ", absl::CHexEscape(*page.next));
  return text;
}

Violations JudgeRows(const FindPage& page, const FindResponse& response) {
  Violations violations;
  const auto violate = [&](const FoundRow* row, std::string_view what) {
    violations.push_back(absl::StrCat("checkers/C10: a FIND by ", page.definition.Text(), " of ",
                                      response.app_id, ".", response.partition_index, " at ",
                                      response.server, ": ", Text(what)));
    if (row != nullptr)
      absl::StrAppend(
          &violations.back(), ": ",
          Text(std::string_view(row->key).substr(std::min<size_t>(2, row->key.bytes.size()))));
  };
  const std::vector<FoundRow>& rows = response.rows;
  if (rows.size() > static_cast<size_t>(page.request.limit))
    violate(nullptr, "more rows than were asked for");
  for (size_t i = 0; i < rows.size(); ++i) {
    const FoundRow& row = rows[i];
    if (FoundPosition(row.field, row.key) != row.position.bytes)
      violate(&row, "a row's position is not that of its field and key");
    if (!IsAskedFor(page.request, row.field)) violate(&row, "a row that was not asked for");
    if (!IsInPage(page, row.position)) violate(&row, "a row that is not of the page");
    if (row.value.has_value() != page.request.with_value)
      violate(&row, "a value that was not asked for, or none");
    if (row.value && PlaceInPage(page, row.key, *row.value) != row.position.bytes)
      violate(&row, "a row whose field is not that of its value");
    if (i == 0) continue;
    const std::string& before = rows[i - 1].position.bytes;
    if (page.request.descending ? row.position.bytes >= before : row.position.bytes <= before)
      violate(&row, "a row out of order");
  }
  return violations;
}

}  // namespace arion::sim
