// Table environments (rpc/PROTOCOL.md 7.3): the keys that act here, and how their values are read.
// The meta server refuses what doesn't parse, and replicas act on what does. What was stored by
// another version may not parse: a replica then acts as without the key.
//
// Errors    InvalidArgument with what was expected; for a person.
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace arion {

// Keys. data_api/table_settings.h and data_api/compaction_wishes.h say what they do.
inline constexpr char kEnvDefaultTtl[] = "default_ttl";
inline constexpr char kEnvValidatePartitionHash[] = "replica.split.validate_partition_hash";
inline constexpr char kEnvIterationTime[] = "replica.rocksdb_iteration_threshold_time_ms";
inline constexpr char kEnvSlowQuery[] = "replica.slow_query_threshold";
inline constexpr char kEnvDenyClient[] = "replica.deny_client_request";
inline constexpr char kEnvWriteThrottling[] = "replica.write_throttling";
inline constexpr char kEnvWriteThrottlingBySize[] = "replica.write_throttling_by_size";
inline constexpr char kEnvReadThrottling[] = "replica.read_throttling";
inline constexpr char kEnvReadThrottlingBySize[] = "replica.read_throttling_by_size";
inline constexpr char kEnvBackupThrottling[] = "replica.backup_request_throttling";
// Arion's own: bytes of data one replica may have on its disk. Beyond it writes except removes are
// refused.
inline constexpr char kEnvDiskQuota[] = "replica.disk_quota";
// A remark, for people.
inline constexpr char kEnvBusinessInfo[] = "business.info";
// What a source cluster writes when it makes a table that follows one of its own
// (followers/master_table.h); only CREATE_APP sets them. The third: since 2.6, where the names
// differ.
inline constexpr char kEnvMasterCluster[] = "duplication.master_cluster";
inline constexpr char kEnvMasterMetas[] = "duplication.master_metas";
inline constexpr char kEnvMasterAppName[] = "duplication.master_app_name";
inline constexpr char kEnvCompactDisabled[] = "manual_compact.disabled";
inline constexpr char kEnvCompactRunningMax[] = "manual_compact.max_concurrent_running_count";
inline constexpr char kEnvCompactOnce[] = "manual_compact.once.trigger_time";
inline constexpr char kEnvCompactOnceLevel[] = "manual_compact.once.target_level";
inline constexpr char kEnvCompactOnceBottommost[] =
    "manual_compact.once.bottommost_level_compaction";
inline constexpr char kEnvCompactDaily[] = "manual_compact.periodic.trigger_time";
inline constexpr char kEnvCompactDailyLevel[] = "manual_compact.periodic.target_level";
inline constexpr char kEnvCompactDailyBottommost[] =
    "manual_compact.periodic.bottommost_level_compaction";

// Limits of a whole table, in units (requests or bytes) each second; 0: no such limit. Each replica
// enforces its partition's share.
struct ThrottleRule {
  uint64_t delay_above = 0;
  // How long a request above `delay_above` waits, and one above `reject_above` before it is
  // refused.
  absl::Duration delay;
  uint64_t reject_above = 0;
  absl::Duration reject_delay;
  bool operator==(const ThrottleRule&) const = default;
};
// "2000*delay*100,5K*reject*200": units (K = 2^10, M = 2^20), what, ms; each at most once.
absl::StatusOr<ThrottleRule> ParseThrottleRule(std::string_view text);
// "5000", "20K", or the above, of which only "reject" counts. Bytes each second; 0: no limit.
absl::StatusOr<uint64_t> ParseReadBytesLimit(std::string_view text);

// "500M", "20G", a number of bytes; 0: no quota.
absl::StatusOr<uint64_t> ParseDiskQuota(std::string_view text);

// Which requests of clients are refused, and how.
struct DenyRule {
  enum class How : uint8_t {
    // "timeout": no answer.
    kSilently,
    // "reconfig": clients ask for the configuration again.
    kInvalidState,
  };
  How how = How::kSilently;
  bool reads = false;
  bool writes = false;
  bool operator==(const DenyRule&) const = default;
};
// "timeout*all", "reconfig*write", ...
absl::StatusOr<DenyRule> ParseDenyRule(std::string_view text);

// "03:00,15:30": minutes after local midnight, in order.
absl::StatusOr<std::vector<int>> ParseTimesOfDay(std::string_view text);
// "force": true; "skip": false.
absl::StatusOr<bool> ParseBottommost(std::string_view text);
// -1, or a level from 1 on.
absl::StatusOr<int64_t> ParseTargetLevel(std::string_view text);

// An integer, first <= result <= last.
absl::StatusOr<int64_t> ParseWithin(std::string_view text, int64_t first, int64_t last);
// "true" or "1", "false" or "0".
absl::StatusOr<bool> ParseBool(std::string_view text);

// OK: the value may be given to the key. InvalidArgument: the key takes other values, and which.
// Unimplemented: Pegasus acts on that key, Arion does not. NotFound: the key is not known.
absl::Status CheckTableEnvironment(std::string_view key, std::string_view value);
// All keys that act, in their order. "index.NAME" stands for each index of a table
// (messages/index_definition.h).
std::vector<std::string_view> ActingTableEnvironments();
// A value that the key takes, for completion and usage texts.
std::string_view ExampleOf(std::string_view key);

}  // namespace arion
