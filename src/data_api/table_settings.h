// TableSettings: the table environments (messages/table_environments.h) that act on a replica, as a
// replica uses them.
//
// Units     Limits per second are the whole table's; throttles take a partition's share
//           (throttle.h).
// Errors    A value that can't be read counts as not set: the meta server has checked them.
// Threads   Immutable once made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/key_ownership.h"
#include "data_api/compaction_wishes.h"
#include "messages/index_definition.h"
#include "messages/table_environments.h"

namespace arion {

struct AppInfo;

// The name of the environment stands above each field.
struct TableSettings {
  // Of the table; no environment.
  int32_t partition_count = 0;
  // It had fewer partitions once; no environment.
  bool was_split = false;
  // default_ttl; 0: none.
  uint32_t default_ttl_seconds = 0;
  // replica.split.validate_partition_hash
  bool validate_partition_hash = false;
  // replica.rocksdb_iteration_threshold_time_ms; 0 there means no limit.
  absl::Duration iteration_time_max = absl::Seconds(30);
  // replica.slow_query_threshold
  absl::Duration slow_query = absl::InfiniteDuration();
  // replica.deny_client_request
  std::optional<DenyRule> deny;
  // replica.write_throttling, write_throttling_by_size, read_throttling, backup_request_throttling
  ThrottleRule write_requests;
  ThrottleRule write_bytes;
  ThrottleRule read_requests;
  ThrottleRule backup_requests;
  // replica.read_throttling_by_size, bytes a second; 0: no limit.
  uint64_t read_bytes_max = 0;
  // manual_compact.*
  CompactionWishes compaction;

  // replica.disk_quota, of one replica; 0: none.
  uint64_t disk_quota_bytes = 0;
  // index.NAME, by name. What does not parse was stored by another version: it is left out.
  std::vector<NamedIndex> indexes;

  // What `app.envs` says. Keys that do not act on a replica are passed over.
  static TableSettings From(const AppInfo& app);
  // Which keys belong into partition `index`: all of them while that is not checked.
  KeyOwnership KeysOf(int32_t index) const {
    return {.index = index, .count = validate_partition_hash ? std::max(partition_count, 0) : 0};
  }
  // The same whether or not that is checked of clients; a server that is behind a split does not
  // know its child's.
  KeyOwnership CountedKeysOf(int32_t index) const {
    return {.index = index, .count = index < partition_count ? partition_count : 0};
  }
  // The expiry of a put in seconds since 2016; 0: never. `expire_ts` is what the put names; where
  // it names none, the table's default counts from `now`.
  uint32_t Expiry(int32_t expire_ts, uint32_t now) const {
    return expire_ts == 0 && default_ttl_seconds > 0 ? now + default_ttl_seconds
                                                     : static_cast<uint32_t>(expire_ts);
  }
  bool operator==(const TableSettings&) const = default;
};

}  // namespace arion
