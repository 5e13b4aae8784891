// What a cluster sends to another one that it duplicates a table to, and what stands in that one's
// logs: RPC_RRDB_RRDB_DUPLICATE (rpc/PROTOCOL.md 5.8).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/blob.h"

namespace arion {

inline constexpr char kRpcDuplicate[] = "RPC_RRDB_RRDB_DUPLICATE";

// A write of the source cluster. Up to 2.3 the request is one such entry itself.
struct DuplicateEntry {
  // When the source cluster ordered it; goes into the value's time tag, with cluster_id.
  std::optional<int64_t> timestamp_us;
  // The name of its code; a raw type, written as a Blob is.
  std::optional<Blob> task_code;
  // The write's body, as in its log.
  std::optional<Blob> raw_message;
  std::optional<int8_t> cluster_id;
  // No released version sets it.
  std::optional<bool> verify_timetag;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.timestamp_us), v(2, s.task_code), v(3, s.raw_message), v(4, s.cluster_id),
        v(5, s.verify_timetag);
  }
  bool operator==(const DuplicateEntry&) const = default;
};

// RPC_RRDB_RRDB_DUPLICATE: writes of the source cluster, applied in order.
struct DuplicateRequest {
  std::vector<DuplicateEntry> entries;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.entries);
  }
  bool operator==(const DuplicateRequest&) const = default;
};
// A sender of 2.5.0 ends its process where `error` is kInvalidArgument, and repeats the request
// otherwise until it is 0.
struct DuplicateResponse {
  // A StorageError.
  std::optional<int32_t> error;
  // For people.
  std::optional<std::string> error_hint;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.error), v(2, s.error_hint);
  }
  bool operator==(const DuplicateResponse&) const = default;
};

}  // namespace arion
