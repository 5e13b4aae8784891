// The names of things: partitions, configurations' ballots, mutations' decrees, servers' endpoints.
//
// Shapes    Plain values, compared and hashed by what they hold. packed() is the wire's form of it.
// Threads   Immutable once shared.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "base/strong_int.h"

namespace arion {

// The version of a partition's configuration. It rises by one with every change. -1: invalid; 0:
// freshly created.
using Ballot = StrongInt<struct BallotTag>;
// The serial number of a mutation in its partition. The first is 1.
using Decree = StrongInt<struct DecreeTag>;

constexpr Ballot kInvalidBallot{-1};
constexpr Decree kInvalidDecree{-1};

// A partition of a table ("gpid" on the wire).
struct PartitionId {
  // The table's id, from 1, and the partition's index in it, from 0.
  int32_t app_id = 0;
  int32_t index = 0;

  auto operator<=>(const PartitionId&) const = default;
  // The i64 on the wire: index high, app id low.
  int64_t packed() const {
    return static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(index)) << 32 |
                                static_cast<uint32_t>(app_id));
  }
  static PartitionId FromPacked(int64_t packed) {
    return {static_cast<int32_t>(static_cast<uint64_t>(packed) & 0xffffffffu),
            static_cast<int32_t>(static_cast<uint64_t>(packed) >> 32)};
  }
  // What every message for one partition carries in its header (rpc/PROTOCOL.md 2.5).
  int32_t thread_hash() const {
    return static_cast<int32_t>(static_cast<uint32_t>(app_id) * 7919u +
                                static_cast<uint32_t>(index));
  }
  // "2.3": table 2, partition 3.
  std::string ToString() const;
  template <class H>
  friend H AbslHashValue(H h, PartitionId p) {
    return H::combine(std::move(h), p.app_id, p.index);
  }
};
std::ostream& operator<<(std::ostream& out, PartitionId pid);

// Where a server listens: IPv4 and port ("rpc_address" on the wire). All zero: none.
struct Endpoint {
  // The first octet is in the top byte.
  uint32_t ip = 0;
  uint16_t port = 0;

  auto operator<=>(const Endpoint&) const = default;
  bool IsValid() const { return ip != 0; }
  // The u64 on the wire: ip, port, 14 zero bits, type (1 = IPv4). 0: none.
  uint64_t packed() const {
    return IsValid() ? (static_cast<uint64_t>(ip) << 32 | static_cast<uint64_t>(port) << 16 | 1)
                     : 0;
  }
  // nullopt: type bits 2 or 3, which no peer may send.
  static std::optional<Endpoint> FromPacked(uint64_t packed);
  // Reads "127.0.0.1:34801" (also "localhost:34801"); nullopt when it isn't one. Names are not
  // looked up here.
  static std::optional<Endpoint> Parse(std::string_view text);
  // "127.0.0.1:34801", or "-" when invalid.
  std::string ToString() const;
  template <class H>
  friend H AbslHashValue(H h, Endpoint e) {
    return H::combine(std::move(h), e.ip, e.port);
  }
};
std::ostream& operator<<(std::ostream& out, Endpoint endpoint);

// How far an acknowledged write is kept (decision 5).
enum class Durability : int8_t {
  // In the page cache of every member: survives a killed process, not a power cut.
  kOs = 1,
  // On stable storage of every member.
  kFsync = 2,
};
// "os", "fsync".
std::string_view DurabilityName(Durability durability);

}  // namespace arion
