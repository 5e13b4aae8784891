// SPDX-License-Identifier: Apache-2.0
#include "messages/table_environments.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/status.h"
#include "messages/index_definition.h"

namespace arion {
namespace {

constexpr int64_t kSlowQueryMsMin = 20;
// An hour: no client waits longer.
constexpr int64_t kDelayMsMax = 3600 * 1000;
// Far beyond any date, so that sums with it do not overflow.
constexpr int64_t kUnixSecondsMax = int64_t{1} << 40;
constexpr size_t kTimesOfDayMax = 24;
constexpr int64_t kLevelMax = 100;  // the engine takes its last for a higher one

absl::Status Expected(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("expected ", Text(what)));
}

std::optional<uint64_t> ParseUnits(std::string_view text) {
  uint64_t factor = 1;
  if (text.ends_with('K') || text.ends_with('M')) {
    factor = text.back() == 'K' ? 1 << 10 : 1 << 20;
    text.remove_suffix(1);
  }
  uint64_t units = 0;
  const bool is_number = !text.empty() && std::all_of(text.begin(), text.end(),
                                                      [](char c) { return c >= '0' && c <= '9'; });
  // Digits only: SimpleAtoi takes signs and blanks. Half of uint64's range is left, so that sums of
  // a few limits do not overflow.
  if (!is_number || !absl::SimpleAtoi(Text(text), &units) || units > UINT64_MAX / factor / 2)
    return std::nullopt;
  return units * factor;
}

// One key for each index of a table. What is listed stands for all of them.
constexpr char kAnyIndex[] = "index.NAME";

constexpr char kThrottleForm[] =
    "<number>[K|M]*delay*<ms> and <number>[K|M]*reject*<ms>, either or both, by a comma";

absl::Status CheckInteger(std::string_view value, int64_t first, int64_t last) {
  return ParseWithin(value, first, last).status();
}

// The check is the parser that replicas use: what is accepted here can be acted on there.
struct ActingKey {
  std::string_view key;
  std::string_view example;
  absl::Status (*check)(std::string_view value);
};
// In no order: ActingTableEnvironments sorts them.
const std::array kActing = {
    ActingKey{kEnvBusinessInfo, "text",
              [](std::string_view value) {
                return value.size() <= 4096 ? absl::OkStatus() : Expected("at most 4096 bytes");
              }},
    ActingKey{kEnvDefaultTtl, "86400",
              [](std::string_view value) { return CheckInteger(value, 0, INT32_MAX); }},
    ActingKey{kEnvBackupThrottling, "2000*reject*0",
              [](std::string_view value) { return ParseThrottleRule(value).status(); }},
    ActingKey{kEnvDenyClient, "timeout*write",
              [](std::string_view value) { return ParseDenyRule(value).status(); }},
    ActingKey{kEnvDiskQuota, "20G",
              [](std::string_view value) { return ParseDiskQuota(value).status(); }},
    ActingKey{kAnyIndex, "$.customer.city",
              [](std::string_view value) { return IndexDefinition::Parse(value).status(); }},
    ActingKey{kEnvCompactDisabled, "true",
              [](std::string_view value) { return ParseBool(value).status(); }},
    ActingKey{kEnvCompactRunningMax, "1",
              [](std::string_view value) { return CheckInteger(value, 0, INT32_MAX); }},
    ActingKey{kEnvCompactOnce, "1800000000",
              [](std::string_view value) { return CheckInteger(value, 0, kUnixSecondsMax); }},
    ActingKey{kEnvCompactOnceLevel, "-1",
              [](std::string_view value) { return ParseTargetLevel(value).status(); }},
    ActingKey{kEnvCompactOnceBottommost, "skip",
              [](std::string_view value) { return ParseBottommost(value).status(); }},
    ActingKey{kEnvCompactDaily, "03:00",
              [](std::string_view value) { return ParseTimesOfDay(value).status(); }},
    ActingKey{kEnvCompactDailyLevel, "-1",
              [](std::string_view value) { return ParseTargetLevel(value).status(); }},
    ActingKey{kEnvCompactDailyBottommost, "skip",
              [](std::string_view value) { return ParseBottommost(value).status(); }},
    ActingKey{kEnvReadThrottling, "2000*delay*100,5000*reject*200",
              [](std::string_view value) { return ParseThrottleRule(value).status(); }},
    ActingKey{kEnvReadThrottlingBySize, "20M",
              [](std::string_view value) { return ParseReadBytesLimit(value).status(); }},
    ActingKey{kEnvIterationTime, "1000",
              [](std::string_view value) { return CheckInteger(value, 0, INT64_MAX / 2000000); }},
    ActingKey{kEnvSlowQuery, "100",
              [](std::string_view value) {
                return CheckInteger(value, kSlowQueryMsMin, INT64_MAX / 2000000);
              }},
    ActingKey{kEnvValidatePartitionHash, "false",
              [](std::string_view value) { return ParseBool(value).status(); }},
    ActingKey{kEnvWriteThrottling, "2000*delay*100,5000*reject*200",
              [](std::string_view value) { return ParseThrottleRule(value).status(); }},
    ActingKey{kEnvWriteThrottlingBySize, "10M*delay*100,20M*reject*200",
              [](std::string_view value) { return ParseThrottleRule(value).status(); }},
};

// What Pegasus acts on and Arion does not: refused with a sentence that says so.
constexpr std::string_view kNotActedUpon[] = {
    "replica.rocksdb_block_cache_enabled",
    "replica_access_controller.allowed_users",
    "replica_access_controller.ranger_policies",
    "rocksdb.allow_ingest_behind",
    "rocksdb.checkpoint.reserve_min_count",
    "rocksdb.checkpoint.reserve_time_seconds",
    "rocksdb.num_levels",
    "rocksdb.usage_scenario",
    "rocksdb.write_buffer_size",
    "user_specified_compaction",
};

}  // namespace

