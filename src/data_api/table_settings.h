// TableSettings: the table environments (messages/table_environments.h) that act on a replica,
// as a replica uses them.
//
// Errors    A value that is not one counts as not set: the meta server has checked them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <optional>

#include "data_api/compaction_wishes.h"
#include "messages/configuration.h"
#include "messages/table_environments.h"

namespace arion {

struct TableSettings {
  int32_t partition_count = 0;
  uint32_t default_ttl_seconds = 0;      // default_ttl; 0 = none
  bool validate_partition_hash = false;  // replica.split.validate_partition_hash
  // replica.rocksdb_iteration_threshold_time_ms; 0 there: no limit.
  absl::Duration iteration_time_max = absl::Seconds(30);
  absl::Duration slow_query = absl::InfiniteDuration();  // replica.slow_query_threshold
  std::optional<DenyRule> deny;                          // replica.deny_client_request
  ThrottleRule write_requests;                           // replica.write_throttling
  ThrottleRule write_bytes;                              // replica.write_throttling_by_size
  ThrottleRule read_requests;                            // replica.read_throttling
  ThrottleRule backup_requests;                          // replica.backup_request_throttling
  uint64_t read_bytes_max = 0;  // replica.read_throttling_by_size; 0 = no limit
  CompactionWishes compaction;  // manual_compact.*

  uint64_t disk_quota_bytes = 0;  // replica.disk_quota, of one replica; 0 = none

  static TableSettings From(const AppInfo& app);
  // Whether a key of this hash belongs into partition `index` (always, while that is not checked).
  bool Owns(int32_t index, uint64_t partition_hash) const {
    return !validate_partition_hash || partition_count <= 0 ||
           static_cast<int64_t>(partition_hash & static_cast<uint64_t>(partition_count - 1)) ==
               index;
  }
  // `expire_ts` of a put, with the table's default where it names none.
  uint32_t Expiry(int32_t expire_ts, uint32_t now) const {
    return expire_ts == 0 && default_ttl_seconds > 0 ? now + default_ttl_seconds
                                                     : static_cast<uint32_t>(expire_ts);
  }
  bool operator==(const TableSettings&) const = default;
};

}  // namespace arion
