// Raw keys: hash key and sort key as one byte string (engine/FORMAT.md 5).
//
// Shapes   u16 big-endian length of the hash key (0..65534), hash key, sort key. Byte order of raw
//          keys is the order of records within a partition.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace arion {

// The longest hash key. 65535 in the length field marks no raw key.
constexpr size_t kHashKeyBytesMax = 65534;

// A raw key, taken apart: views into it. Both parts may be empty.
struct KeyParts {
  std::string_view hash_key;
  std::string_view sort_key;
};

// Makes a raw key. hash_key.size() <= kHashKeyBytesMax.
//
//   JoinRawKey("user7", "name")        // "\0\5" "user7" "name"
//   SplitRawKey(raw_key)->sort_key     // "name", a view into raw_key
std::string JoinRawKey(std::string_view hash_key, std::string_view sort_key);
// nullopt: shorter than two bytes or than its own length field says, or a hash key of 65535 bytes.
std::optional<KeyParts> SplitRawKey(std::string_view raw_key);
inline bool IsRawKey(std::string_view bytes) { return SplitRawKey(bytes).has_value(); }
// The first byte string behind every string that starts with `prefix`; empty: there is none (the
// prefix is empty, or bytes of 255 only). A range from the prefix up to it holds exactly those
// strings.
std::string EndOfPrefix(std::string_view prefix);

}  // namespace arion
