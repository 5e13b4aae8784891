// SPDX-License-Identifier: Apache-2.0
#include "base/raw_key.h"

#include "base/coding.h"
#include "base/log.h"

namespace arion {

std::string JoinRawKey(std::string_view hash_key, std::string_view sort_key) {
  // Requests are checked where they come in: a longer one here is our own mistake.
  CHECK_LE(hash_key.size(), kHashKeyBytesMax);
  std::string raw_key;
  raw_key.reserve(2 + hash_key.size() + sort_key.size());
  AppendBig(static_cast<uint16_t>(hash_key.size()), &raw_key);
  raw_key.append(hash_key);
  raw_key.append(sort_key);
  return raw_key;
}

std::optional<KeyParts> SplitRawKey(std::string_view raw_key) {
  ByteReader reader(raw_key);
  const size_t hash_key_bytes = reader.Big<uint16_t>();
  if (hash_key_bytes > kHashKeyBytesMax) return std::nullopt;
  std::string_view hash_key = reader.Bytes(hash_key_bytes);
  if (!reader.ok()) return std::nullopt;
  return KeyParts{.hash_key = hash_key, .sort_key = reader.rest()};
}

std::string EndOfPrefix(std::string_view prefix) {
  // A last byte of 255 can't be raised; the byte before it is, which skips the same strings.
  while (!prefix.empty() && prefix.back() == '\xff') prefix.remove_suffix(1);
  std::string end(prefix);
  if (!end.empty()) end.back() = static_cast<char>(static_cast<uint8_t>(end.back()) + 1);
  return end;
}

}  // namespace arion