absl::StatusOr<ThrottleRule> ParseThrottleRule(std::string_view text) {
  ThrottleRule rule;
  bool has_delay = false, has_reject = false;
  for (absl::string_view item : absl::StrSplit(Text(text), ',')) {
    const std::vector<std::string> parts = absl::StrSplit(item, '*');
    int64_t ms = 0;
    const std::optional<uint64_t> units = parts.size() == 3 ? ParseUnits(parts[0]) : std::nullopt;
    if (!units || !absl::SimpleAtoi(parts[2], &ms) || ms < 0 || ms > kDelayMsMax)
      return Expected(kThrottleForm);
    // "delay" and "reject" may come in either order, each once.
    bool& is_given = parts[1] == "delay" ? has_delay : has_reject;
    if ((parts[1] != "delay" && parts[1] != "reject") || is_given) return Expected(kThrottleForm);
    is_given = true;
    (parts[1] == "delay" ? rule.delay_above : rule.reject_above) = *units;
    (parts[1] == "delay" ? rule.delay : rule.reject_delay) = absl::Milliseconds(ms);
  }
  return rule;
}

absl::StatusOr<uint64_t> ParseReadBytesLimit(std::string_view text) {
  if (const std::optional<uint64_t> units = ParseUnits(text)) return *units;
  // The form of the other throttles is taken too; of that only the refusal counts.
  const absl::StatusOr<ThrottleRule> rule = ParseThrottleRule(text);
  if (!rule.ok()) return Expected(absl::StrCat("<number>[K|M], or ", kThrottleForm));
  // A limit of 0 would refuse every read, and looks like "no limit" to whoever writes it.
  const bool rejects_all = rule->reject_above == 0 && rule->delay_above == 0;
  if (rejects_all) return Expected("a limit above 0");
  return rule->reject_above;
}

