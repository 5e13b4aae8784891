// SPDX-License-Identifier: Apache-2.0
#include "replica/table_settings.h"

#include <absl/strings/numbers.h>

#include <cstdint>
#include <string>

namespace arion {

TableSettings TableSettings::From(const AppInfo& app) {
  TableSettings settings{.partition_count = app.partition_count};
  if (app.envs.empty()) return settings;
  if (const auto it = app.envs.find("default_ttl"); it != app.envs.end()) {
    int32_t seconds = 0;
    if (absl::SimpleAtoi(it->second, &seconds) && seconds > 0)
      settings.default_ttl_seconds = static_cast<uint32_t>(seconds);
  }
  if (const auto it = app.envs.find("replica.split.validate_partition_hash"); it != app.envs.end())
    settings.validate_partition_hash = it->second == "true" || it->second == "1";
  if (const auto it = app.envs.find("replica.rocksdb_iteration_threshold_time_ms");
      it != app.envs.end()) {
    int64_t milliseconds = 0;
    if (absl::SimpleAtoi(it->second, &milliseconds) && milliseconds >= 0)
      settings.iteration_time_max =
          milliseconds == 0 ? absl::InfiniteDuration() : absl::Milliseconds(milliseconds);
  }
  return settings;
}

}  // namespace arion
