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
  // Whether it yields to a record that was written later. No released version sets it.
  std::optional<bool> verify_timetag;
  // Ours: the decree that holds it in the source cluster, and the how manieth update of that it is,
  // from 1 on. Not in logs.
  std::optional<int64_t> source_decree;
  std::optional<int32_t> source_update;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.timestamp_us), v(2, s.task_code), v(3, s.raw_message), v(4, s.cluster_id),
        v(5, s.verify_timetag);
    v(1000, s.source_decree), v(1001, s.source_update);
  }
  bool operator==(const DuplicateEntry&) const = default;
};

// RPC_RRDB_RRDB_DUPLICATE: writes of the source cluster, applied in order.
// What follows the entries is ours: version 2.5.0 passes over it, in requests and in logs.
struct DuplicateRequest {
  std::vector<DuplicateEntry> entries;
  // Which duplication of the source cluster sends it.
  std::optional<int64_t> duplication_id;
  // In logs only. How far that duplication is behind this: the last update's decree there, its
  // number in that, its time.
  std::optional<int64_t> source_decree;
  std::optional<int32_t> source_update;
  std::optional<int64_t> source_time_us;
  // In logs only: a primary has compared times, and removes leave a tombstone.
  std::optional<bool> is_judged;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.entries);
    v(1000, s.duplication_id), v(1001, s.source_decree), v(1002, s.source_update),
        v(1003, s.source_time_us), v(1004, s.is_judged);
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
