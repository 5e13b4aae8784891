// How a message names its wire fields, without knowing the wire. Each struct lists (field id,
// member) pairs once, in ascending ids, in a static Fields(self, visitor); rpc/thrift_codec.cc is
// the visitor that turns them into bytes.
//
//   struct Question {
//     std::string name;
//     std::optional<int32_t> limit;
//     template <class S, class V>
//     static void Fields(S& s, V& v) { v(1, s.name), v(2, s.limit); }
//   };
//
// Member type -> wire type: bool, int8_t, int32_t, int64_t, enum (i32), std::string (string), Blob,
// PartitionId, Endpoint, ErrorCode, HostPort (the raw types of rpc/PROTOCOL.md 3.3), std::vector
// (list), std::set (set), std::map (map), struct. A plain member is always written; std::optional
// only when set.
//
// The host_port twins of addresses (hp_x beside x) are std::optional<HostPort> or
// std::optional<std::vector<HostPort>> and belong to the codec: callers neither set nor read them.
// The n-th twin of a struct belongs to its n-th member of type Endpoint or std::vector<Endpoint>.
// Twins are written only to peers of generation 26, made from a valid x when not set. Decoding
// fills x from its twin where x is missing, and empties the twin.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace arion {

struct Endpoint;

// A server by name ("host_port" on the wire): string host, u16 port, i8 type (0 invalid, 1 IPv4 or
// name).
struct HostPort {
  std::string host;
  uint16_t port = 0;

  bool IsValid() const { return !host.empty(); }
  // The IP literal; an invalid endpoint gives the invalid form.
  static HostPort From(Endpoint endpoint);
  bool operator==(const HostPort&) const = default;
};

}  // namespace arion
