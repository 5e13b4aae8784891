// SPDX-License-Identifier: Apache-2.0
#include "data_api/table_settings.h"

#include <string>
#include <utility>

#include "messages/configuration.h"

namespace arion {
namespace {

// A table's environments, read with a default for each: see Errors in the header.
class Environments {
 public:
  explicit Environments(const std::map<std::string, std::string>& envs) : envs_(envs) {}

  // What `parse` makes of the key's value, or `otherwise`.
  template <class T, class Parse>
  T Get(const char* key, T otherwise, Parse parse) const {
    const auto it = envs_.find(key);
    if (it == envs_.end()) return otherwise;
    absl::StatusOr<T> value = parse(it->second);
    return value.ok() ? *std::move(value) : otherwise;
  }
  std::optional<int64_t> Number(const char* key, int64_t most) const {
    const auto it = envs_.find(key);
    if (it == envs_.end()) return std::nullopt;
    // Nothing here may be negative.
    const absl::StatusOr<int64_t> value = ParseWithin(it->second, 0, most);
    return value.ok() ? std::optional(*value) : std::nullopt;
  }

 private:
  const std::map<std::string, std::string>& envs_;
};

}  // namespace

TableSettings TableSettings::From(const AppInfo& app) {
  TableSettings settings{
      .partition_count = app.partition_count,
      .was_split = app.init_partition_count > 0 && app.init_partition_count < app.partition_count};
  // Most tables have none.
  if (app.envs.empty()) return settings;
  const Environments envs(app.envs);
  settings.default_ttl_seconds =
      static_cast<uint32_t>(envs.Number(kEnvDefaultTtl, INT32_MAX).value_or(0));
  settings.validate_partition_hash = envs.Get(kEnvValidatePartitionHash, false, ParseBool);
  if (const auto ms = envs.Number(kEnvIterationTime, INT64_MAX))
    settings.iteration_time_max = *ms == 0 ? absl::InfiniteDuration() : absl::Milliseconds(*ms);
  if (const auto ms = envs.Number(kEnvSlowQuery, INT64_MAX))
    settings.slow_query = absl::Milliseconds(*ms);
  settings.write_requests = envs.Get(kEnvWriteThrottling, ThrottleRule{}, ParseThrottleRule);
  settings.write_bytes = envs.Get(kEnvWriteThrottlingBySize, ThrottleRule{}, ParseThrottleRule);
  settings.read_requests = envs.Get(kEnvReadThrottling, ThrottleRule{}, ParseThrottleRule);
  settings.backup_requests = envs.Get(kEnvBackupThrottling, ThrottleRule{}, ParseThrottleRule);
  settings.read_bytes_max = envs.Get(kEnvReadThrottlingBySize, uint64_t{0}, ParseReadBytesLimit);
  settings.disk_quota_bytes = envs.Get(kEnvDiskQuota, uint64_t{0}, ParseDiskQuota);
  settings.compaction = CompactionWishes::From(app.envs);
  if (const auto it = app.envs.find(kEnvDenyClient); it != app.envs.end())
    if (const absl::StatusOr<DenyRule> deny = ParseDenyRule(it->second); deny.ok())
      settings.deny = *deny;
  for (const auto& [key, text] : app.envs) {
    const std::optional<std::string_view> name = IndexNameOf(key);
    if (!name || !IsIndexName(*name) || settings.indexes.size() == kIndexesMax) continue;
    if (absl::StatusOr<IndexDefinition> definition = IndexDefinition::Parse(text); definition.ok())
      settings.indexes.push_back({std::string(*name), *std::move(definition)});
  }
  return settings;
}

}  // namespace arion