absl::StatusOr<uint64_t> ParseDiskQuota(std::string_view text) {
  const bool is_gigabytes = text.ends_with('G');
  const std::optional<uint64_t> units =
      ParseUnits(is_gigabytes ? text.substr(0, text.size() - 1) : text);
  constexpr uint64_t kGigabyte = uint64_t{1} << 30;
  // "5KG" is no number of anything.
  const bool is_mixed = is_gigabytes && (text.ends_with("KG") || text.ends_with("MG"));
  if (!units || is_mixed || *units > INT64_MAX / (is_gigabytes ? kGigabyte : 1))
    return Expected("a number of bytes, K, M or G behind it; 0: no quota");
  return *units * (is_gigabytes ? kGigabyte : 1);
}

absl::StatusOr<DenyRule> ParseDenyRule(std::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(Text(text), '*');
  const bool is_form = parts.size() == 2 && (parts[0] == "timeout" || parts[0] == "reconfig") &&
                       (parts[1] == "all" || parts[1] == "read" || parts[1] == "write");
  if (!is_form) return Expected("timeout or reconfig, *, and all, read or write");
  return DenyRule{
      .how = parts[0] == "timeout" ? DenyRule::How::kSilently : DenyRule::How::kInvalidState,
      .reads = parts[1] != "write",
      .writes = parts[1] != "read"};
}

absl::StatusOr<std::vector<int>> ParseTimesOfDay(std::string_view text) {
  std::vector<int> minutes;
  for (const absl::string_view item : absl::StrSplit(Text(text), ',')) {
    const std::vector<std::string> parts = absl::StrSplit(item, ':');
    int hour = 0, minute = 0;
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &hour) ||
        !absl::SimpleAtoi(parts[1], &minute) || hour < 0 || hour > 23 || minute < 0 || minute > 59)
      return Expected("times of the day as 03:00,15:30");
    minutes.push_back(60 * hour + minute);
  }
  if (minutes.size() > kTimesOfDayMax) return Expected("at most 24 times of the day");
  // Whoever looks for the next time of the day goes through them in order.
  std::sort(minutes.begin(), minutes.end());
  return minutes;
}

absl::StatusOr<bool> ParseBottommost(std::string_view text) {
  if (text == "force" || text == "skip") return text == "force";
  return Expected("force or skip");
}

absl::StatusOr<int64_t> ParseTargetLevel(std::string_view text) {
  const absl::StatusOr<int64_t> level = ParseWithin(text, -1, kLevelMax);
  if (!level.ok() || *level == 0) return Expected("-1, or a level from 1 on");
  return level;
}

absl::StatusOr<int64_t> ParseWithin(std::string_view text, int64_t first, int64_t last) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(Text(text), &value) || value < first || value > last)
    return absl::InvalidArgumentError(
        absl::StrCat("expected a whole number from ", first, " to ", last));
  return value;
}

absl::StatusOr<bool> ParseBool(std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return Expected("true or false");
}

absl::Status CheckTableEnvironment(std::string_view key, std::string_view value) {
  if (const std::optional<std::string_view> name = IndexNameOf(key)) {
    if (!IsIndexName(*name))
      return Expected(absl::StrCat("a name behind index., of 1 to ", kIndexNameBytesMax,
                                   " letters, digits, _ and -"));
    return IndexDefinition::Parse(value).status();
  }
  for (const ActingKey& acting : kActing)
    if (acting.key == key) return acting.check(value);
  if (std::find(std::begin(kNotActedUpon), std::end(kNotActedUpon), key) != std::end(kNotActedUpon))
    // Refused instead of stored: who sets it would believe that it acts.
    return absl::UnimplementedError("Arion does not act on it, so it can't be set");
  return absl::NotFoundError("nobody knows it");
}

std::vector<std::string_view> ActingTableEnvironments() {
  std::vector<std::string_view> keys;
  for (const ActingKey& acting : kActing) keys.push_back(acting.key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::string_view ExampleOf(std::string_view key) {
  if (IndexNameOf(key).has_value()) key = kAnyIndex;
  for (const ActingKey& acting : kActing)
    if (acting.key == key) return acting.example;
  return {};
}

}  // namespace arion
