// SPDX-License-Identifier: Apache-2.0
#include "indexes/field_order.h"

#include <absl/status/status.h>

#include <bit>
#include <cmath>

#include "base/coding.h"
#include "base/raw_key.h"
#include "base/status.h"

namespace arion {
namespace {

enum Tag : char { kFalse = 0x21, kTrue = 0x22, kNumber = 0x30, kText = 0x40 };
constexpr size_t kNumberBytes = 1 + sizeof(uint64_t) + sizeof(uint16_t);
constexpr size_t kIdBytes = sizeof(uint32_t);
constexpr char kZero = 0x00, kZeroItself = static_cast<char>(0xff), kEnd = 0x01;
constexpr int64_t kResidualBias = 1 << 15;

// A number as the nearest double and what it differs by: at most 1,024 for 64 bits.
struct Number {
  double nearest = 0;
  int64_t residual = 0;
};
std::optional<Number> NumberOf(const FieldValue& field) {
  if (field.kind == FieldValue::kDouble) {
    const double number = field.number();
    if (std::isnan(number)) return std::nullopt;
    return Number{.nearest = number == 0 ? 0 : number};  // -0 lies where 0 lies
  }
  if (field.kind != FieldValue::kInteger) return std::nullopt;
  const auto nearest = static_cast<double>(field.integer);
  // 2^63 itself is no int64.
  const int64_t back = nearest >= 0x1p63 ? INT64_MAX : static_cast<int64_t>(nearest);
  const int64_t residual = field.integer - back - (nearest >= 0x1p63 ? 1 : 0);
  return Number{.nearest = nearest, .residual = residual};
}

// Bits whose unsigned order is that of the doubles.
uint64_t OrderedBits(double number) {
  const auto bits = std::bit_cast<uint64_t>(number);
  constexpr uint64_t kSign = uint64_t{1} << 63;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

void AppendText(std::string_view text, std::string* bytes) {
  for (const char c : text.substr(0, kFieldBytesMax)) {
    bytes->push_back(c);
    if (c == kZero) bytes->push_back(kZeroItself);
  }
}

// Of the first bytes; 0: they are no field.
size_t FieldBytes(std::string_view bytes) {
  if (bytes.empty()) return 0;
  switch (bytes[0]) {
    case kFalse:
    case kTrue:
      return 1;
    case kNumber:
      return bytes.size() >= kNumberBytes ? kNumberBytes : 0;
    case kText:
      for (size_t i = 1; i + 1 < bytes.size(); ++i) {
        if (bytes[i] != kZero) continue;
        if (bytes[i + 1] == kEnd) return i + 2;
        ++i;
      }
      return 0;
    default:
      return 0;
  }
}

int RankOf(const FieldValue& field) {
  switch (field.kind) {
    case FieldValue::kBool:
      return 1;
    case FieldValue::kInteger:
    case FieldValue::kDouble:
      return 2;
    case FieldValue::kString:
      return 3;
    default:
      return 0;
  }
}

// All fields of the kind that `field` is of begin so; of bools there are two beginnings.
std::pair<char, char> TagsOf(const FieldValue& field) {
  switch (RankOf(field)) {
    case 1:
      return {kFalse, kTrue};
    case 2:
      return {kNumber, kNumber};
    default:
      return {kText, kText};
  }
}

}  // namespace

bool AppendField(const FieldValue& field, std::string* bytes) {
  switch (RankOf(field)) {
    case 1:
      bytes->push_back(field.integer != 0 ? kTrue : kFalse);
      return true;
    case 2: {
      const std::optional<Number> number = NumberOf(field);
      if (!number) return false;
      bytes->push_back(kNumber);
      AppendBig(OrderedBits(number->nearest), bytes);
      AppendBig(static_cast<uint16_t>(number->residual + kResidualBias), bytes);
      return true;
    }
    case 3:
      bytes->push_back(kText);
      AppendText(field.string, bytes);
      bytes->append({kZero, kEnd});
      return true;
    default:
      return false;
  }
}

int CompareFields(const FieldValue& a, const FieldValue& b) {
  const auto sign = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  const int rank = RankOf(a);
  if (rank != RankOf(b)) return sign(rank, RankOf(b));
  if (rank == 3) return a.string.bytes.compare(b.string.bytes);
  if (rank == 1) return sign(a.integer != 0, b.integer != 0);
  const std::optional<Number> x = NumberOf(a), y = NumberOf(b);
  if (!x || !y) return sign(x.has_value(), y.has_value());
  return x->nearest != y->nearest ? sign(x->nearest, y->nearest) : sign(x->residual, y->residual);
}

std::string EntryPrefix(uint32_t id) {
  std::string bytes;
  AppendBig(id, &bytes);
  return JoinRawKey(bytes, {});
}

std::optional<IndexEntry> SplitEntry(std::string_view entry) {
  const std::optional<KeyParts> parts = SplitRawKey(entry);
  if (!parts || parts->hash_key.size() != kIdBytes) return std::nullopt;
  return SplitPosition(parts->sort_key);
}

std::optional<IndexEntry> SplitPosition(std::string_view position) {
  const size_t field_bytes = FieldBytes(position);
  if (field_bytes == 0) return std::nullopt;
  return IndexEntry{.position = position,
                    .field = position.substr(0, field_bytes),
                    .raw_key = position.substr(field_bytes)};
}

absl::StatusOr<KeyRange> EntriesOf(const FindRequest& request, uint32_t id) {
  const std::string prefix = EntryPrefix(id);
  KeyRange range{.first = prefix, .end = EndOfPrefix(prefix)};
  if (request.prefix) {
    range.first.push_back(kText);
    AppendText(*request.prefix, &range.first);
    range.end = EndOfPrefix(range.first);
  }
  const auto bound = [&prefix](const FieldValue& field) -> absl::StatusOr<std::string> {
    std::string bytes = prefix;
    if (AppendField(field, &bytes)) return bytes;
    return absl::InvalidArgumentError("a bound is a bool, a number or a string");
  };
  if (request.lower) {
    ASSIGN_OR_RETURN(range.first, bound(*request.lower));
    range.end = EndOfPrefix(prefix + TagsOf(*request.lower).second);
  }
  if (request.upper) {
    if (request.lower && RankOf(*request.lower) != RankOf(*request.upper))
      return absl::InvalidArgumentError("both bounds are of one kind");
    // What is equal is read too, and judged by the record: of long strings only a part counts.
    ASSIGN_OR_RETURN(const std::string last, bound(*request.upper));
    range.end = EndOfPrefix(last);
    if (!request.lower) range.first = prefix + TagsOf(*request.upper).first;
  }
  if (request.after) {
    const std::string place = prefix + request.after->bytes;
    if (request.descending)
      range.end = std::min(range.end, place);
    else
      range.first = std::max(range.first, JustBehind(place));
  }
  return range;
}

bool IsWithin(const FindRequest& request, const FieldValue& field) {
  if (request.prefix)
    return field.kind == FieldValue::kString &&
           std::string_view(field.string).starts_with(request.prefix->bytes);
  if (request.lower) {
    const int order = CompareFields(field, *request.lower);
    if (order < 0 || (order == 0 && !request.lower_inclusive)) return false;
    if (!request.upper && RankOf(field) != RankOf(*request.lower)) return false;
  }
  if (request.upper) {
    const int order = CompareFields(field, *request.upper);
    if (order > 0 || (order == 0 && !request.upper_inclusive)) return false;
    if (!request.lower && RankOf(field) != RankOf(*request.upper)) return false;
  }
  return true;
}

}  // namespace arion
