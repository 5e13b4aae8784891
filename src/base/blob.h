// Blob: bytes that the wire announces as a struct but writes as length + bytes (rpc/PROTOCOL.md
// 3.3).
//
// Threads   A plain value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <utility>

namespace arion {

// A type of its own, so that the codec can tell bytes from text. It owns its bytes, and compares by
// them. It converts from and to strings. A string_view of it is valid until the blob changes or
// goes.
//
//   Blob value = "v1";                      // as a field of a request
//   const std::string_view bytes = value;   // points into `value`
struct Blob {
  std::string bytes;

  Blob() = default;
  Blob(std::string b) : bytes(std::move(b)) {}  // NOLINT: a blob is its bytes
  Blob(std::string_view b) : bytes(b) {}        // NOLINT
  Blob(const char* text) : bytes(text) {}       // NOLINT
  auto operator<=>(const Blob&) const = default;
  operator std::string_view() const { return bytes; }  // NOLINT
};

}  // namespace arion
