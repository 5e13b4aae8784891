// Fields as byte strings whose order is that of the fields, and entries of an index made of them.
//
// Shapes    Order: false, true, numbers, strings. Numbers compare by their value, whether they are
//           written 1 or 1.0; strings byte by byte. A string counts up to kFieldBytesMax bytes:
//           longer ones that begin alike lie in the order of their keys.
//           Field:  0x21 false · 0x22 true
//                   0x30, u64 of the nearest double, u16 of what it differs by
//                   0x40, the bytes (0x00 as 0x00 0xff), 0x00 0x01
//           Entry:  a raw key whose hash key is the index's id (u32 big-endian) and whose sort key
//                   is the field, then the record's raw key. Its value is empty.
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "messages/index_messages.h"

namespace arion {

// Bytes of a string that count for its place.
inline constexpr size_t kFieldBytesMax = 512;

// Appends the field. false: it is none (an unknown kind, not a number); nothing is appended.
bool AppendField(const FieldValue& field, std::string* bytes);
// Negative, zero, positive: as `a` lies before, at or behind `b` in the order. Whole strings count.
int CompareFields(const FieldValue& a, const FieldValue& b);

// An entry, taken apart: views into it.
struct IndexEntry {
  // Field and raw key: the row's position.
  std::string_view position;
  std::string_view field;
  std::string_view raw_key;
};
// Where every entry of the index begins.
std::string EntryPrefix(uint32_t id);
// nullopt: it is no entry.
std::optional<IndexEntry> SplitEntry(std::string_view entry);
// Splits what is behind the prefix.
std::optional<IndexEntry> SplitPosition(std::string_view position);

// The entries that a request is about, its `after` taken into account. InvalidArgument: bounds of
// no kind, or of two kinds.
absl::StatusOr<KeyRange> EntriesOf(const FindRequest& request, uint32_t id);
// Whether the field lies within the bounds of the request.
bool IsWithin(const FindRequest& request, const FieldValue& field);

}  // namespace arion
