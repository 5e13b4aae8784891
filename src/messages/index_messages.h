// FIND: records of a partition by an index of its table. Arion's own: Pegasus has no such request.
//
//   The client asks the primary of each partition, and merges the rows by `position`.
//
// Shapes    A row's position tells its place in the index: its field, in the order of the index,
//           then its key. It compares byte by byte, within a partition and between them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/blob.h"

namespace arion {

inline constexpr char kRpcFind[] = "RPC_ARION_INDEX_FIND";

// A field of a value, or a bound. In the order of the index: false, true, numbers, strings.
struct FieldValue {
  enum Kind : int32_t { kBool = 1, kInteger = 2, kDouble = 3, kString = 4 };
  int32_t kind = kString;
  // Of kBool (0, 1) and kInteger. Of kDouble: its bits.
  int64_t integer = 0;
  // Any bytes.
  Blob string;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.kind), v(2, s.integer), v(3, s.string);
  }
  bool operator==(const FieldValue&) const = default;

  double number() const { return std::bit_cast<double>(integer); }
  static FieldValue Of(bool value) { return {.kind = kBool, .integer = value ? 1 : 0}; }
  static FieldValue Of(int64_t value) { return {.kind = kInteger, .integer = value}; }
  static FieldValue Of(double value) {
    return {.kind = kDouble, .integer = std::bit_cast<int64_t>(value)};
  }
  static FieldValue Of(std::string value) {
    return {.kind = kString, .string = Blob(std::move(value))};
  }
};

struct FindRequest {
  std::string index;
  // Bounds of the field. One bound alone: to the end of its kind. None: the whole index.
  std::optional<FieldValue> lower;
  std::optional<FieldValue> upper;
  bool lower_inclusive = true;
  bool upper_inclusive = true;
  // Strings that begin so; the bounds are absent.
  std::optional<Blob> prefix;
  bool descending = false;
  // At most so many rows; 0: none, only what the index is at.
  int32_t limit = 100;
  bool with_value = false;
  // Goes on behind this position.
  std::optional<Blob> after;
  // Where the index is not built yet: reads all records instead.
  bool may_scan = false;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.index), v(2, s.lower), v(3, s.upper), v(4, s.lower_inclusive), v(5, s.upper_inclusive);
    v(6, s.prefix), v(7, s.descending), v(8, s.limit), v(9, s.with_value), v(10, s.after);
    v(11, s.may_scan);
  }
  bool operator==(const FindRequest&) const = default;
};

struct FoundRow {
  // A raw key.
  Blob key;
  FieldValue field;
  Blob position;
  // with_value.
  std::optional<Blob> value;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.key), v(2, s.field), v(3, s.position), v(4, s.value);
  }
  bool operator==(const FoundRow&) const = default;
};

// `error`: kNotFound: the table has no such index, or this member has not heard of it yet.
// kTryAgain: it is being built.
struct FindResponse {
  int32_t error = 0;
  std::vector<FoundRow> rows;
  // Where to go on; absent: no row of the partition lies behind.
  std::optional<Blob> next;
  // Of the building: of 100.
  int32_t built_percent = 0;
  int32_t app_id = 0;
  int32_t partition_index = 0;
  std::string server;
  // Entries that were put, those of former fields too, about.
  int64_t entries = 0;
  // Records that had no such field when it was built or they were written: no JSON, for instance.
  int64_t left_out = 0;
  // It is built anew; it answers meanwhile.
  bool is_renewed = false;
  // Of the data, about: what is to be read for that or for the first building, and in a second now.
  int64_t left_bytes = 0;
  int64_t bytes_per_second = 0;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.error), v(2, s.rows), v(3, s.next), v(4, s.built_percent), v(5, s.app_id);
    v(6, s.partition_index), v(7, s.server), v(8, s.entries), v(9, s.left_out);
    v(10, s.is_renewed), v(11, s.left_bytes), v(12, s.bytes_per_second);
  }
  bool operator==(const FindResponse&) const = default;
};

}  // namespace arion
