// What clients ask of a partition's primary (spec/wire-protocol.md 4). SPDX-License-Identifier:
// Apache-2.0
#pragma once

#include "messages/fields.h"

namespace arion {

inline constexpr char kRpcPut[] = "RPC_RRDB_RRDB_PUT";
inline constexpr char kRpcRemove[] = "RPC_RRDB_RRDB_REMOVE";
inline constexpr char kRpcGet[] = "RPC_RRDB_RRDB_GET";
inline constexpr char kRpcTtl[] = "RPC_RRDB_RRDB_TTL";
inline constexpr char kRpcClearScanner[] = "RPC_RRDB_RRDB_CLEAR_SCANNER";  // never answered

// PUT; also what every atomic operation becomes in the log.
struct UpdateRequest {
  Blob key;  // raw key
  Blob value;
  int32_t expire_ts_seconds = 0;  // absolute, seconds since 2016; 0 = never
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.key), v(2, s.value), v(3, s.expire_ts_seconds);
  }
  bool operator==(const UpdateRequest&) const = default;
};
// PUT and REMOVE. (REMOVE's argument, like GET's and TTL's, is a bare Blob: the raw key.)
struct UpdateResponse {
  int32_t error = 0;  // StorageError
  int32_t app_id = 0;
  int32_t partition_index = 0;
  int64_t decree = -1;
  std::string server;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.error), v(2, s.app_id), v(3, s.partition_index), v(4, s.decree), v(5, s.server);
  }
  bool operator==(const UpdateResponse&) const = default;
};
struct ReadResponse {
  int32_t error = 0;
  Blob value;
  int32_t app_id = 0;
  int32_t partition_index = 0;
  std::string server;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.error), v(2, s.value), v(3, s.app_id), v(4, s.partition_index), v(6, s.server);
  }
  bool operator==(const ReadResponse&) const = default;
};
struct TtlResponse {
  int32_t error = 0;
  int32_t ttl_seconds = 0;  // -1: no TTL
  int32_t app_id = 0;
  int32_t partition_index = 0;
  std::string server;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.error), v(2, s.ttl_seconds), v(3, s.app_id), v(4, s.partition_index), v(6, s.server);
  }
  bool operator==(const TtlResponse&) const = default;
};

}  // namespace arion
